"""What is kept of a linear regression: ``f_j(x) = <w_j, x> + b_j``, a row of `coef` for each j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.contents import Floats, stored
from maxmargin.models.linear import LinearScores


@dataclass(frozen=True)
class RegressionModel(LinearScores):
    """A linear regression, or several: one for each quantile.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`. Where the parameter "non_crossing" is true, the k predictions of a row are
        sorted.
    """

    kind = "regression"
    task = "values"

    intercept: np.ndarray = stored(Floats(1))

    def __post_init__(self) -> None:
        k = len(self.coef)
        if self.coef.ndim != 2 or self.coef.size == 0 or self.intercept.shape != (k,):
            raise ValueError(
                f"a linear regression needs coef (k, d) and intercept (k,), k and d at least 1; "
                f"got {self.coef.shape} and {self.intercept.shape}"
            )
        self._check_problems(k)

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The predictions."""
        return self.predict(X, threads)

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X coef^T + intercept``: (n,) for one function, else (n, k). X is used where it lies."""
        values = self.scores(X, threads) + self.intercept
        if self.parameters.get("non_crossing"):
            values.sort(axis=1)
        return values.ravel() if len(self.coef) == 1 else values
