"""Kernels, their matrices, and rows of them when the matrix does not fit.

    rbf        k(x, z) = exp(-gamma ||x - z||^2)
    laplacian  k(x, z) = exp(-gamma ||x - z||)          the "Poisson" kernel of the no-offset paper
    poly       k(x, z) = (gamma <x, z> + coef0)^degree
    linear     k(x, z) = <x, z>

Inner products are done by BLAS in float64, a tile at a time, so that the distance of close points
keeps its digits; kernel values are float32 in matrices and float64 in predictions. A matrix is
symmetric, so only tiles on and right of the diagonal are computed.

A constant can be added to every value: with B^2 the machine has an offset b that costs
``b^2 / (2 B^2)``, and nothing else about it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.sparse import checked_csr
from maxmargin.solvers.kernel.blas import in_threads

TILE = 1024  # rows that are converted to float64 together
BAND = 256  # of those, rows whose products are made together: 2 MB that the caches can hold
NEIGHBOURS = 10  # N of the paper
HELD_BYTES = 2**26  # rows up to this size are converted to float64 tiles once
# BLAS on dense tiles multiplies about this many times faster than a sparse product does.
DENSE_ADVANTAGE = 20
NARROW = 16  # features up to which the core multiplies faster than BLAS begins

KernelCallable = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """A kernel function of inner products and norms."""

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    constant: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}; got {self.name!r}")
        if self.name != "linear" and not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise ValueError(f"gamma must be a positive number; got {self.gamma!r}")
        least = int(self.name == "poly")  # others have no use for it
        if not (least <= self.degree < 2**31 and int(self.degree) == self.degree):
            raise ValueError(f"degree must be a positive integer below 2^31; got {self.degree!r}")
        if self.name == "poly" and not (self.coef0 >= 0 and math.isfinite(self.coef0)):
            raise ValueError(
                f"coef0 must not be negative (the kernel would not be positive definite); "
                f"got {self.coef0!r}"
            )

    @property
    def of_distance(self) -> bool:
        """Whether k(x, z) depends on ||x - z|| alone: one matrix of distances serves all gammas."""
        return self.name in ("rbf", "laplacian")

    @property
    def function(self) -> _core.KernelFunction:
        kind = getattr(_core.KernelKind, self.name)
        numbers = float(self.gamma), float(self.coef0), int(self.degree), float(self.constant)
        return _core.KernelFunction(kind, *numbers)

    def with_gamma(self, gamma: float) -> Kernel:
        return replace(self, gamma=float(gamma))


KERNELS = ("rbf", "laplacian", "poly", "linear")
DISTANCE = _core.KernelFunction(_core.KernelKind.distance)


# ---------------------------------------------------------------- inner products, a tile at a time


class Points:
    """Rows whose inner products are asked for a tile at a time.

    Dense rows are centred tile by tile if `centre` is given (a translation changes no distance, and
    products of centred rows are smaller, hence more exact), and taken in the given `order`. No copy
    of X is made.
    """

    def __init__(
        self, X: Any, centre: np.ndarray | None = None, order: np.ndarray | None = None
    ) -> None:
        self._tile: Callable[[Any], Any]
        if sp.issparse(X):
            X = checked_csr(X)
            if X.shape[1] <= DENSE_ADVANTAGE * X.nnz / max(X.shape[0], 1):
                self._tile = lambda part: np.asarray(part.toarray(), dtype=np.float64)
            else:
                self._tile = lambda part: part.astype(np.float64, copy=False)
            centre = None
        else:
            X = np.asarray(X)
            self._tile = lambda part: np.asarray(part, dtype=np.float64)
        self.X = X
        self.n = X.shape[0]
        self.centre = centre
        self.order = order
        self.squared_norms = self._squared_norms()

    def tile(self, begin: int, end: int) -> Any:
        """Rows begin to end in float64, centred; dense, or CSR where that is cheaper."""
        rows = slice(begin, end) if self.order is None else self.order[begin:end]
        part = self._tile(self.X[rows])
        return part if self.centre is None else part - self.centre

    def held(self) -> Callable[[int, int], Any] | None:
        """`tile` of rows that are converted beforehand, if they are small enough to be kept."""
        if sp.issparse(self.tile(0, 1)) or 8 * self.n * self.X.shape[1] > HELD_BYTES:
            return None
        rows = self.tile(0, self.n)
        return lambda begin, end: rows[begin:end]

    def taken(self, rows: np.ndarray) -> Points:
        """Some of these rows, with the same centre."""
        some = copy(self)
        some.order = rows if self.order is None else self.order[rows]
        some.n, some.squared_norms = len(rows), self.squared_norms[rows]
        return some

    def without_centre(self) -> Points:
        """The rows as they were given; their norms remain those about the centre."""
        given = copy(self)
        given.centre = None
        return given

    def _squared_norms(self) -> np.ndarray:
        norms = np.empty(self.n)
        for begin, end in tiles(self.n):
            part = self.tile(begin, end)
            squares = (
                part.multiply(part).sum(axis=1) if sp.issparse(part) else (part**2).sum(axis=1)
            )
            norms[begin:end] = np.asarray(squares).ravel()
        if not np.isfinite(norms).all():
            raise ValueError(
                f"the squared norm of row {int(np.argmin(np.isfinite(norms)))} is too large for a "
                f"float64; scale the features down"
            )
        return norms


def centre_of(X: Any) -> np.ndarray | None:
    """The mean row of dense X; None for sparse X, whose zeros it would destroy."""
    return None if sp.issparse(X) else np.asarray(np.mean(X, axis=0, dtype=np.float64))


class Products:
    """Inner products of tiles, in memory used again: fresh pages cost more than the sums."""

    def __init__(self, rows: int, columns: int, pool: _core.Pool) -> None:
        self._memory = np.empty(rows * columns)
        self._pool = pool

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        """``<x, z>`` for every x of one tile and z of another; valid until the next call."""
        shape = (left.shape[0], right.shape[0])
        out = self._memory[: shape[0] * shape[1]].reshape(shape)
        if sp.issparse(left) and sp.issparse(right):
            (left @ right.T).toarray(out=out)
        elif sp.issparse(left) or sp.issparse(right):
            out[:] = left @ right.T
        elif 0 < left.shape[1] <= NARROW:
            columns = np.ascontiguousarray(right.T)
            _core.narrow_products(np.ascontiguousarray(left), columns, out, self._pool)
        else:
            np.matmul(left, right.T, out=out)
        return out


def tiles(n: int, size: int = TILE, start: int = 0) -> Iterator[tuple[int, int]]:
    for begin in range(start, n, size):
        yield begin, min(begin + size, n)


def upper_tiles(
    points: Points,
    band: tuple[int, int],
    part: Callable[[int, int], Any],
    height: int,
    start: int = 0,
) -> Iterator[tuple[int, int, Any, Any]]:
    """Tiles of a band of rows that cover the diagonal and what is right of it.

    Each with the place of its first row and of its first column; the first tile begins on the
    diagonal, or at the column `start` where that is further right. `part` gives rows begin to end,
    `height` is how many rows a tile has.
    """
    begin, end = band
    left = part(begin, end)
    for column, last in tiles(points.n, TILE, max(begin, start)):
        right = left if column == begin else part(column, last)
        for first, stop in tiles(end - begin, height):
            ahead = first if column == begin else 0
            yield begin + first, column + ahead, left[first:stop], right[ahead:]


# ---------------------------------------------------------------- whole matrices


def empty_matrix(n: int, memory: np.ndarray | None = None) -> np.ndarray:
    """An n x n float32 matrix whose rows start at cache lines, in memory of one as large if given:
    pages that were never written to cost more than kernel values do."""
    stride = -(-n // 16) * 16
    memory = np.empty(n * stride, dtype=np.float32) if memory is None else memory
    return memory[: n * stride].reshape(n, stride)[:, :n]


def matrix_bytes(n: int) -> int:
    """What `empty_matrix` takes."""
    return 4 * n * (-(-n // 16) * 16)


def fill(
    points: Points,
    function: _core.KernelFunction,
    K: np.ndarray,
    pool: _core.Pool,
    known: int = 0,
) -> np.ndarray:
    """``K_ij = k(x_i, x_j)`` in float32, in the memory given; of the first `known` points the
    values among themselves are there already."""
    if known == points.n:
        return K
    part = points.held() or points.tile

    def fill_band(band: tuple[int, int]) -> None:
        alone = _core.Pool(1)
        products = Products(min(BAND, points.n), min(TILE, points.n), alone)
        for row, column, left, right in upper_tiles(points, band, part, BAND, known):
            G = products(left, right)
            _core.fill_symmetric(function, G, row, column, points.squared_norms, K, alone)

    in_threads(fill_band, [*tiles(known, TILE), *tiles(points.n, TILE, known)], pool)
    return K


def points_for(X: Any, kernel: Kernel, order: np.ndarray | None = None) -> Points:
    """The rows in the given order, centred if that changes no value of the kernel."""
    return Points(X, centre_of(X) if kernel.of_distance else None, order)


def kernel_matrix(X: Any, kernel: Kernel, pool: _core.Pool) -> np.ndarray:
    """``K_ij = k(x_i, x_j)`` in float32."""
    return fill(points_for(X, kernel), kernel.function, empty_matrix(X.shape[0]), pool)


def distance_matrix(X: Any, pool: _core.Pool, order: np.ndarray | None = None) -> np.ndarray:
    """``D_ij = ||x_i - x_j||^2`` in float32: what the matrices of every gamma are made of."""
    return fill(Points(X, centre_of(X), order), DISTANCE, empty_matrix(X.shape[0]), pool)


def kernel_from_distances(
    kernel: Kernel, D: np.ndarray, K: np.ndarray, pool: _core.Pool
) -> np.ndarray:
    """``K = k(D)`` for a kernel of the distance; K may be D itself."""
    _core.kernel_from_distances(kernel.function, D, K, pool)
    return K


# ---------------------------------------------------------------- neighbours


def neighbours_in(distances: np.ndarray, count: int, pool: _core.Pool) -> np.ndarray:
    """The `count` nearest others of every point, nearest first, from a matrix of distances."""
    count = max(0, min(count, distances.shape[0] - 1))
    nearest = np.empty((distances.shape[0], count), dtype=np.int32)
    if count:
        _core.nearest_columns(distances, 0, nearest, pool)
    return nearest


def neighbours_by_kernel(K: np.ndarray, count: int, pool: _core.Pool) -> np.ndarray:
    """The same in kernel distance ``k(x, x) + k(z, z) - 2 k(x, z)``, from the kernel matrix.

    A quarter of it, exactly: the sum of values near the end of float32 is in it too.
    """
    n = K.shape[0]
    count = max(0, min(count, n - 1))
    nearest = np.empty((n, count), dtype=np.int32)
    quarter, half = np.float32(0.25), np.float32(0.5)
    diagonal = quarter * np.diagonal(K)
    for begin, end in tiles(n) if count else ():
        D: np.ndarray = diagonal[begin:end, None] + diagonal[None, :] - half * K[begin:end]
        _core.nearest_columns(D, begin, nearest[begin:end], pool)
    return nearest


# ---------------------------------------------------------------- kernel values for predictions


def expand(
    X: Any, points: Points, kernel: Kernel, coefficients: np.ndarray, pool: _core.Pool
) -> np.ndarray:
    """``sum_j coefficients[j, :] k(x, z_j)`` for every row x of X and the rows z_j of `points`.

    Tiles of kernel values, each used and forgotten; threads are those of the pool.
    """
    left_points = Points(X, points.centre)
    out = np.zeros((left_points.n, coefficients.shape[1]))
    right_tile = points.held() or points.tile

    def expand_rows(rows: tuple[int, int]) -> None:
        begin, end = rows
        alone = _core.Pool(1)
        products = Products(end - begin, min(TILE, points.n), alone)
        left, norms = left_points.tile(begin, end), left_points.squared_norms[begin:end]
        for column, stop in tiles(points.n, TILE):
            G = products(left, right_tile(column, stop))
            others = points.squared_norms[column:stop]
            _core.kernel_values(kernel.function, G, norms, others, alone)
            out[begin:end] += G @ coefficients[column:stop]

    in_threads(expand_rows, list(tiles(left_points.n, BAND)), pool)
    return out
