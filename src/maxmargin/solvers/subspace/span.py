"""The span of a few basis vectors, in which a kernel machine is a linear one.

    B        basis vectors b_1 .. b_k: any points, not only training rows
    G        K(B, B) = L L^T
    k_B(x)   kernel values of x with the basis
    z(x)     L^-1 k_B(x): the coordinates of phi(x) projected onto span(B)
    w        coordinates of a function of the span; f(x) = <w, z(x)> = sum_j beta_j k(b_j, x)
    beta     L^-T w

A basis vector appends a row to L and a column to Z. Both have room for the whole basis from the
start, Z by columns (in float32, if it is large), so that nothing is moved:

    L r = k_B(b),   rho^2 = k(b, b) - <r, r>,    z_new = (k_b(X) - Z r) / rho

rho is the distance of phi(b) from the span. Where it is next to nothing, b would add rounding
errors and nothing else, and it is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.kernel.gram import (
    Kernel,
)
from maxmargin.solvers.subspace.kernel_values import (
    diagonal,
    few_digits_will_do,
    is_wide,
    kernel_of_products,
    squared_norms,
)

DEPENDENT = 1e-6  # smallest rho^2 / k(b, b): coordinates in float32 leave few digits below it
FEW_COORDINATES = 2**18  # they are float64: all in a cache, and digits for large C
FLOAT32_RANGE = 1e60  # of kernel values whose roots are coordinates within the range of float32
DENSE_SHARE = 1 / 3  # of non-zeros, above which basis vectors are kept dense


class Basis:
    """The vectors b_j in float64: dense rows, or CSR rows if the data are sparse and wide."""

    def __init__(self, width: int, capacity: int, sparse: bool, dtype: np.dtype) -> None:
        self.k, self.width, self.dtype = 0, width, dtype
        self._dense = None if sparse else np.empty((capacity, width))
        # One type for both, the narrower one where it will do: or scipy copies them each time.
        places = np.int32 if capacity * width < 2**31 else np.int64
        self._data, self._indices = np.empty(0), np.empty(0, dtype=places)
        self._starts = np.zeros(capacity + 1, dtype=places)
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
                self._data, self._indices = (
                    np.append(old[:begin], np.empty(room - begin, dtype=old.dtype))
                    for old in (self._data, self._indices)
                )
            self._data[begin:end], self._indices[begin:end] = b[used], used
            self._starts[self.k + 1] = end
        self._norms[self.k] = b @ b
        self.k += 1

    @property
    def squared_norms(self) -> np.ndarray:
        return self._norms[: self.k]

    @property
    def vectors(self) -> Any:
        """The k vectors where they lie, for products."""
        if self._dense is not None:
            return self._dense[: self.k]
        end = self._starts[self.k]
        vectors = sp.csr_matrix((self.k, self.width))  # given the parts, it would look at each
        vectors.data, vectors.indices = self._data[:end], self._indices[:end]
        vectors.indptr = self._starts[: self.k + 1]
        return vectors

    def kept(self) -> Any:
        """A copy for a model in the numbers of the data: dense or CSR, by their density."""
        vectors = self.vectors
        filled = vectors.nnz if sp.issparse(vectors) else np.count_nonzero(vectors)
        if sp.issparse(vectors) and filled > DENSE_SHARE * self.k * self.width:
            vectors = vectors.toarray()
        return vectors.astype(self.dtype, copy=True)


class BasisProducts:
    """``<b_j, x_i>`` and ``<b_j, b_q>`` of the basis vectors, noted when they join.

    Where basis vectors are dense and rows sparse and wide, they cost more to form than to keep.
    """

    def __init__(self, capacity: int, n: int, number: np.dtype) -> None:
        self.k = 0
        self._rows = np.empty((capacity, n), dtype=number)
        self._own = np.empty((capacity, capacity))

    def append(self, with_rows: np.ndarray, with_basis: np.ndarray, own: float) -> None:
        """The products of one more vector with the rows, the vectors so far, and itself."""
        k = self.k
        self._rows[k] = with_rows
        self._own[k, :k] = self._own[:k, k] = with_basis
        self._own[k, k] = own
        self.k += 1

    def among(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Products of some rows with the basis (a row each), and of the basis with itself."""
        some = self._rows[: self.k].take(rows, axis=1)
        return some.T.astype(np.float64), self._own[: self.k, : self.k]


