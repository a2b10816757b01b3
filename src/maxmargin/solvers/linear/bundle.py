"""Cutting planes: CPA (Joachims 2006) and OCAS (Franc, Sonnenburg 2008).

    minimise   P(w) = 1/2 ||w||^2 + R(X w),       R convex, R >= 0

R is replaced by the maximum of planes ``<a_j, w> + b_j <= R(X w)``. The minimum of the replaced
problem is a lower bound on P that rises with every plane; P at the best w seen is an upper bound.

    w_t   minimiser over the planes so far        D    its value: lower bound on the optimum
    w_b   best so far                             P    its value: upper bound on the optimum
    w_c   where the next plane touches R          mu   how far w_c goes from w_b towards w_t
    p_*   predictions X w_*                       subgrad   of R in the predictions, at p_c

Algorithm 1 of the OCAS paper, and who does each line:

    1  t = 0, no planes                                          empty_planes, start
    2  repeat                                                    solve
    3    w_t: solve the reduced problem (3)                      planes.minimise
    4    w_b: the best on the line to w_t (change 2)             line_search
    5    add a plane at w_c = (1 - mu) w_b + mu w_t, (8)         next_touch, planes.add_subgradient
    6    t = t + 1
    7  until F(w_b) - F_t(w_t) is small, (9)                     run.record

Deviations. The first plane is added before the first reduced problem (5 comes before 3): without a
plane there is nothing to solve, and a start other than 0 gives one. Where the line search knows a
subgradient at a new w_b, the plane touches there: it is exact at the best point, and saves an
evaluation. The reduced problem is solved only to a share of the gap. (9) is relative to P, and P is
evaluated afresh in the end. CPA is lines 2 to 7 with w_c = w_t and no line 4. A `Variant` undoes
these deviations, for comparisons. tests/papers has the box in plain Python; the loop takes the same
steps.

Algorithm 1 of Joachims is CPA: W are the planes, the constraint c that is violated most is the
subgradient of the hinge loss at w_t (`loss.evaluate`). In his Algorithm 2 the loss is that of pairs
of rows; the counts c+ and c- are core/losses/pair_sweep.cpp.

Only ``p_t = X w_t`` and ``a = X^T subgrad`` touch the data: two passes per iteration. Predictions
of w_b and w_c are combinations of those already known.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.losses.base import Loss
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import ROUNDING, inner, norm2
from maxmargin.solvers.linear.reduced_qp import KnownPlane, Planes
from maxmargin.solvers.linear.wide_planes import wide_planes

MU = 0.1  # equation (8) of the OCAS paper
QP_SHARE = 0.1  # of the gap that the reduced problem may leave: less saves no iteration, but takes
# twice the steps where there are many planes
KEPT_SHARE = 8  # entries of the data to one of planes that are kept for another C
NO_STEP = 1e-16  # ||w_t - w_b||^2 / ||w_b||^2 below which the direction is mostly rounding errors
DRIFT = 1e-10  # of P that sums updated by many steps may be off, at most, when it is printed


@dataclass(frozen=True)
class Variant:
    """What the papers do otherwise. No estimator has it: it is for comparisons with them.

    `mu` is that of (8). With `at_best` a plane touches R at a new w_b where the search knows a
    subgradient there. `qp_share` of the gap may be left by the reduced problem. `stopping` says
    when ``P - D`` is small: "relative" to P, "absolute" ((9) of the OCAS paper: at most tol), or
    "mean slack" (Joachims' epsilon: at most tol R(0), which is n C for the hinge loss).
    """

    mu: float = MU
    at_best: bool = True
    qp_share: float = QP_SHARE
    stopping: Literal["relative", "absolute", "mean slack"] = "relative"

    def unit(self, loss: Loss) -> float | None:
        """Of the tolerance; None for P itself."""
        return {"relative": None, "absolute": 1.0, "mean slack": loss.at_zero}[self.stopping]


STANDARD = Variant()
PAPER = Variant(at_best=False, qp_share=1e-12, stopping="absolute")


@dataclass
class Point:
    """A w with its predictions and its loss; `steps`: how many steps since a pass made them."""

    w: np.ndarray
    p: np.ndarray
    R: float

    w_squared: float
    steps: int = 0

    @property
    def P(self) -> float:
        return 0.5 * self.w_squared + self.R


def solve(
    rows: Rows,
    loss: Loss,
    settings: Settings,
    method: Literal["ocas", "cpa"] = "ocas",
    w0: np.ndarray | None = None,
    planes0: Sequence[tuple[Any, ...]] = (),
    variant: Variant = STANDARD,
) -> Solution:
    """Minimises ``1/2 ||w||^2 + R(X w)`` until ``P - D <= tol P``.

    `w0` is a starting point (a solution for another C, say); 0 by default. `planes0` are planes
    (a, b), or (a, b, by how much a is off), below R that are known beforehand.
    """
    unit = variant.unit(loss)
    run = Run(settings, scale=unit)
    tol = settings.tol * (1.0 if unit is None else unit / loss.at_zero)  # of a typical P
    planes = empty_planes(rows, loss, tol, known=bool(planes0))
    best, D = Point(np.zeros(rows.width), rows.zeros(), loss.at_zero, 0.0), 0.0
    try:
        best, subgrad = start(rows, loss, w0)
        p_c, R_c, iteration = best.p, best.R, 0
        for plane in planes0:
            planes.add(*plane)
        while not run.record(iteration, best.P, D):
            planes.add_subgradient(rows, subgrad, offset(loss, R_c, rows.inner(subgrad, p_c)))
            w_t, D_t = planes.minimise(variant.qp_share * max(best.P - D, tol * best.P))
            D = max(D, D_t)
            p_t = rows.matvec(w_t)
            if method == "ocas":
                before, best = best, line_search(rows, loss, best, w_t, p_t)
                moved = variant.at_best and best is not before
                p_c, R_c, subgrad = next_touch(rows, loss, best, p_t, moved, variant.mu)
            else:
                p_c = p_t
                R_c, subgrad = loss.evaluate(p_t)
                best = min(best, Point(w_t, p_t, R_c, norm2(w_t)), key=lambda point: point.P)
            planes.drop_idle()
            iteration += 1
    except _core.Stopped as reason:
        run.stopped(reason)
    certificate = run.certify(exact_primal(rows, loss, best), D)
    kept = few_planes(rows, planes) if settings.keeps_planes else []
    return Solution(best.w, certificate, run.history, planes=kept)


def few_planes(rows: Rows, planes: Planes) -> list[KnownPlane]:
    """The planes that hold the answer up, if they take little beside the data."""
    active = planes.known()
    room = getattr(rows, "nnz", 0) / KEPT_SHARE
    return active if len(active) * rows.width <= room else []


def empty_planes(rows: Rows, loss: Loss, precision: float, known: bool) -> Planes:
    """No planes yet, in the form that suits the rows; `known`: some will come from elsewhere."""
    wide = None if known else wide_planes(rows, loss)
    if wide is not None:
        return wide
    return Planes(rows.width, getattr(rows, "pool", None), precision)


def offset(loss: Loss, R: float, lp: float) -> float:
    """``b = R(p) - <subgrad, p>`` of the plane that touches R at p, so that it lies below R.

    At 0 no plane is above R. And where predictions are huge, b is the difference of huge numbers.
    """
    return min(R - lp, loss.at_zero) - ROUNDING * (abs(R) + abs(lp))


def start(rows: Rows, loss: Loss, w0: np.ndarray | None) -> tuple[Point, np.ndarray]:
    """The first point, and the subgradient there."""
    w = np.zeros(rows.width) if w0 is None else np.array(w0, dtype=np.float64)
    p = rows.zeros() if w0 is None else rows.matvec(w)
    R, subgrad = loss.evaluate(p)
    return Point(w, p, R, norm2(w)), subgrad


def line_search(rows: Rows, loss: Loss, best: Point, w_t: np.ndarray, p_t: np.ndarray) -> Point:
    """``w_b + k (w_t - w_b)`` with the exact ``k = argmin_{k >= 0} P(w_b + k (w_t - w_b))``."""
    dw, dp = w_t - best.w, rows.axpby(1.0, p_t, -1.0, best.p)
    dw_squared = norm2(dw)
    if dw_squared <= NO_STEP * best.w_squared:
        return best
    k, R = loss.search(best.p, dp, A0=dw_squared, B0=inner(best.w, dw))
    if k == 0:
        return best
    w = best.w + k * dw
    w_squared = norm2(w)
    if 0.5 * w_squared + R > best.P:  # a step so long that the search could not find the minimum
        return best
    return Point(w, rows.axpby(1.0, best.p, k, dp), R, w_squared, best.steps + 1)


def next_touch(
    rows: Rows, loss: Loss, best: Point, p_t: np.ndarray, moved: bool, mu: float = MU
) -> tuple[np.ndarray, float, np.ndarray]:
    """Where the next plane touches R: predictions p_c, the loss and a subgradient there.

    That is w_b itself if it is new and the search knows a subgradient there; else w_c.
    """
    subgrad = loss.known_subgradient() if moved else None
    if subgrad is not None:
        return best.p, best.R, subgrad
    p_c = rows.axpby(1 - mu, best.p, mu, p_t)
    return p_c, *loss.evaluate(p_c)


def unstoppable(rows: Any, loss: Any) -> tuple[Any, Any]:
    """The same rows and loss for the pass that makes a certificate, which no stop flag ends.

    What a run notes along the way has the rounding errors of all its steps.
    """
    loss = copy.copy(loss)
    loss.pool = _core.Pool(rows.pool.threads)
    return rows.with_pool(loss.pool), loss


def exact_primal(rows: Rows, loss: Loss, best: Point) -> float:
    """P at the answer from a fresh pass over the data.

    A stop ends passes over rows that are not in memory, which take long, unless the predictions
    combined along the run may have lost digits that P states. Where these stay on workers, what
    was summed along the run is all there is.
    """
    if not best.w.any():
        return loss.at_zero
    if isinstance(rows, ArrayRows) or (hasattr(rows, "with_pool") and has_drifted(best, loss)):
        rows, loss = unstoppable(rows, loss)
    known: tuple[Callable[[], Any], ...] = (lambda: rows.matvec(best.w), lambda: best.p)
    for predictions in known:
        with contextlib.suppress(_core.Stopped):
            return 0.5 * best.w_squared + loss.value(predictions())
    return 0.5 * best.w_squared + max(best.R, 0.0)  # combined in float64 along the run


def has_drifted(best: Point, loss: Loss) -> bool:
    """Whether rounding in every step may have changed P by more than `DRIFT` of it.

    A step moves a prediction by about a unit in its last place, and R moves by at most `at_zero`
    times that.
    """
    unit = float(np.finfo(np.float64).eps) * float(np.abs(best.p).max())
    return best.steps * unit * loss.at_zero > DRIFT * best.P
