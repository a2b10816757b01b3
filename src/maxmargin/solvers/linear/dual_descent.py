"""Dual coordinate descent (Hsieh et al. 2008), the in-memory trainer of StreamSVM.

    maximise   D(a) = sum_i a_i - 1/2 ||w||^2,   w = sum_i a_i y_i x_i,      0 <= a_i <= C_i

The core visits rows in random order and sets aside those that sit firmly at a bound. This loop
decides when to look at all rows. One such look costs one pass, and gives: the gap, the predictions
that bring back rows set aside wrongly, and a better primal point on the line from the best one.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.hinge import Hinge
from maxmargin.problem import Settings, Solution, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import dual_bound, norm2
from maxmargin.solvers.linear.bundle import Point, exact_primal, line_search, unstoppable

# A look at all rows is due when the gap may be within the tolerance; with many rows set aside, also
# when it may be this fraction of what the last look found; and after so many passes' worth of
# visits and this share of all so far.
PROGRESS = 0.03
LEAST_WORK, MUCH_WORK = 5.0, 1e8  # passes, but no more than so many entries
WORK_SHARE = 0.3
LEAST_FACTOR = 0.5  # by which an epoch reduces the gap, at best
NEARLY_ALL = 0.8
START_SHARE = 0.1  # of C that a start is worth making at
DRIFT = 1e-9  # of ||w||^2 that rounding may have moved <w, v> by before w is made anew
EPOCHS = 100_000  # a run that needs more (C huge beside the rows) is another solver's task


def solve(
    rows: ArrayRows, loss: Hinge, settings: Settings, a0: np.ndarray | None = None
) -> Solution:
    """Maximises D until ``P - D <= tol P``. `a0` is a feasible starting point; 0 by default.

    The result is a function of ``settings.seed``, whatever the number of threads: one takes the
    steps, and all share the looks.
    """
    run = Run(settings)
    best = Best(rows, loss, settings.tol)
    a, descent = np.zeros(rows.n), None
    try:
        if a0 is None:
            a0, w, best.v_at_cost = start(rows, loss)
        else:
            w = rows.rmatvec(np.copysign(a0, loss.q))
        descent = _core.DualDescent(rows.core, loss.q, a0, w, settings.seed)
        if a0 is not None:
            a0 = None  # the core has it
            best.note(rows, loss, descent, w)
            best.is_verified = True  # this w is fresh
        looks, epochs = Looks(rows, best.point.P - best.D, settings.tol), 0
        most_epochs = settings.max_iter or EPOCHS
        while not run.record(epochs, best.point.P, best.D):
            if epochs >= most_epochs:
                run.end(Status.MAX_ITER)
                break
            epochs += visit(descent, rows, looks, best.D, most_epochs - epochs)
            best.look(rows, loss, descent, w)
            looks.taken(best.point.P - best.D)
    except _core.Stopped:
        run.stopped()
    if descent is not None:
        if not best.is_verified:
            best.verify(*unstoppable(rows, loss), descent)
        descent.copy_dual(a)
    P = exact_primal(rows, loss, best.point) if best.point.steps else best.point.P
    return Solution(best.point.w, run.certify(P, best.D), run.history, a)


def start(rows: ArrayRows, loss: Hinge) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
    """``a = s C`` with the best s, its w, and v at ``a = C``. If s is small: None, 0, None.

    Where C is small most a_i end at their bound, and one product, which all threads share, takes
    them there or near. Where C is large that is little beside the epochs to come.
    """
    v = rows.rmatvec(loss.q)
    s = best_share(loss, v)
    if s < START_SHARE:
        return None, np.zeros(rows.width), None
    return s * np.abs(loss.q), s * v, v


def best_share(loss: Hinge, v: np.ndarray) -> float:
    """The s in [0, 1] that maximises D(s C), given ``v = sum_i C_i y_i x_i``."""
    v_squared = norm2(v)
    return min(1.0, loss.at_zero / v_squared) if v_squared > 0 else 1.0


class Looks:
    """When to look at all rows: when the gap may have closed, and otherwise seldom.

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

    def taken(self, gap: float) -> None:
        """A look was taken and found this gap."""
        self.since_last, self.gap, self.gap_at_last = 0, math.inf, gap


def visit(
    descent: _core.DualDescent, rows: ArrayRows, looks: Looks, D: float, most_epochs: int
) -> int:
    """Epochs over the rows not set aside, until a look at all rows is due; how many."""
    for epoch in range(most_epochs):
        gap, rise, visited, entries = descent.epoch(rows.pool)
        D += rise
        if looks.due(gap, D, visited, entries):
            return epoch + 1
    return most_epochs


class Best:
    """The best primal point seen, at first w = 0, and the best lower bound.

    Along a run the bound is that of the w that the steps keep up to date. It is not believed before
    ``v = sum_i a_i y_i x_i`` has been computed afresh: ``sum a - 1/2 ||v||^2`` is a lower bound
    whatever became of w.
    """

    def __init__(self, rows: ArrayRows, loss: Hinge, tol: float) -> None:
        self.point = Point(np.zeros(rows.width), np.zeros(rows.n), loss.at_zero, 0.0)
        self.D, self.tol = 0.0, tol
        self.is_verified = True  # whether D is that of a fresh v
        self.v_at_cost: np.ndarray | None = None  # v where every a_i = C_i, if it is known

    def look(self, rows: ArrayRows, loss: Hinge, descent: _core.DualDescent, w: np.ndarray) -> None:
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

    def note(self, rows: ArrayRows, loss: Hinge, descent: _core.DualDescent, w: np.ndarray) -> bool:
        """Takes the bounds at w; whether w is seen not to be v.

        With ``<w, v> = sum_i a_i y_i p_i``:   ||v||^2 = 2 <w, v> - ||w||^2 + ||w - v||^2.
        """
        p = rows.matvec(w)
        a_sum, wv, R = descent.look(p, rows.pool)
        ww = norm2(w)
        self.D, self.is_verified = max(self.D, dual_bound(a_sum, 2 * wv - ww)), False
        here = Point(w.copy(), p, R, ww)
        beats_zero = self.point.w_squared == 0 and here.P < self.point.P
        is_enough = self._is_close(here.P) or beats_zero
        found = here if is_enough else line_search(rows, loss, self.point, w, p)
        if found.P < self.point.P:
            self.point = found
        return abs(wv - ww) > DRIFT * ww

    def verify(self, rows: ArrayRows, loss: Hinge, descent: _core.DualDescent) -> np.ndarray:
        """Takes the bound of the present a from a fresh v, which is given back."""
        a = np.empty(rows.n)
        descent.copy_dual(a)
        a_sum = float(a.sum())
        v = self._fresh_v(rows, loss, np.copysign(a, loss.q, out=a))
        self.D, self.is_verified = dual_bound(a_sum, norm2(v)), True
        return v

    def _fresh_v(self, rows: ArrayRows, loss: Hinge, ya: np.ndarray) -> np.ndarray:
        """``sum_i a_i y_i x_i`` over the rows at one of the bounds or in between: the fewer."""
        if self.v_at_cost is None or np.count_nonzero(ya != loss.q) >= np.count_nonzero(ya):
            return rows.rmatvec(ya)
        return self.v_at_cost + rows.rmatvec(np.subtract(ya, loss.q, out=ya))

    def _is_close(self, P: float) -> bool:
        return self.tol * P >= P - self.D
