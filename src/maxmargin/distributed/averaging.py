"""A fast start: every part solves its own rows, and the answers are averaged.

Section 1.3 of the StreamSVM paper (Matsushima, Vishwanathan, Smola 2012), after Zinkevich et al.
2010. Part j, with the share ``t_j`` of all cost, solves

    minimise   1/2 ||w||^2 + 1/t_j sum_{i in part j} C_i f(r_i)

by dual descent, all parts at once, without a word between them. Then

    w_0 = sum_j t_j w_j = sum_i q_i u_i x_i,        u_i the dual variable of row i, in units of C_i

so the average is primal *and* dual: `u` is feasible for the whole problem. It gives the bundle
loop a point to start from and a plane, ``sum_i C_i (u_i r_i - f*(u_i)) <= R(w)``, whose bound is
D(u). The symbols are those of `losses.pointwise`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.distributed.parts import Memory
from maxmargin.distributed.rows import DaskRows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Settings
from maxmargin.solvers.common.run import Stopped
from maxmargin.solvers.linear import dual_descent
from maxmargin.training.fit import LinearPlan

ROUGHLY = 1e-2  # the parts' own precision: averaging is not more precise
EPOCHS = 50  # and no part keeps the others waiting for long


def averaged_start(
    rows: DaskRows, plan: LinearPlan, whole_cost: float
) -> tuple[np.ndarray | None, list[tuple[np.ndarray, float]]]:
    """The average, and its plane; nothing if the fit was stopped meanwhile."""
    if not whole_cost > 0:
        return None, []
    try:
        sums, w = rows.total(solve_alone, whole_cost=whole_cost, seed=plan.options.seed)
    except Stopped:
        return None, []  # the bundle loop ends at once too, and says why
    return w, [(-w, float(sums[0]))]


def solve_alone(memory: Memory, whole_cost: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """``sum_i C_i (t_i u_i - f*(u_i))`` and ``sum_i q_i u_i x_i``, by the part's own problem."""
    loss = memory.loss
    assert isinstance(loss, Pointwise)
    share = loss.at_zero / whole_cost
    if not share > 0:
        return np.zeros(1), np.zeros(memory.rows.width)
    alone = Pointwise(loss.spec, loss.q / share, loss.t, loss.pool)
    settings = Settings(tol=ROUGHLY, max_iter=EPOCHS, seed=seed)
    rows: Any = memory.rows
    if isinstance(rows, SourceRows):  # features are in memory while this part is solved
        rows = rows.subsample(1)
    a = dual_descent.solve(rows, alone, settings).dual_variables
    assert a is not None
    u = loss.clipped(np.divide(a, np.abs(alone.q), out=np.zeros(loss.n), where=alone.q != 0))
    return np.array([loss.dual_sum(u)[0]]), memory.rows.rmatvec(loss.q * u)