class Subspace:
    """Rows of data as coordinates in the span of a growing basis.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    kernel : Kernel
    capacity : int
        The most basis vectors there will be: memory for ``4 n capacity`` bytes is set aside (8
        where that is little).
    pool : _core.Pool
    """

    def __init__(self, X: Any, kernel: Kernel, capacity: int, pool: _core.Pool) -> None:
        self.X, self.kernel, self.pool = X, kernel, pool
        # Looked at by threads that no stop flag ends: a fit without any time has a model to give.
        rows = ArrayRows(X, pool=_core.Pool(pool.threads))
        self.n, self.norms = rows.n, rows.squared_norms()
        self.points = rows.with_pool(pool)
        self.few_digits = few_digits_will_do(kernel, self.norms)
        number = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self.basis = Basis(X.shape[1], capacity, is_wide(X), number)
        self.L = np.zeros((capacity, capacity))
        self._Z = np.empty((capacity, self.n), dtype=self._number_of_coordinates())
        self.products: BasisProducts | None = None

    def _number_of_coordinates(self) -> np.dtype:
        """float32, unless they are few or ``|z_i| <= sqrt(k(x_i, x_i))`` leaves its range."""
        largest = float(diagonal(self.kernel, self.norms).max(initial=0.0))
        within = largest == 0 or 1 / FLOAT32_RANGE < largest < FLOAT32_RANGE
        many = self.n * self.capacity > FEW_COORDINATES
        return np.dtype(np.float32 if many and within else np.float64)

    def keep_products(self) -> None:
        """Notes the products of basis vectors, all of them: ``4 n capacity`` bytes more, or 8."""
        assert self.k == 0
        number = np.dtype(np.float32 if self.few_digits else np.float64)
        self.products = BasisProducts(self.capacity, self.n, number)

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

    def all_coordinates(self, k: int) -> np.ndarray:
        """``z_i`` of every row in the span of the first k vectors, where they lie."""
        return self._Z[:k].T

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """``z_i`` of some rows, in float64."""
        return self._Z[: self.k].take(rows, axis=1).T.astype(np.float64)

    def columns(self, points: np.ndarray) -> np.ndarray:
        """``k(b, x_i)`` for a few dense points b (rows) and every row x_i, in float64."""
        out = np.empty((len(points), self.n))
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

    def append(self, b: np.ndarray) -> np.ndarray | None:
        """Adds a basis vector; its column of Z in float64, or None if it depends on the others."""
        k, own = self.k, float(b @ b)
        with_basis = self.basis.vectors @ b if k else np.empty(0)
        r, rho2 = self._place(with_basis, own)
        if rho2 is None:
            return None
        if self.products is None:
            z = self.columns(b[None, :])[0]
        else:
            with_rows = self.points.matvec(b)
            z = kernel_of_products(self.kernel, with_rows, self.norms, own)
        if k:
            z -= self.rows.matvec(r)
        rho = math.sqrt(rho2)
        z /= rho
        self.L[k, :k], self.L[k, k] = r, rho
        self._Z[k] = z
        self.basis.append(b)
        if self.products is not None:
            self.products.append(with_rows, with_basis, own)
        return z

    def _place(self, with_basis: np.ndarray, own: float) -> tuple[np.ndarray, float | None]:
        """r and rho^2 of a new vector by its products; None for rho^2 next to nothing."""
        kernel = self.kernel
        r = np.empty(0)
        if self.k:
            r = self.solve_L(kernel_of_products(kernel, with_basis, self.basis.squared_norms, own))
        whole = float(diagonal(kernel, own))
        rho2 = whole - float(r @ r)
        taken = math.isfinite(whole) and whole > 0 and rho2 > DEPENDENT * whole
        return r, rho2 if taken else None

    def solve_L(self, values: np.ndarray) -> np.ndarray:
        """``L^-1 values``: coordinates from kernel values with the basis."""
        return solve_triangular(self.L[: self.k, : self.k], values, lower=True, check_finite=False)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """``beta = L^-T w``: how much of each basis vector a function of the span has."""
        k = len(w)
        return solve_triangular(self.L[:k, :k], w, lower=True, trans="T", check_finite=False)
