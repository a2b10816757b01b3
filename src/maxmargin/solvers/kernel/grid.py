"""Whole grids of (C, gamma) by cross-validation, from one matrix of distances.

    for every gamma                             K = k(D): one exp for all folds and all C
        for every fold                          rows of K as they are; the fold left out is a gap
            for C from small to large           each started from the one before (I1-W4)
                solve; predict the fold left out; count errors

The points are ordered by fold, so the training points of a fold are K without one contiguous range
of rows and columns: no fold copies anything. A task is one fold of one gamma; as many run at a time
as there are threads, and the matrix of a gamma is released when its last fold is done.

Grid of the no-offset paper: ``lambda`` geometric in [10 n^-2, 1], ``sigma`` geometric in
[0.1, 2 n^(1/d)], ``gamma = sigma^2`` (rbf) or ``sigma`` (laplacian), ``C = 1 / (2 lambda n)``.
Within a fold of m < n training points lambda stays the same, so C becomes ``C n / m``. With weights
the factors n and m of C are sums of weights.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problem import C_from_lambda, Settings
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.kernel.coding import Coding
from maxmargin.solvers.kernel.folds import Fold, Validation, order_by_fold
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable
from maxmargin.solvers.kernel.grid_matrices import MatrixPool
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import MatrixSource, budget_of
from maxmargin.solvers.kernel.two_variable import KernelSolution, solve, zero_solution

# ---------------------------------------------------------------- the grid


def paper_Cs(n: int, count: int, total: float | None = None) -> np.ndarray:
    """C for lambda geometric in [10 n^-2, 1], growing; `total` is the sum of weights if not n."""
    lowest = min(10.0 / n**2, 1.0)
    total = n if total is None else total
    return np.array([C_from_lambda(lam, total) for lam in np.geomspace(1.0, lowest, count)])


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
    """What a callback of a grid sees after every task (one fold of one gamma)."""

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

    `counts` weigh the validation rows in errors and losses.
    `kernel` is a Kernel (its gamma is replaced), a function of two arrays, or "precomputed"; the
    last two have one gamma. `folds` are pairs of index arrays (training, validation).
    """

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    coding: Coding
    kernel: Kernel | KernelCallable | str
    Cs: np.ndarray
    gammas: np.ndarray

    @property
    def n(self) -> int:
        return self.codes.shape[0]


# ---------------------------------------------------------------- the search


