"""The Gram matrices of one subset of points after another, in the same memory.

What two subsets in a row have in common is kept where inner products are long; else computing it
again takes no longer than moving it.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel.exact import NamedValues
from maxmargin.solvers.kernel.gram import fill
from maxmargin.solvers.kernel.sources import MatrixSource, PartialSource, rows_worth_a_matrix

ROOM = 1.5  # times the points of a subset: what is made room for
LONG = 32  # features from which moving a value costs less than computing it
KEPT = 0.5  # share of a subset whose values are known that makes the others worth a matrix


class SubsetGram:
    """The matrix of the subset that was asked for last, if it was filled."""

    def __init__(self, exact: NamedValues, pool: _core.Pool) -> None:
        self.exact, self.pool = exact, pool
        self.keeps = exact.kernel.of_distance and not exact.by_differences
        self.square = np.empty((0, 0), dtype=np.float32)
        self.subset = np.empty(0, dtype=np.int64)
        self.source: MatrixSource | PartialSource | None = None

    def of(self, subset: np.ndarray, used: int) -> tuple[np.ndarray, MatrixSource | PartialSource]:
        """The subset, in an order that suits, and its kernel rows: all at once where at least half
        of those that they are worth were used before."""
        exact, known = self.exact, self._known(subset)
        subset = np.concatenate([self.subset[known], np.setdiff1d(subset, self.subset[known])])
        K = self._room_for(len(subset), known)
        worth = len(subset) / exact.n * rows_worth_a_matrix(exact.points.X)
        whole = len(known) >= KEPT * len(subset) or 2 * used >= worth
        source: MatrixSource | PartialSource
        if self.keeps and whole:
            of_subset = exact.taken(subset)
            fill(of_subset.points, exact.kernel.function, K, self.pool, len(known))
            source = MatrixSource(K, exact=of_subset)
        else:
            source = PartialSource(exact.points.X[subset], exact.kernel, self.pool, K)
            if whole:
                source.fill(self.pool)
        self.subset, self.source = subset, source
        return subset, source

    def _known(self, subset: np.ndarray) -> np.ndarray:
        """Places in the last subset of points whose values are kept."""
        wide = self.exact.points.X.shape[1] >= LONG
        if self.source is None or not (wide and self.keeps and self.source.rows.whole):
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.isin(self.subset, subset))

    def _room_for(self, m: int, known: np.ndarray) -> np.ndarray:
        """An m x m matrix that begins with the known values."""
        before = self.square
        if len(self.square) < m:
            room = -(-int(ROOM * m) // 16) * 16  # rows begin at cache lines
            self.square = np.empty((room, room), dtype=np.float32)
        _core.copy_block(before, known, self.square)
        return self.square[:m, :m]
