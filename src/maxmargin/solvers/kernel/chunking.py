"""A start from few points, for problems with many points and few support vectors: chunking.

    A <- some random points
    repeat   solve the problem on A alone, from the a there is
             f at more and more of the other points; A <- the support vectors, what is near the
             margin, and the worst violations of the others

(B. Boser, I. Guyon, V. Vapnik 1992; V. Vapnik 1982.) A step on A costs a sweep over A, not over all
points, and no kernel row of all points is needed. The a of a subset, 0 elsewhere, is feasible for
the whole problem and its dual value only rises; what the other points still lose is added to P.
Where the first subset has many support vectors there is no such start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.path import BinaryProblem
from maxmargin.solvers.kernel.sources import CachedSource, PartialSource

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.two_variable import KernelSolution

LEAST_POINTS = 8192  # of a problem; fewer are swept over quickly
FIRST = 2048  # points to begin with
GROWTH = 4  # of the points that are looked at, from one level to the next
FEW = 0.4  # share of support vectors among the first points that is few
MOST = 0.25  # share of the points that a subset may have
ROUNDS = 40
ADDED = 1024  # others that a round takes in, at least
ADDED_SHARE = 32  # one in so many of those seen, at least
STEPS = 50  # per point of a subset, before a level is left as it is
LOOSE, FINE = 10.0, 0.5  # times the tolerance: the first subsets and the last

Solve = Callable[[BinaryProblem, Settings, np.ndarray], "KernelSolution"]


@dataclass(frozen=True)
class Start:
    """A feasible beta, the residuals of all points, and the steps that were taken for it."""

    beta: np.ndarray
    r: np.ndarray
    steps: int


def chunking_of(
    problem: BinaryProblem, C: float, settings: Settings, pool: _core.Pool, solve: Solve
) -> Chunking | None:
    """What may find a start near the optimum; None where points are few or all rows are there."""
    source = problem.source
    if not isinstance(source, (PartialSource, CachedSource)) or source.rows.whole:
        return None
    if problem.ranges is not None or settings.max_iter is not None:
        return None
    part = np.flatnonzero(problem.y * problem.s)
    if len(part) < LEAST_POINTS:
        return None
    return Chunking(problem, source, part, C, settings, pool, solve)


class Chunking:
    """The subsets of one problem."""

    def __init__(
        self,
        problem: BinaryProblem,
        source: PartialSource | CachedSource,
        part: np.ndarray,
        C: float,
        settings: Settings,
        pool: _core.Pool,
        solve: Solve,
    ) -> None:
        self.problem, self.part, self.C, self.settings = problem, part, C, settings
        self.pool, self.solve = pool, solve
        self.exact = source.exact
        self.beta, self.f = np.zeros(source.n), np.zeros(source.n)
        self.steps = 0

    def start(self) -> Start | None:
        """Levels of more and more points, each until its points are served. None where there turn
        out to be many support vectors."""
        part = self.part
        order = np.random.default_rng(self.settings.seed).permutation(part)
        fine, loose = FINE * self.settings.tol, LOOSE * self.settings.tol
        subset, seen, tol = order[:FIRST], FIRST, loose
        primal = self.solve_on(subset, tol)
        if np.count_nonzero(self.beta) > FEW * FIRST:
            return None
        for _ in range(ROUNDS):
            lost = self.look_at(order[:seen], subset)
            if seen < len(part) and lost <= loose * primal:
                seen = min(GROWTH * seen, len(part))
                lost = self.look_at(order[:seen], subset)
            if seen == len(part) and lost <= 0.8 * fine * primal and tol == fine:
                break
            following = self.next_subset(order[:seen])
            if len(following) > MOST * len(part):
                break
            subset, tol = following, min(max(0.1 * lost / primal, fine), loose)
            primal = self.solve_on(subset, tol)
        else:  # the last solution was not looked at
            self.look_at(order[:seen], subset)
        if seen < len(part):  # many support vectors after all
            return None
        return Start(self.beta, self.problem.y - self.f, self.steps)

    def solve_on(self, subset: np.ndarray, tol: float) -> float:
        """Sets beta to the solution on the subset, and 0 elsewhere; its objective."""
        exact = self.exact
        rows = PartialSource(exact.points.X[subset], exact.kernel, self.pool)
        small = BinaryProblem(rows, self.problem.y[subset], self.problem.s[subset])
        limits = replace(self.settings, tol=tol, callback=None, max_iter=STEPS * len(subset))
        found = self.solve(small, limits, self.beta[subset])
        self.beta = np.zeros(len(self.beta))
        self.beta[subset] = found.beta
        self.f[subset] = found.f
        self.steps += found.certificate.n_iter
        return found.certificate.primal

    def look_at(self, seen: np.ndarray, subset: np.ndarray) -> float:
        """f at the points seen, and what those outside the subset lose."""
        used = np.flatnonzero(self.beta)
        others = np.setdiff1d(seen, used, assume_unique=True)
        rows = np.concatenate([used, others])
        self.f[rows], _ = self.exact.combine(rows, used, self.beta[used], self.pool)
        outside = np.setdiff1d(seen, subset, assume_unique=True)
        y, s = self.problem.y[outside], self.problem.s[outside]
        return self.C * float(s @ np.maximum(1.0 - y * self.f[outside], 0.0))

    def next_subset(self, seen: np.ndarray) -> np.ndarray:
        """Support vectors, and of the others seen those with the least margins."""
        used = np.flatnonzero(self.beta)
        others = np.setdiff1d(seen, used, assume_unique=True)
        margin = self.problem.y[others] * self.f[others]
        count = min(len(others), max(ADDED, len(used), len(seen) // ADDED_SHARE))
        nearest = others[np.argpartition(margin, count - 1)[:count]] if count else others
        return np.sort(np.concatenate([used, nearest]))
