"""Whole grids of (C, gamma) by cross-validation, from one matrix of distances.

    for every width gamma                       K = k(D): one exp for all folds and all C
        for every fold                          rows of K as they are; the fold left out is a gap
            for C from small to large           each started from the one before (I1-W4)
                solve; predict the fold left out; count errors

The points are ordered by fold, so the training points of a fold are K without one contiguous range
of rows and columns: no fold copies anything. A task is one fold of one width; as many run at a time
as there are threads, and a width's matrix is given back when its last fold is done.

Grid of the no-offset paper: ``lambda`` geometric in [10 n^-2, 1], ``sigma`` geometric in
[0.1, 2 n^(1/d)], ``gamma = sigma^2`` (rbf) or ``sigma`` (laplacian), ``C = 1 / (2 lambda n)``.
Within a fold of m < n training points lambda stays the same, so C becomes ``C n / m``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problem import C_from_lambda, Clock, Settings
from maxmargin.solvers import kernels
from maxmargin.solvers.coding import Coding
from maxmargin.solvers.kernels import Kernel, KernelCallable, MatrixSource
from maxmargin.solvers.two_variable import (
    BinaryProblem,
    KernelSolution,
    Line,
    Method,
    solve,
    zero_solution,
)

GAP = 256  # training points are one range unless more than this many others lie between


# ---------------------------------------------------------------- the grid


def paper_Cs(n: int, count: int) -> np.ndarray:
    """C for lambda geometric in [10 n^-2, 1], growing."""
    lowest = min(10.0 / n**2, 1.0)
    return np.array([C_from_lambda(lam, n) for lam in np.geomspace(1.0, lowest, count)])


def paper_gammas(n: int, d: int, kernel: str, count: int) -> np.ndarray:
    """gamma for sigma geometric in [0.1, 2 n^(1/d)], growing."""
    sigmas = np.geomspace(0.1, 2.0 * n ** (1.0 / max(d, 1)), count)
    return sigmas if kernel == "laplacian" else sigmas**2


@dataclass
class GridResult:
    """What every point of the grid gave: arrays (gammas, Cs, folds), NaN where it was cut short.

    `loss` is the mean hinge loss of the validation rows, predictions clipped to [-1, 1].
    """

    Cs: np.ndarray
    gammas: np.ndarray
    error: np.ndarray
    loss: np.ndarray
    iterations: np.ndarray
    best: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    complete: bool = True
    solutions: list[KernelSolution] = field(default_factory=list)

    @property
    def C(self) -> float:
        return float(self.Cs[self.best[1]])

    @property
    def gamma(self) -> float:
        return float(self.gammas[self.best[0]])


@dataclass(frozen=True)
class GridProgress:
    """What a callback of a grid sees after every task (one fold of one width)."""

    done: int
    total: int
    seconds: float
    best_error: float
    best_C: float
    best_gamma: float

    @property
    def seconds_left(self) -> float:
        return self.seconds / max(self.done, 1) * (self.total - self.done)


@dataclass
class GridProblem:
    """What is searched: rows, class numbers, weights, folds, and the grid.

    `kernel` is a Kernel (its gamma is replaced), a function of two arrays, or "precomputed"; the
    last two have one width. `folds` are pairs of index arrays (training, validation).
    """

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    coding: Coding
    kernel: Kernel | KernelCallable | str
    Cs: np.ndarray
    gammas: np.ndarray

    @property
    def n(self) -> int:
        return self.codes.shape[0]


# ---------------------------------------------------------------- folds


class Fold:
    """One fold in the common order of the points."""

    def __init__(self, train: np.ndarray, test: np.ndarray, place: np.ndarray) -> None:
        n = place.shape[0]
        self.train = np.zeros(n, dtype=bool)
        self.train[place[train]] = True
        self.test = np.sort(place[test])
        self.ranges = runs(self.train)
        tested = np.zeros(n, dtype=bool)
        tested[self.test] = True
        self.test_ranges = runs(tested)
        self.size = int(self.train.sum())


def runs(mask: np.ndarray) -> np.ndarray:
    """Ranges [begin, end) that cover the true entries; gaps up to GAP are bridged."""
    true = np.flatnonzero(mask)
    if true.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    cut = np.flatnonzero(np.diff(true) > GAP)
    begin = true[np.concatenate([[0], cut + 1])]
    end = true[np.concatenate([cut, [true.size - 1]])] + 1
    return np.ascontiguousarray(np.column_stack([begin, end]), dtype=np.int64)


def order_by_fold(n: int, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """An order in which each validation set is contiguous, if the folds are a partition."""
    fold_of = np.full(n, len(folds))
    for k, (_, test) in enumerate(folds):
        fold_of[test] = np.minimum(fold_of[test], k)
    return np.argsort(fold_of, kind="stable")


# ---------------------------------------------------------------- matrices, one a width


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
                f"memory, use fewer rows, or SparseKernelSVC"
            )
        self.D = kernels.distance_matrix(problem.X, pool, order) if with_distances else None
        self.neighbours: np.ndarray | None = None
        self.free = threading.Semaphore(max(1, min(copies, widths, pool.threads)))
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


# ---------------------------------------------------------------- the search


class Search:
    """One search of a grid: its folds, its matrices and what is known so far."""

    def __init__(
        self,
        problem: GridProblem,
        settings: Settings,
        method: Method,
        budget: int,
        pool: _core.Pool,
        callback: Callable[[GridProgress], bool | None] | None = None,
    ) -> None:
        self.problem, self.settings, self.method = problem, settings, method
        self.pool, self.callback, self.clock = pool, callback, Clock()
        self.order = order_by_fold(problem.n, problem.folds)
        place = np.empty_like(self.order)
        place[self.order] = np.arange(problem.n)
        self.place = place
        self.folds = [Fold(train, test, place) for train, test in problem.folds]
        self.codes = problem.codes[self.order]
        self.weights = problem.weights[self.order]
        self.labels = problem.coding.labels(self.codes)
        self.shelf = Shelf(problem, self.order, budget, pool, method.n_neighbours)
        self.result = empty_result(problem)
        self.betas: dict[tuple[int, int], np.ndarray] = {}
        self.best_beta: np.ndarray | None = None
        self.best_score = (np.inf, np.inf)
        self.lock = threading.Lock()

    def run(self) -> GridResult:
        """Every fold of every width; then the best point once more on all rows."""
        tasks = [(w, k) for w in range(len(self.problem.gammas)) for k in range(len(self.folds))]
        stop = self.settings.stop
        with ThreadPoolExecutor(self.pool.threads) as executor:
            waiting = iter(tasks)
            running: set[Future] = set()
            done, ended = 0, False
            while True:
                ended = ended or (stop is not None and stop.poll())
                while not ended and len(running) < self.pool.threads:
                    task = next(waiting, None)
                    if task is None:
                        break
                    running.add(executor.submit(self.fold_of_width, *task))
                if not running:
                    break
                finished, running = wait(running, timeout=0.02, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += 1
                if finished and self.report(done, len(tasks)):
                    ended = True
        self.result.complete = not np.isnan(self.result.error).any()
        self.result.seconds = self.clock()
        return self.result

    def report(self, done: int, total: int) -> bool:
        if self.callback is None:
            return False
        width, at = self.result.best
        progress = GridProgress(
            done,
            total,
            self.clock(),
            float(self.best_score[0]),
            float(self.result.Cs[at]),
            float(self.result.gammas[width]),
        )
        return bool(self.callback(progress))

    def fold_of_width(self, width: int, k: int) -> None:
        """All C of one fold and one width."""
        fold, pool = self.folds[k], _core.Pool(1)
        source = self.shelf.take(width, pool)
        try:
            f, betas, iterations = self.solve_lines(source, fold, pool)
            self.score(width, k, f, iterations)
            self.betas[width, k] = betas
        except _core.Stopped:
            return
        finally:
            self.shelf.give_back(width)
        with self.lock:
            if all((width, other) in self.betas for other in range(len(self.folds))):
                self.finish_width(width)

    def solve_lines(self, source: MatrixSource, fold: Fold, pool: _core.Pool):
        """Predictions (Cs, validation rows, problems), betas and iterations of one fold."""
        Cs = self.problem.Cs
        f = np.zeros((len(Cs), fold.test.shape[0], len(self.labels)))
        betas = np.zeros((len(Cs), len(self.labels), self.problem.n), dtype=np.float32)
        iterations = np.zeros(len(Cs), dtype=np.int64)
        for b, labels in enumerate(self.labels):
            y = np.where(fold.train, labels, 0.0)
            problem = BinaryProblem(source, y, self.weights, fold.ranges)
            line = Line(problem, self.method, pool, self.settings.stop, False, self.settings.seed)
            validation = Validation(line, fold)
            for at in np.argsort(Cs):
                line.start(Cs[at] * self.problem.n / max(fold.size, 1))
                before = line.core.iterations
                if line.run(self.settings.tol, self.limit) == _core.RunEnd.stopped:
                    raise _core.Stopped
                iterations[at] += line.core.iterations - before
                f[at, :, b] = validation.predict()
                betas[at, b] = line.beta * (fold.size / self.problem.n)
        return f, betas, iterations

    @property
    def limit(self) -> int:
        return 2**62 if self.settings.max_iter is None else int(self.settings.max_iter)

    def score(self, width: int, k: int, f: np.ndarray, iterations: np.ndarray) -> None:
        """Errors and losses of one fold on its validation rows."""
        test = self.folds[k].test
        truth = self.codes[test]
        for at in range(len(self.problem.Cs)):
            self.result.error[width, at, k] = np.mean(self.problem.coding.decide(f[at]) != truth)
            margins = np.column_stack([y[test] for y in self.labels])
            losses = np.where(margins != 0, 1 - margins * np.clip(f[at], -1, 1), np.nan)
            self.result.loss[width, at, k] = np.nanmean(losses) if losses.size else np.nan
        self.result.iterations[width, :, k] = iterations

    def finish_width(self, width: int) -> None:
        """Keeps the best point so far, and the mean of its folds' solutions to start from."""
        error = self.result.error[width].mean(axis=1)
        loss = self.result.loss[width].mean(axis=1)
        at = min(range(len(error)), key=lambda c: (error[c], loss[c]))
        # Of equal points the earlier width wins, whichever thread was done first.
        score = (error[at], loss[at], width)
        if score < (*self.best_score, self.result.best[0]):
            self.best_score = (error[at], loss[at])
            self.result.best = (width, at)
            times = np.maximum(sum(fold.train.astype(float) for fold in self.folds), 1.0)
            total = sum(self.betas[width, k][at].astype(np.float64) for k in range(len(self.folds)))
            self.best_beta = total / times
        for k in range(len(self.folds)):
            del self.betas[width, k]

    def refit(self, settings: Settings) -> list[KernelSolution]:
        """The best point on all rows, each problem started from the mean of its folds."""
        # A pool that no stop flag ends: a search that was cut short still gives a model.
        source = self.shelf.last(self.result.best[0], _core.Pool(self.pool.threads))
        solutions = []
        for b, labels in enumerate(self.labels):
            problem = BinaryProblem(source, labels, self.weights)
            beta0 = None if self.best_beta is None else self.best_beta[b]
            solution = solve(problem, self.result.C, settings, self.pool, self.method, beta0=beta0)
            solution.beta = solution.beta[self.place]
            solution.f = solution.f[self.place]
            solutions.append(solution)
        return solutions


