"""Planes of the hinge loss over rows with more features than there are rows.

A plane is made by a set of rows, those within the margin where it touches the loss:

    a_j = - sum_{i in S_j} q_i x_i              q_i = y_i C_i

A set takes a bit a row, the plane a number a feature: a thousandth for text. So once the planes
are more to read than the data they are forgotten, and their products made from the sets and one
more pass over the data each:

    <a_j, a> = - sum_{i in S_j} q_i <x_i, a>      w = sum_i q_i x_i sum_{j: i in S_j} beta_j
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.solvers.linear.reduced_qp import Planes

ENTRIES_OF_PLANES = 1  # for one of the data, from which on sets take over; 2 is as fast


def wide_planes(rows: Any, loss: Any) -> WidePlanes | None:
    """No planes yet, if planes are sets of rows (each in or out, at one cost), the sets are smaller
    than the planes, and soon worth a pass over the data."""
    if not (isinstance(rows, ArrayRows) and isinstance(loss, Pointwise)):
        return None
    is_wide = rows.n < rows.width and ENTRIES_OF_PLANES * rows.nnz < rows.n * rows.width
    return WidePlanes(rows, loss.q) if is_wide and loss.spec.name == "hinge" else None


class WidePlanes(Planes):
    """Planes of the hinge loss of `rows`, with the subgradients ``l_i = - q_i or 0``.

    They come by `add_subgradient` only: the set is made from the subgradient.
    """

    def __init__(self, rows: ArrayRows, q: np.ndarray) -> None:
        super().__init__(rows.width, rows.pool)
        self._data, self._q = rows, q
        self._sets = _core.RowSets(rows.n)
        self._by_sets = False

    def add_subgradient(self, rows: Rows, subgrad: np.ndarray, b: float) -> None:
        self._sets.append(subgrad)
        super().add_subgradient(rows, subgrad, b)
        if not self._by_sets and len(self) * self._width > ENTRIES_OF_PLANES * self._data.nnz:
            self._by_sets = True
            self._chunks.clear()

    def _store(self, a: np.ndarray) -> np.ndarray:
        if not self._by_sets:
            return super()._store(a)
        return self._sets.sums(-self._q * self._data.matvec(a), self._pool)

    def _mix(self, beta: np.ndarray) -> tuple[np.ndarray, float]:
        if not self._by_sets:
            return super()._mix(beta)
        return self._data.rmatvec(self._q * self._sets.shares(beta, self._pool)), 0.0

    def _keep_stored(self, kept: np.ndarray) -> None:
        self._sets.keep(kept.tolist())
        if not self._by_sets:
            super()._keep_stored(kept)
