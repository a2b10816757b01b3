"""Dual coordinate descent (Hsieh et al. 2008), the in-memory trainer of StreamSVM.

    maximise   D(a) = sum_i a_i - 1/2 ||w||^2,   w = sum_i a_i y_i x_i,      0 <= a_i <= C_i

The core visits rows in random order and sets aside those that sit firmly at a bound. This loop
decides when to look at all rows. One such look costs one pass, and gives: the gap, the predictions
that bring back rows set aside wrongly, and a better primal point on the line from the best one.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.hinge import Hinge
from maxmargin.problem import Certificate, Settings, Solution, Status
from maxmargin.solvers.bundle import Point, line_search
from maxmargin.solvers.run import Run
from maxmargin.solvers.vectors import norm2

# Work between two looks at all rows: at least so many passes' worth of visits and so large a share
# of all visits so far, unless the violation of optimality has fallen to this fraction before.
LEAST_WORK = 1.0
WORK_SHARE = 0.2
PROGRESS = 0.3
EPOCHS = 100_000  # a run that needs more (C huge beside the rows) is another solver's task


def solve(
    rows: ArrayRows, loss: Hinge, settings: Settings, a0: np.ndarray | None = None
) -> Solution:
    """Maximises D until ``P - D <= tol P``. `a0` is a feasible starting point; 0 by default.

    The result is a function of ``settings.seed``, whatever the number of threads: one takes the
    steps, and all share the looks.
    """
    run = Run(settings)
    state = Best(rows, loss)
    try:
        a = np.zeros(rows.n) if a0 is None else np.array(a0, dtype=np.float64)
        w = rows.combine(np.copysign(a, loss.q)) if a0 is not None else np.zeros(rows.width)
        descent = _core.DualDescent(rows.core, loss.q, a, w, settings.seed, rows.pool)
        looks, epochs = Looks(rows.nnz + rows.n), 0
        most_epochs = settings.max_iter or EPOCHS
        while not run.record(epochs, state.point.P, state.D):
            if epochs >= most_epochs:
                run.status = Status.MAX_ITER
                break
            epochs += visit(descent, rows, looks, most_epochs - epochs)
            p = rows.predict(w)
            descent.refresh(p)
            state.note(rows, loss, a, w, p)
    except _core.Stopped:
        run.stopped()
    return Solution(state.point.w, state.certify(rows, loss, run), run.history, state.a)


class Looks:
    """When to look at all rows: often enough to end in time, seldom enough to cost little."""

    def __init__(self, pass_entries: int) -> None:
        self.pass_entries = pass_entries
        self.total, self.since_last = 0, 0
        self.violation_at_last = np.inf

    def due(self, violation: float, entries: int) -> bool:
        self.total += entries
        self.since_last += entries
        worked = self.since_last >= max(LEAST_WORK * self.pass_entries, WORK_SHARE * self.total)
        if worked or violation <= PROGRESS * self.violation_at_last:
            self.since_last, self.violation_at_last = 0, violation
            return True
        return False


def visit(descent: _core.DualDescent, rows: ArrayRows, looks: Looks, most_epochs: int) -> int:
    """Epochs over the rows not set aside, until a look at all rows is due; how many."""
    for epoch in range(most_epochs):
        most, least, visited, entries = descent.epoch(rows.pool)
        if looks.due(max(most, 0.0) - min(least, 0.0), entries) or visited == 0:
            return epoch + 1
    return most_epochs


class Best:
    """The best primal and dual points seen; at first w = 0 and a = 0."""

    def __init__(self, rows: ArrayRows, loss: Hinge) -> None:
        self.point = Point(np.zeros(rows.width), np.zeros(rows.n), loss.at_zero, 0.0)
        self.a, self.D = np.zeros(rows.n), 0.0

    def note(
        self, rows: ArrayRows, loss: Hinge, a: np.ndarray, w: np.ndarray, p: np.ndarray
    ) -> None:
        self.point = line_search(rows, loss, self.point, w, p)
        D = float(a.sum()) - 0.5 * norm2(w)
        if D > self.D:
            self.a, self.D = a.copy(), D

    def certify(self, rows: ArrayRows, loss: Hinge, run: Run) -> Certificate:
        """Both bounds over all rows in float64: P from predictions that are a combination of passes
        over the data, D from a fresh one, unless a stop was asked for."""
        P = 0.5 * norm2(self.point.w) + self.point.R
        try:
            v = rows.combine(np.copysign(self.a, loss.q))
            self.D = float(self.a.sum()) - 0.5 * norm2(v)
        except _core.Stopped:
            pass  # the values noted along the run are sums over all rows too
        return run.certify(P, self.D)
