"""Dual coordinate descent (Hsieh et al. 2008), the in-memory trainer of StreamSVM.

    maximise   D(a) = sum_i a_i - 1/2 ||w||^2,   w = sum_i a_i y_i x_i,      0 <= a_i <= C_i

The core visits rows in random order and sets aside those that sit firmly at a bound. This loop decides
when to look at all rows. One such look costs one pass, and gives: the gap, the predictions that bring
back rows set aside wrongly, and a better primal point on the line from the best one so far.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.hinge import Hinge
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.bundle import Point, line_search
from maxmargin.solvers.run import Run
from maxmargin.solvers.vectors import norm2

LOOK_AFTER = 3.0  # passes' worth of visits between two looks at all rows


def solve(
    rows: ArrayRows, loss: Hinge, settings: Settings, a0: np.ndarray | None = None
) -> Solution:
    """Maximises D until ``P - D <= tol P``. `a0` is a feasible starting point; 0 by default.

    With one thread in ``rows.pool`` the result is a function of ``settings.seed`` alone.
    """
    run = Run(settings)
    a = np.zeros(rows.n) if a0 is None else a0.copy()
    cost = np.abs(loss.q)
    best = Point(np.zeros(rows.width), np.zeros(rows.n), float(cost.sum()), 0.0)
    D, best_a = 0.0, a
    try:
        w = rows.combine(np.copysign(a, loss.q))
        descent = _core.DualDescent(rows.core, loss.q, a, w, settings.seed, rows.pool.threads)
        iteration, run_on = 0, not run.record(0, best.P, D)
        while run_on:
            iteration = visit_rows(descent, rows, iteration, settings)
            if rows.pool.threads > 1:
                w[:] = rows.combine(np.copysign(a, loss.q))
            p = rows.predict(w)
            descent.refresh(p)
            best = line_search(rows, loss, best, w, p)
            D_now = float(a.sum()) - 0.5 * norm2(w)
            if D_now > D:
                D, best_a = D_now, a
            run_on = not run.record(iteration, best.P, D)
    except _core.Stopped:
        run.stopped()
    return Solution(best.w, run.certify(best.P, D), run.history, best_a)
