"""Kernel matrices of a grid, one for each gamma, made from one matrix of distances."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel.exact import Exact, GivenValues, NamedValues
from maxmargin.solvers.kernel.given import called_matrix, check_matrix, given_matrix
from maxmargin.solvers.kernel.gram import Kernel, Points
from maxmargin.solvers.kernel.sources import MatrixSource

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.grid import GridProblem


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
        if copies < 1:
            raise ValueError(
                f"the kernel matrix of {problem.n} rows takes {size / 2**30:.2f} GiB, the memory "
                f"budget is {budget / 2**30:.2f} GiB. A grid needs the whole matrix: allow more "
                f"memory, use fewer rows, or take SparseKernelSVC, which needs no such matrix"
            )
        self.D: np.ndarray | None = None
        self.points: Points | None = None
        self.given: np.ndarray | None = None
        if like is not None:
            self.D, self.points, self.given = like.D, like.points, like.given
        elif isinstance(problem.kernel, Kernel):
            self.points = kernels.points_for(problem.X, problem.kernel, order)
            if with_distances:
                K = kernels.empty_matrix(problem.n)
                self.D = kernels.fill(self.points, kernels.DISTANCE, K, pool)
        elif isinstance(problem.kernel, str):
            self.given = np.asarray(problem.X)[np.ix_(order, order)]
        else:
            self.given = called_matrix(problem.X[order], problem.kernel)
        self.neighbours: np.ndarray | None = None if like is None else like.neighbours
        self.capacity = max(1, min(copies, gammas, pool.threads))  # matrices at a time
        self.free = threading.Semaphore(self.capacity)
        self.buffers: list[np.ndarray] = [] if like is None else like.buffers
        self.sources: dict[int, MatrixSource] = {}
        self.left = [len(problem.folds)] * gammas
        self.locks = [threading.Lock() for _ in range(gammas)]
        self.lock = threading.Lock()
        most = max((problem.n / max(len(train), 1) for train, _ in problem.folds), default=1.0)
        self.stored = int(np.ceil(neighbours * min(most, 4.0))) + 1
        if self.D is not None and self.neighbours is None:
            self.neighbours = kernels.neighbours_in(self.D, self.stored, pool)

    def acquire(self, g: int, pool: _core.Pool) -> MatrixSource:
        with self.locks[g]:
            if g not in self.sources:
                self.free.acquire()
                try:
                    self.sources[g] = self.build(g, pool)
                except BaseException:
                    self.free.release()  # or the others would wait for ever
                    raise
            return self.sources[g]

    def release(self, g: int) -> None:
        with self.lock:
            self.left[g] -= 1
            if self.left[g] == 0:
                self.buffers.append(self.sources.pop(g).K)
                self.free.release()

    def last(self, g: int, pool: _core.Pool) -> MatrixSource:
        """The matrix of the g-th gamma once no task runs any more; all others are released."""
        self.buffers += [source.K for other, source in self.sources.items() if other != g]
        return self.sources[g] if g in self.sources else self.build(g, pool)

    def build(self, g: int, pool: _core.Pool) -> MatrixSource:
        problem = self.problem
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