class GridSearch:
    """One search of a grid: its folds, its matrices and what is known so far."""

    def __init__(
        self,
        problem: GridProblem,
        settings: Settings,
        method: Method,
        budget: int,
        pool: _core.Pool,
        callback: Callable[[GridProgress], bool | None] | None = None,
        like: MatrixPool | None = None,
    ) -> None:
        self.problem, self.settings, self.method = problem, settings, method
        by_clipped = method.rule == "relative"
        self.grid_method = replace(method, rule="clipped") if by_clipped else method
        self.pool, self.run = pool, Run(replace(settings, callback=callback))
        self.order = order_by_fold(problem.n, problem.folds)
        place = np.empty_like(self.order)
        place[self.order] = np.arange(problem.n)
        self.place = place
        self.folds = [Fold(train, test, place) for train, test in problem.folds]
        self.codes = problem.codes[self.order]
        self.weights = problem.weights[self.order]
        self.counts = problem.counts[self.order]
        self.labels = problem.coding.labels(self.codes)
        self.matrices = MatrixPool(problem, self.order, budget, pool, method.n_neighbours, like)
        self.result = empty_result(problem)
        self.betas: dict[tuple[int, int], np.ndarray] = {}
        self.best_beta: np.ndarray | None = None
        self.best_score = (np.inf, np.inf)
        self.lock = threading.Lock()

    def search(self) -> GridResult:
        """Every fold of every gamma."""
        tasks, done = self.tasks(), 0
        waiting, running = iter(tasks), set[Future]()
        with ThreadPoolExecutor(self.pool.threads) as executor:
            while True:
                if not self.run.ended and not self.run.poll():
                    free = self.pool.threads - len(running)
                    for task in itertools.islice(waiting, free):
                        running.add(executor.submit(self.fold_of_gamma, *task))
                if not running:
                    break
                finished, running = wait(running, timeout=0.02, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                done += len(finished)
                if finished:
                    self.report(done, len(tasks))
        self.result.complete = not np.isnan(self.result.error).any()
        self.result.seconds = self.run.clock()
        return self.result

    def tasks(self) -> list[tuple[int, int]]:
        """(gamma, fold), the long ones first: narrow kernels (large gamma) take more steps.

        As many values of gamma as there may be matrices take turns, so that no thread waits for a
        matrix that another one builds.
        """
        order = np.argsort(self.problem.gammas)[::-1].tolist()
        step = self.matrices.capacity
        together = [order[begin : begin + step] for begin in range(0, len(order), step)]
        return [(g, k) for some in together for k in range(len(self.folds)) for g in some]

    def report(self, done: int, total: int) -> None:
        """Tells the callback, which may end the search."""
        g, at = self.result.best
        progress = GridProgress(
            done,
            total,
            self.run.clock(),
            float(self.best_score[0]),
            float(self.result.Cs[at]),
            float(self.result.gammas[g]),
        )
        self.run.tell(progress)

    def fold_of_gamma(self, g: int, k: int) -> None:
        """All C of one fold and one gamma."""
        fold, pool = self.folds[k], _core.Pool(1)
        source = self.matrices.acquire(g, pool)
        try:
            f, betas, iterations = self.solve_paths(source, fold, pool)
            self.score(g, k, f, iterations)
            self.betas[g, k] = betas
        except _core.Stopped:
            return
        finally:
            self.matrices.release(g)
        with self.lock:
            if all((g, other) in self.betas for other in range(len(self.folds))):
                self.finish_gamma(g)

    def solve_paths(self, source: MatrixSource, fold: Fold, pool: _core.Pool):
        """Predictions (Cs, validation rows, problems), betas and iterations of one fold."""
        Cs = self.problem.Cs
        f = np.zeros((len(Cs), fold.test.shape[0], len(self.labels)))
        betas = np.zeros((len(Cs), len(self.labels), self.problem.n), dtype=np.float32)
        iterations = np.zeros(len(Cs), dtype=np.int64)
        share = float(self.weights[fold.train].sum() / self.weights.sum()) or 1.0
        for b, labels in enumerate(self.labels):
            y = np.where(fold.train, labels, 0.0)
            problem = BinaryProblem(source, y, self.weights, fold.ranges)
            path = RegularisationPath(
                problem, self.grid_method, pool, self.settings.stop, False, self.settings.seed
            )
            validation = Validation(path, fold)
            for at in np.argsort(Cs):
                path.start(Cs[at] / share)
                before = path.core.iterations
                if path.run(self.settings.tol, self.limit) == _core.RunEnd.stopped:
                    raise _core.Stopped
                iterations[at] += path.core.iterations - before
                f[at, :, b] = validation.predict()
                betas[at, b] = path.beta * share
        return f, betas, iterations

    @property
    def limit(self) -> int:
        return 2**62 if self.settings.max_iter is None else int(self.settings.max_iter)

    def score(self, g: int, k: int, f: np.ndarray, iterations: np.ndarray) -> None:
        """Errors and losses of one fold on its validation rows."""
        test = self.folds[k].test
        truth, counts = self.codes[test], self.counts[test]
        margins = np.column_stack([y[test] for y in self.labels])
        of_problem = np.where(margins != 0, counts[:, None], 0.0)
        for at in range(len(self.problem.Cs)):
            wrong = self.problem.coding.decide(f[at]) != truth
            losses = 1 - margins * np.clip(f[at], -1, 1)
            self.result.error[g, at, k] = mean(wrong, counts)
            self.result.loss[g, at, k] = mean(losses, of_problem)
        self.result.iterations[g, :, k] = iterations

    def finish_gamma(self, g: int) -> None:
        """Keeps the best point so far, and the mean of its folds' solutions to start from."""
        _, at = best_point(self.result.error[g : g + 1], self.result.loss[g : g + 1])
        error, loss = (values[g].mean(axis=1) for values in (self.result.error, self.result.loss))
        # Of equal points the earlier gamma wins, whichever thread was done first.
        score = (error[at], loss[at], g)
        if score < (*self.best_score, self.result.best[0]):
            self.best_score = (error[at], loss[at])
            self.result.best = (g, at)
            times = np.maximum(sum(fold.train.astype(float) for fold in self.folds), 1.0)
            total = sum(self.betas[g, k][at].astype(np.float64) for k in range(len(self.folds)))
            self.best_beta = total / times
        for k in range(len(self.folds)):
            del self.betas[g, k]

    def refit(self, settings: Settings) -> list[KernelSolution]:
        """The best point on all rows, each problem started from the mean of its folds."""
        # A pool that no stop flag ends: a search that was cut short still gives a model.
        source = self.matrices.last(self.result.best[0], _core.Pool(self.pool.threads))
        solutions = []
        for b, labels in enumerate(self.labels):
            problem = BinaryProblem(source, labels, self.weights)
            beta0 = None if self.best_beta is None else self.best_beta[b]
            solution = solve(problem, self.result.C, settings, self.pool, self.method, beta0=beta0)
            solution.beta = solution.beta[self.place]
            solution.f = solution.f[self.place]
            solutions.append(solution)
        return solutions


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
    """Searches the grid and fits the best point on all rows.

    Points of a grid are compared, not handed out: there the relative rule gives way to the clipped
    one of the paper. The last fit stops by the rule of the method.
    """
    budget = budget_of(memory)
    try:
        found = GridSearch(problem, settings, method or Method(), budget, pool, callback)
    except _core.Stopped:  # before there was a matrix of distances
        return nothing_found(problem, settings)
    result = found.search()
    if refit:
        result.solutions = found.refit(settings)
    return result


def best_point(error: np.ndarray, loss: np.ndarray) -> tuple[int, int]:
    """(gamma, C) of the smallest mean error over folds; of equal ones the smallest loss, then the
    first. Whoever names a best point names this one. NaN counts as not tried."""
    errors, losses = error.mean(axis=2), loss.mean(axis=2)
    order = np.lexsort((losses.ravel(), np.nan_to_num(errors.ravel(), nan=np.inf)))
    g, at = np.unravel_index(order[0], errors.shape)
    return int(g), int(at)


def mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The weighted mean; NaN where nothing weighs."""
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else np.nan


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
    error, loss = np.full(shape, np.nan), np.full(shape, np.nan)
    return GridResult(problem.Cs, problem.gammas, error, loss, np.zeros(shape, dtype=np.int64))
