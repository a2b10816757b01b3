"""Semismooth Newton: for few features, few passes at any C, and any pointwise loss.

    minimise   P(w) = 1/2 ||w||^2 + sum_i C_i f(r_i),        r_i = t_i - y_i p_i,   p = X w

The symbols are those of `losses.pointwise`. A smooth loss is minimised as it is. A piecewise linear
one is rounded by an augmented Lagrangian with multipliers nu and penalty sigma, both in units of
C_i, so that a row of weight 2 and the same row twice take the same path:

    phi(w) = 1/2 ||w||^2 + sum_i C_i max over u of u r_i - f*(u) - s/2 (u - nu_i)^2,   s = 1 / sigma
    grad = w - v,   v = sum_i q_i u_i x_i       Hessian = I + sum_i C_i / (s + f*''(u_i)) x_i x_i^T

    sigma   penalty: a kink is rounded over a width 1 / sigma of the residual
    nu_i    multiplier of row i; at first the middle of its domain, which rounds a kink evenly
    b_i     q_i u_i, feasible for the dual at every step, so D(u) comes free

For the hinge ``u_i = clip(nu_i + sigma r_i, 0, 1)``. For a smooth loss s = 0 and u_i is its slope.

Inner loop: Newton steps on phi with a line search on predictions. Outer loop: once the gradient is
small beside the gap, nu <- u and sigma grows. The first steps are the expensive ones (every row is
near the rounded kink) and need the least data, so they are made on samples of the rows.
Of a smooth loss a sample is left when a step on it gains less than it can tell.

With a free intercept the last weight is not in ||w||^2. Each step moves it with the others, and
then to where the b_i add up to 0, which the dual asks of them.

How the system of a step is solved is `newton_system`'s matter.

All that is asked of the data are sums over rows, so they may stay on disk: a step takes one pass
for v and the Gram matrix together, and one for the predictions of the direction. The line search
takes none. On a cluster (`distributed.newton`) the two passes are two rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.losses.free_intercept import balanced
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Certificate, Settings, Solution
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.common.vectors import dual_bound, norm2
from maxmargin.solvers.linear.bundle import DRIFT, unstoppable
from maxmargin.solvers.linear.costs import pass_cost, row_cost
from maxmargin.solvers.linear.lagrangian import (
    SIGMA_START,
    SIGMA_WARM,
    Lagrangian,
    RowsLagrangian,
    evenly,
    penalised,
)
from maxmargin.solvers.linear.newton_system import (
    DIRECT_WIDTH,
    FEWEST_PRODUCTS,
    HESSIAN_ROWS,
    direct_cost,
    product_cost,
)

SAMPLE_ROWS = 30  # rows a feature in the smallest sample worth starting from
SAMPLE_SHARE = 0.1  # of a sample's statistical error, about d / n of P: a gain too small to go on
SAMPLE_GAP = 0.3  # of the same: a gap small enough
SAMPLE_BACK = 3.0  # by how much less kinks of more rows are rounded at first, where few are seen
SAMPLE_RATIO = 32  # at most, from a sample to the next
SAMPLE_GROWTH = 8  # from one to the next where there are no kinks
SAMPLE_ENTRIES = 4_000_000  # numbers of a sample of rows that are elsewhere


def solve(
    rows: ArrayRows | SourceRows,
    loss: Pointwise,
    settings: Settings,
    start: Start | None = None,
) -> Solution:
    """Minimises P until ``P - D <= tol P``. `start` is a neighbouring problem's solution."""
    run = Run(settings)
    best, factor = RowsBest(rows, loss, settings.free_intercept), None
    try:
        w, nu, sigma = np.zeros(rows.width), evenly(loss), SIGMA_START
        if start is not None:
            w = start.w.copy()
            if start.share is not None:
                nu, sigma = loss.clipped(start.share), SIGMA_WARM
        else:
            for step in samples_of(rows, loss.is_piecewise_linear):
                sample = rows.subsample(step), loss.subsample(step)
                w, _, factor = approach(*sample, w, sigma, settings)
        lagrangian = RowsLagrangian(rows, loss, w, nu, sigma, best.free, factor)
        if start is None or start.share is None:
            lagrangian.sharpen()
        if start is not None and not loss.is_piecewise_linear:
            lagrangian.rescale()
        descend(lagrangian, best, run)
    except _core.Stopped:
        run.stopped()
        if start is not None and not best.is_noted and isinstance(rows, ArrayRows):
            best.note_start(rows, loss, w, nu, sigma)
    certificate = best.certify(rows, loss, run)
    a = np.where(loss.q < 0, -best.b, best.b)
    return Solution(best.w, certificate, run.history, a)


