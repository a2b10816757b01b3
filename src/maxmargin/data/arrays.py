"""Rows that lie in numpy arrays or scipy CSR matrices, used where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.sparse import aligned, as_csr, checked_csr

ENTRIES_PER_THREAD = 50_000  # less work than this is done before a second thread has started
SCANNED_PER_THREAD = 4_000_000  # the same of a single look at numbers, for a thread started for it
FLOATS = (np.float64, np.float32)
SMALL_INTEGERS = (np.uint8, np.int8, np.bool_)  # images, one-hot columns: dense, read in place


class Rows(Protocol):
    """What a solver asks of data: two products, and how large it is.

    `width` is the length of w: the number of features, plus one if a constant feature is appended.
    """

    n: int
    width: int

    def zeros(self) -> np.ndarray:
        """``X 0``, without a look at the data."""

    def matvec(self, w: np.ndarray) -> np.ndarray:
        """``X w``, one number per row."""

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        """``X^T v``, one number per feature."""

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        """``sum_i x_i y_i`` over vectors of one number per row, wherever they live."""

    def axpby(self, alpha: float, x: np.ndarray, beta: float, y: np.ndarray) -> np.ndarray:
        """``alpha x + beta y`` over vectors of one number per row."""


class ArrayRows:
    """Dense or CSR rows in memory (or memory-mapped), without a copy: float32 or float64, and dense
    ones also uint8, int8 or bool.

    Parameters
    ----------
    X : ndarray of shape (n, d) or scipy CSR matrix
        Dense rows may be contiguous along rows or along columns.
    bias : float
        Value of a constant feature appended to every row; 0 appends none.
    pool : _core.Pool
        The threads that do the products.
    """

    def __init__(self, X: Any, bias: float = 0.0, pool: _core.Pool | None = None) -> None:
        pool = pool if pool is not None else _core.Pool(1)
        self._adopt(view(X, bias, pool), pool)

    def _adopt(self, core: _core.Rows, pool: _core.Pool) -> ArrayRows:
        self.core, self.pool = core, pool
        self.n: int = core.n
        self.d: int = core.d
        self.width: int = core.width
        self.nnz: int = core.nnz
        return self

    def with_pool(self, pool: _core.Pool) -> ArrayRows:
        """The same rows worked on by other threads."""
        return object.__new__(ArrayRows)._adopt(self.core, pool)

    def subsample(self, step: int) -> ArrayRows:
        """Every `step`-th row, where it lies."""
        return object.__new__(ArrayRows)._adopt(self.core.subsample(step), self.pool)

    def zeros(self) -> np.ndarray:
        return np.zeros(self.n)

    def matvec(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        p = np.empty(self.n) if out is None else out
        _core.matvec(self.core, w, p, self.pool)
        return p

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        a = np.empty(self.width)
        _core.rmatvec(self.core, v, a, self.pool)
        return a

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        return _core.inner(x, y, self.pool)

    def axpby(
        self,
        alpha: float,
        x: np.ndarray,
        beta: float,
        y: np.ndarray,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        out = np.empty(len(x)) if out is None else out
        _core.axpby(alpha, x, beta, y, out, self.pool)
        return out

    def squared_norms(self) -> np.ndarray:
        """``||x_i||^2`` for every row."""
        out = np.empty(self.n)
        _core.squared_norms(self.core, out, self.pool)
        return out

    @property
    def gram_steps_per_row(self) -> float:
        """About how many multiplications by one entry per row of `gram` takes."""
        return _core.gram_steps_per_row(self.core)

    def gram(self, h: np.ndarray, every: int = 1, for_direction: bool = False) -> np.ndarray:
        """``sum_i h_i x_i x_i^T`` with h_i >= 0; rows with h_i = 0 cost nothing.

        ``every > 1`` estimates it from every so many of the other rows. `for_direction`: float32
        products are enough where their rounding is small beside the identity.
        """
        H = np.empty((self.width, self.width))
        _core.gram(self.core, h, every, for_direction, H, self.pool)
        return H

    def rmatvec_and_gram(
        self, v: np.ndarray, h: np.ndarray, every: int
    ) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
        """``X^T v``, and the Gram matrix for a direction if it is asked for."""
        return self.rmatvec(v), lambda: self.gram(h, every, for_direction=True)

    def both_products(self, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``X w`` and ``X^T v``"""
        return self.matvec(w), self.rmatvec(v)

    def hessian_product(
        self, h: np.ndarray, v: np.ndarray, image: np.ndarray | None = None
    ) -> np.ndarray:
        """``sum_i h_i <x_i, v> x_i``; `image` receives ``X v``."""
        out = np.empty(self.width)
        _core.hessian_product(self.core, h, v, out, self.pool, image)
        return out


