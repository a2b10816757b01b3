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
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.blas import OneBlasThread, in_threads
from maxmargin.solvers.kernel.gram import (
    TILE,
    Kernel,
    Points,
    Products,
    tiles,
    upper_tiles,
)

EPSILON = float(np.finfo(np.float64).eps)
FLOAT32 = float(np.finfo(np.float32).eps)
STRIP = 128  # rows of a tile whose values are used together: 1 MB of inner products
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
        return self.between(rows, rows)

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values of rows with columns."""
        return np.asarray(self.K[np.ix_(self._places(rows), self._places(columns))], np.float64)

    def combine(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        f, reach = np.empty(len(rows)), np.empty(len(rows))

        def combine_some(part: tuple[int, int]) -> None:
            begin, end = part
            values = self.between(rows[begin:end], columns)
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
        whole, norms = points.tile(0, points.n), self._norms(points)
        with OneBlasThread()():
            K = self._products(points.n, points.n)(whole, whole)
            _core.kernel_values(self.kernel.function, K, norms, norms, pool)
        np.fill_diagonal(K, self.diagonal[rows])
        return K

    def combine(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The columns must be the first of the rows: of their own block half is computed."""
        m, (order, support) = len(columns), self._support(columns, beta)
        sums = np.empty((len(rows), 2))  # over positive coefficients, and over the others
        sums[order] = self._own_sums(support, self.diagonal[columns[order]], pool).T
        sums[m:] = self._other_sums(rows[m:], support, pool)
        return sums[:, 0] + sums[:, 1], self._errors(sums, rows, columns, beta)

    def at_others(
        self, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray, pool: _core.Pool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same where no row is among the columns."""
        sums = self._other_sums(rows, self._support(columns, beta)[1], pool)
        return sums[:, 0] + sums[:, 1], self._errors(sums, rows, columns, beta)

    def _support(self, columns: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, _Support]:
        order = np.argsort(beta <= 0, kind="stable")  # positive ones first
        points = self.points.taken(columns[order])
        return order, _Support(points, beta[order], int((beta > 0).sum()))

    def _errors(
        self, sums: np.ndarray, rows: np.ndarray, columns: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        reach = sums[:, 0] - sums[:, 1]
        if not self.kernel.of_distance:
            sizes = np.sqrt(self.diagonal)
            reach = sizes[rows] * float(np.abs(beta) @ sizes[columns])
        m = len(columns)
        error = EPSILON * (4 + 0.5 * math.sqrt(m)) + self._value_error(self.by_differences)
        return np.asarray(error * reach)

    def taken(self, rows: np.ndarray) -> NamedValues:
        """The same of some of the points."""
        some = copy(self)
        some.points, some.n = self.points.taken(rows), len(rows)
        some.diagonal = self.diagonal[rows]
        return some

    def _own_sums(self, support: _Support, diagonal: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """Of the support vectors among themselves, one row for each sign of the coefficients."""
        points, beta, positive = support.points, support.beta, support.positive
        norms = self._norms(points)
        part = points.held() or points.tile

        def sums_of_band(band: tuple[int, int]) -> np.ndarray:
            """What a band of rows, and its mirror image, add to all rows from its first on."""
            first = band[0]
            products = self._products(min(STRIP, points.n), min(TILE, points.n))
            some = np.zeros((2, points.n - first))
            ahead = norms[first:], beta[first:], max(positive - first, 0)
            for row, column, left, right in upper_tiles(points, band, part, STRIP):
                G = products(left, right)
                _core.add_symmetric_sums(
                    self.kernel.function, G, row - first, column - first, *ahead, some
                )
            return some

        sums = np.zeros((2, points.n))
        sums[0, :positive] = diagonal[:positive] * beta[:positive]
        sums[1, positive:] = diagonal[positive:] * beta[positive:]
        bands = list(tiles(points.n, TILE))
        for (first, _), some in zip(bands, in_threads(sums_of_band, bands, pool)):
            sums[:, first:] += some
        return sums

    def _other_sums(self, rows: np.ndarray, support: _Support, pool: _core.Pool) -> np.ndarray:
        """Of other rows with the support vectors, one column for each sign."""
        sums = np.zeros((len(rows), 2))
        if not len(support.beta):
            return sums
        left_points, right_points = self.points.taken(rows), support.points
        left_norms, right_norms = self._norms(left_points), self._norms(right_points)
        right_tile = right_points.held() or right_points.tile

        def add_some(part: tuple[int, int]) -> None:
            row, end = part
            products = self._products(end - row, min(TILE, right_points.n))
            left = left_points.tile(row, end)
            for column, last in tiles(right_points.n, TILE):
                G = products(left, right_tile(column, last))
                beta, positive = support.beta[column:last], support.positive - column
                norms = left_norms[row:end], right_norms[column:last]
                positive = min(max(positive, 0), len(beta))
                _core.add_kernel_sums(
                    self.kernel.function, G, *norms, beta, positive, sums[row:end]
                )

        in_threads(add_some, list(tiles(len(rows), STRIP)), pool)
        return sums

    def _norms(self, points: Points) -> np.ndarray:
        """Squared norms, or 0 where the products are made of differences."""
        return np.zeros(points.n) if self.by_differences else points.squared_norms

    def _products(self, rows: int, columns: int) -> Callable[[Any, Any], np.ndarray]:
        """A function of two tiles: inner products, or what stands for them beside norms of 0."""
        return _half_distances if self.by_differences else Products(rows, columns, _core.Pool(1))


def _half_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``-1/2 ||x - z||^2``, from differences."""
    from scipy.spatial.distance import cdist  # slow to import, and seldom needed

    G = np.ascontiguousarray(cdist(left, right, "sqeuclidean"))
    G *= -0.5
    return G


@dataclass(frozen=True)
class _Support:
    """Points with coefficients, of which the first `positive` are positive."""

    points: Points
    beta: np.ndarray
    positive: int


Exact = GivenValues | NamedValues