class Best:
    """The best primal point and the best dual bound seen; at first those of w = 0."""

    def __init__(self, width: int, at_zero: float) -> None:
        self.w, self.P, self.D = np.zeros(width), at_zero, 0.0
        self.is_noted = False

    def note(self, lagrangian: Lagrangian) -> None:
        """Takes what is better at the point where the Lagrangian is."""
        self.is_noted = True
        if lagrangian.P < self.P:
            self.w, self.P = lagrangian.w, lagrangian.P
        self.D = max(self.D, lagrangian.D)


class RowsBest(Best):
    """The same with the best dual point, b, which is 0 at first."""

    def __init__(self, rows: ArrayRows | SourceRows, loss: Pointwise, free: bool = False) -> None:
        super().__init__(rows.width, loss.at_zero)
        self.free = free  # whether the intercept is
        self.b, self.v, self.drift = np.zeros(rows.n), np.zeros(rows.width), 0.0

    def note_start(
        self, rows: ArrayRows, loss: Pointwise, w: np.ndarray, nu: np.ndarray, sigma: float
    ) -> None:
        """For a run that was stopped before it had looked at its start."""
        lagrangian = RowsLagrangian(*unstoppable(rows, loss), w, nu, sigma, self.free)
        lagrangian.evaluate()
        self.note(lagrangian)

    def note(self, lagrangian: Any) -> None:
        if lagrangian.P < self.P:
            self.drift = lagrangian.drift
        if lagrangian.D > self.D:
            self.b, self.v = lagrangian.scale * lagrangian.b, lagrangian.scale * lagrangian.v
        super().note(lagrangian)

    def certify(self, rows: ArrayRows | SourceRows, loss: Pointwise, run: Run) -> Certificate:
        """Both bounds from fresh products over the data, also after a stop.

        The one with b was made for this b, but where the b_i are to add up to 0. A stop ends the
        pass over a file, which takes long: there P is known up to the rounding of a few steps.
        """
        drifted = self.drift * loss.at_zero > DRIFT * self.P
        whole, loss = unstoppable(rows, loss)
        rows = whole if isinstance(rows, ArrayRows) or drifted else rows
        try:
            if self.free:
                self.b = balanced(self.b)
                p, self.v = rows.both_products(self.w, self.b)
            else:
                p = rows.matvec(self.w)
        except _core.Stopped:
            run.stopped()
            return run.certify(self.P, 0.0 if self.free else self.D)
        P = 0.5 * norm2(penalised(self.w, self.free)) + loss.value(p)
        added, size = loss.dual_sum(loss.shares(self.b))
        if self.free:  # what rounding left of the sum of b
            added -= abs(self.v[-1] * self.w[-1])
        return run.certify(P, dual_bound(added, norm2(penalised(self.v, self.free)), size))


