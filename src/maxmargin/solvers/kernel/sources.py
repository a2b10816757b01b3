"""Where a solver's kernel rows come from.

    MatrixSource    a whole Gram matrix that somebody made
    PartialSource   rows of it when they are first asked for; all of it once so many were that the
                    whole matrix would have been cheaper
    CachedSource    the rows used last, where memory is too small for the matrix

A source has ``rows`` (the core's view of them), ``n``, ``neighbours``, ``combine(beta) -> f``, and
``drift_known``: whether residuals that steps keep up to date err by no more than
``exact.search_error`` says. When a matrix is filled is decided by counts, so that it does not
depend on the machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.data.limits import parse_bytes, spell_bytes
from maxmargin.data.memory import available_memory
from maxmargin.solvers.kernel.exact import Exact, GivenValues, NamedValues
from maxmargin.solvers.kernel.given import called_matrix, check_matrix, given_matrix
from maxmargin.solvers.kernel.gram import (
    DISTANCE,
    KERNELS,
    Kernel,
    KernelCallable,
    empty_matrix,
    fill,
    kernel_from_distances,
    matrix_bytes,
    points_for,
)

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
REPEATED = 2  # times that a cache is filled before it is called too small
MANY_VALUES = 10**10  # kernel values, some ten seconds of computing them
FIRST_SLICE = 125  # steps; rows asked for are counted after each slice
LEAST_SLICE = 32  # steps, however soon the matrix may pay
EARLY = 0.25  # share of the rows worth a matrix after which a growing number of them counts
EARLIEST = 0.125  # the same where many points wait for their first step
FUNCTION = 8  # what a kernel function costs, in multiply-adds of a product of rows
BLAS_ADVANTAGE = 4  # how many times faster products are made by tiles than row by row

# ---------------------------------------------------------------- memory


def budget_of(memory: int | float | str | None) -> int:
    """The byte budget: what was asked for, else seven tenths of what is available."""
    return int(0.7 * available_memory()) if memory is None else parse_bytes(memory)


def cached_rows(X: Any, kernel: Kernel, budget: int, pool: _core.Pool) -> _core.CachedRows:
    """Kernel rows computed when asked for, the last ones kept within the budget."""
    n = X.shape[0]
    capacity = budget // (4 * n)
    least = _core.CachedRows.least
    if capacity < least:
        raise ValueError(
            f"memory={budget} bytes is too small: {least} kernel rows of {n} points take "
            f"{4 * n * least} bytes, the whole matrix {matrix_bytes(n)}. Allow more memory, or "
            f"train on fewer rows"
        )
    return _core.CachedRows(view(X, 0.0), kernel.function, capacity, pool)


# ---------------------------------------------------------------- what a solver asks of a kernel


NO_END = 2**62  # steps
NOT_YET = np.empty((0, 0), dtype=np.int32)  # neighbours that the solver finds when it needs them


def combined_rows(rows: _core.KernelRows, beta: np.ndarray, pool: _core.Pool) -> np.ndarray:
    """``f_i = sum_j beta_j k(x_j, x_i)`` from the rows as they are."""
    f = np.zeros(rows.n)
    used = np.flatnonzero(beta)
    _core.add_rows(rows, used, beta[used], np.array([[0, rows.n]]), f, pool)
    return f


class MatrixSource:
    """A whole float32 matrix in memory, with the neighbours of its points if they are known.

    `exact` are its values in float64; without them the matrix itself is the kernel.
    """

    drift_known = True

    def __init__(
        self, K: np.ndarray, neighbours: np.ndarray = NOT_YET, exact: Exact | None = None
    ) -> None:
        self.K = K
        self.exact = GivenValues(K) if exact is None else exact
        self.rows = _core.MatrixRows(K)
        self.n: int = self.rows.n
        self.neighbours = neighbours

    def combine(self, beta: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``f_i = sum_j beta_j k(x_j, x_i)`` for every i, afresh."""
        return combined_rows(self.rows, beta, pool)

    def some_rows(self, points: np.ndarray) -> np.ndarray:
        """The kernel rows of a few points."""
        return self.K[points]


