"""The span of a few basis vectors, in which a kernel machine is a linear one.

    B        basis vectors b_1 .. b_k: any points, not only training rows
    G        K(B, B) = L L^T
    k_B(x)   kernel values of x with the basis
    z(x)     L^-1 k_B(x): the coordinates of phi(x) projected onto span(B)
    w        coordinates of a function of the span; f(x) = <w, z(x)> = sum_j beta_j k(b_j, x)
    beta     L^-T w

A basis vector appends a row to L and a column to Z. Both have room for the whole basis from the
start, Z by columns, so that nothing is moved:

    L r = k_B(b),   rho^2 = k(b, b) - <r, r>,    z_new = (k_b(X) - Z r) / rho

rho is the distance of phi(b) from the span. Where it is next to nothing, b would add rounding
errors and nothing else, and it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.kernels import (
    DENSE_ADVANTAGE,
    Kernel,
    Products,
    blas_threads,
    centre_of,
    tiles,
)

DEPENDENT = 1e-6  # smallest rho^2 / k(b, b): kernel values in float32 leave rho few digits below it
TILE_VALUES = 2**19  # kernel values of a tile: they stay in a cache
DENSE_SHARE = 1 / 3  # of non-zeros, above which basis vectors are kept dense


def is_wide(X) -> bool:
    """Whether rows are so sparse that dense copies of a few of them would be a burden."""
    return sp.issparse(X) and X.shape[1] > DENSE_ADVANTAGE * X.nnz / max(X.shape[0], 1)


def kernel_block(kernel: Kernel, A, B) -> np.ndarray:
    """``k(a, b)`` in float64 for rows a of A and b of B, few of each; dense or CSR."""
    products = A @ B.T
    products = products.toarray() if sp.issparse(products) else np.asarray(products)
    if kernel.name == "linear":
        return products
    if kernel.name == "poly":
        return (kernel.gamma * products + kernel.coef0) ** kernel.degree
    squares = squared_norms(A)[:, None] + squared_norms(B)[None, :] - 2 * products
    squares = np.maximum(squares, 0.0)
    return np.exp(-kernel.gamma * (squares if kernel.name == "rbf" else np.sqrt(squares)))


def squared_norms(A) -> np.ndarray:
    """``||a||^2`` for every row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def kernel_tiles(
    X, vectors, kernel: Kernel, pool: _core.Pool
) -> Iterator[tuple[int, int, np.ndarray]]:
    """``(begin, end, k(x_i, b_j))`` over tiles of rows: one product of BLAS each.

    The values are float64, and valid until the next tile. Dense points of a kernel of the distance
    are taken about the mean of the b_j: that changes no distance and keeps more of its digits.
    """
    X = X.tocsr() if sp.issparse(X) else X
    k, centre = vectors.shape[0], None
    if kernel.of_distance and not sp.issparse(X) and not sp.issparse(vectors):
        centre = centre_of(vectors)
    densify = sp.issparse(X) and not is_wide(X)
    right = vectors.astype(np.float64, copy=False)
    right = right if centre is None else right - centre
    size = int(np.clip(TILE_VALUES // max(k, 1), 256, 8192))
    products, norms = Products(min(size, X.shape[0]), k), squared_norms(right)
    with blas_threads(pool):
        for begin, end in tiles(X.shape[0], size):
            left = X[begin:end].toarray() if densify else X[begin:end]
            if centre is None:
                left = left.astype(np.float64, copy=False)
            else:
                left = np.subtract(left, centre, dtype=np.float64)
            K = products(left, right)
            _core.kernel_values(kernel.function, K, squared_norms(left), norms, pool)
            yield begin, end, K


class Basis:
    """The vectors b_j in float64: dense rows, or CSR rows if the data are sparse and wide."""

    def __init__(self, width: int, capacity: int, sparse: bool, dtype: np.dtype) -> None:
        self.k, self.width, self.dtype = 0, width, dtype
        self._dense = None if sparse else np.empty((capacity, width))
        self._data, self._indices = np.empty(0), np.empty(0, dtype=np.int64)
        self._starts = np.zeros(capacity + 1, dtype=np.int64)
        self._norms = np.empty(capacity)

    def append(self, b: np.ndarray) -> None:
        """One more vector, given dense."""
        if self._dense is not None:
            self._dense[self.k] = b
        else:
            used = np.flatnonzero(b)
            begin = self._starts[self.k]
            end = begin + len(used)
            if end > len(self._data):
                room = max(int(end), 2 * len(self._data))
                self._data = np.append(self._data[:begin], np.empty(room - begin))
                self._indices = np.append(
                    self._indices[:begin], np.empty(room - begin, dtype=np.int64)
                )
            self._data[begin:end], self._indices[begin:end] = b[used], used
            self._starts[self.k + 1] = end
        self._norms[self.k] = b @ b
        self.k += 1

    @property
    def squared_norms(self) -> np.ndarray:
        return self._norms[: self.k]

    @property
    def vectors(self):
        """The k vectors where they lie, for products."""
        if self._dense is not None:
            return self._dense[: self.k]
        end = self._starts[self.k]
        parts = (self._data[:end], self._indices[:end], self._starts[: self.k + 1])
        return sp.csr_matrix(parts, (self.k, self.width), copy=False)

    def kept(self):
        """A copy for a model in the numbers of the data: dense or CSR, by their density."""
        vectors = self.vectors
        filled = vectors.nnz if sp.issparse(vectors) else np.count_nonzero(vectors)
        if sp.issparse(vectors) and filled > DENSE_SHARE * self.k * self.width:
            vectors = vectors.toarray()
        return vectors.astype(self.dtype, copy=True)


class Subspace:
    """Rows of data as coordinates in the span of a growing basis.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    kernel : Kernel
    capacity : int
        The most basis vectors there will be: memory for ``4 n capacity`` bytes is set aside.
    pool : _core.Pool
    """

    def __init__(self, X, kernel: Kernel, capacity: int, pool: _core.Pool) -> None:
        self.X, self.kernel, self.pool = X, kernel, pool
        # Looked at by threads that no stop flag ends: a fit without any time has a model to give.
        rows = ArrayRows(X, pool=_core.Pool(pool.threads))
        self.n, self.norms = rows.n, rows.squared_norms()
        self.points = rows.with_pool(pool)
        number = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self.basis = Basis(X.shape[1], capacity, is_wide(X), number)
        self.L = np.zeros((capacity, capacity))
        self._Z = np.empty((capacity, self.n), dtype=np.float32)

    @property
    def k(self) -> int:
        return self.basis.k

    @property
    def capacity(self) -> int:
        return len(self.L)

    @property
    def rows(self) -> ArrayRows:
        """The rows z_i that a linear solver works on."""
        return ArrayRows(self._Z[: self.k].T, pool=self.pool)

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """``z_i`` of some rows, in float64."""
        return self._Z[: self.k].take(rows, axis=1).T.astype(np.float64)

    def columns(self, points: np.ndarray) -> np.ndarray:
        """``k(b, x_i)`` for a few dense points b (rows) and every row x_i."""
        out = np.empty((len(points), self.n), dtype=np.float32)
        points = np.ascontiguousarray(points, dtype=np.float64)
        _core.kernel_columns(
            self.kernel.function,
            self.points.core,
            self.norms,
            points,
            squared_norms(points),
            out,
            self.pool,
        )
        return out

    def rounded(self, b: np.ndarray) -> np.ndarray:
        """b in the numbers of the data, as a model will keep it."""
        return b.astype(self.basis.dtype).astype(np.float64)

    def append(self, b: np.ndarray, column: np.ndarray | None = None) -> np.ndarray | None:
        """Adds a basis vector; its column of Z in float64, or None if it depends on the others.

        `column` is ``k(b, x_i)`` where that is known.
        """
        k, at = self.k, self._place(b)
        if at is None:
            return None
        r, rho = at
        column = self.columns(b[None, :])[0] if column is None else column
        z = column.astype(np.float64)
        if k:
            z -= self.rows.predict(r)
        z /= rho
        self.L[k, :k], self.L[k, k] = r, rho
        self._Z[k] = z
        self.basis.append(b)
        return z

    def _place(self, b: np.ndarray) -> tuple[np.ndarray, float] | None:
        """r and rho of a new vector; None if rho is next to nothing."""
        point = b[None, :]
        own = float(kernel_block(self.kernel, point, point)[0, 0])
        r = np.empty(0)
        if self.k:
            r = self.solve_L(kernel_block(self.kernel, self.basis.vectors, point)[:, 0])
        rho2 = own - float(r @ r)
        if not (own > 0 and rho2 > DEPENDENT * own):
            return None
        return r, float(np.sqrt(rho2))

    def solve_L(self, values: np.ndarray) -> np.ndarray:
        """``L^-1 values``: coordinates from kernel values with the basis."""
        return solve_triangular(self.L[: self.k, : self.k], values, lower=True, check_finite=False)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """``beta = L^-T w``: how much of each basis vector a function of the span has."""
        k = len(w)
        return solve_triangular(self.L[:k, :k], w, lower=True, trans="T", check_finite=False)
