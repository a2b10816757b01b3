"""What is kept of a linear regression: ``f_j(x) = <w_j, x> + b_j``, a row of `coef` for each j."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.models.base import Regressing
from maxmargin.models.linear import LinearFunctions


@dataclass(frozen=True)
class RegressionModel(LinearFunctions, Regressing):
    """A linear regression, or several: one for each quantile.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "regression"

    def __post_init__(self) -> None:
        self._check_functions()
