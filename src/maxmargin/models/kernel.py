"""What is kept of a kernel machine: ``f_p(x) = b_p + sum_j beta_jp k(z_j, x)``, a column a p.

Two classes have one problem, positive for ``classes[1]``. More classes have one each ("ovr", the
largest f_p wins) or one per pair ("ovo", votes decide). The offset b is that of a constant in
the kernel, or 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import as_floats, useful_threads, view
from maxmargin.models.base import Labelling, Model
from maxmargin.models.contents import (
    COUNT,
    Certificates,
    Classes,
    Contents,
    Field,
    Floats,
    Positions,
    Vectors,
    Words,
    stored,
)
from maxmargin.problem import Status
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.coding import Coding, coding_of
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable, Points


class KernelFunction(Field):
    """A kernel by name with its constants, or "precomputed"."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        if isinstance(value, str):
            into.plain[name] = {"name": value}
            return
        if not isinstance(value, Kernel):
            raise ValueError(
                f"cannot save a model whose kernel is the Python function {value!r}: files hold "
                f"no code; use a kernel by name or 'precomputed'"
            )
        into.plain[name] = {
            "name": value.name,
            "gamma": float(value.gamma),
            "degree": int(value.degree),
            "coef0": float(value.coef0),
        }

    def unpack(self, name: str, found: Contents) -> Kernel | str:
        packed = found.plain.get(name)
        if not isinstance(packed, dict):
            raise ValueError("its kernel is missing")
        if packed.get("name") == "precomputed":
            return "precomputed"
        gamma: Any = packed.get("gamma")
        coef0: Any = packed.get("coef0")
        degree = packed.get("degree")
        if not (is_finite(gamma) and is_finite(coef0)):
            raise ValueError(f"its kernel has gamma {gamma!r} and coef0 {coef0!r}, not two numbers")
        if type(degree) is not int or not 0 <= degree < 2**31:
            raise ValueError(f"its kernel has the degree {degree!r}, not a whole number")
        return Kernel(str(packed.get("name")), float(gamma), degree, float(coef0))


def is_finite(value: Any) -> bool:
    """Whether a value from a file is a number that float64 holds."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


FEW_ROWS = 8  # rows that are predicted without tiles
FEW_ENTRIES = 2**18


class KernelExpansion:
    """``sum_j beta_jp k(z_j, x)``: what every model of support vectors computes."""

    kernel: Kernel | KernelCallable | str
    vectors: Any
    coefficients: np.ndarray
    support: np.ndarray
    n_features: int
    offsets: np.ndarray | None

    def _check_expansion(self) -> None:
        m, problems = self.coefficients.shape
        precomputed = self.kernel == "precomputed"
        if not precomputed and self.vectors.shape != (m, self.n_features):
            raise ValueError(f"vectors have shape {self.vectors.shape}, not {(m, self.n_features)}")
        if precomputed and np.any(self.support >= self.n_features):
            raise ValueError("the support vectors lie outside the training rows")
        if self.offsets is not None and self.offsets.shape != (problems,):
            raise ValueError(f"{len(self.offsets)} offsets do not fit {problems} problems")

    @property
    def _columns_are(self) -> str:
        return "training rows" if self.kernel == "precomputed" else "features"

    def _shifted_sums(self, X: Any, threads: int | None) -> np.ndarray:
        """The predictions of every problem."""
        f = self._sums(X, threads)
        return f if self.offsets is None else f + self.offsets

    def _sums(self, X: Any, threads: int | None) -> np.ndarray:
        """``sum_j beta_jp k(z_j, x)``, by tiles on the support vectors."""
        if len(self.support) == 0:
            return np.zeros((X.shape[0], self.coefficients.shape[1]))
        if isinstance(self.kernel, str):
            return np.asarray(X[:, self.support] @ self.coefficients)
        if not isinstance(self.kernel, Kernel):
            f = np.zeros((X.shape[0], self.coefficients.shape[1]))
            for begin, end in kernels.tiles(X.shape[0]):
                values = np.asarray(self.kernel(as_floats(X[begin:end]), self.vectors))
                f[begin:end] = values @ self.coefficients
            return f
        if X.shape[0] <= FEW_ROWS and X.shape[0] * X.shape[1] <= FEW_ENTRIES:
            return self._problems_of_few(X)
        work = X.shape[0] * len(self.support)
        pool = _core.Pool(useful_threads(threads, work))
        dense = not sp.issparse(X) and not sp.issparse(self.vectors)
        centre = kernels.centre_of(self.vectors) if dense and self.kernel.of_distance else None
        points = Points(self.vectors, centre)
        return kernels.expand(X, points, self.kernel, self.coefficients, pool)

    @functools.cached_property
    def _support_rows(self) -> tuple[_core.Rows, np.ndarray]:
        """The core's view of the support vectors, and their squared norms."""
        return view(self.vectors, 0.0), Points(self.vectors).squared_norms

    def _problems_of_few(self, X: Any) -> np.ndarray:
        """The same for a few rows by the core alone, with nothing prepared for them."""
        rows, norms = self._support_rows
        X = X.toarray() if sp.issparse(X) else X
        X = np.ascontiguousarray(X, dtype=np.float64)
        values = np.empty((X.shape[0], len(self.support)))
        own = np.einsum("ij,ij->i", X, X)
        assert isinstance(self.kernel, Kernel)
        _core.kernel_columns(self.kernel.function, rows, norms, X, own, values, _core.Pool(1))
        return values @ self.coefficients

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != "_support_rows"}


