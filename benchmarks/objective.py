"""The score, computed here and by nobody else.

    P(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i <w, x_i>)              what every peer minimises
    D(a) = sum_i a_i - 1/2 || sum_i a_i y_i x_i ||^2,   0 <= a_i <= C  below every P(w)

Everything in float64, whatever type the data was given in to the solvers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


class Problem:
    """One data set at one C, without a bias, as the harness sees it."""

    def __init__(self, X: sp.csr_matrix, y: np.ndarray, C: float) -> None:
        self.X = X.astype(np.float64)  # no copy where it is float64 already
        self.y = np.asarray(y, dtype=np.float64)
        self.C = float(C)

    def primal(self, w: np.ndarray) -> float:
        w = np.asarray(w, dtype=np.float64).ravel()
        if w.shape[0] != self.X.shape[1] or not np.all(np.isfinite(w)):
            return float("inf")
        hinge = np.maximum(0.0, 1.0 - self.y * (self.X @ w))
        return float(0.5 * (w @ w) + self.C * hinge.sum())

    def dual(self, a: np.ndarray) -> float:
        """D at `a` brought into the box, so that the value is a lower bound whatever `a` was."""
        a = np.clip(np.asarray(a, dtype=np.float64), 0.0, self.C)
        v = self.X.T @ (a * self.y)
        return float(a.sum() - 0.5 * (v @ v))


@dataclass
class Reference:
    """What is known of the optimum: ``lower <= P* <= upper``.

    `lower` is D(a), worked out here from dual variables found at a tight tolerance (`source`).
    `refuted` is set by `observe` if anybody's primal value is below it: then it is no bound, and
    the harness is wrong. `independent` is P at the tightest setting of a peer that is not ours.
    """

    upper: float
    lower: float = 0.0
    source: str = "none"
    independent: float | None = None
    independent_source: str = "none"
    refuted: bool = False

    def observe(self, primal: float) -> None:
        """Takes a primal value seen anywhere into account."""
        self.upper = min(self.upper, primal)
        slack = 1e-9 * abs(self.upper)  # rounding of a float64 sum
        self.refuted = self.refuted or self.upper < self.lower - slack

    @property
    def uncertainty(self) -> float:
        """How far, relatively, the best value seen may be above the optimum."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def excess(self, primal: float) -> float:
        """``(P - P*) / P*`` with the best value seen for P*."""
        return (primal - self.upper) / self.upper if self.upper > 0 else 0.0
