"""Dual descent first, and Newton from where it is as soon as that is cheaper.

Both are counted in the units of `costs`: epochs, one after the other, by the rows visited; Newton
by its steps, on CORES cores. Logarithms are those of the loss. A visit of the logistic loss takes
several times that of a hinge.

Dual descent foretells its gap after every epoch. If the gap goes on to fall as it did over the
later half of the epochs so far, so many epochs are left; where they cost more than Newton does,
Newton goes on from w. (Dual variables from the middle of a run are multipliers worse than none.)
Early epochs visit all rows and tell little, so they are believed only once they have used a share
of what Newton costs: a wrong start loses no more.

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
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.linear import dual_descent, newton, newton_system
from maxmargin.solvers.linear.costs import CALLS, pass_cost, visit_cost
from maxmargin.solvers.linear.lagrangian import kink_rows

CORES = 2  # whatever a machine has: the choice must not depend on it
STEPS = 7  # of Newton from a w of dual descent
FEW_ROWS = 12.0  # a feature, up to which a kink takes more steps: classes come apart, and about
# as many rows as features sit at the kink, others after every step
SMOOTH_STEPS = 3  # where no kink is to be rounded: with the factor of the first
STEEP_STEPS = 2  # where nearly every row curves the loss: the first step all but solves the problem
STEPS_FROM_SAMPLE, STEPS_ON_SAMPLE = 4, 10
SMOOTH_STEPS_FROM_SAMPLE = SMOOTH_STEPS_ON_SAMPLE = 2
START_STEPS = 2  # with curvature in all rows, where there is no sample
STEP_LOGARITHMS = 0.4  # of those of a visit that a step takes for a row
LEAST_EPOCHS = 2  # of which the first says little
LEAST_SHARE = 0.1  # of Newton's cost that dual descent may use before its outlook is believed
LEAST_VOTES = 2  # epochs in a row with the same outlook: after a single one it may be chance
CLEARLY = 2.0  # times what Newton costs: then a single one is enough, unless rows came back in it
LEAST_EPOCHS_IN_ALL = 2  # that dual descent needs, beside two passes: a gap check, and a fresh v
SMOOTH_LEAST_EPOCHS = 4  # a smooth loss has no bounds at which rows come to rest
NEAR_START = 0.5  # the multiple of the slopes at w = 0 from which a smooth problem is Newton's
NEIGHBOUR_TOL = 1e-2  # for a problem that only gives a start


def newton_cost(rows: ArrayRows, loss: str = "hinge") -> float:
    """From a w of dual descent, where few rows are left near a rounded kink."""
    if not LossSpec(loss).is_piecewise_linear:
        return newton_system.direct_cost(rows, rows.n) / CORES + smooth_cost(rows, loss)
    steps = STEPS * (1 + FEW_ROWS * rows.width / max(rows.n, 1))
    return steps * step_cost(rows, loss, kink_rows(rows.n, rows.width))


def smooth_cost(rows: ArrayRows, loss: str, most_steps: int = SMOOTH_STEPS) -> float:
    """Of Newton's steps where no kink is to be rounded and there is a factor."""
    steps = min(most_steps, STEEP_STEPS if LOSSES[loss].is_steep_both_ways else SMOOTH_STEPS)
    return steps * (newton.factored_step_cost(rows) / CORES + overhead(rows, loss))


def cost_alone(rows: ArrayRows, loss: str, samples: list[int]) -> float:
    """From nothing, by way of such samples."""
    if not samples:
        start = 0 if LOSSES[loss].is_steep_both_ways else START_STEPS
        return newton_cost(rows, loss) + start * step_cost(rows, loss)
    parts = [rows.subsample(every) for every in samples]
    if LossSpec(loss).is_piecewise_linear:
        cost = STEPS_FROM_SAMPLE * step_cost(rows, loss, kink_rows(rows.n, rows.width))
        return cost + sum(STEPS_ON_SAMPLE * step_cost(part, loss) for part in parts)
    cost = smooth_cost(rows, loss, SMOOTH_STEPS_FROM_SAMPLE)
    for part in parts:
        cost += newton_system.direct_cost(part, part.n) / CORES
        cost += smooth_cost(part, loss, SMOOTH_STEPS_ON_SAMPLE)
    return cost


