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
from maxmargin.solvers.kernel.gram import empty_matrix, matrix_bytes
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
NEAR = 4  # of the points of a level one in so many is looked at before all are again
MANY = 2  # times the support vectors: more points inside the margin than that wait for a round
STEPS = 50  # per point of a subset, before a level is left as it is
LOOSE, FINE = 10.0, 0.5  # times the tolerance: the first subsets and the last

Solve = Callable[[BinaryProblem, Settings, np.ndarray, np.ndarray], "KernelSolution"]


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
        self.memory = np.empty(0, dtype=np.float32)  # of the largest Gram matrix so far
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
            lost, last = self.look_at(near, subset), len(seen) == len(order)
            enough = (0.8 * fine if last else loose) * primal
            if len(near) < len(seen) and lost <= enough and (tol == fine or not last):
                lost, near = self.look_at(seen, subset), seen
            if not last and lost <= enough:
                seen = order[: GROWTH * len(seen)]
                lost, near = self.look_at(seen, subset), seen
            if len(near) == len(order) and lost <= 0.8 * fine * primal and tol == fine:
                return Start(self.beta, self.problem.y - self.f, self.steps)
            following = self.next_subset(near)
            if len(following) > MOST * len(order):
                break
            tol = fine if tol == fine and last else min(max(0.1 * lost / primal, fine), loose)
            near = self.nearest(near, max(2 * ADDED, len(seen) // NEAR))
            subset, primal = following, self.solve_on(following, tol)
        if len(seen) < len(order):  # many support vectors after all
            return None
        self.look_at(order, subset)
        return Start(self.beta, self.problem.y - self.f, self.steps)

    def solve_on(self, subset: np.ndarray, tol: float) -> float:
        """Sets beta to the solution on the subset, and 0 elsewhere; its objective."""
        exact = self.exact
        if 4 * len(self.memory) < matrix_bytes(len(subset)):
            self.memory = np.empty(matrix_bytes(len(subset)) // 4, dtype=np.float32)
        K = empty_matrix(len(subset), self.memory)
        rows = PartialSource(exact.points.X[subset], exact.kernel, self.pool, K)
        if 2 * np.count_nonzero(self.beta[subset]) >= rows.fill_at:  # most will be asked for again
            rows.fill(self.pool)
        small = BinaryProblem(rows, self.problem.y[subset], self.problem.s[subset])
        limits = replace(self.settings, tol=tol, callback=None, max_iter=STEPS * len(subset))
        # All support vectors are in the subset, and f was computed there: no kernel row is needed.
        found = self.solve(small, limits, self.beta[subset], small.y - self.f[subset])
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