class SummedProblems(Model):
    """A kernel machine on any basis: its problems count together."""

    certificates: tuple[KernelCertificate, ...]

    @property
    def certificate(self) -> KernelCertificate | None:
        """All problems as one."""
        return combined(self.certificates) if self.certificates else None


@dataclass(frozen=True)
class KernelModel(KernelExpansion, SummedProblems, Labelling):
    """Support vectors, their coefficients, and how predictions become classes.

    Parameters
    ----------
    kernel : Kernel, callable or "precomputed"
    vectors : array or CSR matrix of shape (m, d); None for a precomputed kernel
        The rows z_j. Points without a coefficient are not kept.
    coefficients : array of shape (m, number of problems)
        ``beta_jp``.
    support : array of shape (m,)
        Where the rows z_j were in the training data: the columns of a precomputed test kernel.
    n_features : int
        Columns of X; with a precomputed kernel the number of training rows.
    offsets : array of shape (number of problems,), optional
        Added to the predictions: models of LIBSVM have them, ours those with ``offset=B``.
    """

    kind = "kernel"

    kernel: Kernel | KernelCallable | str = stored(KernelFunction())
    vectors: Any = stored(Vectors(optional=True))
    coefficients: np.ndarray = stored(Floats(2))
    support: np.ndarray = stored(Positions())
    classes: np.ndarray = stored(Classes())
    n_features: int = stored(COUNT)
    _: KW_ONLY
    multi_class: str = stored(Words(("ovr", "ovo")), "ovr")
    certificates: tuple[KernelCertificate, ...] = stored(Certificates(KernelCertificate), ())
    solver: str = stored(Words(), "two-variable")
    offsets: np.ndarray | None = stored(Floats(1, optional=True), None)

    def __post_init__(self) -> None:
        m, k = len(self.support), len(self.classes)
        problems = 1 if k == 2 else (k if self.multi_class == "ovr" else k * (k - 1) // 2)
        if k < 2 or self.coefficients.shape != (m, problems):
            raise ValueError(
                f"coefficients of shape {self.coefficients.shape} do not fit {m} support vectors "
                f"and {k} classes"
            )
        self._check_expansion()
        self._check_problems(problems)

    @property
    def coding(self) -> Coding:
        return coding_of(len(self.classes), self.multi_class)

    def margins(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, k): the largest is the class decided."""
        return self.coding.scores(self.problems(X, threads))

    def problems(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and problem."""
        return self._shifted_sums(self.rows_of(X), threads)


def combined(certificates: Sequence[KernelCertificate]) -> KernelCertificate:
    """All problems as one: objectives add up, and the least good status stands."""
    statuses = [c.status for c in certificates]
    missed = [s for s in statuses if s is not Status.OPTIMAL]
    status = next((s for s in missed if s is not Status.RULE_MET), [Status.OPTIMAL, *missed][-1])
    return type(certificates[0])(
        sum(c.primal for c in certificates),
        sum(c.dual for c in certificates),
        status,
        sum(c.n_iter for c in certificates),
        max(c.seconds for c in certificates),
        clipped_gap=sum(c.clipped_gap for c in certificates),
        scale=sum(c.scale for c in certificates),
        tol=certificates[0].tol,
    )
