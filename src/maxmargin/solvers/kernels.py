"""Kernels, their matrices, and rows of them when the matrix does not fit.

    rbf        k(x, z) = exp(-gamma ||x - z||^2)
    laplacian  k(x, z) = exp(-gamma ||x - z||)          the "Poisson" kernel of the no-offset paper
    poly       k(x, z) = (gamma <x, z> + coef0)^degree
    linear     k(x, z) = <x, z>

Inner products are done by BLAS in float64, a tile at a time, so that the distance of close points
keeps its digits; kernel values are float32. A matrix is symmetric, so only tiles on and right of
the diagonal are computed.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController, threadpool_limits

from maxmargin import _core

TILE = 1024  # rows and columns of a tile: 8 MB of float64 products
NEIGHBOURS = 10  # N of the paper
# BLAS on dense tiles multiplies about this many times faster than a sparse product does.
DENSE_ADVANTAGE = 20

_BLAS = threading.RLock()

KernelCallable = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """A kernel function of inner products and norms."""

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}; got {self.name!r}")
        if self.name != "linear" and not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise ValueError(f"gamma must be a positive number; got {self.gamma!r}")
        if self.name == "poly" and not (self.degree >= 1 and int(self.degree) == self.degree):
            raise ValueError(f"degree must be a positive integer; got {self.degree!r}")
        if self.name == "poly" and not (self.coef0 >= 0 and math.isfinite(self.coef0)):
            raise ValueError(
                f"coef0 must not be negative (the kernel would not be positive definite); "
                f"got {self.coef0!r}"
            )

    @property
    def of_distance(self) -> bool:
        """Whether k(x, z) depends on ||x - z|| alone: one matrix of distances serves all widths."""
        return self.name in ("rbf", "laplacian")

    @property
    def function(self) -> _core.KernelFunction:
        kind = getattr(_core.KernelKind, self.name)
        return _core.KernelFunction(kind, float(self.gamma), float(self.coef0), int(self.degree))

    def with_gamma(self, gamma: float) -> Kernel:
        return replace(self, gamma=float(gamma))


KERNELS = ("rbf", "laplacian", "poly", "linear")
_DISTANCE = _core.KernelFunction(_core.KernelKind.distance)


# ---------------------------------------------------------------- inner products, a tile at a time


class Points:
    """Rows whose inner products are asked for a tile at a time.

    Dense rows are centred tile by tile if `centre` is given (a translation changes no distance, and
    products of centred rows are smaller, hence more exact), and taken in the given `order`. No copy
    of X is made.
    """

    def __init__(
        self, X, centre: np.ndarray | None = None, order: np.ndarray | None = None
    ) -> None:
        if sp.issparse(X):
            X = X.tocsr()
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

    def tile(self, begin: int, end: int):
        """Rows begin to end in float64, centred; dense, or CSR where that is cheaper."""
        rows = slice(begin, end) if self.order is None else self.order[begin:end]
        part = self._tile(self.X[rows])
        return part if self.centre is None else part - self.centre

    def _squared_norms(self) -> np.ndarray:
        norms = np.empty(self.n)
        for begin, end in tiles(self.n):
            part = self.tile(begin, end)
            squares = (
                part.multiply(part).sum(axis=1) if sp.issparse(part) else (part**2).sum(axis=1)
            )
            norms[begin:end] = np.asarray(squares).ravel()
        return norms


def centre_of(X) -> np.ndarray | None:
    """The mean row of dense X; None for sparse X, whose zeros it would destroy."""
    return None if sp.issparse(X) else np.asarray(np.mean(X, axis=0, dtype=np.float64))


class Products:
    """Inner products of tiles, in memory used again: fresh pages cost more than the sums."""

    def __init__(self, rows: int = TILE, columns: int = TILE) -> None:
        self._memory = np.empty(rows * columns)

    def __call__(self, left, right) -> np.ndarray:
        """``<x, z>`` for every x of one tile and z of another; valid until the next call."""
        shape = (left.shape[0], right.shape[0])
        out = self._memory[: shape[0] * shape[1]].reshape(shape)
        if sp.issparse(left) and sp.issparse(right):
            (left @ right.T).toarray(out=out)
        elif sp.issparse(left) or sp.issparse(right):
            out[:] = left @ right.T
        else:
            np.matmul(left, right.T, out=out)
        return out


def tiles(n: int, size: int = TILE) -> Iterator[tuple[int, int]]:
    for begin in range(0, n, size):
        yield begin, min(begin + size, n)


@contextlib.contextmanager
def blas_threads(pool: _core.Pool) -> Iterator[None]:
    """BLAS uses as many threads as the pool has.

    That number belongs to the whole process, so one of our threads at a time sets it: two that
    overlap would each put back what the other had set.
    """
    with _BLAS, threadpool_limits(limits=pool.threads, user_api="blas"):
        yield


class OneBlasThread:
    """Small products on the caller's thread: the same sums for any number of threads.

    Made once a computation: looking for the libraries takes longer than limiting them.
    """

    def __init__(self) -> None:
        self._libraries = ThreadpoolController()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with _BLAS, self._libraries.limit(limits=1, user_api="blas"):
            yield


# ---------------------------------------------------------------- whole matrices


def empty_matrix(n: int) -> np.ndarray:
    """An n x n float32 matrix whose rows start at cache lines."""
    stride = -(-n // 16) * 16
    return np.empty((n, stride), dtype=np.float32)[:, :n]


def matrix_bytes(n: int) -> int:
    """What `empty_matrix` takes."""
    return 4 * n * (-(-n // 16) * 16)


def _fill(points: Points, function: _core.KernelFunction, K: np.ndarray, pool: _core.Pool) -> None:
    products = Products(min(TILE, points.n), min(TILE, points.n))
    with blas_threads(pool):
        for begin, end in tiles(points.n):
            left = points.tile(begin, end)
            for column in range(begin, points.n, TILE):
                right = points.tile(column, min(column + TILE, points.n))
                G = products(left, right)
                _core.fill_symmetric(function, G, begin, column, points.squared_norms, K, pool)


def kernel_matrix(
    X,
    kernel: Kernel,
    pool: _core.Pool,
    order: np.ndarray | None = None,
    K: np.ndarray | None = None,
) -> np.ndarray:
    """``K_ij = k(x_i, x_j)`` in float32, the rows taken in the given order."""
    K = empty_matrix(X.shape[0]) if K is None else K
    centre = centre_of(X) if kernel.of_distance else None
    _fill(Points(X, centre, order), kernel.function, K, pool)
    return K


def distance_matrix(X, pool: _core.Pool, order: np.ndarray | None = None) -> np.ndarray:
    """``D_ij = ||x_i - x_j||^2`` in float32: what every width of a kernel is made of."""
    D = empty_matrix(X.shape[0])
    _fill(Points(X, centre_of(X), order), _DISTANCE, D, pool)
    return D


def kernel_from_distances(
    kernel: Kernel, D: np.ndarray, K: np.ndarray, pool: _core.Pool
) -> np.ndarray:
    """``K = k(D)`` for a kernel of the distance; K may be D itself."""
    _core.kernel_from_distances(kernel.function, D, K, pool)
    return K


def called_matrix(X, kernel: KernelCallable, pool: _core.Pool) -> np.ndarray:
    """The matrix of a Python function ``kernel(X, Z) -> (len(X), len(Z)) array``."""
    n = X.shape[0]
    K = empty_matrix(n)
    for begin, end in tiles(n):
        values = np.asarray(kernel(X[begin:end], X))
        if values.shape != (end - begin, n):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for {end - begin} "
                f"and {n} rows; expected ({end - begin}, {n})"
            )
        K[begin:end] = values
    check_matrix(K, pool)
    return K


def given_matrix(K, pool: _core.Pool) -> np.ndarray:
    """A precomputed matrix: float32 with contiguous rows is used in place, others are converted."""
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"got shape {K.shape}"
        )
    if K.dtype != np.float32 or (K.shape[0] > 1 and K.strides[1] != 4) or K.strides[0] < 0:
        converted = empty_matrix(K.shape[0])
        converted[:] = K
        K = converted
    check_matrix(K, pool)
    return K


def check_matrix(K: np.ndarray, pool: _core.Pool) -> None:
    """Refuses values that are not finite, and matrices that cannot be those of a kernel."""
    fault, i, j = _core.check_matrix(K, pool)
    if fault == _core.MatrixFault.not_finite:
        raise ValueError(
            f"the kernel matrix contains {K[i, j]} at row {i}, column {j}; expected finite numbers"
        )
    if fault == _core.MatrixFault.asymmetric:
        raise ValueError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but "
            f"K[{j}, {i}] = {K[j, i]:.6g}"
        )
    if fault == _core.MatrixFault.indefinite:
        raise ValueError(
            f"the kernel is not positive definite: K[{i}, {j}] = {K[i, j]:.6g} with "
            f"K[{i}, {i}] = {K[i, i]:.6g} and K[{j}, {j}] = {K[j, j]:.6g}; expected "
            f"K_ij^2 <= K_ii K_jj. Use a positive definite kernel"
        )


# ---------------------------------------------------------------- neighbours


def neighbours_in(distances: np.ndarray, count: int, pool: _core.Pool) -> np.ndarray:
    """The `count` nearest others of every point, nearest first, from a matrix of distances."""
    count = max(0, min(count, distances.shape[0] - 1))
    nearest = np.empty((distances.shape[0], count), dtype=np.int32)
    if count:
        _core.nearest_columns(distances, 0, nearest, pool)
    return nearest


def neighbours_by_kernel(K: np.ndarray, count: int, pool: _core.Pool) -> np.ndarray:
    """The same in kernel distance ``k(x, x) + k(z, z) - 2 k(x, z)``, from the kernel matrix."""
    n = K.shape[0]
    count = max(0, min(count, n - 1))
    nearest = np.empty((n, count), dtype=np.int32)
    diagonal = np.diagonal(K)
    for begin, end in tiles(n) if count else ():
        D = diagonal[begin:end, None] + diagonal[None, :] - 2 * K[begin:end]
        _core.nearest_columns(D, begin, nearest[begin:end], pool)
    return nearest


# ---------------------------------------------------------------- kernel values for predictions


def expand(X, points: Points, kernel: Kernel, coefficients: np.ndarray, pool: _core.Pool):
    """``sum_j coefficients[j, :] k(x, z_j)`` for every row x of X and the rows z_j of `points`.

    Tiles of kernel values, each used and forgotten; threads are those of the pool.
    """
    left_points = Points(X, points.centre)
    out = np.zeros((left_points.n, coefficients.shape[1]))
    products = Products(min(TILE, left_points.n), min(2 * TILE, points.n))
    with blas_threads(pool):
        for column, stop in tiles(points.n, 2 * TILE):
            right = points.tile(column, stop)
            for begin, end in tiles(left_points.n):
                G = products(left_points.tile(begin, end), right)
                _core.kernel_values(
                    kernel.function,
                    G,
                    left_points.squared_norms[begin:end],
                    points.squared_norms[column:stop],
                    pool,
                )
                out[begin:end] += G @ coefficients[column:stop]
    return out
