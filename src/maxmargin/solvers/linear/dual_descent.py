"""Dual coordinate descent (Hsieh et al. 2008), the in-memory trainer of StreamSVM.

    maximise   D(u) = sum_i C_i (t_i u_i - f*(u_i)) - 1/2 ||w||^2,      w = sum_i q_i u_i x_i

for any pointwise loss; the symbols are those of `losses.pointwise`. For the hinge C_i u_i is the
a_i of the textbooks.

The core visits rows in random order and sets aside those that sit firmly at a kink or a bound. This
loop decides when to check the gap over all rows. A gap check costs one pass, and gives: both
bounds, the predictions that bring back rows set aside wrongly, and a better primal point on the
line from the best one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Settings, Solution, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import dual_bound, norm2
from maxmargin.solvers.linear.bundle import Point, exact_primal, line_search, unstoppable

# A gap check is due when the gap may be within the tolerance; with many rows set aside, also when
# it may be this fraction of what the last check found; and after so many passes' worth of visits
# and this share of all so far.
PROGRESS = 0.03
LEAST_WORK, MUCH_WORK = 5.0, 1e8  # passes, but no more than so many entries
WORK_SHARE = 0.3
LEAST_FACTOR = 0.5  # by which an epoch reduces the gap, at best
NEARLY_ALL = 0.8
START_SHARE = 0.1  # of the slopes at w = 0 that a start is worth making at
DRIFT = 1e-9  # of ||w||^2 that rounding may have moved <w, v> by before w is made anew
EPOCHS = 100_000  # a run that needs more (C huge beside the rows) is another solver's task


class Watch(Protocol):
    """Says when another method should go on."""

    def at_start(self, s: float) -> bool:
        """Whether at once, at s times the slopes at w = 0."""

    def __call__(self, gap: float, D: float, visited: int, entries: int) -> bool:
        """Whether after an epoch with this gap foretold; so many rows and entries were visited."""


class HandOver(Exception):
    """The watch asked to end: where another method can go on."""

    def __init__(self, epochs: int) -> None:
        super().__init__(f"after {epochs} epochs")
        self.epochs = epochs
        self.w = np.empty(0)


def solve(
    rows: ArrayRows,
    loss: Pointwise,
    settings: Settings,
    u0: np.ndarray | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Maximises D until ``P - D <= tol P``. `u0` is a feasible starting point; 0 by default.

    Where `watch` says True the run ends with `HandOver`.

    The result is a function of ``settings.seed``, whatever the number of threads: one takes the
    steps, and all share the gap checks.
    """
    run = Run(settings)
    best = Best(rows, loss, settings.tol)
    u, descent, epochs = np.zeros(rows.n), None, 0
    try:
        if u0 is None:
            u0, w, best.first = start(rows, loss)
            if watch is not None and best.first is not None and watch.at_start(best.first.s):
                raise HandOver(0)
        else:
            u0 = loss.clipped(u0)
            w = rows.rmatvec(loss.q * u0)
        descent = _core.DualDescent(rows.core, loss.core, u0, w, settings.seed)
        if u0 is not None:
            u0 = None  # the core has it
            best.note(rows, loss, descent, w)
            best.is_verified = True  # this w is fresh
        checks = GapChecks(rows, best.point.P - best.D, settings.tol)
        most_epochs = settings.max_iter or EPOCHS
        while not run.record(epochs, best.point.P, best.D):
            if epochs >= most_epochs:
                run.end(Status.MAX_ITER)
                break
            epochs += visit(descent, rows, checks, best.D, most_epochs - epochs, watch)
            best.check_gap(rows, loss, descent, w)
            checks.made(best.point.P - best.D)
    except HandOver as over:
        over.epochs, over.w = over.epochs + epochs, w
        raise
    except _core.Stopped:
        run.stopped()
    if descent is not None:
        if not best.is_verified:
            best.verify(*unstoppable(rows, loss), descent)
        descent.copy_dual(u)
    P = exact_primal(rows, loss, best.point) if best.point.steps else best.point.P
    return Solution(best.point.w, run.certify(P, best.D), run.history, np.abs(loss.q) * u)


@dataclass(frozen=True)
class FirstPoint:
    """The slopes u of the loss at w = 0, ``v = sum_i q_i u_i x_i``, and their best multiple."""

    u: np.ndarray
    v: np.ndarray
    s: float


def start(
    rows: ArrayRows, loss: Pointwise
) -> tuple[np.ndarray | None, np.ndarray, FirstPoint | None]:
    """The best multiple s of the slopes at w = 0, its w, and what both come from. If s is small:
    None, 0, None.

    Where C is small most u_i stay at these slopes, and one product, which all threads share, takes
    them there or near. Where C is large that is little beside the epochs to come.
    """
    u = loss.slopes_at_zero()
    v = rows.rmatvec(loss.q * u)
    s = best_multiple(loss.dual_sum(u)[0], norm2(v))
    if s < START_SHARE:
        return None, np.zeros(rows.width), None
    return s * u, s * v, FirstPoint(u, v, s)


def best_multiple(added: float, v_squared: float) -> float:
    """The s in [0, 1] that maximises ``s added - s^2 / 2 ||v||^2``, a lower bound on D(s u): the
    dual terms are concave and 0 at u = 0."""
    return min(1.0, max(0.0, added / v_squared)) if v_squared > 0 else 1.0


