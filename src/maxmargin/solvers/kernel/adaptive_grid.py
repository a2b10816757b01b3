"""Grids that fit the data: scaled by its distances, widened at their edges, refined at the best.

    gamma    from kernels nearly constant over the data to kernels that hardly reach the nearest
             neighbour: ``[1 / (4 median ||x - z||^2), 2 / median of the nearest ||x - z||^2]``
    C        from 0.1 to n / 2 over the mean weight: lambda = 1 / (2 n C) from 5 / n to 1 / n^2

Five values each at first. While the best point lies at an edge, values beyond it are tried beside
the best; then the points half way to its neighbours. About 40 points find what a grid of 10 x 10
does, wherever it lies. All rounds share one matrix of distances. Points that the first fold shows
to be worse than chance explains are not tried in the others, and a point that takes more than
`STEPS` steps a row is judged where it stands: such points lie at large C and small gamma, take most
of the time, and change hardly a prediction in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.gram import Kernel, Points
from maxmargin.solvers.kernel.grid import GridSearch, nothing_found
from maxmargin.solvers.kernel.grid_problem import (
    GridProblem,
    GridProgress,
    GridResult,
    best_point,
    empty_result,
)
from maxmargin.solvers.kernel.path import NO_LIMIT, Method
from maxmargin.solvers.kernel.sources import budget_of
from maxmargin.solvers.kernel.two_variable import KernelSolution

COARSE = 5  # values of C and of gamma to begin with
WIDENINGS = 3
STEPS = 4  # per row, in the search: a point that takes more is judged as it is
SAMPLE = 256  # rows whose distances to all others tell the scale
LEAST_RANGE = 32.0  # of gammas: in many dimensions the nearest is as far as any other


# ---------------------------------------------------------------- where to begin


def scaled_Cs(n: int, total: float, count: int = COARSE) -> np.ndarray:
    """C geometric in [0.1, n / 2], over the mean weight."""
    return np.geomspace(0.1, max(0.5 * n, 10.0), count) * (n / total)


def scaled_gammas(X: Any, kernel: str, count: int = COARSE) -> np.ndarray:
    """gamma by the distances of a sample of rows to all rows."""
    median, nearest = distance_scales(X)
    low = 0.25 / median
    high = max(2.0 / nearest, LEAST_RANGE * low)
    gammas = np.geomspace(low, high, count)
    return np.sqrt(gammas) if kernel == "laplacian" else gammas


def distance_scales(X: Any) -> tuple[float, float]:
    """Median squared distance of two rows, and of a row to its nearest that is not the same."""
    points = Points(X)
    step = max(1, points.n // SAMPLE)
    sample = points.taken(np.arange(0, points.n, step)[:SAMPLE])
    left, right = sample.tile(0, sample.n), points.tile(0, points.n)
    left, right = (p.toarray() if hasattr(p, "toarray") else p for p in (left, right))
    D = cdist(left, right, "sqeuclidean")
    positive = D[D > 0]
    if not positive.size:
        return 1.0, 1.0
    nearest = np.where(D > 0, D, np.inf).min(axis=1)
    return float(np.median(positive)), float(np.median(nearest[np.isfinite(nearest)]))


# ---------------------------------------------------------------- rounds


class Rounds:
    """What several searches on one matrix of distances have found together."""

    def __init__(
        self,
        problem: GridProblem,
        settings: Settings,
        pool: _core.Pool,
        method: Method,
        budget: int,
        callback: Callable[[GridProgress], bool | None] | None,
        screens: bool = False,
    ) -> None:
        self.problem, self.settings, self.pool = problem, settings, pool
        self.method, self.budget, self.callback = method, budget, callback
        self.screens = screens
        self.searches: list[GridSearch] = []

    def search(self, Cs: Any, gammas: Any, near: bool = False) -> bool:
        """Tries these; False if the search was cut short. None is hopeless `near` the best."""
        least = self.least_on_first_fold() if self.screens and not near else None
        problem = replace(self.problem, Cs=np.array(Cs), gammas=np.array(gammas))
        like = self.searches[0].matrices if self.searches else None
        found = GridSearch(
            problem,
            self.settings,
            self.method,
            self.budget,
            self.pool,
            self.callback,
            like,
            most_steps=STEPS * problem.n if self.screens else NO_LIMIT,
        )
        self.searches.append(found)
        return found.search(least).complete

    def least_on_first_fold(self) -> float:
        """The least error there so far; infinity if nothing was tried."""
        errors = [found.result.error[:, :, 0] for found in self.searches]
        return min((float(np.nanmin(e)) for e in errors if not np.isnan(e).all()), default=np.inf)

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """All C and all gammas tried, growing."""
        return (
            np.unique(np.concatenate([found.result.Cs for found in self.searches])),
            np.unique(np.concatenate([found.result.gammas for found in self.searches])),
        )

    def result(self) -> GridResult:
        """One table of all rounds, NaN where a point was not tried."""
        Cs, gammas = self.values()
        table = empty_result(replace(self.problem, Cs=Cs, gammas=gammas))
        for found in self.searches:
            rows = np.searchsorted(gammas, found.result.gammas)
            columns = np.searchsorted(Cs, found.result.Cs)
            place = np.ix_(rows, columns)
            new = np.isnan(table.error[place])  # of a point tried twice the first try stands
            for name in ("error", "loss", "iterations"):
                into, values = getattr(table, name), getattr(found.result, name)
                into[place] = np.where(new, values, into[place])
        table.best = best_point(table.error, table.loss)
        table.complete = all(found.result.complete for found in self.searches)
        table.seconds = sum(found.result.seconds for found in self.searches)
        return table

    def refit(self, result: GridResult) -> list[KernelSolution]:
        """The best point on all rows, from the solutions of its folds where a round kept them."""
        tried = [found for found in self.searches if found.tried(result.C, result.gamma)]
        for found in tried:
            if (found.result.C, found.result.gamma) == (result.C, result.gamma):
                return found.refit(self.settings)
        tried[0].choose(result.C, result.gamma)
        return tried[0].refit(self.settings)


def search_adaptively(
    problem: GridProblem,
    settings: Settings,
    pool: _core.Pool,
    *,
    method: Method | None = None,
    memory: int | float | str | None = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
    free_C: bool = True,
    free_gamma: bool = True,
) -> GridResult:
    """Searches from the coarse grid of the problem on, and fits the best point on all rows.

    Values that somebody gave (not `free_C`, not `free_gamma`) are tried as they are, all of them.
    """
    screens = free_C and (free_gamma or len(problem.gammas) == 1)
    budget = budget_of(memory)
    rounds = Rounds(problem, settings, pool, method or Method(), budget, callback, screens)
    try:
        complete = rounds.search(problem.Cs, problem.gammas)
    except _core.Stopped:  # before there was a matrix of distances
        return nothing_found(problem, settings)
    free_gamma = free_gamma and isinstance(problem.kernel, Kernel) and len(problem.gammas) > 1
    free_C = free_C and len(problem.Cs) > 1
    for _ in range(WIDENINGS):
        wider = beyond_edges(rounds.result(), free_C, free_gamma)
        if not complete or wider is None:
            break
        complete = rounds.search(*wider)
    if complete and (free_C or free_gamma):
        Cs, gammas = around_best(rounds.result(), free_C, free_gamma)
        complete = rounds.search(Cs, gammas, near=True)
    result = rounds.result()
    result.solutions = rounds.refit(result)
    return result


def beyond_edges(result: GridResult, free_C: bool, free_gamma: bool) -> tuple[Any, Any] | None:
    """C and gammas to try because the best point lies at an edge; None if it does not."""
    g, at = result.best
    Cs, gammas = result.Cs, result.gammas
    C_beyond = next_beyond(Cs, at) if free_C else None
    gamma_beyond = next_beyond(gammas, g) if free_gamma else None
    if C_beyond is None and gamma_beyond is None:
        return None
    near_C = Cs[max(0, at - 1) : at + 2]
    near_gamma = gammas[max(0, g - 1) : g + 2]
    if C_beyond is None:
        return near_C, [gamma_beyond]
    if gamma_beyond is None:
        return [C_beyond], near_gamma
    return np.append(near_C, C_beyond), [gamma_beyond]


def next_beyond(values: np.ndarray, at: int) -> float | None:
    """The next value of a geometric row, if `at` is one of its ends."""
    if at == 0:
        return float(values[0] ** 2 / values[1])
    if at == len(values) - 1:
        return float(values[-1] ** 2 / values[-2])
    return None


def around_best(result: GridResult, free_C: bool, free_gamma: bool) -> tuple[Any, Any]:
    """The best C and gamma, and the values half way to their neighbours."""
    g, at = result.best
    return (
        halves(result.Cs, at) if free_C else result.Cs[at : at + 1],
        halves(result.gammas, g) if free_gamma else result.gammas[g : g + 1],
    )


def halves(values: np.ndarray, at: int) -> list[float]:
    """A value, and the geometric means with those beside it."""
    found = [float(values[at])]
    if at > 0:
        found.insert(0, float(np.sqrt(values[at - 1] * values[at])))
    if at + 1 < len(values):
        found.append(float(np.sqrt(values[at] * values[at + 1])))
    return found
