"""A start from few points, for problems with many points and few support vectors: chunking.

    A <- some random points
    repeat   solve the problem on A alone, from the a there is
             f at more and more of the other points; A <- the support vectors, what is near the
             margin, and the worst violations of the others

(B. Boser, I. Guyon, V. Vapnik 1992; V. Vapnik 1982.) A step on A costs a sweep over A, not over all
points, and no kernel row of all points is needed. The a of a subset, 0 elsewhere, is feasible for
the whole problem and its dual value only rises; what the other points still lose is added to P.
Where the first subset has many support vectors there is no such start. f at the other points is
summed in float32, with what it errs by: whoever judges the answer looks again where that matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.path import BinaryProblem
from maxmargin.solvers.kernel.single import SingleSums
from maxmargin.solvers.kernel.sources import CachedSource, PartialSource
from maxmargin.solvers.kernel.subset_gram import SubsetGram

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.two_variable import KernelSolution

LEAST_POINTS = 8192  # of a problem; fewer are swept over quickly
FIRST = 2048  # points to begin with
GROWTH = 8  # of the points that are looked at, from one level to the next
FEW = 0.4  # share of support vectors among the first points that is few
MOST = 0.25  # share of the points that a subset may have
ROUNDS = 40
ADDED = 1024  # others that a round takes in, at least
ADDED_SHARE = 32  # one in so many of those seen, at least
NEAR = 4  # of the points of a level one in so many is looked at before all are again
MANY = 2  # times the support vectors: more points inside the margin than that wait for a round
STEPS = 50  # per point of a subset, before a level is left as it is
LOOSE, FINE = 10.0, 0.5  # times the tolerance: the first subsets and the last


@dataclass(frozen=True)
class Start:
    """A feasible beta, the residuals of all points, what they err by beyond the support vectors,
    and the steps that were taken for it."""

    beta: np.ndarray
    r: np.ndarray
    e: np.ndarray
    steps: int = 0


Solve = Callable[[BinaryProblem, Settings, Start | None], "KernelSolution"]


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
        self.gram, self.sums = SubsetGram(source.exact, pool), SingleSums(source.exact)
        self.beta, self.f, self.e = (np.zeros(source.n) for _ in range(3))
        self.steps = 0

    def start(self) -> Start | None:
        """Levels of more and more points, each until its points are served. None where there turn
        out to be many support vectors."""
        order = np.random.default_rng(self.settings.seed).permutation(self.part)
        fine, loose = FINE * self.settings.tol, LOOSE * self.settings.tol
        subset, seen, tol = order[:FIRST], order[:FIRST], loose
        near = seen  # those of them that are looked at while a level lasts
        primal = self.solve_on(subset, tol)
        if np.count_nonzero(self.beta) > FEW * FIRST:
            return None
        for _ in range(ROUNDS):
            lost, last = self.gap_check(near, subset), len(seen) == len(order)
            enough = (0.8 * fine if last else loose) * primal
            if lost <= enough and not last:
                near = seen = order[: GROWTH * len(seen)]
                lost = self.gap_check(seen, subset)
            elif lost <= enough and tol == fine:
                if len(near) < len(seen):
                    lost, near = self.gap_check(seen, subset), seen
                if lost <= enough:
                    return self.found()
            following = self.next_subset(near)
            if len(following) > MOST * len(order):
                break
            tol = fine if tol == fine and last else min(max(0.1 * lost / primal, fine), loose)
            near = self.nearest(near, max(2 * ADDED, len(seen) // NEAR))
            subset, primal = following, self.solve_on(following, tol)
        if len(seen) < len(order):  # many support vectors after all
            return None
        self.gap_check(order, subset)
        return self.found()

    def found(self) -> Start:
        return Start(self.beta, self.problem.y - self.f, self.e, self.steps)

    def solve_on(self, subset: np.ndarray, tol: float) -> float:
        """Sets beta to the solution on the subset, and 0 elsewhere; its objective."""
        used = int(np.count_nonzero(self.beta[subset]))
        subset, rows = self.gram.of(subset, used)
        small = BinaryProblem(rows, self.problem.y[subset], self.problem.s[subset])
        limits = replace(self.settings, tol=tol, callback=None, max_iter=STEPS * len(subset))
        # All support vectors are in the subset, and f was computed there: no kernel row is needed.
        start = Start(self.beta[subset], small.y - self.f[subset], self.e[subset])
        found = self.solve(small, limits, start if used else None)
        self.beta = np.zeros(len(self.beta))
        self.beta[subset] = found.beta
        self.f[subset], self.e[subset] = found.f, 0.0  # of what has a coefficient, in float64
        self.steps += found.certificate.n_iter
        return found.certificate.primal

    def gap_check(self, seen: np.ndarray, subset: np.ndarray) -> float:
        """f at the points seen, and what those outside the subset lose."""
        used = np.flatnonzero(self.beta)
        others = np.setdiff1d(seen, used, assume_unique=True)
        self.f[others], self.e[others] = self.sums.at(others, used, self.beta[used], self.pool)
        outside = np.setdiff1d(seen, subset, assume_unique=True)
        y, s = self.problem.y[outside], self.problem.s[outside]
        return self.C * float(s @ np.maximum(1.0 - y * self.f[outside], 0.0))

    def next_subset(self, seen: np.ndarray) -> np.ndarray:
        """Support vectors, and of the others seen those with the least margins."""
        used = np.flatnonzero(self.beta)
        others = np.setdiff1d(seen, used, assume_unique=True)
        margin = self.margins(others)
        inside = min(int(np.count_nonzero(margin < 1)), MANY * len(used))
        room = int(MOST * len(self.part)) - len(used)
        more = min(max(ADDED, len(used), len(seen) // ADDED_SHARE), room)
        count = min(len(others), max(inside, more))
        return np.sort(np.concatenate([used, self.nearest(others, count)]))

    def nearest(self, points: np.ndarray, count: int) -> np.ndarray:
        """Those with the least margins."""
        if len(points) <= count:
            return points
        return points[np.argpartition(self.margins(points), count - 1)[:count]]

    def margins(self, points: np.ndarray) -> np.ndarray:
        return self.problem.y[points] * self.f[points]
