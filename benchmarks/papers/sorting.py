"""The line search of the OCAS paper (Appendix A): sort the kinks, and walk along the slopes."""

from __future__ import annotations

import numpy as np

from maxmargin.losses.pointwise import Hinge


class SortingHinge(Hinge):
    """The hinge loss whose search sorts all kinks ahead, in the place of a selection among few."""

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        k = root_of_slope(np.abs(self.q) - self.q * p, -self.q * dp, A0, B0)
        return k, self.core.value_along(p, dp, k, self.pool)


def root_of_slope(constant: np.ndarray, B: np.ndarray, A0: float, B0: float) -> float:
    """Where ``k A0 + B0 + sum of B_i over {k B_i + C_i > 0}`` changes its sign, for k >= 0."""
    kinks = np.divide(-constant, B, out=np.zeros_like(B), where=B != 0)
    on = (constant > 0) | ((constant == 0) & (B > 0))  # just after 0
    slope = B0 + float(B[on].sum())
    if slope >= 0:
        return 0.0
    ahead = (kinks > 0) & (B != 0)
    order = np.argsort(kinks[ahead])
    kinks, jumps = kinks[ahead][order], np.abs(B[ahead])[order]  # every kink raises the slope
    after = slope + np.cumsum(jumps) + A0 * kinks
    place = int(np.searchsorted(after, 0.0))
    before = slope + (float(jumps[:place].sum()) if place else 0.0)
    root = -before / A0
    return float(min(root, kinks[place])) if place < len(kinks) else float(root)
