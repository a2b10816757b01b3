"""Newton's method on rows that lie on the workers of a cluster.

The method is that of `solvers.linear.newton`, and so are the symbols. A step is two rounds:

    sums     R, both sums of the dual, v and the Gram matrix at p       d^2 numbers a worker
    search   slope and curvature of phi at some places along dp         a few numbers a worker

Multipliers nu have one number per row, so they stay with the parts. They are no vector ``X w``, but
follow from few: ``nu_j = u(nu_{j-1}, s_j, X w_j)``, once every few steps. Orders say how many times
that has been done. A part that has not kept up, because its worker died, is told all w_j and makes
its multipliers again.

The first steps are made on samples of the rows that come to the driver, a few million numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.arrays import ArrayRows
from maxmargin.data.cpus import new_pool
from maxmargin.distributed import parts
from maxmargin.distributed.parts import FORGOTTEN, Memory
from maxmargin.distributed.rows import DaskRows
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.run import Run, Stopped
from maxmargin.solvers.common.vectors import inner, norm2
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.lagrangian import SIGMA_START, SLOPE_LEFT, Lagrangian, evenly
from maxmargin.solvers.linear.newton_system import HESSIAN_ROWS, direct, hessian_rows

# Places along a line where the slope is asked for, all in one round: the length of Newton's step is
# about 1 where no kink is passed.
PLACES = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.6, 2.5, 5.0, 15.0, 50.0)


@dataclass(frozen=True)
class Update:
    """``nu <- u`` at s and ``p = X w``; w is None for 0."""

    s: float
    w: np.ndarray | None


def solve(
    rows: DaskRows, spec: LossSpec, at_zero: float, settings: Settings, w0: np.ndarray | None
) -> Solution:
    """Minimises P until ``P - D <= tol P``, from w0 or from samples of the rows."""
    run = Run(settings)
    best = newton.Best(rows.width, at_zero)
    try:
        w, sigma = np.zeros(rows.width), SIGMA_START
        if w0 is not None:
            w = np.array(w0, dtype=np.float64)
        else:
            for step in newton.sample_steps(rows.n, rows.width, newton.SAMPLE_ENTRIES):
                w, sigma, _ = newton.approach(*sample(rows, spec, step), w, sigma, settings)
        newton.descend(ClusterLagrangian(rows, spec, w, sigma), best, run)
    except Stopped as reason:
        run.stopped(reason)
    return Solution(best.w, run.certify(fresh_primal(rows, best), best.D), run.history, None)


def fresh_primal(rows: DaskRows, best: newton.Best) -> float:
    """P from a fresh pass. After a stop as the run has it, up to the rounding of a few steps.

    D needs none: each came from a whole pass as it is.
    """
    if not best.w.any():
        return best.P
    try:
        sums, _ = rows.total(parts.touch, rows.matvec(best.w))
    except Stopped:
        return best.P
    return 0.5 * norm2(best.w) + float(sums[0])


class ClusterLagrangian(Lagrangian):
    """phi as a sum over parts."""

    def __init__(self, rows: DaskRows, spec: LossSpec, w: np.ndarray, sigma: float) -> None:
        super().__init__(w, sigma, spec.is_piecewise_linear)
        self.is_sharpened = spec.is_piecewise_linear and sigma > SIGMA_START
        self.rows = rows
        self.p = rows.matvec(w) if w.any() else rows.zeros()
        self.updates: list[Update] = []
        self.due: float | None = None  # s of an update that parts have yet to make, at p

    def _total(self, job: Any, *needs: Any, **options: Any) -> tuple[np.ndarray, ...]:
        multipliers: dict[str, Any] = {"updates": len(self.updates), "due": self.due}
        told = {"history": tuple(self.updates)}
        found = self.rows.total(
            job, *needs, once_forgotten=told, s=self.s, **multipliers, **options
        )
        self.due = None
        return found

    def sums(self) -> tuple[float, float, float, np.ndarray]:
        d = self.rows.width
        sums, v, self.H = self._total(sums_of, self.p, entries=d * d, n=self.rows.n)
        R, added, size = sums.tolist()
        return R, added, size, v

    def take_multipliers(self) -> None:
        self.updates.append(Update(self.s, self.p.w))
        self.due = self.s

    def direction(self) -> np.ndarray:
        identity = np.ones(self.rows.width)
        return direct(self.H.copy, identity, self.gradient, self.rows.pool)[0]

    def search(self, dw: np.ndarray) -> float:
        self.dp = self.rows.matvec(dw)
        A0, B0 = norm2(dw), inner(self.w, dw)
        (found,) = self._total(slopes_along, self.p, self.dp, ks=PLACES)
        slopes = B0 + np.array(PLACES) * A0 + found
        return root(np.array(PLACES), slopes, inner(self.gradient, dw))

    def move(self, k: float) -> None:
        self.p = self.rows.axpby(1.0, self.p, k, self.dp)


def root(ks: np.ndarray, slopes: np.ndarray, slope_at_0: float) -> float:
    """About where a convex function is lowest, from its slopes at some places.

    The place with the smallest slope, if that is small; else where the line between the two slopes
    on either side of 0 has its root.
    """
    if slope_at_0 >= 0:
        return 0.0
    nearest = int(np.argmin(np.abs(slopes)))
    if abs(slopes[nearest]) <= SLOPE_LEFT * -slope_at_0:
        return float(ks[nearest])
    right = int(np.searchsorted(slopes >= 0, True))
    if right == len(ks):
        return float(ks[-1])
    k, slope = (0.0, slope_at_0) if right == 0 else (float(ks[right - 1]), float(slopes[right - 1]))
    return k + (float(ks[right]) - k) * slope / (slope - float(slopes[right]))


# ------------------------------------------------------------------------------- on the workers


@dataclass
class Multipliers:
    """nu of a part after so many updates."""

    nu: np.ndarray
    updates: int = 0


def multipliers_of(
    memory: Memory,
    p: np.ndarray,
    updates: int,
    due: float | None,
    history: tuple[Update, ...] | None,
) -> np.ndarray | None:
    """nu after so many updates; None if the part knows too little.

    Where an update is due it is made at p, with that s.
    """
    assert isinstance(memory.loss, Pointwise)
    known = memory.note[1] if memory.note is not None else Multipliers(evenly(memory.loss))
    if due is not None and known.updates == updates - 1:
        known = Multipliers(updated(memory, known.nu, due, p), updates)
    elif known.updates != updates:
        if history is None:
            return None
        nu = evenly(memory.loss)
        for update in history:
            at = memory.rows.zeros() if update.w is None else memory.rows.matvec(update.w)
            nu = updated(memory, nu, update.s, at)
        known = Multipliers(nu, updates)
    memory.note = "multipliers", known
    return known.nu


def updated(memory: Memory, nu: np.ndarray, s: float, p: np.ndarray) -> np.ndarray:
    """u at p, for these multipliers."""
    loss: Any = memory.loss
    b, h = np.empty(loss.n), memory.room()
    loss.core.proximal(nu, s, p, b, h, loss.pool)
    memory.give_back(h)
    return loss.shares(b)


def sums_of(
    memory: Memory,
    p: np.ndarray,
    s: float,
    n: int,
    updates: int,
    due: float | None,
    history: tuple[Update, ...] | None = None,
) -> Any:
    """The part's share of R, of both sums of the dual, of v and of the Gram matrix at p."""
    nu = multipliers_of(memory, p, updates, due, history)
    if nu is None:
        return FORGOTTEN
    loss: Any = memory.loss
    b, h = memory.room(), memory.room()
    R, added, size, curved = loss.core.proximal(nu, s, p, b, h, loss.pool)
    every = max(1, curved // rows_for_gram(memory.rows, n))
    v, H = memory.rows.rmatvec(b), memory.rows.gram(h, every, for_direction=True)
    memory.give_back(b)
    memory.give_back(h)
    return np.array([R, added, size]), v, H


def rows_for_gram(rows: ArrayRows, n: int) -> int:
    """The part's share of the rows that estimate the Hessian, and as many as cost little more."""
    least = HESSIAN_ROWS * rows.width
    affordable = hessian_rows(rows)
    share = -(-least * rows.n // n)
    return max(1, share, affordable if affordable > least else 0)


def slopes_along(
    memory: Memory,
    p: np.ndarray,
    dp: np.ndarray,
    s: float,
    ks: tuple[float, ...],
    updates: int,
    due: float | None,
    history: tuple[Update, ...] | None = None,
) -> Any:
    """The part's share of the slope of phi at some places along dp."""
    nu = multipliers_of(memory, p, updates, due, history)
    if nu is None:
        return FORGOTTEN
    loss: Any = memory.loss
    slopes = np.empty(len(ks))
    loss.core.slopes_along(nu, s, p, dp, np.array(ks), slopes, loss.pool)
    return (slopes,)


def sample(rows: DaskRows, spec: LossSpec, step: int) -> tuple[ArrayRows, Pointwise]:
    """Every `step`-th row of each part, here, standing for all of them."""
    found = rows.each(every_row, step=step)
    layout, pool = rows.task.layout, new_pool(1, rows.stop)
    Xs, qs, ts = zip(*found)
    X = sp.vstack(Xs, format="csr") if sp.issparse(Xs[0]) else np.concatenate(Xs)
    t = None if ts[0] is None else np.concatenate(ts)
    return ArrayRows(X, layout.bias, pool), Pointwise(spec, step * np.concatenate(qs), t, pool)


def every_row(memory: Memory, step: int) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Copies of every `step`-th row of a part, with label and cost, and target."""
    loss: Any = memory.loss
    t = None if loss.t is None else loss.t[::step].copy()
    return memory.every_row(step), loss.q[::step].copy(), t
