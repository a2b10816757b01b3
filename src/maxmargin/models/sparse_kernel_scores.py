"""What is kept of regressions, rankings and ordered labels on few basis vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Regressing
from maxmargin.models.basis_expansion import BasisExpansion, BoundsOfProblems
from maxmargin.models.contents import Certificates, Classes, Floats, Vectors, Words, stored
from maxmargin.models.kernel import KernelFunction
from maxmargin.models.ordinal import CutScore
from maxmargin.solvers.kernel.certificate import SpanCertificate
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.bounds import Bounds


@dataclass(frozen=True)
class SpanScores(BasisExpansion):
    """The fields of `SparseKernelModel`, without classes."""

    kernel: Kernel = stored(KernelFunction())
    vectors: Any = stored(Vectors())
    coefficients: np.ndarray = stored(Floats(2))
    _: KW_ONLY
    certificates: tuple[SpanCertificate, ...] = stored(Certificates(SpanCertificate), ())
    bounds: tuple[Bounds, ...] = stored(BoundsOfProblems(), ())
    solver: str = stored(Words(), "subspace-pursuit")


@dataclass(frozen=True)
class SparseKernelRegressionModel(SpanScores, Regressing):
    """A regression, or several: one for each quantile."""

    kind = "sparse-kernel-regression"

    def __post_init__(self) -> None:
        columns = self.coefficients.shape[1] if self.coefficients.ndim == 2 else 0
        self._check_basis(columns, "at least one function")

    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and function."""
        return self.problems(X, threads)


@dataclass(frozen=True)
class SparseKernelRankModel(SpanScores):
    """A score, the larger the further up."""

    kind = "sparse-kernel-rank"
    task = "ranking"

    def __post_init__(self) -> None:
        self._check_basis(1, "one score")

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f(x)``, of shape (n,)."""
        return self.problems(X, threads)[:, 0]

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The score of each row."""
        return self.decision_function(X, threads)


@dataclass(frozen=True)
class SparseKernelOrdinalModel(SpanScores, CutScore):
    """A score cut by thresholds, which are those of `OrdinalModel`."""

    kind = "sparse-kernel-ordinal"

    thresholds: np.ndarray = stored(Floats(1))
    classes: np.ndarray = stored(Classes(any_order=True))

    def __post_init__(self) -> None:
        self.check_cut()
        self._check_basis(1, "one score")

    def one_score(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f(x)``"""
        return self.problems(X, threads)[:, 0]
