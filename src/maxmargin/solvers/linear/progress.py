"""Dual descent first, and Newton from where it is as soon as that is cheaper.

Costs are counted in entries of rows looked at by one thread, never in seconds: the same data give
the same answer everywhere.

    an epoch     2 entries + (VISIT + logarithms) rows, of the rows visited, one after the other
    Newton       STEPS steps: three passes, STEP_ROW and logarithms a row, a Gram matrix and its
                 factor, on CORES cores

Logarithms are those of the loss. A visit of the logistic loss takes several times that of a hinge.
Where rows have few entries Newton's vectors of one number a row cost more than its passes.

Dual descent foretells its gap after every epoch. If the gap goes on to fall as it did over the
later half of the epochs so far, so many epochs are left; where they cost more than Newton does,
Newton goes on from w and the dual variables. Early epochs visit all rows and tell little, so they
are believed only once they have used a share of what Newton costs: a wrong start loses no more.

With a smooth loss and a small C Newton goes on at once. Where the slopes at w = 0 are nearly dual
optimal the curvature of the loss is small beside that of ||w||^2 / 2, and a few conjugate gradients
solve a step; an epoch sees only single rows, and several are needed.

Dual descent cannot keep the sum of dual variables at 0 that a free intercept asks for. There it
solves the problem with a regularised intercept, roughly, and Newton goes on from that.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.losses.table import LOSSES
from maxmargin.problem import Clock, Progress, Settings, Solution
from maxmargin.solvers.linear import dual_descent, newton

CORES = 2  # whatever a machine has: the choice must not depend on it
STEPS = 12  # of Newton on all rows
SMOOTH_STEPS = 8  # where no kink is to be rounded
STEPS_FROM_SAMPLE, SMOOTH_STEPS_FROM_SAMPLE = 4, 3
STEP_LOGARITHMS = 0.4  # of those of a visit that a step takes for a row
LEAST_EPOCHS = 2  # of which the first says little
LEAST_SHARE = 0.1  # of Newton's cost that dual descent may use before its outlook is believed
LEAST_VOTES = 2  # epochs in a row with the same outlook: after a single one it may be chance
LEAST_WORK = 4  # epochs' worth: two, a gap check, and a fresh v
SMOOTH_LEAST_WORK = 6  # and two more: a smooth loss has no bounds at which rows come to rest
NEAR_START = 0.5  # the multiple of the slopes at w = 0 from which a smooth problem is Newton's
NEIGHBOUR_TOL = 1e-2  # for a problem that only gives a start
STEP_ROW = 16  # entries that could be summed while a step's sums over rows take one more row
VISIT = 30  # and while a visit waits for its row and for its own step
CACHED_NNZ = 2_000_000  # entries that stay in a cache


def newton_cost(rows: ArrayRows, loss: str = "hinge") -> float:
    """From dual descent, or from nothing."""
    steps = STEPS if LossSpec(loss).is_piecewise_linear else SMOOTH_STEPS
    return steps * (newton.step_cost(rows) + row_cost(rows, loss)) / CORES


def newton_cost_from_samples(rows: ArrayRows, loss: str, samples: list[int]) -> float:
    """The samples' own cost included. After them few rows are left near a rounded kink, and the
    Gram matrices of a piecewise linear loss are of those."""
    share = sum(1.0 / step for step in samples)
    if LossSpec(loss).is_piecewise_linear:
        own = STEPS_FROM_SAMPLE * (newton.step_cost(rows, inner_rows=0) + row_cost(rows, loss))
    else:
        own = SMOOTH_STEPS_FROM_SAMPLE * (newton.step_cost(rows) + row_cost(rows, loss))
    return own / CORES + share * newton_cost(rows, loss)


def row_cost(rows: ArrayRows, loss: str) -> float:
    """What a step of Newton does for every row, however few entries it has."""
    return (STEP_ROW + STEP_LOGARITHMS * LOSSES[loss].logarithms) * rows.n


def epoch_cost(loss: str, entries: int, visited: int) -> float:
    return 2.0 * entries + (VISIT + LOSSES[loss].logarithms) * visited


def is_newton_cheaper_than_a_start(rows: ArrayRows, loss: str = "hinge") -> bool:
    """Whether Newton, by itself, costs no more than the least that dual descent needs."""
    samples = newton.sample_steps(rows.n, rows.width, in_memory=True)
    cost = newton_cost_from_samples(rows, loss, samples) if samples else newton_cost(rows, loss)
    least = LEAST_WORK if LossSpec(loss).is_piecewise_linear else SMOOTH_LEAST_WORK
    # Where rows are in a cache only their entries count: a start that proves wrong costs little.
    waits = VISIT if rows.nnz > CACHED_NNZ else 0
    return cost <= least * (2.0 * rows.nnz + (waits + LOSSES[loss].logarithms) * rows.n)


def solve(
    rows: ArrayRows, loss: Pointwise, settings: Settings, u0: np.ndarray | None = None
) -> Solution:
    """Minimises P until ``P - D <= tol P``; `Solution.solver` says which method got there.

    `u0` is a neighbouring problem's dual point.
    """
    clock, free = Clock(), settings.free_intercept
    own = regularised(settings) if free else settings
    start: tuple[np.ndarray, np.ndarray | None]
    try:
        found = dual_descent.solve(rows, loss, own, u0, Watch(rows, settings.tol, loss.spec.name))
        if not free:
            return replace(found, solver="dual")
        assert found.dual_variables is not None
        later = Later(found.certificate.n_iter, clock())
        start = found.w, loss.shares(np.where(loss.q < 0, -1.0, 1.0) * found.dual_variables)
    except dual_descent.HandOver as over:
        later = Later(over.epochs, clock())
        start = over.w, over.u
    return later.solution(newton.solve(rows, loss, later.settings(settings), start))


def regularised(settings: Settings) -> Settings:
    """For the problem with a regularised intercept, whose answer is near that of a free one. Its
    bounds are no news of the problem asked for, so a callback is not told them."""
    tol = max(settings.tol, NEIGHBOUR_TOL)
    return replace(settings, tol=tol, callback=None, free_intercept=False)


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

    def __init__(self, rows: ArrayRows, tol: float, loss: str = "hinge") -> None:
        self.tol, self.loss = tol, loss
        self.gaps: list[float] = []
        self.spent, self.newton_cost = 0.0, newton_cost(rows, loss)
        self.votes = 0  # epochs in a row after which Newton seemed cheaper

    def at_start(self, s: float) -> bool:
        return s >= NEAR_START and not LossSpec(self.loss).is_piecewise_linear

    def __call__(self, gap: float, D: float, visited: int, entries: int) -> bool:
        cost = epoch_cost(self.loss, entries, visited)
        self.gaps.append(gap)
        self.spent += cost
        if len(self.gaps) < LEAST_EPOCHS or self.spent < LEAST_SHARE * self.newton_cost:
            return False
        is_dear = self.epochs_left(self.tol * (D + gap)) * cost > self.newton_cost
        self.votes = self.votes + 1 if is_dear else 0
        return self.votes >= LEAST_VOTES

    def epochs_left(self, target: float) -> float:
        """Epochs until the gap is `target`, at the rate of the later half of those so far."""
        gap, back = self.gaps[-1], len(self.gaps) // 2
        before = self.gaps[-1 - back]
        if gap <= target:
            return 0.0
        if gap >= before or target <= 0:
            return math.inf
        return back * math.log(gap / target) / math.log(before / gap)