class PartialSource:
    """A matrix whose rows are computed when first asked for, and all at once when that pays.

    Tiles of BLAS make half of a symmetric matrix, so that a value of the whole matrix costs a
    fraction of a value of a single row. `fill_at` rows cost as much as the whole matrix: filling it
    then takes at most twice what the better of the two ways would have taken. Where rows are still
    being added at every step after `EARLY` of them, it is filled at once; after `EARLIEST` of them,
    if points inside the margin that have no row yet are worth a matrix by themselves.
    """

    drift_known = True
    neighbours = NOT_YET

    def __init__(
        self, X: Any, kernel: Kernel, pool: _core.Pool, K: np.ndarray | None = None
    ) -> None:
        self.points, self.kernel = points_for(X, kernel), kernel
        self.exact = NamedValues(self.points, kernel)
        self.n: int = self.points.n
        self.K = empty_matrix(self.n) if K is None else K
        centre = self.points.centre
        self.rows = _core.PartialRows(
            view(X if centre is None else np.asarray(X) - centre, 0.0),
            kernel.function,
            self.K,
            pool,
        )
        self.fill_at = rows_worth_a_matrix(X)
        self.seen = 0  # rows computed when it was looked at last
        if float(self.exact.diagonal.max(initial=0.0)) > LARGEST_FLOAT32:
            self.fill(pool)  # and be refused

    def steps_ahead(self) -> int:
        """Steps, of two rows each, that can be taken before the whole matrix may pay."""
        if self.rows.whole:
            return NO_END
        ahead = [share * self.fill_at - self.rows.computed for share in (EARLIEST, EARLY, 1.0)]
        return max(LEAST_SLICE, int(min((rows for rows in ahead if rows > 0), default=0)) // 2)

    def fill_if_cheaper(self, steps: int, pool: _core.Pool, waiting: int = 0) -> None:
        """Looks after some steps whether the whole matrix pays. While every step asks for a row
        that none has asked for before, many more will be needed; so they will for all the points
        that wait for their first step."""
        computed = self.rows.computed
        growing = computed - self.seen >= steps
        self.seen = computed
        share = EARLIEST if waiting >= self.fill_at else (EARLY if growing else 1.0)
        if computed >= share * self.fill_at:
            self.fill(pool)

    def fill(self, pool: _core.Pool) -> None:
        """Computes the whole matrix, if that was not done before."""
        if self.rows.whole:
            return
        fill(self.points, self.kernel.function, self.K, pool)
        if not self.kernel.of_distance:
            check_matrix(self.K, pool)  # a polynomial can overflow float32
        self.rows.filled()

    def combine(self, beta: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``f_i = sum_j beta_j k(x_j, x_i)`` for every i, afresh."""
        return combined_rows(self.rows, beta, pool)

    def some_rows(self, points: np.ndarray) -> np.ndarray:
        """The kernel rows of a few points."""
        return np.stack([self.rows.row(int(i)) for i in points])


def rows_worth_a_matrix(X: Any) -> int:
    """How many single kernel rows cost as much as the whole matrix, in multiply-adds.

    A value of a row takes one for each feature (or entry) and `FUNCTION` for the kernel function;
    in tiles BLAS multiplies `BLAS_ADVANTAGE` times faster, and half of the values are mirrored.
    """
    entries = X.nnz / max(X.shape[0], 1) if sp.issparse(X) else X.shape[1]
    alone = entries + FUNCTION
    in_tiles = entries / BLAS_ADVANTAGE + FUNCTION
    return int(np.ceil(0.5 * X.shape[0] * in_tiles / alone))


class CachedSource:
    """Kernel rows computed when asked for, within a byte budget."""

    drift_known = False

    def __init__(self, X: Any, kernel: Kernel, budget: int, pool: _core.Pool) -> None:
        self.exact = NamedValues(points_for(X, kernel), kernel)
        self.rows = cached_rows(X, kernel, budget, pool)
        self.n: int = self.rows.n
        self.neighbours = NOT_YET
        self.warned = False

    def warn_if_too_small(self) -> None:
        """Says once that rows are computed again and again, where that has begun to take long."""
        capacity = self.rows.capacity
        long = self.rows.computed * self.n >= MANY_VALUES
        if self.warned or not long or self.rows.computed < REPEATED * capacity:
            return
        self.warned = True
        size = matrix_bytes(self.n)
        warnings.warn(
            f"{self.rows.computed} kernel rows were computed so far and the memory budget holds "
            f"{capacity}: rows are computed again and again. The whole matrix of {self.n} rows "
            f"takes {spell_bytes(size)}: allow more memory, train in cells (cells=2000) or on "
            f"fewer rows, or use SparseKernelSVC, which needs no such matrix",
            UserWarning,
            stacklevel=2,
        )

    def combine(self, beta: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``f_i = sum_j beta_j k(x_j, x_i)`` for every i, in float64 past the cache."""
        used = np.flatnonzero(beta)
        others = np.flatnonzero(beta == 0)
        f = np.empty(self.n)
        everyone = np.concatenate([used, others])
        f[everyone], _ = self.exact.combine(everyone, used, beta[used], pool)
        return f


Source = MatrixSource | PartialSource | CachedSource


def sources_along(
    X: Any,
    kernel: Kernel | KernelCallable | str,
    gammas: np.ndarray,
    budget: int,
    pool: _core.Pool,
) -> Iterator[Source]:
    """A source for each gamma, valid until the next is asked for: of whole matrices where they fit.

    Kernels of a distance share one matrix of distances, if there is room for it too.
    """
    shares = isinstance(kernel, Kernel) and kernel.of_distance and len(gammas) > 1
    if shares and 2 * matrix_bytes(X.shape[0]) <= budget:
        assert isinstance(kernel, Kernel)
        points = points_for(X, kernel)
        D = fill(points, DISTANCE, empty_matrix(points.n), pool)
        K = empty_matrix(points.n)
        for gamma in gammas:
            of_gamma = kernel.with_gamma(float(gamma))
            kernel_from_distances(of_gamma, D, K, pool)
            yield MatrixSource(K, exact=NamedValues(points, of_gamma))
        return
    for gamma in gammas:
        one = kernel.with_gamma(float(gamma)) if isinstance(kernel, Kernel) else kernel
        source = source_of(X, one, budget, pool)
        if isinstance(source, PartialSource):
            source.fill(pool)
        yield source


def source_of(
    X: Any,
    kernel: Kernel | KernelCallable | str,
    budget: int,
    pool: _core.Pool,
    memory: np.ndarray | None = None,
) -> Source:
    """Rows of the whole matrix if it fits the budget, else a cache of rows.

    `kernel` is a Kernel, a function of two arrays of rows, or "precomputed" (X is the matrix). A
    matrix made from X is in the memory given, if there is one.
    """
    n = X.shape[0]
    if isinstance(kernel, str):
        return MatrixSource(given_matrix(X, pool), exact=GivenValues(np.asarray(X)))
    fits = matrix_bytes(n) <= budget
    if not isinstance(kernel, Kernel):
        if not fits:
            raise ValueError(
                f"a kernel given as a function needs its whole matrix: {n} rows take "
                f"{matrix_bytes(n)} bytes, the budget is {budget}. Allow more memory, use a kernel "
                f"by name ({', '.join(KERNELS)}), or train on fewer rows"
            )
        values = called_matrix(X, kernel)
        return MatrixSource(given_matrix(values, pool), exact=GivenValues(values))
    if not fits:
        return CachedSource(X, kernel, budget, pool)
    return PartialSource(X, kernel, pool, empty_matrix(n, memory))
