"""What models on few basis vectors share: ``f_p(x) = sum_j beta_jp k(b_j, x)``, a column a p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.models.contents import Contents, Field
from maxmargin.models.kernel import SummedProblems, is_finite
from maxmargin.solvers.kernel.certificate import SpanCertificate
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.bounds import Bounds
from maxmargin.solvers.subspace.kernel_values import kernel_tiles


class BoundsOfProblems(Field):
    """Three numbers per problem, None for unknown, and whether they are estimates.

    Files of earlier versions do not say the latter: theirs may be.
    """

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = [
            [None if isinstance(v, float) and math.isnan(v) else v for v in astuple(bounds)]
            for bounds in value
        ]

    def unpack(self, name: str, found: Contents) -> tuple[Bounds, ...]:
        packed = found.plain.get(name)
        if not (isinstance(packed, list) and all(map(self._is_packed, packed))):
            raise ValueError("its bounds are not three numbers per problem")
        return tuple(map(self._one, packed))

    @staticmethod
    def _one(item: list[Any]) -> Bounds:
        delta, theorem2, exact_gap = (math.nan if v is None else float(v) for v in item[:3])
        return Bounds(delta, theorem2, exact_gap, item[3] if len(item) == 4 else True)

    @staticmethod
    def _is_packed(item: Any) -> bool:
        if not isinstance(item, list) or len(item) not in (3, 4):
            return False
        numbers = all(v is None or (is_finite(v) and v >= 0) for v in item[:3])
        return numbers and all(type(word) is bool for word in item[3:])


class BasisExpansion(SummedProblems):
    """Basis vectors b_j, and a column of coefficients for each problem.

    A subclass has the fields `kernel`, `vectors` (k, d), `coefficients` (k, problems) and `bounds`.
    """

    kernel: Kernel
    vectors: Any
    coefficients: np.ndarray
    bounds: Sequence[Bounds]
    certificates: tuple[SpanCertificate, ...]

    def _check_basis(self, problems: int, told: str) -> None:
        """Refuses fields that do not fit; `told` says what the number of problems comes from."""
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"the kernel is {self.kernel!r}, for which there are no basis vectors")
        k = self.vectors.shape[0]
        if problems < 1 or self.coefficients.shape != (k, problems):
            raise ValueError(
                f"coefficients of shape {self.coefficients.shape} do not fit {k} basis vectors "
                f"and {told}"
            )
        self._check_problems(problems, bounds=self.bounds)

    @property
    def n_features(self) -> int:
        return self.vectors.shape[1]

    @property
    def n_basis(self) -> int:
        return self.vectors.shape[0]

    @property
    def delta(self) -> float:
        """The largest projection error of a plane that holds a solution up."""
        return float(np.max([b.delta for b in self.bounds])) if self.bounds else math.nan

    @property
    def theorem2_bound(self) -> float:
        """How far the objective can be above that of the exact machine, by theorem 2."""
        return sum(b.theorem2 for b in self.bounds) if self.bounds else math.nan

    @property
    def exact_gap(self) -> float:
        """The same by the dual of the exact problem: closer."""
        return sum(b.exact_gap for b in self.bounds) if self.bounds else math.nan

    @property
    def bounds_are_estimates(self) -> bool:
        """Whether the three hold with a confidence of 99.9 % a problem only."""
        return any(b.estimated for b in self.bounds)

    def problems(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and problem: products with the basis, tile by tile."""
        X = self.rows_of(X)
        pool = _core.Pool(useful_threads(threads, X.shape[0] * len(self.coefficients)))
        f = np.zeros((X.shape[0], self.coefficients.shape[1]))
        for rows, vectors, K in kernel_tiles(X, self.vectors, self.kernel, pool):
            f[rows] += K @ self.coefficients[vectors]
        return f