class GapChecks:
    """When to check the gap over all rows: when it may have closed, and otherwise seldom.

    An epoch sums up each row's share of the gap as it was when the row was visited. That is about
    the gap before the epoch, of the rows not set aside; the epoch itself made it smaller by about
    the factor from one such sum to the next.
    """

    def __init__(self, rows: ArrayRows, gap: float, tol: float) -> None:
        self.n, self.pass_entries, self.tol = rows.n, rows.nnz + rows.n, tol
        self.total, self.since_last = 0, 0
        self.gap, self.gap_at_last = math.inf, gap

    def due(self, gap: float, D: float, visited: int, entries: int) -> bool:
        self.total += entries
        self.since_last += entries
        expected = gap * min(max(gap / self.gap, LEAST_FACTOR), 1.0) if gap > 0 else 0.0
        self.gap = gap
        least = min(LEAST_WORK * self.pass_entries, MUCH_WORK)
        worked = self.since_last >= max(least, WORK_SHARE * self.total)
        progress = PROGRESS * self.gap_at_last if visited < NEARLY_ALL * self.n else 0.0
        return worked or expected <= max(self.tol * (D + expected), progress) or visited == 0

    def made(self, gap: float) -> None:
        """A check was made and found this gap."""
        self.since_last, self.gap, self.gap_at_last = 0, math.inf, gap


def visit(
    descent: _core.DualDescent,
    rows: ArrayRows,
    checks: GapChecks,
    D: float,
    most_epochs: int,
    watch: Watch | None = None,
) -> int:
    """Epochs over the rows not set aside, until a gap check is due; how many."""
    for epoch in range(most_epochs):
        gap, rise, visited, entries = descent.epoch(rows.pool)
        D += rise
        if checks.due(gap, D, visited, entries):
            return epoch + 1
        if watch is not None and watch(gap, D, visited, entries):
            raise HandOver(epoch + 1)
    return most_epochs


class Best:
    """The best primal point seen, at first w = 0, and the best lower bound.

    Along a run the bound is that of the w that the steps keep up to date. It is not believed before
    ``v = sum_i q_i u_i x_i`` has been computed afresh: D with ``||v||^2`` is a lower bound whatever
    became of w.
    """

    def __init__(self, rows: ArrayRows, loss: Pointwise, tol: float) -> None:
        self.point = Point(np.zeros(rows.width), np.zeros(rows.n), loss.at_zero, 0.0)
        self.D, self.tol = 0.0, tol
        self.is_verified = True  # whether D is that of a fresh v
        self.first: FirstPoint | None = None

    def check_gap(
        self, rows: ArrayRows, loss: Pointwise, descent: _core.DualDescent, w: np.ndarray
    ) -> None:
        """Both bounds at w from a pass over all rows, and the rows to visit next.

        Where the gap seems to have closed, v is made anew. If the gap has not closed after all, the
        run goes on from ``w = v``.
        """
        drifted = self.note(rows, loss, descent, w)
        if not drifted and not self._is_close(self.point.P):
            return
        v = self.verify(rows, loss, descent)
        if drifted or not self._is_close(self.point.P):
            w[:] = v
            self.note(rows, loss, descent, w)

    def note(
        self, rows: ArrayRows, loss: Pointwise, descent: _core.DualDescent, w: np.ndarray
    ) -> bool:
        """Takes the bounds at w; whether w is seen not to be v.

        With ``<w, v> = sum_i b_i p_i``:   ||v||^2 = 2 <w, v> - ||w||^2 + ||w - v||^2.
        """
        p = rows.matvec(w)
        added, size, wv, R = descent.check_gap(p, rows.pool)
        ww = norm2(w)
        self.D, self.is_verified = max(self.D, dual_bound(added, 2 * wv - ww, size)), False
        here = Point(w.copy(), p, R, ww)
        beats_zero = self.point.w_squared == 0 and here.P < self.point.P
        is_enough = self._is_close(here.P) or beats_zero
        found = here if is_enough else line_search(rows, loss, self.point, w, p)
        if found.P < self.point.P:
            self.point = found
        return abs(wv - ww) > DRIFT * ww

    def verify(self, rows: ArrayRows, loss: Pointwise, descent: _core.DualDescent) -> np.ndarray:
        """Takes the bound of the present u from a fresh v, which is given back."""
        u = np.empty(rows.n)
        descent.copy_dual(u)
        added, size = loss.dual_sum(u)
        v = self._fresh_v(rows, loss, u)
        self.D, self.is_verified = dual_bound(added, norm2(v), size), True
        return v

    def _fresh_v(self, rows: ArrayRows, loss: Pointwise, u: np.ndarray) -> np.ndarray:
        """``sum_i q_i u_i x_i`` over the rows that differ from 0 or from the first point: the
        fewer. Writes over u."""
        first = self.first
        if first is None or np.count_nonzero(u != first.u) >= np.count_nonzero(u):
            return rows.rmatvec(np.multiply(loss.q, u, out=u))
        np.subtract(u, first.u, out=u)
        return first.v + rows.rmatvec(np.multiply(loss.q, u, out=u))

    def _is_close(self, P: float) -> bool:
        return self.tol * P >= P - self.D
