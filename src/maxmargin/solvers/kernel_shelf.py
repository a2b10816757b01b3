"""Kernel matrices of the widths of a grid, made from one matrix of distances."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.solvers import kernels
from maxmargin.solvers.kernel_sources import MatrixSource
from maxmargin.solvers.kernels import Kernel, KernelCallable

if TYPE_CHECKING:
    from maxmargin.solvers.kernel_grid import GridProblem


class Shelf:
    """Kernel matrices of the widths being worked on, within a byte budget.

    The first task of a width builds its matrix, the last one gives its memory to the next width.
    """

    def __init__(
        self,
        problem: GridProblem,
        order: np.ndarray,
        budget: int,
        pool: _core.Pool,
        neighbours: int,
    ) -> None:
        self.problem, self.order = problem, order
        size, widths = kernels.matrix_bytes(problem.n), len(problem.gammas)
        of_distance = isinstance(problem.kernel, Kernel) and problem.kernel.of_distance
        with_distances = of_distance and 2 * size <= budget
        copies = (budget // size) - with_distances
        if copies < 1:
            raise ValueError(
                f"the kernel matrix of {problem.n} rows takes {size / 2**30:.2f} GiB, the memory "
                f"budget is {budget / 2**30:.2f} GiB. A grid needs the whole matrix: allow more "
                f"memory, use fewer rows, or take SparseKernelSVC, which needs no such matrix"
            )
        self.D = kernels.distance_matrix(problem.X, pool, order) if with_distances else None
        self.neighbours: np.ndarray | None = None
        self.capacity = max(1, min(copies, widths, pool.threads))  # matrices at a time
        self.free = threading.Semaphore(self.capacity)
        self.buffers: list[np.ndarray] = []
        self.sources: dict[int, MatrixSource] = {}
        self.left = [len(problem.folds)] * widths
        self.locks = [threading.Lock() for _ in range(widths)]
        self.lock = threading.Lock()
        most = max((problem.n / max(len(train), 1) for train, _ in problem.folds), default=1.0)
        self.stored = int(np.ceil(neighbours * min(most, 4.0))) + 1
        if self.D is not None:
            self.neighbours = kernels.neighbours_in(self.D, self.stored, pool)

    def take(self, width: int, pool: _core.Pool) -> MatrixSource:
        with self.locks[width]:
            if width not in self.sources:
                self.free.acquire()
                try:
                    self.sources[width] = self.build(width, pool)
                except BaseException:
                    self.free.release()  # or the others would wait for ever
                    raise
            return self.sources[width]

    def give_back(self, width: int) -> None:
        with self.lock:
            self.left[width] -= 1
            if self.left[width] == 0:
                self.buffers.append(self.sources.pop(width).K)
                self.free.release()

    def last(self, width: int, pool: _core.Pool) -> MatrixSource:
        """The matrix of one width once no task runs any more; all others are given back."""
        self.buffers += [source.K for w, source in self.sources.items() if w != width]
        return self.sources[width] if width in self.sources else self.build(width, pool)

    def build(self, width: int, pool: _core.Pool) -> MatrixSource:
        problem = self.problem
        with self.lock:
            K = self.buffers.pop() if self.buffers else None
        if not isinstance(problem.kernel, Kernel):
            K = self.fixed(problem.kernel, pool)
        else:
            K = kernels.empty_matrix(problem.n) if K is None else K
            kernel = problem.kernel.with_gamma(problem.gammas[width])
            if self.D is not None:
                kernels.kernel_from_distances(kernel, self.D, K, pool)
            else:
                kernels.kernel_matrix(problem.X, kernel, pool, self.order, K)
                kernels.check_matrix(K, pool)
        with self.lock:
            if self.neighbours is None:
                self.neighbours = kernels.neighbours_by_kernel(K, self.stored, pool)
        return MatrixSource(K, self.neighbours)

    def fixed(self, kernel: KernelCallable | str, pool: _core.Pool) -> np.ndarray:
        """The matrix of a kernel without a width, in the order of the folds."""
        X = self.problem.X
        if isinstance(kernel, str):
            return kernels.given_matrix(np.asarray(X)[np.ix_(self.order, self.order)], pool)
        return kernels.called_matrix(X[self.order], kernel, pool)
