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
takes none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.losses.free_intercept import Shifts, balanced
from maxmargin.losses.line_search import bracketed_newton
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Certificate, Settings, Solution
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import dual_bound, inner, norm2
from maxmargin.solvers.linear.bundle import DRIFT, unstoppable
from maxmargin.solvers.linear.dual_descent import best_multiple
from maxmargin.solvers.linear.newton_system import (
    DIRECT_WIDTH,
    NewtonSystem,
    direct_cost,
    hessian_rows,
)

SIGMA_START = 0.3
SIGMA_WARM = 3.0  # from a solution of a neighbouring problem
SIGMA_GROWTH = 3.0
SIGMA_MOST = 1e9
GRADIENT_SHARE = 0.1  # the inner loop ends when 1/2 ||grad||^2 is below this share of the gap
INNER_STEPS = 15  # more than this many Newton steps at one sigma: it grew too fast
SAMPLE_ROWS = 30  # rows a feature in the smallest sample worth starting from
SAMPLE_SHARE = 0.1  # of a sample's statistical error, about d / n of P: a gain too small to go on
SAMPLE_ENTRIES = 4_000_000  # numbers of a sample of rows that are elsewhere
EPSILON = float(np.finfo(np.float64).eps)

Along = Callable[[float], tuple[float, float]]


