"""What is kept of a linear regression: ``f_j(x) = <w_j, x> + b_j``, a row of `coef` for each j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Regressing
from maxmargin.models.contents import Floats, stored
from maxmargin.models.linear import LinearScores


@dataclass(frozen=True)
class RegressionModel(LinearScores, Regressing):
    """A linear regression, or several: one for each quantile.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "regression"

    intercept: np.ndarray = stored(Floats(1))

    def __post_init__(self) -> None:
        k = len(self.coef)
        if self.coef.ndim != 2 or self.coef.size == 0 or self.intercept.shape != (k,):
            raise ValueError(
                f"a linear regression needs coef (k, d) and intercept (k,), k and d at least 1; "
                f"got {self.coef.shape} and {self.intercept.shape}"
            )
        self._check_problems(k)

    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X coef^T + intercept``. X is used where it lies."""
        return self.scores(X, threads) + self.intercept
