"""Dual descent first, and Newton from where it is as soon as that is cheaper.

Costs are counted in entries of rows looked at by one thread, never in seconds: the same data give
the same answer everywhere.

    an epoch     2 entries + FETCH rows, of the rows visited, one after the other
    Newton       STEPS steps: three passes, a Gram matrix and its factor, on CORES cores

Dual descent foretells its gap after every epoch. If the gap goes on to fall as it did over the
later half of the epochs so far, so many epochs are left; where they cost more than Newton does,
Newton goes on from w and the dual variables. Early epochs visit all rows and tell little, so they
are believed only once they have used a share of what Newton costs: a wrong start loses no more.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Clock, Progress, Settings, Solution
from maxmargin.solvers.linear import dual_descent, newton

CORES = 2  # whatever a machine has: the choice must not depend on it
STEPS, STEPS_FROM_SAMPLE = 12, 4  # of Newton on all rows, from dual descent and from a sample
LEAST_EPOCHS = 2  # of which the first says little
LEAST_SHARE = 0.1  # of Newton's cost that dual descent may use before its outlook is believed
LEAST_WORK = 4  # epochs' worth: those, a gap check, and a fresh v
FETCH = 30  # entries that could be summed while a row comes from memory
CACHED_NNZ = 2_000_000  # or does not: so many entries stay in a cache


def newton_cost(rows: ArrayRows, steps: int = STEPS) -> float:
    return steps * newton.step_cost(rows) / CORES


def epoch_cost(rows: ArrayRows, entries: int, visited: int) -> float:
    return 2.0 * entries + (FETCH * visited if rows.nnz > CACHED_NNZ else 0)


def is_newton_cheaper_than_a_start(rows: ArrayRows) -> bool:
    """Whether Newton, by itself, costs no more than the least that dual descent needs."""
    steps = STEPS_FROM_SAMPLE if newton.sample_steps(rows) else STEPS
    return newton_cost(rows, steps) <= LEAST_WORK * epoch_cost(rows, rows.nnz, rows.n)


def solve(
    rows: ArrayRows, loss: Pointwise, settings: Settings, u0: np.ndarray | None = None
) -> Solution:
    """Minimises P until ``P - D <= tol P``; `Solution.solver` says which method got there.

    `u0` is a neighbouring problem's dual point.
    """
    clock = Clock()
    try:
        watch = Watch(rows, settings.tol)
        found = dual_descent.solve(rows, loss, settings, u0, watch)
        return replace(found, solver="dual")
    except dual_descent.HandOver as over:
        later = Later(over.epochs, clock())
        start = over.w, over.u
    return later.solution(newton.solve(rows, loss, later.settings(settings), start))


class Later:
    """What Newton is told and tells, its iterations and seconds counted from the first epoch."""

    def __init__(self, epochs: int, seconds: float) -> None:
        self.epochs, self.seconds = epochs, seconds

    def settings(self, settings: Settings) -> Settings:
        limit, callback = settings.max_iter, settings.callback
        return replace(
            settings,
            max_iter=None if limit is None else max(limit - self.epochs, 0),
            callback=None if callback is None else lambda seen: callback(self.progress(seen)),
        )

    def progress(self, seen: Progress) -> Progress:
        return replace(
            seen, iteration=seen.iteration + self.epochs, seconds=seen.seconds + self.seconds
        )

    def solution(self, found: Solution) -> Solution:
        certificate = replace(
            found.certificate,
            n_iter=found.certificate.n_iter + self.epochs,
            seconds=found.certificate.seconds + self.seconds,
        )
        history = [self.progress(seen) for seen in found.history]
        return replace(found, certificate=certificate, history=history, solver="newton")


class Watch:
    """Says after an epoch whether it is time for Newton."""

    def __init__(self, rows: ArrayRows, tol: float) -> None:
        self.rows, self.tol = rows, tol
        self.gaps: list[float] = []
        self.spent, self.newton_cost = 0.0, newton_cost(rows)

    def __call__(self, gap: float, D: float, visited: int, entries: int) -> bool:
        cost = epoch_cost(self.rows, entries, visited)
        self.gaps.append(gap)
        self.spent += cost
        if len(self.gaps) < LEAST_EPOCHS or self.spent < LEAST_SHARE * self.newton_cost:
            return False
        return self.epochs_left(self.tol * (D + gap)) * cost > self.newton_cost

    def epochs_left(self, target: float) -> float:
        """Epochs until the gap is `target`, at the rate of the later half of those so far."""
        gap, back = self.gaps[-1], len(self.gaps) // 2
        before = self.gaps[-1 - back]
        if gap <= target:
            return 0.0
        if gap >= before or target <= 0:
            return math.inf
        return back * math.log(gap / target) / math.log(before / gap)
