"""What all kernel classifiers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.base import Classifier, parameters


@parameters
class KernelClassifier(Classifier):
    """A kernel machine: coefficients of support or basis vectors."""

    kernel: Any = "rbf"
    degree: int = 3
    coef0: float = 0.0
    random_state: Any = None

    _shown = ("classes",)

    def _show(self, model: Any) -> None:
        super()._show(model)
        self.dual_coef_ = np.ascontiguousarray(model.coefficients.T)
        offsets = getattr(model, "offsets", None)
        self.intercept_ = np.zeros(model.coefficients.shape[1]) if offsets is None else offsets