def step_cost(rows: ArrayRows, loss: str, inner_rows: float | None = None) -> float:
    """Of a step of Newton with so many rows that have curvature, all of them by default."""
    return newton.step_cost(rows, inner_rows) / CORES + overhead(rows, loss)


def overhead(rows: ArrayRows, loss: str) -> float:
    """Of a step: logarithms and calls."""
    return STEP_LOGARITHMS * LOSSES[loss].logarithms * rows.n / CORES + CALLS


def epoch_cost(rows: ArrayRows, loss: str, entries: int, visited: int) -> float:
    return visit_cost(rows, entries, visited) + LOSSES[loss].logarithms * visited


def is_newton_cheaper_than_a_start(rows: ArrayRows, loss: str = "hinge") -> bool:
    """Whether Newton, by itself, costs no more than the least that dual descent needs."""
    kinks = LossSpec(loss).is_piecewise_linear
    samples = newton.samples_of(rows, kinks)
    epochs = LEAST_EPOCHS_IN_ALL if kinks else SMOOTH_LEAST_EPOCHS
    least = epochs * epoch_cost(rows, loss, rows.nnz, rows.n) + 2 * pass_cost(rows) / CORES
    return cost_alone(rows, loss, samples) <= least


def solve(
    rows: ArrayRows, loss: Pointwise, settings: Settings, u0: np.ndarray | None = None
) -> Solution:
    """Minimises P until ``P - D <= tol P``; `Solution.solver` says which method got there.

    `u0` is a neighbouring problem's dual point.
    """
    clock, free = Clock(), settings.free_intercept
    own = regularised(settings) if free else settings
    try:
        found = dual_descent.solve(rows, loss, own, u0, Watch(rows, settings.tol, loss.spec.name))
        if not free:
            return replace(found, solver="dual")
        assert found.dual_variables is not None
        later = Later(found.certificate.n_iter, clock())
        share = loss.shares(np.where(loss.q < 0, -1.0, 1.0) * found.dual_variables)
        start = Start(found.w, share)
    except dual_descent.HandOver as over:
        later = Later(over.epochs, clock())
        start = Start(over.w)
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
        self.rows, self.tol, self.loss = rows, tol, loss
        self.gaps: list[float] = []  # the least up to each epoch
        self.spent, self.newton_cost = 0.0, newton_cost(rows, loss)
        self.votes = 0  # epochs in a row after which Newton seemed cheaper
        self.visited = rows.n  # in the last one

    def at_start(self, s: float) -> bool:
        return s >= NEAR_START and not LossSpec(self.loss).is_piecewise_linear

    def __call__(self, gap: float, D: float, visited: int, entries: int) -> bool:
        cost = epoch_cost(self.rows, self.loss, entries, visited)
        self.gaps.append(min(gap, self.gaps[-1]) if self.gaps else gap)
        self.spent += cost
        rows_came_back, self.visited = visited > self.visited, visited
        if len(self.gaps) < LEAST_EPOCHS or self.spent < LEAST_SHARE * self.newton_cost:
            return False
        left = self.epochs_left(self.tol * (D + gap)) * cost
        self.votes = self.votes + 1 if left > self.newton_cost else 0
        is_clear = CLEARLY * self.newton_cost < left < math.inf and not rows_came_back
        return self.votes >= LEAST_VOTES or is_clear

    def epochs_left(self, target: float) -> float:
        """Epochs until the gap is `target`, at the rate of the later half of those so far.

        Gaps are the least so far: after an extrapolation one is larger for an epoch or two.
        """
        back = len(self.gaps) // 2
        gap, before = self.gaps[-1], self.gaps[-1 - back]
        if gap <= target:
            return 0.0
        if gap >= before or target <= 0:
            return math.inf
        return back * math.log(gap / target) / math.log(before / gap)