def solve(
    rows: ArrayRows | SourceRows,
    loss: Pointwise,
    settings: Settings,
    start: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> Solution:
    """Minimises P until ``P - D <= tol P``.

    `start` is w, and u where it is known, of a neighbouring problem's solution.
    """
    run = Run(settings)
    best = Best(rows, loss, settings.free_intercept)
    try:
        w, nu, sigma = np.zeros(rows.width), evenly(loss), SIGMA_START
        if start is not None:
            w = start[0].copy()
            if start[1] is not None:
                nu, sigma = loss.clipped(start[1]), SIGMA_WARM
        else:
            for step in sample_steps(rows):
                w, sigma = approach(rows.subsample(step), loss.subsample(step), w, sigma, settings)
        lagrangian = Lagrangian(rows, loss, w, nu, sigma, best.free)
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


def evenly(loss: Pointwise) -> np.ndarray:
    """Multipliers that round every kink alike to both sides."""
    return np.full(loss.n, loss.core.middle)


class Best:
    """The best primal and the best dual point seen; at first w = 0 and b = 0."""

    def __init__(self, rows: ArrayRows | SourceRows, loss: Pointwise, free: bool = False) -> None:
        self.free = free  # whether the intercept is
        self.w, self.P = np.zeros(rows.width), loss.at_zero
        self.b, self.D = np.zeros(rows.n), 0.0
        self.drift, self.is_noted = 0.0, False

    def note_start(
        self, rows: ArrayRows, loss: Pointwise, w: np.ndarray, nu: np.ndarray, sigma: float
    ) -> None:
        """For a run that was stopped before it had looked at its start."""
        lagrangian = Lagrangian(*unstoppable(rows, loss), w, nu, sigma, self.free)
        lagrangian.evaluate()
        self.note(lagrangian)

    def note(self, lagrangian: Lagrangian) -> None:
        self.is_noted = True
        if lagrangian.P < self.P:
            self.w, self.P, self.drift = lagrangian.w, lagrangian.P, lagrangian.drift
        if lagrangian.D > self.D:
            self.b, self.D = lagrangian.scale * lagrangian.b, lagrangian.D

    def certify(self, rows: ArrayRows | SourceRows, loss: Pointwise, run: Run) -> Certificate:
        """Both bounds from a fresh pass over the data, also after a stop.

        But a stop ends the pass over a file, which takes long: D came from a whole pass as it is,
        and P is known up to the rounding of a few steps.
        """
        if isinstance(rows, ArrayRows) or self.drift * loss.at_zero > DRIFT * self.P:
            rows, loss = unstoppable(rows, loss)
        self.b = balanced(self.b) if self.free else self.b
        try:
            p, v = rows.both_products(self.w, self.b)
        except _core.Stopped:
            run.stopped()
            return run.certify(self.P, 0.0 if self.free else self.D)
        P = 0.5 * norm2(penalised(self.w, self.free)) + loss.value(p)
        added, size = loss.dual_sum(loss.shares(self.b))
        if self.free:  # what rounding left of the sum of b
            added -= abs(v[-1] * self.w[-1])
        return run.certify(P, dual_bound(added, norm2(penalised(v, self.free)), size))


def penalised(w: np.ndarray, free: bool) -> np.ndarray:
    """The weights that ||w||^2 is of."""
    return w[:-1] if free else w


def sample_steps(rows: ArrayRows | SourceRows) -> list[int]:
    """Every how many-th row to start with: the smallest useful sample, then one in between.

    Of rows elsewhere a sample comes into memory: none that would not fit there.
    """
    step = rows.n // (SAMPLE_ROWS * rows.width + 1)
    if step < 4 or rows.width > DIRECT_WIDTH:
        return []
    steps = [step] if step < 32 else [step, math.isqrt(step)]
    if isinstance(rows, ArrayRows):
        return steps
    return [step for step in steps if rows.n // step * rows.width <= SAMPLE_ENTRIES]


def approach(
    rows: ArrayRows, loss: Pointwise, w: np.ndarray, sigma: float, settings: Settings
) -> tuple[np.ndarray, float]:
    """Solves the problem on a sample; its w, and the penalty to go on with."""
    best = Best(rows, loss, settings.free_intercept)
    lagrangian = Lagrangian(rows, loss, w, evenly(loss), sigma, best.free)
    least_gain = 0.0 if loss.is_piecewise_linear else SAMPLE_SHARE * rows.width / rows.n
    run = Run(Settings(tol=max(settings.tol, 1e-3), max_iter=100))
    descend(lagrangian, best, run, least_gain)
    return best.w, max(lagrangian.sigma / SIGMA_GROWTH, SIGMA_START)


def descend(lagrangian: Lagrangian, best: Best, run: Run, least_gain: float = 0.0) -> None:
    """The method itself: Newton steps, then multipliers and penalty, until the gap closes, or until
    a step gains less than that share of P."""
    iteration = 0
    lagrangian.evaluate()
    best.note(lagrangian)
    while not run.record(iteration, best.P, best.D):
        before = best.P
        if lagrangian.is_minimised(best.P - best.D):
            lagrangian.update_multipliers()
        else:
            lagrangian.newton_step()
            iteration += 1
        lagrangian.evaluate()
        best.note(lagrangian)
        if before - best.P < least_gain * best.P:
            break


class Lagrangian:
    """phi with its current w, multipliers and penalty."""

    def __init__(
        self,
        rows: ArrayRows | SourceRows,
        loss: Pointwise,
        w: np.ndarray,
        nu: np.ndarray,
        sigma: float,
        free: bool = False,
    ) -> None:
        self.rows, self.loss, self.pool, self.free = rows, loss, loss.pool, free
        self.shifts = Shifts(loss) if free else None
        self.w, self.nu, self.sigma = w, nu, sigma
        self.p = rows.matvec(w) if w.any() else np.zeros(rows.n)
        self.b, self.h = np.empty(rows.n), np.empty(rows.n)
        self.steps = 0  # Newton steps at this sigma
        self.drift = 0.0  # what rounding may have done to a prediction since a pass made it
        self.system = NewtonSystem(rows)

    @property
    def s(self) -> float:
        """The weight of the proximal term; 0 for a smooth loss."""
        return 1.0 / self.sigma if self.loss.is_piecewise_linear else 0.0

    def evaluate(self) -> None:
        """Gradient, both bounds, and which rows have curvature: one pass over the data."""
        if self.shifts is not None:
            self.balance(self.shifts)
        R, added, size, v = self.sums()
        self.gradient = self.w - v
        if self.free:
            self.gradient[-1] = -v[-1]
        v_squared = norm2(penalised(v, self.free))
        self.P = 0.5 * norm2(penalised(self.w, self.free)) + R
        # u shrunk by a factor in [0, 1] is feasible too
        self.scale = best_multiple(added, v_squared)
        self.D = dual_bound(self.scale * added, self.scale**2 * v_squared, self.scale * size)

    def balance(self, shifts: Shifts) -> None:
        """Moves the intercept to where the b_i add up to 0."""
        k = shifts.best(self.p, self.nu, self.s)
        if k != 0:
            self.w = np.append(self.w[:-1], self.w[-1] + k)
            self.p += k

    def sums(self) -> tuple[float, float, float, np.ndarray]:
        """R, both sums of the dual, and v at w; `gram` is the curvature there."""
        R, added, size, self.inner_rows = self.loss.core.proximal(
            self.nu, self.s, self.p, self.b, self.h, self.pool
        )
        every = max(1, self.inner_rows // hessian_rows(self.rows))
        v, self.gram = self.rows.rmatvec_and_gram(self.b, self.h, every)
        return R, added, size, v

    def is_minimised(self, gap: float) -> bool:
        """Whether it is time for other multipliers: never for a loss that is not rounded."""
        return (
            self.loss.is_piecewise_linear
            and self.steps > 0
            and 0.5 * norm2(self.gradient) <= GRADIENT_SHARE * gap
        )

    def update_multipliers(self) -> None:
        self.take_multipliers()
        self.sigma = min(self.sigma * SIGMA_GROWTH, SIGMA_MOST)
        self.steps = 0

    def take_multipliers(self) -> None:
        """``nu <- u``"""
        self.nu = self.loss.shares(self.b)

    def newton_step(self) -> None:
        """Moves w along the Newton direction; one pass over the data for its predictions."""
        self.steps += 1
        if self.s > 0 and self.steps > INNER_STEPS and self.sigma > SIGMA_START:
            self.sigma /= SIGMA_GROWTH**2
            self.steps = 1
            self.evaluate()
        dw = -self.direction()
        along = self.line(dw)
        k = self.step_length(dw, along)
        self.w = self.w + k * dw
        self.move(k)

    def rescale(self) -> None:
        """Moves w to the best of its multiples, which takes no pass.

        The first epochs of dual descent find where w points before they find how long it is, and
        Newton's quadratic is a poor model of the logistic loss far from the minimum.
        """
        own = penalised(self.w, self.free)
        A0 = norm2(own)
        if A0 == 0:
            return
        zero = np.zeros(self.rows.n)

        def slope_and_curvature(k: float) -> tuple[float, float]:
            slope, curvature = self.loss.core.along(self.nu, self.s, zero, self.p, k, self.pool)
            return k * A0 + slope, A0 + curvature

        slope_at_0 = slope_and_curvature(0.0)[0]
        k = bracketed_newton(slope_and_curvature, 0.1 * abs(slope_at_0)) if slope_at_0 < 0 else 0.0
        self.w, self.p = k * self.w, k * self.p

    def direction(self) -> np.ndarray:
        """``(I + sum_i h_i x_i x_i^T)^-1 gradient``, where I has a 0 for a free intercept."""
        identity = np.ones(self.rows.width)
        identity[-1] = 0.0 if self.free and self.inner_rows > 0 else 1.0
        return self.system.solve(identity, self.h, self.inner_rows, self.gram, self.gradient)

    def line(self, dw: np.ndarray) -> Along:
        """Slope and curvature of the loss along dw: one pass, however often they are asked for."""
        self.dp = self.rows.matvec(dw)
        return lambda k: self.loss.core.along(self.nu, self.s, self.p, self.dp, k, self.pool)

    def move(self, k: float) -> None:
        _core.axpby(1.0, self.p, k, self.dp, self.p, self.pool)
        if isinstance(self.rows, SourceRows):
            self.drift += EPSILON * float(np.abs(self.p).max())

    def step_length(self, dw: np.ndarray, along: Along) -> float:
        """k with ``|phi'(k)| <= phi'(0) / 10``, by Newton's method in one variable, bracketed."""
        own, slope_at_0 = penalised(dw, self.free), inner(self.gradient, dw)
        A0, B0 = norm2(own), inner(penalised(self.w, self.free), own)

        def slope_and_curvature(k: float) -> tuple[float, float]:
            slope, curvature = along(k)
            return B0 + k * A0 + slope, A0 + curvature

        return bracketed_newton(slope_and_curvature, 0.1 * abs(slope_at_0))


def step_cost(rows: ArrayRows, inner_rows: int | None = None) -> float:
    """What a step costs at most, in entries of rows looked at: passes, and a direct solution with
    so many rows that have curvature, all of them by default."""
    return 3 * rows.nnz + direct_cost(rows, rows.n if inner_rows is None else inner_rows)
