"""Whole grids of (C, gamma) by cross-validation, from one matrix of distances.

    for every gamma                             K = k(D): one exp for all folds and all C
        for every fold                          rows of K as they are; the fold left out is a gap
            for C from small to large           each started from the one before (I1-W4)
                solve; predict the fold left out; count errors

The points are ordered by fold, so the training points of a fold are K without one contiguous range
of rows and columns: no fold copies anything. A task is one fold of one gamma; as many run at a time
as there are threads, and the matrix of a gamma is released when its last fold is done.

A search that screens tries all points in the first fold, and goes on in the others with those that
may still be the best. Where the matrix does not fit the memory, each gamma has a cache of rows.

Grid of the no-offset paper: ``lambda`` geometric in [10 n^-2, 1], ``sigma`` geometric in
[0.1, 2 n^(1/d)], ``gamma = sigma^2`` (rbf) or ``sigma`` (laplacian), ``C = 1 / (2 lambda n)``.
Within a fold of m < n training points lambda stays the same, so C becomes ``C n / m``. With weights
the factors n and m of C are sums of weights.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.kernel.folds import Fold, Validation, order_by_fold
from maxmargin.solvers.kernel.grid_matrices import MatrixPool
from maxmargin.solvers.kernel.grid_problem import (
    GridProblem,
    GridProgress,
    GridResult,
    best_point,
    empty_result,
    mean,
    mean_of_known,
    promising,
)
from maxmargin.solvers.kernel.path import NO_LIMIT, BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import CachedSource, MatrixSource, budget_of
from maxmargin.solvers.kernel.two_variable import KernelSolution, solve, zero_solution

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
        most_steps: int = NO_LIMIT,
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
        self.betas: dict[tuple[int, int], dict[int, np.ndarray]] = {}
        self.wanted = np.zeros_like(self.result.error, dtype=bool)
        self.most_steps = most_steps
        self.best_beta: np.ndarray | None = None
        self.best_score = (np.inf, np.inf)
        self.lock = threading.Lock()

    def search(self, least: float | None = None) -> GridResult:
        """Every fold of every gamma.

        With `least`, the least error on the first fold that is known from elsewhere (inf: none),
        the first fold comes first and rules out what chance cannot make the best.
        """
        wanted: np.ndarray = np.ones(self.result.error.shape, dtype=bool)
        if least is not None and len(self.folds) > 1:
            first = np.zeros(wanted.shape, dtype=bool)
            first[..., 0] = True
            self.run_tasks(first)
            wanted[~self.still_promising(least)] = False
            wanted[:, :, 0] = False
        self.run_tasks(wanted)
        self.result.complete = not np.isnan(self.result.error[wanted]).any()
        if self.best_beta is None:  # cut short: what there is decides
            self.result.best = best_point(self.result.error, self.result.loss)
        self.result.seconds = self.run.clock()
        return self.result

    def still_promising(self, least: float) -> np.ndarray:
        """The points that may be the best, judged by the first fold."""
        error = self.result.error[:, :, 0]
        least = min(least, float(np.min(error, initial=np.inf, where=~np.isnan(error))))
        return promising(error, least, self.counts[self.folds[0].test])

    def run_tasks(self, wanted: np.ndarray) -> None:
        """The wanted points (gammas, Cs, folds), as many tasks at a time as there are threads."""
        self.wanted = wanted
        tasks, done = self.tasks(), 0
        self.matrices.expect(wanted.any(axis=1).sum(axis=1).tolist())
        waiting, running = iter(tasks), set[Future[Any]]()
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

    def tasks(self) -> list[tuple[int, int]]:
        """(gamma, fold), the long ones first: narrow kernels (large gamma) take more steps.

        As many values of gamma as there may be matrices take turns, so that no thread waits for a
        matrix that another one builds.
        """
        order = np.argsort(self.problem.gammas)[::-1].tolist()
        step, wanted = self.matrices.capacity, np.any(self.wanted, axis=1).tolist()
        together = [order[begin : begin + step] for begin in range(0, len(order), step)]
        return [
            (g, k)
            for some in together
            for k in range(len(self.folds))
            for g in some
            if wanted[g][k]
        ]

    def report(self, done: int, total: int) -> None:
        """Tells the callback, if there is one; it may end the search."""
        if self.run.settings.callback is None:
            return
        g, at = best_point(self.result.error, self.result.loss)
        progress = GridProgress(
            done,
            total,
            self.run.clock(),
            mean_of_known(self.result.error[g, at]),
            float(self.result.Cs[at]),
            float(self.result.gammas[g]),
        )
        self.run.tell(progress)

    def fold_of_gamma(self, g: int, k: int) -> None:
        """All wanted C of one fold and one gamma."""
        fold, pool = self.folds[k], _core.Pool(1)
        places = np.flatnonzero(self.wanted[g, :, k])
        source = self.matrices.acquire(g, pool)
        try:
            f, betas, iterations = self.solve_paths(source, fold, pool, self.problem.Cs[places])
            self.score(g, k, places, f, iterations)
            self.betas[g, k] = dict(zip(places.tolist(), betas))
        except _core.Stopped:
            return
        finally:
            self.matrices.release(g)
        with self.lock:
            folds = np.flatnonzero(self.wanted[g].any(axis=0)).tolist()
            if all((g, other) in self.betas for other in folds):
                self.finish_gamma(g)

    def solve_paths(
        self, source: MatrixSource | CachedSource, fold: Fold, pool: _core.Pool, Cs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predictions (Cs, validation rows, problems), betas and iterations of one fold."""
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
            for at in path.along(Cs / share):
                before = path.core.iterations
                if path.run(self.settings.tol, self.limit) == _core.RunEnd.stopped:
                    raise _core.Stopped
                iterations[at] += path.core.iterations - before
                f[at, :, b] = validation.predict()
                betas[at, b] = path.beta * share
        return f, betas, iterations

    @property
    def limit(self) -> int:
        """Steps a point may take."""
        most = self.settings.max_iter
        return min(self.most_steps, NO_LIMIT if most is None else int(most))

    def score(
        self, g: int, k: int, places: np.ndarray, f: np.ndarray, iterations: np.ndarray
    ) -> None:
        """Errors and losses of one fold on its validation rows."""
        test = self.folds[k].test
        truth, counts = self.codes[test], self.counts[test]
        margins = np.column_stack([y[test] for y in self.labels])
        of_problem = np.where(margins != 0, counts[:, None], 0.0)
        for at, scores in zip(places, f):
            wrong = self.problem.coding.decide(scores) != truth
            losses = 1 - margins * np.clip(scores, -1, 1)
            self.result.error[g, at, k] = mean(wrong, counts)
            self.result.loss[g, at, k] = mean(losses, of_problem)
        self.result.iterations[g, places, k] = iterations

    def finish_gamma(self, g: int) -> None:
        """Keeps the best point so far, and the mean of its folds' solutions to start from."""
        folds = [k for k in range(len(self.folds)) if (g, k) in self.betas]
        found = [self.betas.pop((g, k)) for k in folds]
        _, at = best_point(self.result.error[g : g + 1], self.result.loss[g : g + 1])
        error, loss = (values[g, at].mean() for values in (self.result.error, self.result.loss))
        # Of equal points the earlier gamma wins, whichever thread was done first.
        score = (error, loss, g)
        if score < (*self.best_score, self.result.best[0]):
            self.best_score = (error, loss)
            self.result.best = (g, at)
            times = np.maximum(sum(self.folds[k].train.astype(float) for k in folds), 1.0)
            self.best_beta = sum(betas[at].astype(np.float64) for betas in found) / times

    def tried(self, C: float, gamma: float) -> bool:
        """Whether this is one of its points."""
        return bool(np.any(self.result.Cs == C) and np.any(self.result.gammas == gamma))

    def choose(self, C: float, gamma: float) -> None:
        """Takes a point for the best, whose solutions were not kept."""
        self.result.best = (
            int(np.flatnonzero(self.result.gammas == gamma)[0]),
            int(np.flatnonzero(self.result.Cs == C)[0]),
        )
        self.best_beta = None

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


def nothing_found(problem: GridProblem, settings: Settings) -> GridResult:
    """No point tried, and f = 0."""
    result = empty_result(problem)
    result.complete = False
    result.solutions = [
        zero_solution(y, problem.weights, result.C, settings)
        for y in problem.coding.labels(problem.codes)
    ]
    return result
