"""What is kept of a kernel regression: ``f_p(x) = b_p + sum_j beta_jp k(z_j, x)``, a column a p."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Regressing
from maxmargin.models.contents import (
    COUNT,
    Certificates,
    Floats,
    Positions,
    Vectors,
    Words,
    stored,
)
from maxmargin.models.kernel import KernelExpansion, KernelFunction, SummedProblems
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable


@dataclass(frozen=True)
class KernelRegressionModel(KernelExpansion, SummedProblems, Regressing):
    """A kernel regression, or several: one for each quantile.

    Parameters are those of `KernelModel`, without classes.
    """

    kind = "kernel-regression"

    kernel: Kernel | KernelCallable | str = stored(KernelFunction())
    vectors: Any = stored(Vectors(optional=True))
    coefficients: np.ndarray = stored(Floats(2))
    support: np.ndarray = stored(Positions())
    n_features: int = stored(COUNT)
    _: KW_ONLY
    certificates: tuple[KernelCertificate, ...] = stored(Certificates(KernelCertificate), ())
    solver: str = stored(Words(), "two-variable")
    offsets: np.ndarray | None = stored(Floats(1, optional=True), None)

    def __post_init__(self) -> None:
        m = len(self.support)
        if self.coefficients.ndim != 2 or len(self.coefficients) != m:
            raise ValueError(
                f"coefficients of shape {self.coefficients.shape} do not fit {m} support vectors"
            )
        if self.coefficients.shape[1] == 0:
            raise ValueError("a kernel regression needs at least one column of coefficients")
        self._check_expansion()
        self._check_problems(self.coefficients.shape[1])

    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and function."""
        return self._shifted_sums(self.rows_of(X), threads)
