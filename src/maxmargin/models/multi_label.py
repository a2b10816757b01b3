"""What is kept of machines that decide on several labels: ``f_j(x) = <w_j, x> + b_j``, one a label.

Label j is given to a row where ``f_j(x) > 0``; a row may have all labels, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.contents import Floats, Words, stored
from maxmargin.models.linear import LinearScores


@dataclass(frozen=True)
class MultiLabelModel(LinearScores):
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

    intercept: np.ndarray = stored(Floats(1))
    target_type: str = stored(Words(), "int64")

    def __post_init__(self) -> None:
        k = len(self.coef)
        if self.coef.ndim != 2 or self.coef.size == 0 or self.intercept.shape != (k,):
            raise ValueError(
                f"a multi-label model needs coef (k, d) and intercept (k,), k and d at least 1; "
                f"got {self.coef.shape} and {self.intercept.shape}"
            )
        if np.dtype(self.target_type).kind not in "biuf":
            raise ValueError(f"indicators cannot be of type {self.target_type}")
        self._check_problems(k)

    @property
    def classes(self) -> np.ndarray:
        """The columns of the indicator matrix."""
        return np.arange(len(self.coef))

    @property
    def has_probabilities(self) -> bool:
        """The scores of the logistic loss are log-odds."""
        return self.parameters.get("loss") == "logistic"

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X coef^T + intercept``, (n, k). X is used where it lies."""
        return self.scores(X, threads) + self.intercept

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The probability of each label, (n, k); they need not sum to 1."""
        return np.exp(-np.logaddexp(0.0, -self.decision_function(X, threads)))

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """1 where a row has the label, else 0: (n, k)."""
        return (self.decision_function(X, threads) > 0).astype(self.target_type)
