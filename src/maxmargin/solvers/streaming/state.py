"""What a run of the cached loops remembers, and the bounds that a gap check gives.

    P(w_b)   at the best point so far, from a pass with w_b frozen
    D(u)     = sum_i C_i (t_i u_i - f*(u_i)) - 1/2 ||v||^2,   v = sum_i y_i C_i u_i x_i

v and the sum are made afresh in the same pass.

The running w is never part of a bound: it carries the rounding errors of all steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.solvers.common.vectors import inner

UNIT = 2.0**-53  # relative error of one operation in float64
SAME = 1e-9  # values of P and D that differ by less are equal but for rounding
_CALLER = _core.Pool(1)  # cannot be stopped: a point moves as a whole
LINE = np.array(_core.CachedLoops.line)


@dataclass
class State:
    """Where a run stands: the dual shares u, the points, and the bounds known for certain.

    ``P[k]`` is that of ``best[k]``, or infinite where it has not been evaluated yet (a point that
    was read from a checkpoint). ``D[k]`` is the best lower bound so far. `at_zero` is P of w = 0.
    """

    shares: list[np.ndarray]
    w: list[np.ndarray]
    best: list[np.ndarray]
    P: list[float]
    D: list[float]
    at_zero: list[float]
    passes: int = 0

    @classmethod
    def start(cls, width: int, at_zero: list[float], shares: list[np.ndarray]) -> State:
        """u = 0 and w = 0, where D is 0 too."""
        problems = range(len(shares))
        return cls(
            shares=shares,
            w=[np.zeros(width) for _ in problems],
            best=[np.zeros(width) for _ in problems],
            P=list(at_zero),
            D=[0.0 for _ in problems],
            at_zero=at_zero,
        )

    def begin_at(self, points: list[np.ndarray]) -> None:
        """Go on from points that another problem ended at: neither P nor D is known of them."""
        for best, point in zip(self.best, points, strict=True):
            best[:] = point
        self.P = [math.inf for _ in points]

    @property
    def evaluated(self) -> bool:
        """Whether P is known of every best point."""
        return not any(map(math.isinf, self.P))

    def point(self, k: int) -> tuple[np.ndarray, float]:
        """The best point whose P is known, and that P: w = 0 at worst."""
        if math.isinf(self.P[k]):
            return np.zeros_like(self.best[k]), self.at_zero[k]
        return self.best[k], self.P[k]

    def move(self, k: int, end: np.ndarray, losses: np.ndarray) -> None:
        """To the best point of the line from ``best[k]`` to `end`, given the losses on it."""
        best = self.best[k]
        P = objectives(best, end, losses)
        at = int(np.argmin(np.where(np.isnan(P), math.inf, P)))
        stay = P[-1]  # the line ends at `best` itself
        if P[0] <= P[at] * (1 + 4 * UNIT):
            at = 0  # the newest of points that are equal but for rounding
        if P[at] < stay * (1 + 4 * UNIT):
            along = float(LINE[at])
            _core.axpby(1.0 - along, best, along, end, best, _CALLER)
            self.P[k] = 0.5 * inner(best, best) + float(losses[at])
        elif math.isinf(self.P[k]):
            self.P[k] = float(stay)
        if not math.isfinite(self.P[k]):
            best[:] = 0.0
            self.P[k] = self.at_zero[k]

    def raise_dual(self, k: int, sums: tuple[float, float, float, int]) -> bool:
        """Takes the D of a gap check; False if P and D can no longer be told apart.

        Where D comes out above P, or not as a number, the digits of P are all rounding error: then
        the bound from before stays.
        """
        D = dual_bound(self.w[k], *sums)
        if not math.isfinite(D) or self.P[k] * (1 + SAME) < D:
            return False
        self.D[k] = max(self.D[k], min(D, self.P[k]))
        return True


def dual_bound(v: np.ndarray, total: float, size: float, reach: float, terms: int) -> float:
    """D(u) at its least, given how far ``||v||`` and the sum of the dual terms may be off.

    v is a compensated sum of `terms` rows of lengths that add up to `reach`: its error is a few
    units of `reach`, and for very many rows the square of their number times a unit. The terms of
    the sum, whose sizes add up to `size`, are a few operations each, logarithms among them.
    """
    lost = (6 * UNIT + (terms * UNIT) ** 2) * reach
    length = math.sqrt(inner(v, v)) * (1 + (len(v) + 8) * UNIT) + lost
    return total - (12 * UNIT + (terms * UNIT) ** 2) * size - 0.5 * length * length


def objectives(best: np.ndarray, end: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """``P(w_b + k (end - w_b))`` at the points of the line."""
    bb, bw, ww = inner(best, best), inner(best, end), inner(end, end)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = (1 - LINE) ** 2 * bb + 2 * LINE * (1 - LINE) * bw + LINE**2 * ww
        return 0.5 * squared + losses
