"""Kernel values of a grid: a matrix for each gamma, made from one matrix of distances.

Where not even one matrix fits the memory, each gamma has a cache of the rows used last. Its folds
then take turns, as a cache serves one thread at a time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.data.limits import spell_bytes
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel.exact import Exact, GivenValues, NamedValues
from maxmargin.solvers.kernel.given import called_matrix, check_matrix, given_matrix
from maxmargin.solvers.kernel.gram import Kernel, Points
from maxmargin.solvers.kernel.sources import CachedSource, MatrixSource

LEAST_ROWS = 256  # of a cache: fewer are computed again at nearly every step

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.grid_problem import GridProblem


class MatrixPool:
    """Kernel matrices of the values of gamma being worked on, within a byte budget.

    The first task of a gamma builds its matrix, the last one leaves its memory to the next gamma.
    What does not depend on gamma is taken from another pool for the same rows, if given.
    """

    def __init__(
        self,
        problem: GridProblem,
        order: np.ndarray,
        budget: int,
        pool: _core.Pool,
        neighbours: int,
        like: MatrixPool | None = None,
    ) -> None:
        self.problem, self.order = problem, order
        size, gammas = kernels.matrix_bytes(problem.n), len(problem.gammas)
        of_distance = isinstance(problem.kernel, Kernel) and problem.kernel.of_distance
        with_distances = of_distance and 2 * size <= budget
        copies = (budget // size) - with_distances
        self.cached, self.budget = copies < 1, budget
        if self.cached:
            check_cache(problem, budget)
            copies = max(1, budget // row_bytes(problem.n, LEAST_ROWS))
        self.D: np.ndarray | None = None
        self.points: Points | None = None
        self.given: np.ndarray | None = None
        if like is not None:
            self.D, self.points, self.given = like.D, like.points, like.given
        elif isinstance(problem.kernel, Kernel):
            if not self.cached:  # else rows are computed when they are asked for
                self.points = points = kernels.points_for(problem.X, problem.kernel, order)
                if with_distances:
                    K = kernels.empty_matrix(problem.n)
                    self.D = kernels.fill(points, kernels.DISTANCE, K, pool)
        elif isinstance(problem.kernel, str):
            self.given = np.asarray(problem.X)[np.ix_(order, order)]
        else:
            self.given = called_matrix(problem.X[order], problem.kernel)
        self.neighbours: np.ndarray | None = None if like is None else like.neighbours
        self.capacity = max(1, min(copies, gammas, pool.threads))  # matrices at a time
        self.free = threading.Semaphore(self.capacity)
        self.buffers: list[np.ndarray] = [] if like is None else like.buffers
        self.sources: dict[int, MatrixSource | CachedSource] = {}
        self.left = [len(problem.folds)] * gammas
        self.locks = [threading.Lock() for _ in range(gammas)]
        self.turns = [threading.Lock() for _ in range(gammas)]  # of a cache
        self.lock = threading.Lock()
        most = max((problem.n / max(len(train), 1) for train, _ in problem.folds), default=1.0)
        self.stored = int(np.ceil(neighbours * min(most, 4.0))) + 1
        if self.D is not None and self.neighbours is None:
            self.neighbours = kernels.neighbours_in(self.D, self.stored, pool)

    def expect(self, tasks: list[int]) -> None:
        """How often each gamma will be acquired."""
        self.left = tasks

    def acquire(self, g: int, pool: _core.Pool) -> MatrixSource | CachedSource:
        with self.locks[g]:
            if g not in self.sources:
                self.free.acquire()
                try:
                    self.sources[g] = self.build(g, pool)
                except BaseException:
                    self.free.release()  # or the others would wait for ever
                    raise
            source = self.sources[g]
        if self.cached:
            self.turns[g].acquire()
        return source

    def release(self, g: int) -> None:
        if self.cached:
            self.turns[g].release()
        with self.lock:
            self.left[g] -= 1
            if self.left[g] == 0:
                self.keep_buffer(self.sources.pop(g))
                self.free.release()

    def keep_buffer(self, source: MatrixSource | CachedSource) -> None:
        """Leaves the memory of a matrix to the next one."""
        if isinstance(source, MatrixSource):
            self.buffers.append(source.K)

    def last(self, g: int, pool: _core.Pool) -> MatrixSource | CachedSource:
        """The values of the g-th gamma once no task runs any more; all others are released."""
        for other, source in self.sources.items():
            if other != g:
                self.keep_buffer(source)
        self.sources = {g: self.sources[g]} if g in self.sources else {}
        return self.sources[g] if g in self.sources else self.build(g, pool)

    def cache(self, g: int, pool: _core.Pool) -> CachedSource:
        """A cache of rows with its share of the memory."""
        assert isinstance(self.problem.kernel, Kernel)
        kernel = self.problem.kernel.with_gamma(self.problem.gammas[g])
        share = self.budget // self.capacity
        return CachedSource(self.problem.X[self.order], kernel, share, pool)

    def build(self, g: int, pool: _core.Pool) -> MatrixSource | CachedSource:
        problem = self.problem
        if self.cached:
            return self.cache(g, pool)
        exact: Exact
        with self.lock:
            K = self.buffers.pop() if self.buffers else None
        if self.given is not None:
            K, exact = given_matrix(self.given, pool), GivenValues(self.given)
        else:
            assert self.points is not None and isinstance(problem.kernel, Kernel)
            K = kernels.empty_matrix(problem.n) if K is None else K
            kernel = problem.kernel.with_gamma(problem.gammas[g])
            exact = NamedValues(self.points, kernel)
            if self.D is not None:
                kernels.kernel_from_distances(kernel, self.D, K, pool)
            else:
                kernels.fill(self.points, kernel.function, K, pool)
                check_matrix(K, pool)
        with self.lock:
            if self.neighbours is None:
                self.neighbours = kernels.neighbours_by_kernel(K, self.stored, pool)
        return MatrixSource(K, self.neighbours, exact)


def row_bytes(n: int, count: int) -> int:
    """Of so many kernel rows of n values."""
    return 4 * n * count


def check_cache(problem: GridProblem, budget: int) -> None:
    """Refuses what a cache of rows cannot serve."""
    size = kernels.matrix_bytes(problem.n)
    found = (
        f"the kernel matrix of {problem.n} rows takes {spell_bytes(size)}, the memory budget is "
        f"{spell_bytes(budget)}"
    )
    if not isinstance(problem.kernel, Kernel):
        raise ValueError(
            f"{found}. A precomputed kernel, or one given as a function, needs its whole matrix: "
            f"allow more memory, use fewer rows, or a kernel by name"
        )
    if budget < row_bytes(problem.n, min(LEAST_ROWS, problem.n)):
        raise ValueError(
            f"{found}, too little even for a cache of {LEAST_ROWS} rows. Allow more memory, use "
            f"fewer rows, train in cells (cells=4000), or take SparseKernelSVC, which needs no "
            f"such matrix"
        )
