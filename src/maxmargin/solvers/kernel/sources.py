"""Where a solver's kernel rows come from: the whole matrix if memory allows, else a cache of rows.

A source has ``rows`` (the core's view of them), ``n``, ``neighbours`` and
``combine(beta) -> f``, whatever is behind it.
"""

from __future__ import annotations

import contextlib
import os
import time

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.data.limits import parse_bytes
from maxmargin.solvers.kernel.exact import Exact, GivenValues, NamedValues
from maxmargin.solvers.kernel.given import called_matrix, check_matrix, given_matrix
from maxmargin.solvers.kernel.gram import (
    KERNELS,
    Kernel,
    KernelCallable,
    empty_matrix,
    fill,
    matrix_bytes,
    points_for,
)

# ---------------------------------------------------------------- memory


def available_memory() -> int:
    """Bytes this machine can still give without swapping."""
    with contextlib.suppress(OSError), open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return 4 * 1024**3


def budget_of(memory: int | float | str | None) -> int:
    """The byte budget: what was asked for, else seven tenths of what is available."""
    return int(0.7 * available_memory()) if memory is None else parse_bytes(memory)


def cached_rows(X, kernel: Kernel, budget: int, pool: _core.Pool) -> _core.CachedRows:
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


def seconds_of_cached_fit(X, kernel: Kernel, budget: int, pool: _core.Pool) -> float:
    """A rough guess: twice as many iterations as rows, each computing what the cache lacks."""
    n = X.shape[0]
    rows = cached_rows(X, kernel, min(budget, 4 * n * _core.CachedRows.least), pool)
    began = time.perf_counter()
    rows.row(0)
    return 2 * n * (time.perf_counter() - began) * (1 - min(1.0, budget / matrix_bytes(n)) / 2)


# ---------------------------------------------------------------- what a solver asks of a kernel


NOT_YET = np.empty((0, 0), dtype=np.int32)  # neighbours that the solver finds when it needs them


class MatrixSource:
    """A whole float32 matrix in memory, with the neighbours of its points if they are known.

    `exact` are its values in float64; without them the matrix itself is the kernel.
    """

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
        f = np.zeros(self.n)
        used = np.flatnonzero(beta)
        everywhere = np.array([[0, self.n]])
        _core.add_rows(self.rows, used, beta[used], everywhere, f, pool)
        return f


class CachedSource:
    """Kernel rows computed when asked for, within a byte budget."""

    def __init__(self, X, kernel: Kernel, budget: int, pool: _core.Pool) -> None:
        self.exact = NamedValues(points_for(X, kernel), kernel)
        self.rows = cached_rows(X, kernel, budget, pool)
        self.n: int = self.rows.n
        self.neighbours = NOT_YET

    def combine(self, beta: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``f_i = sum_j beta_j k(x_j, x_i)`` for every i, in float64 past the cache."""
        used = np.flatnonzero(beta)
        others = np.flatnonzero(beta == 0)
        f = np.empty(self.n)
        everyone = np.concatenate([used, others])
        f[everyone], _ = self.exact.combine(everyone, used, beta[used], pool)
        return f


Source = MatrixSource | CachedSource


def source_of(X, kernel: Kernel | KernelCallable | str, budget: int, pool: _core.Pool) -> Source:
    """The whole matrix if it fits the budget, else a cache of rows.

    `kernel` is a Kernel, a function of two arrays of rows, or "precomputed" (X is the matrix).
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
    points = points_for(X, kernel)
    K = fill(points, kernel.function, empty_matrix(n), pool)
    if not kernel.of_distance:
        check_matrix(K, pool)  # a polynomial can overflow float32
    return MatrixSource(K, exact=NamedValues(points, kernel))
