"""What is kept of machines that decide on several labels: ``f_j(x) = <w_j, x> + b_j``, one a label.

Label j is given to a row where ``f_j(x) > 0``; a row may have all labels, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.contents import Words, stored
from maxmargin.models.linear import LinearFunctions


@dataclass(frozen=True)
class MultiLabelModel(LinearFunctions):
    """A linear machine for each label.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    target_type : name of the dtype of the indicators, which predictions have too
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "multi-label"
    task = "labels"

    target_type: str = stored(Words(), "int64")

    def __post_init__(self) -> None:
        self._check_functions()
        if np.dtype(self.target_type).kind not in "biuf":
            raise ValueError(f"indicators cannot be of type {self.target_type}")

    @property
    def classes(self) -> np.ndarray:
        """The columns of the indicator matrix."""
        return np.arange(len(self.coef))

    @property
    def has_probabilities(self) -> bool:
        """The scores of the logistic loss are log-odds."""
        return self.parameters.get("loss") == "logistic"

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """A column for each label."""
        return self.functions(X, threads)

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The probability of each label, (n, k); they need not sum to 1."""
        return np.exp(-np.logaddexp(0.0, -self.decision_function(X, threads)))

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """1 where a row has the label, else 0: (n, k)."""
        return (self.decision_function(X, threads) > 0).astype(self.target_type)
