"""Kernel values of rows with basis vectors, tile by tile, with as many digits as they need."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.kernel.blas import made_ahead
from maxmargin.solvers.kernel.gram import (
    DENSE_ADVANTAGE,
    Kernel,
    Products,
    centre_of,
    tiles,
)

# Largest errors of an exponent for which distances come from products: as a rule, and where costs
# are so large that an objective would show them.
PLAIN_DIGITS = 1e-12
ALL_DIGITS = 16 * float(np.finfo(np.float64).eps)
TILE_VALUES = 2**19  # kernel values of a tile: they stay in a cache
SLAB_VALUES = 2**23  # numbers of vectors that are copied for products at a time
FEW_ROWS = 64  # for fewer rows sparse vectors are not worth making dense


def is_wide(X: Any) -> bool:
    """Whether rows are so sparse that dense copies of a few of them would be a burden."""
    return sp.issparse(X) and X.shape[1] > DENSE_ADVANTAGE * X.nnz / max(X.shape[0], 1)


def kernel_of_products(kernel: Kernel, products: np.ndarray, left: Any, right: Any) -> np.ndarray:
    """``k(a, b)`` from ``<a, b>`` and the squared norms of a and b, which broadcast."""
    if kernel.name == "linear":
        return products
    if kernel.name == "poly":
        return (kernel.gamma * products + kernel.coef0) ** kernel.degree
    squares = np.maximum(left + right - 2 * products, 0.0)
    return np.exp(-kernel.gamma * (squares if kernel.name == "rbf" else np.sqrt(squares)))


def diagonal(kernel: Kernel, norms: Any) -> np.ndarray:
    """``k(x, x)`` from ``||x||^2``, in float64."""
    return kernel_of_products(kernel, norms, norms, norms)


def squared_norms(A: Any) -> np.ndarray:
    """``||a||^2`` for every row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def few_digits_will_do(kernel: Kernel, norms: np.ndarray) -> bool:
    """Whether a search may work on these rows in float32: the exponent of a kernel of the distance
    is exact to ``gamma ||x||^2`` roundings."""
    largest = float(norms.max(initial=0.0))
    exact = not kernel.of_distance or kernel.gamma * largest * 2.0**-24 < 1e-3
    return exact and 1e-20 < largest < 1e20


def kernel_tiles(
    X: Any, vectors: Any, kernel: Kernel, pool: _core.Pool, digits: float = PLAIN_DIGITS
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """``(rows, of vectors, k(x_i, b_j))`` over tiles of all pairs: one product of BLAS each.

    The values are float64, and valid until the next tile. Dense points of a kernel of the distance
    are taken about the mean of the b_j: that changes no distance and keeps more of its digits.
    Where an exponent could err by more than `digits` all the same, distances are summed directly.
    """
    if vectors.shape[0] == 0:
        return
    X = X.tocsr() if sp.issparse(X) else X
    centre = None
    if kernel.of_distance and not sp.issparse(X) and not sp.issparse(vectors):
        centre = centre_of(vectors)
    for first, last in tiles(vectors.shape[0], slab_size(X, vectors)):
        some = vectors[first:last]
        size = min(int(np.clip(TILE_VALUES // (last - first), 256, 8192)), X.shape[0])
        tile = _Tile(X, some, factor_of(X, some, centre), centre, kernel, digits, size)
        bands = list(tiles(X.shape[0], size))
        for (begin, end), K in zip(bands, made_ahead(tile, bands, pool), strict=True):
            yield slice(begin, end), slice(first, last), K


class _Tile:
    """Kernel values of some rows of X with the vectors of a slab, on the caller's thread."""

    def __init__(
        self,
        X: Any,
        vectors: Any,
        factor: Any,
        centre: np.ndarray | None,
        kernel: Kernel,
        digits: float,
        size: int,
    ) -> None:
        self._X, self._vectors, self._factor, self._centre = X, vectors, factor, centre
        self._kernel, self._digits, self._size = kernel, digits, size
        self._norms = squared_norms(factor)
        self._densify = sp.issparse(X) and not is_wide(X)
        self._products: dict[int, Products] = {}

    def __call__(self, band: tuple[int, int], place: int) -> np.ndarray:
        begin, end = band
        points = self._X[begin:end].toarray() if self._densify else self._X[begin:end]
        if self._centre is None:
            left = points.astype(np.float64, copy=False)
        else:
            left = np.subtract(points, self._centre, dtype=np.float64)
        own, alone = squared_norms(left), _core.Pool(1)
        if not sp.issparse(left) and not products_will_do(
            self._kernel, self._digits, own, self._norms
        ):
            return direct_values(self._kernel, points, self._vectors, alone)
        if place not in self._products:
            self._products[place] = Products(self._size, self._factor.shape[0], alone)
        K = self._products[place](left, self._factor)
        _core.kernel_values(self._kernel.function, K, own, self._norms, alone)
        return K


def exponent_error(kernel: Kernel, largest: float) -> float:
    """How far the exponent of a kernel of the distance can be off, if distances come from products
    of points with squared norms up to `largest`."""
    error = 2.0**-50 * largest
    return kernel.gamma * (error if kernel.name == "rbf" else math.sqrt(error))


def products_will_do(kernel: Kernel, digits: float, *norms: np.ndarray) -> bool:
    """Whether kernel values from products of such points have their digits."""
    if not kernel.of_distance:
        return True
    largest = max(float(some.max(initial=0.0)) for some in norms)
    return exponent_error(kernel, largest) <= digits


def direct_values(kernel: Kernel, left: np.ndarray, right: Any, pool: _core.Pool) -> np.ndarray:
    """``k(x_i, b_j)`` of dense points by the sums of squared differences, which are exact where the
    points are those of the data: about a centre they would be rounded beforehand."""
    right = right.toarray() if sp.issparse(right) else right
    left, right = (np.ascontiguousarray(part, dtype=np.float64) for part in (left, right))
    out = np.empty((len(right), len(left)))
    rows = ArrayRows(left, pool=pool)
    norms, own = squared_norms(left), squared_norms(right)
    _core.kernel_columns(kernel.function, rows.core, norms, right, own, out, pool)
    return out.T


def stay_sparse(X: Any, vectors: Any) -> bool:
    """Whether vectors are better not made dense: next to nothing is in them, or X is small."""
    return is_wide(vectors) or (sp.issparse(vectors) and X.shape[0] < FEW_ROWS)


def slab_size(X: Any, vectors: Any) -> int:
    """How many vectors at a time: all, unless they are copied for the product."""
    k, d = vectors.shape
    copied = (sp.issparse(vectors) or is_wide(X)) and not stay_sparse(X, vectors)
    return max(1, min(k, SLAB_VALUES // d)) if copied else k


def factor_of(X: Any, vectors: Any, centre: np.ndarray | None) -> Any:
    """Some vectors in float64 for products with X: CSR or dense.

    Dense beside sparse X by columns: the product with the transpose would copy them so each time.
    """
    if stay_sparse(X, vectors):
        return vectors.astype(np.float64, copy=False)
    if sp.issparse(vectors):
        return vectors.toarray(order="F").astype(np.float64, copy=False)
    dense = np.asarray(vectors, dtype=np.float64, order="F" if sp.issparse(X) else None)
    return dense if centre is None else dense - centre