def sample_steps(n: int, width: int, most_entries: int | None = None) -> list[int]:
    """Every how many-th of n rows to start with: the smallest useful sample, then those in between,
    each about `SAMPLE_RATIO` times the one before at most, as are all rows the last one.

    A sample has at most so many entries, if they are limited.
    """
    step = n // (SAMPLE_ROWS * width + 1)
    if step < 4 or width > DIRECT_WIDTH:
        return []
    levels = 1
    while SAMPLE_RATIO**levels <= step:
        levels += 1
    steps = [int(step ** (level / levels)) for level in range(levels, 0, -1)]
    if most_entries is None:
        return steps
    fewest = -(-n * width // most_entries)
    return [] if step < fewest else list(dict.fromkeys(max(each, fewest) for each in steps))


def most_sample_entries(rows: ArrayRows | SourceRows) -> int | None:
    """Of rows on disk a sample comes into memory, where vectors of a number a row are already."""
    return None if isinstance(rows, ArrayRows) else max(SAMPLE_ENTRIES, rows.n)


def smooth_sample_steps(n: int, width: int) -> list[int]:
    """The same of a loss without kinks: samples that grow SAMPLE_GROWTH-fold, from one of as many
    rows as estimate a Hessian, since the factor of the last one serves all rows."""
    most = n // (HESSIAN_ROWS * width + 1)
    if most < 4 or width > DIRECT_WIDTH:
        return []
    steps = [SAMPLE_GROWTH]
    while SAMPLE_GROWTH * steps[-1] <= most:
        steps.append(SAMPLE_GROWTH * steps[-1])
    return [min(step, most) for step in reversed(steps)]


def samples_of(rows: ArrayRows | SourceRows, kinks: bool) -> list[int]:
    """Every how many-th of these rows, for a loss with or without kinks."""
    if kinks or not isinstance(rows, ArrayRows):
        return sample_steps(rows.n, rows.width, most_sample_entries(rows))
    return smooth_sample_steps(rows.n, rows.width)


def approach(
    rows: ArrayRows,
    loss: Pointwise,
    w: np.ndarray,
    sigma: float,
    settings: Settings,
) -> tuple[np.ndarray, float, np.ndarray | None]:
    """Solves the problem on a sample; its w, and the penalty and the factor to go on with."""
    best = RowsBest(rows, loss, settings.free_intercept)
    lagrangian = RowsLagrangian(rows, loss, w, evenly(loss), sigma, best.free)
    lagrangian.sharpen()
    # its matrices serve all rows
    lagrangian.system.is_direct = not loss.is_piecewise_linear
    least_gain = 0.0 if loss.is_piecewise_linear else SAMPLE_SHARE * rows.width / rows.n
    tol = max(settings.tol, SAMPLE_GAP * rows.width / rows.n)
    run = Run(Settings(tol=tol, max_iter=100))
    descend(lagrangian, best, run, least_gain)
    sigma = max(lagrangian.sigma / SAMPLE_BACK, SIGMA_START)
    return best.w, sigma, lagrangian.system.factor


def descend(lagrangian: Lagrangian, best: Best, run: Run, least_gain: float = 0.0) -> None:
    """The method itself: Newton steps, then multipliers and penalty, until the gap closes, or until
    a step gains or would gain less than that share of P."""
    iteration, lagrangian.tol = 0, run.settings.tol
    lagrangian.evaluate()
    best.note(lagrangian)
    while not run.record(iteration, best.P, best.D):
        before = best.P
        if least_gain > 0 and lagrangian.foretold_gain() < least_gain * best.P:
            break
        if lagrangian.is_minimised(best.P - best.D):
            lagrangian.update_multipliers()
        else:
            lagrangian.newton_step()
            iteration += 1
        lagrangian.evaluate()
        best.note(lagrangian)
        if before - best.P < least_gain * best.P:
            break


def step_cost(rows: ArrayRows, inner_rows: float | None = None) -> float:
    """What a step costs at most: two passes, and a direct solution with so many rows that have
    curvature, all of them by default."""
    inner_rows = rows.n if inner_rows is None else min(int(inner_rows), rows.n)
    return 2 * pass_cost(rows) + direct_cost(rows, inner_rows) + row_cost(rows)


def factored_step_cost(rows: ArrayRows) -> float:
    """The same of a smooth loss where there is a factor of a matrix like that of the step."""
    products = FEWEST_PRODUCTS * product_cost(rows, rows.n, True)
    return 2 * pass_cost(rows) + min(products, direct_cost(rows, rows.n)) + row_cost(rows)
