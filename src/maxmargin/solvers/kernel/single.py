"""Sums of kernel values in float32, with what they err by: for what ranks points, and for what is
judged in float64 where that matters. Products and values take half of the time of float64.

Distances from float32 products lose digits in proportion to ``gamma ||x||^2``: where that is large,
for other kernels and for sparse rows the sums are made in float64.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.blas import in_threads
from maxmargin.solvers.kernel.exact import FLOAT32, STRIP, NamedValues
from maxmargin.solvers.kernel.gram import HELD_BYTES, TILE, tiles

MOST_SPREAD = 64.0  # gamma ||x||^2 up to which three digits of a value are sure, and more likely
REACH = 1e30  # what gamma, norms and coefficients may be for products of them to fit a float32
TINY = float(np.finfo(np.float32).tiny)


class SingleSums:
    """``f_i = sum_j beta_j k(x_j, x_i)`` at points without a coefficient."""

    def __init__(self, exact: NamedValues) -> None:
        self.exact, self.points = exact, exact.points
        self.norms = np.zeros(0, dtype=np.float32)
        self.rows: np.ndarray | None = None  # all of them in float32, if they are small enough
        self.suits = self._suits()
        if self.suits:
            self.norms = self.points.squared_norms.astype(np.float32)
            if 4 * self.points.n * self.points.X.shape[1] <= HELD_BYTES:
                self.rows = self._converted(np.arange(self.points.n))

    def _suits(self) -> bool:
        kernel, norms = self.exact.kernel, self.points.squared_norms
        return (
            kernel.name == "rbf"
            and self.exact.spread <= MOST_SPREAD
            and 1.0 / REACH <= kernel.gamma <= REACH
            and kernel.constant <= REACH
            and float(norms.max(initial=0.0)) <= REACH
            and not sp.issparse(self.points.tile(0, 1))
        )

    def at(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        """f of rows that are not among the columns, and e_i: |computed f_i - f_i|."""
        if not self.suits:
            return self.exact.at_others(rows, columns, beta, pool)
        order = np.argsort(beta <= 0, kind="stable")  # positive ones first
        columns, beta = columns[order], beta[order].astype(np.float32)
        positive, right, norms = int((beta > 0).sum()), self._tile(columns), self.norms[columns]
        sums = np.zeros((len(rows), 2))

        def add_some(part: tuple[int, int]) -> None:
            some = slice(*part)
            left, own = self._tile(rows[some]), self.norms[rows[some]]
            memory = np.empty(len(left) * min(TILE, len(right)), dtype=np.float32)
            for column, last in tiles(len(right), TILE):
                G = memory[: len(left) * (last - column)].reshape(len(left), last - column)
                np.matmul(left, right[column:last].T, out=G)
                ahead = min(max(positive - column, 0), last - column)
                beside = norms[column:last], beta[column:last], ahead
                _core.add_kernel_sums(self.exact.kernel.function, G, own, *beside, sums[some])

        in_threads(add_some, list(tiles(len(rows), STRIP)), pool)
        reach = sums[:, 0] - sums[:, 1]
        return sums[:, 0] + sums[:, 1], self._error(len(columns)) * reach + self._least(beta)

    def _error(self, m: int) -> float:
        """Of a sum of m values, beside the sum of their magnitudes."""
        product = FLOAT32 * (4 + math.sqrt(self.points.X.shape[1]))
        return FLOAT32 * (4 + 0.5 * math.sqrt(m)) + min(4 * self.exact.spread * product, 1.0)

    @staticmethod
    def _least(beta: np.ndarray) -> float:
        """What values that float32 calls 0 may add up to."""
        return TINY * float(np.abs(beta).sum(dtype=np.float64))

    def _tile(self, rows: np.ndarray) -> np.ndarray:
        return self._converted(rows) if self.rows is None else self.rows[rows]

    def _converted(self, rows: np.ndarray) -> np.ndarray:
        """Rows in float32, centred in float64."""
        some = self.points.taken(rows)
        converted = np.empty((len(rows), self.points.X.shape[1]), dtype=np.float32)
        for begin, end in tiles(len(rows)):
            converted[begin:end] = some.tile(begin, end)
        return converted
