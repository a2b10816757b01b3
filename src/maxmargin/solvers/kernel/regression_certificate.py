"""Bounds of a kernel regression that hold in float64, whatever rounding did to its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.losses.pointwise import Pointwise

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.regression import RegressionPath

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class RegressionBounds:
    """P and D of a beta, whatever rounding did to its predictions."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual


def bounds_of(path: RegressionPath, pool: _core.Pool) -> RegressionBounds:
    """Bounds of the path's beta; its residuals are float64's afterwards."""
    problem, beta = path.problem, path.beta
    used, others = np.flatnonzero(beta), np.flatnonzero((path.c != 0) & (beta == 0))
    rows = np.concatenate([used, others])
    f, e = problem.source.exact.combine(rows, used, beta[used], pool)
    path.r[rows] = problem.t[rows] - f
    t, c = problem.t[rows], path.c[rows]
    loss = problem.spec.on_targets(t, c, pool)
    norm2 = float(beta[used] @ f[: len(used)])
    lost = float(np.abs(beta[used]) @ e[: len(used)])
    value = loss.value(f)
    dual_sum, size = loss.dual_sum(loss.clipped(beta[rows] / c))
    primal = 0.5 * max(norm2, 0.0) + value
    rounding = 0.5 * lost + largest_change(loss, f, e) + 4 * EPSILON * (size + abs(norm2))
    dual = max(dual_sum - 0.5 * norm2 - rounding, 0.0)
    if dual > primal:  # equal but for rounding; or the kernel is none, and D means nothing
        dual = primal if dual <= primal * (1 + 1e-9) else 0.0
    return RegressionBounds(primal, dual)


def largest_change(loss: Pointwise, f: np.ndarray, e: np.ndarray) -> float:
    """What errors e of f can do to the loss: a convex one is steepest at an end of an interval."""
    up, down = loss.evaluate(f + e)[1], loss.evaluate(f - e)[1]
    return float(np.maximum(np.abs(up), np.abs(down)) @ e)