class Validation:
    """``f`` on the validation rows of a fold, for one C after another.

    From one C to the next most points stay at a bound: their part of f grows with C. So f is
    scaled, or kept, and only the other points are added, whichever is cheapest.
    """

    def __init__(self, line: Line, fold: Fold) -> None:
        self.line, self.fold = line, fold
        self.f = np.zeros(line.rows.n)
        self.beta = np.zeros(line.rows.n)
        self.c = np.zeros(line.rows.n)
        self.C = 1.0

    def predict(self) -> np.ndarray:
        line = self.line
        C = line.C or 1.0
        ratio = C / self.C
        bounded = (line.beta == line.c) & (self.beta == self.c) & (self.c != 0)
        ways = [
            (0.0, line.beta),
            (1.0, line.beta - self.beta),
            (ratio, np.where(bounded, 0.0, line.beta - ratio * self.beta)),
        ]
        factor, change = min(ways, key=lambda way: np.count_nonzero(way[1]))
        self.f *= factor
        used = np.flatnonzero(change)
        _core.add_rows(line.rows, used, change[used], self.fold.test_ranges, self.f, line.pool)
        self.beta[:], self.c[:], self.C = line.beta, line.c, C
        return self.f[self.fold.test]


def search(
    problem: GridProblem,
    settings: Settings,
    pool: _core.Pool,
    *,
    method: Method | None = None,
    memory: int | float | str | None = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
    refit: bool = True,
) -> GridResult:
    """Searches the grid and fits the best point on all rows."""
    budget = kernels.budget_of(memory)
    try:
        found = Search(problem, settings, method or Method(), budget, pool, callback)
    except _core.Stopped:  # before there was a matrix of distances
        return nothing_found(problem, settings)
    result = found.run()
    if refit:
        result.solutions = found.refit(settings)
    return result


def nothing_found(problem: GridProblem, settings: Settings) -> GridResult:
    """No point tried, and f = 0."""
    result = empty_result(problem)
    result.complete = False
    result.solutions = [
        zero_solution(y, problem.weights, result.C, settings)
        for y in problem.coding.labels(problem.codes)
    ]
    return result


def empty_result(problem: GridProblem) -> GridResult:
    shape = (len(problem.gammas), len(problem.Cs), len(problem.folds))
    return GridResult(
        problem.Cs,
        problem.gammas,
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.zeros(shape, dtype=np.int64),
    )
