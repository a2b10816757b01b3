"""Planes over rows with more features than there are rows: kept by what made them.

A plane is a sum of rows. That of the hinge loss is made by a set of rows, those within the margin
where it touches the loss:

    a_j = - sum_{i in S_j} q_i x_i              q_i = y_i C_i

A set takes a bit a row, the plane a number a feature: a thousandth for text. So once the planes
are more to read than the data they are forgotten, and their products made from the sets and one
more pass over the data each:

    <a_j, a> = - sum_{i in S_j} q_i <x_i, a>      w = sum_i q_i x_i sum_{j: i in S_j} beta_j

Where features are made on the fly there may be more of them than memory has room for. There planes
of all other losses go the same way, each kept as its subgradient, ``a_j = sum_i l_ij x_i``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.solvers.common.vectors import inner
from maxmargin.solvers.linear.reduced_qp import KnownPlane, Planes

ENTRIES_OF_PLANES = 1  # for one of the data, from which on sets take over; 2 is as fast


def wide_planes(rows: Any, loss: Any) -> WidePlanes | None:
    """No planes yet, if what makes them is smaller than the planes (sets of rows that are each in
    or out at one cost; subgradients where features are made), and soon worth a pass."""
    if not isinstance(rows, ArrayRows | SourceRows):
        return None
    if not (rows.n < rows.width and ENTRIES_OF_PLANES * rows.nnz < rows.n * rows.width):
        return None
    if isinstance(loss, Pointwise) and loss.spec.name == "hinge":
        return WidePlanes(rows, SetsOfRows(rows, loss.q))
    return WidePlanes(rows, Subgradients()) if isinstance(rows, SourceRows) else None


class SetsOfRows:
    """Subgradients of the hinge loss, ``l_i = - q_i or 0``: a bit for each."""

    def __init__(self, rows: Any, q: np.ndarray) -> None:
        self._q, self._pool = q, rows.pool
        self._sets = _core.RowSets(rows.n)

    def append(self, subgrad: np.ndarray) -> None:
        self._sets.append(subgrad)

    def products(self, p: np.ndarray) -> np.ndarray:
        """``<l_j, p>`` for every j."""
        return self._sets.sums(-self._q * p, self._pool)

    def mix(self, beta: np.ndarray) -> np.ndarray:
        """``- sum_j beta_j l_j``"""
        return self._q * self._sets.shares(beta, self._pool)

    def keep(self, kept: list[int]) -> None:
        self._sets.keep(kept)


class Subgradients:
    """Subgradients of any loss, a number a row each."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray] = []

    def append(self, subgrad: np.ndarray) -> None:
        self._kept.append(subgrad.copy())

    def products(self, p: np.ndarray) -> np.ndarray:
        """``<l_j, p>`` for every j."""
        return np.array([inner(subgrad, p) for subgrad in self._kept])

    def mix(self, beta: np.ndarray) -> np.ndarray:
        """``- sum_j beta_j l_j``"""
        total = np.zeros(len(self._kept[0]))
        for share, subgrad in zip(beta, self._kept, strict=True):
            if share:
                total -= share * subgrad
        return total

    def keep(self, kept: list[int]) -> None:
        self._kept = [self._kept[j] for j in kept]


class WidePlanes(Planes):
    """Planes that come by `add_subgradient` only, and are kept by their subgradients."""

    def __init__(self, rows: Any, made_by: SetsOfRows | Subgradients) -> None:
        super().__init__(rows.width, rows.pool)
        self._data, self._made_by = rows, made_by
        self._forgotten = False

    def add_subgradient(self, rows: Rows, subgrad: np.ndarray, b: float) -> None:
        self._made_by.append(subgrad)
        super().add_subgradient(rows, subgrad, b)
        if not self._forgotten and len(self) * self._width > ENTRIES_OF_PLANES * self._data.nnz:
            self._forgotten = True
            self._chunks.clear()

    def known(self) -> list[KnownPlane]:
        """None: they would be more to keep than the data."""
        return []

    def _store(self, a: np.ndarray) -> np.ndarray:
        if not self._forgotten:
            return super()._store(a)
        return self._made_by.products(self._data.matvec(a))

    def _mix(self, beta: np.ndarray) -> tuple[np.ndarray, float]:
        if not self._forgotten:
            return super()._mix(beta)
        return self._data.rmatvec(self._made_by.mix(beta)), 0.0

    def _keep_stored(self, kept: np.ndarray) -> None:
        self._made_by.keep(kept.tolist())
        if not self._forgotten:
            super()._keep_stored(kept)
