"""What kernel machines for classes and for numbers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.base import Machine, parameters


@parameters
class OnKernelMatrix(Machine):
    """A machine that looks at all kernel values, of all rows or of those of a cell."""

    kernel: Any = "rbf"
    degree: int = 3
    coef0: float = 0.0
    offset: float = 0.0
    memory: int | float | str | None = None
    cells: int | None = None
    cell_overlap: float = 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _leaves_on_disk(self, X: Any) -> bool:
        return self.cells is not None  # each cell is read when its turn comes

    def _show(self, model: Any) -> None:
        if hasattr(model, "cells"):
            Machine._show(self, model)
            self.n_cells_ = len(model.cells)
            self.gamma_ = [cell.gamma for cell in model.cells]
            return
        super()._show(model)
        self.dual_coef_ = np.ascontiguousarray(model.coefficients.T)
        self.intercept_ = np.zeros(len(self.dual_coef_)) if model.offsets is None else model.offsets
        self.support_ = model.support
        self.support_vectors_ = np.empty((0, 0)) if model.vectors is None else model.vectors
        self.gamma_ = model.parameters.get("gamma")
