"""Kernel values in float64: what an answer found on float32 rows is judged by.

    block(rows)                      k(x_i, x_j) among them
    combine(rows, columns, beta)     f_i = sum_j beta_j k(x_i, x_j), and e_i: |computed f_i - f_i|
    diagonal                         k(x_i, x_i)
    search_error                     what float32 values of a search err by, beside sqrt(k_ii k_jj)

Rounding of a value is bounded beside the value itself, or, where inner products cancel, beside
``sqrt(k_ii k_jj) >= |k_ij|`` (Cauchy and Schwarz).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.blas import OneBlasThread, in_threads
from maxmargin.solvers.kernel.gram import (
    BAND,
    TILE,
    Kernel,
    Points,
    Products,
    tiles,
    upper_tiles,
)

EPSILON = float(np.finfo(np.float64).eps)
FLOAT32 = float(np.finfo(np.float32).eps)
# Above this value of gamma ||x||^2 norms and products are too coarse for the distance of close
# points, and differences are squared instead.
WIDE = 500.0


class GivenValues:
    """A matrix that somebody gave: its numbers are the kernel, whatever they were made from."""

    def __init__(self, K: np.ndarray, order: np.ndarray | None = None) -> None:
        self.K, self.order = K, order
        self.n: int = K.shape[0]
        diagonal = np.diagonal(K).astype(np.float64)
        self.diagonal = diagonal if order is None else diagonal[order]
        self.search_error = FLOAT32

    def _places(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.order is None else self.order[rows]

    def block(self, rows: np.ndarray) -> np.ndarray:
        return self._between(rows, rows)

    def _between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.K[np.ix_(self._places(rows), self._places(columns))], np.float64)

    def combine(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        f, reach = np.empty(len(rows)), np.empty(len(rows))

        def combine_some(part: tuple[int, int]) -> None:
            begin, end = part
            values = self._between(rows[begin:end], columns)
            f[begin:end] = values @ beta
            reach[begin:end] = np.abs(values, out=values) @ np.abs(beta)

        in_threads(combine_some, list(tiles(len(rows))), pool)
        return f, EPSILON * (2 + 0.5 * math.sqrt(len(columns))) * reach


class NamedValues:
    """Values of a kernel by name, computed from the rows a tile at a time."""

    def __init__(self, points: Points, kernel: Kernel) -> None:
        self.points, self.kernel = points, kernel
        self.n: int = points.n
        norms = points.squared_norms
        self.spread = kernel.gamma * float(norms.max(initial=0.0))
        dense = not sp.issparse(self.points.tile(0, 1))
        close = kernel.name == "laplacian" or self.spread > WIDE
        self.by_differences = kernel.of_distance and dense and close
        if self.by_differences:  # of the rows as they were given: centred ones are rounded
            self.points = points.without_centre()
        self.diagonal = self._diagonal(norms)

    def _diagonal(self, norms: np.ndarray) -> np.ndarray:
        kernel = self.kernel
        if kernel.of_distance:
            return np.full(self.n, 1.0 + kernel.constant)
        if kernel.name == "linear":
            return norms + kernel.constant
        with np.errstate(over="ignore"):  # infinity is refused with C and the weights in sight
            return (kernel.gamma * norms + kernel.coef0) ** float(kernel.degree) + kernel.constant

    @property
    def search_error(self) -> float:
        return 4 * FLOAT32 * self._power + self._value_error(by_differences=False)

    @property
    def _power(self) -> int:
        return self.kernel.degree if self.kernel.name == "poly" else 1

    def _value_error(self, by_differences: bool) -> float:
        """Of one value beside sqrt(k_ii k_jj), from rounding in inner products."""
        product = EPSILON * (4 + math.sqrt(self.points.X.shape[1]))
        if not self.kernel.of_distance or by_differences:
            return self._power * product
        if self.kernel.name == "laplacian":  # the root of a distance that should be 0
            return math.sqrt(min(self.kernel.gamma * self.spread * 4 * product, 1.0))
        return min(4 * self.spread * product, 1.0)

    def block(self, rows: np.ndarray) -> np.ndarray:
        points, pool = self.points.taken(rows), _core.Pool(1)
        whole = points.tile(0, points.n), points, 0
        with OneBlasThread()():
            K = self._tile(*whole, *whole, Products(points.n, points.n, pool), pool)
        np.fill_diagonal(K, self.diagonal[rows])
        return K

    def combine(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The columns must be the first of the rows: of their own block half is computed."""
        m = len(columns)
        both = np.column_stack([beta, np.abs(beta)])
        sums = np.zeros((len(rows), 2))
        self._add_own(columns, both, sums[:m], pool)
        self._add_others(rows[m:], columns, both, sums[m:], pool)
        reach = sums[:, 1]
        if not self.kernel.of_distance:
            sizes = np.sqrt(self.diagonal)
            reach = sizes[rows] * float(np.abs(beta) @ sizes[columns])
        error = EPSILON * (4 + 0.5 * math.sqrt(m)) + self._value_error(self.by_differences)
        return sums[:, 0], error * reach

    def _add_own(self, columns, both, sums, pool) -> None:
        """``sums += K both`` for the symmetric K of the columns among themselves."""
        points = self.points.taken(columns)
        part = points.held() or points.tile

        def sums_of_band(band: tuple[int, int]) -> np.ndarray:
            """What a band of rows, and its mirror image, add to all rows from its first on."""
            values = self._values(points, points, _core.Pool(1))
            first = band[0]
            some = np.zeros((points.n - first, 2))
            for row, column, left, right in upper_tiles(points, band, part):
                G = values(row, left, column, right)
                end, last = row + left.shape[0], column + right.shape[0]
                if column == row:
                    np.fill_diagonal(G, self.diagonal[columns[row:end]])
                some[row - first : end - first] += G @ both[column:last]
                mirrored = max(column, end)  # right of the diagonal block
                right_of = G[:, mirrored - column :]
                some[mirrored - first : last - first] += right_of.T @ both[row:end]
            return some

        bands = list(tiles(points.n, TILE))
        for (first, _), some in zip(bands, in_threads(sums_of_band, bands, pool)):
            sums[first:] += some

    def _add_others(self, rows, columns, both, sums, pool) -> None:
        """``sums += K both`` for the K of other rows and the columns."""
        if not len(columns):
            return
        left_points, right_points = self.points.taken(rows), self.points.taken(columns)
        right_tile = right_points.held() or right_points.tile

        def add_some(part: tuple[int, int]) -> None:
            row, end = part
            values = self._values(left_points, right_points, _core.Pool(1))
            left = left_points.tile(row, end)
            for column, last in tiles(len(columns), TILE):
                G = values(row, left, column, right_tile(column, last))
                sums[row:end] += G @ both[column:last]

        in_threads(add_some, list(tiles(len(rows), BAND)), pool)

    def _values(self, of_left: Points, of_right: Points, pool: _core.Pool):
        """A function of tiles of these points and of where they begin: their kernel values."""
        products = Products(min(BAND, of_left.n), min(TILE, of_right.n), pool)

        def values(row: int, left, column: int, right) -> np.ndarray:
            return self._tile(left, of_left, row, right, of_right, column, products, pool)

        return values

    def _tile(self, left, of_left, row, right, of_right, column, products, pool) -> np.ndarray:
        row_norms = of_left.squared_norms[row : row + left.shape[0]]
        column_norms = of_right.squared_norms[column : column + right.shape[0]]
        if self.by_differences:
            from scipy.spatial.distance import cdist  # slow to import, and seldom needed

            G = np.ascontiguousarray(cdist(left, right, "sqeuclidean"))
            G *= -0.5  # norms of 0 and this product make the distance
            row_norms, column_norms = np.zeros(len(row_norms)), np.zeros(len(column_norms))
        else:
            G = products(left, right)
        _core.kernel_values(self.kernel.function, G, row_norms, column_norms, pool)
        return G


Exact = GivenValues | NamedValues