def view(X: Any, bias: float, pool: _core.Pool | None = None) -> _core.Rows:
    """The core's view of X. Only what cannot be used in place is converted first."""
    if sp.issparse(X):
        X = as_csr(X)
        try:
            return _sparse_view(X, bias, pool)
        except _core.Unordered:
            return _sparse_view(summed(X), bias, pool)
    X = np.asarray(X)
    if X.dtype == np.bool_:
        X = X.view(np.uint8)
    if X.dtype not in (*FLOATS, *SMALL_INTEGERS):
        X = X.astype(np.float64)
    if not _usable(X):
        X = np.array(X, order="C")
    return _core.dense_rows(X, float(bias))


def _sparse_view(X: Any, bias: float, pool: _core.Pool | None) -> _core.Rows:
    data = X.data if X.data.dtype in FLOATS else X.data.astype(np.float64)
    return _core.sparse_rows(data, X.indices, X.indptr, X.shape[1], float(bias), pool)


def summed(X: Any) -> Any:
    """A CSR matrix with the entries of each row in order; those of one cell count as their sum."""
    X = X.copy()
    X.has_canonical_format = False
    X.sum_duplicates()
    return X


def _usable(X: np.ndarray) -> bool:
    """Whether rows or columns are contiguous and strides are whole elements going forward."""
    item = X.itemsize
    aligned = X.flags.aligned and all(s >= 0 and s % item == 0 for s in X.strides)
    return aligned and (X.strides[1] == item or X.strides[0] == item or 1 in X.shape)


def safe_rows(X: Any, threads: int | None) -> Any:
    """X of any type, safe for loops that trust it: sparse matrices as checked CSR, arrays aligned
    and in the machine's order of bytes, so that float32 from elsewhere is float32.

    ValueError if entries of a sparse matrix lie outside it.
    """
    if sp.issparse(X):
        return checked_csr(X, _core.Pool(useful_threads(threads, np.size(getattr(X, "data", ())))))
    if isinstance(X, np.ndarray) and X.ndim and not (X.flags.aligned and X.dtype.isnative):
        return aligned(X)
    return X


def number_types(X: Any) -> list[type]:
    """The types of numbers that loops read in place; the first is what others become."""
    return list(FLOATS) if sp.issparse(X) else [*FLOATS, *SMALL_INTEGERS]


def as_floats(X: Any) -> Any:
    """X with float32 or float64 numbers: itself, or a copy if it has others."""
    return X if X.dtype in FLOATS else X.astype(np.float64)


def is_surely_finite(X: Any, threads: int | None) -> bool:
    """True if X (dense or sparse) has no NaN or infinity. False if it has, or if it lies in memory
    so that looking would need a copy.
    """
    values = X.data if sp.issparse(X) else X
    if values.dtype not in FLOATS:
        return True
    if values.flags.f_contiguous:
        values = values.T
    if not (values.flags.c_contiguous and values.flags.aligned):
        return False
    pool = _core.Pool(useful_threads(threads, values.size, SCANNED_PER_THREAD))
    return _core.all_finite(values.reshape(-1), pool)


def entries_of(X: Any) -> int:
    """The numbers that a product with X reads."""
    return X.nnz if sp.issparse(X) else X.size


def useful_threads(threads: int | None, entries: int, each: int = ENTRIES_PER_THREAD) -> int:
    """As many as granted, but no more than the work can feed: starting one takes time too."""
    return min(threads or granted_cpus(), 1 + entries // each)
