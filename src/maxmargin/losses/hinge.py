"""The hinge loss ``R(p) = C sum_i s_i max(0, 1 - y_i p_i)``."""

from __future__ import annotations

import numpy as np

from maxmargin import _core


class Hinge:
    """Hinge loss of predictions.

    Parameters
    ----------
    y : array of -1 and +1
    cost : float or array
        ``C_i = C s_i``: what a unit of loss costs in each row. Rows of cost 0 do not count.
    pool : _core.Pool
        The threads that do the sums.
    """

    def __init__(self, y: np.ndarray, cost, pool: _core.Pool) -> None:
        self.q = np.ascontiguousarray(y * np.asarray(cost, dtype=np.float64), dtype=np.float64)
        self.n, self.pool = self.q.shape[0], pool
        self.at_zero = float(np.abs(self.q).sum())

    def subsample(self, step: int) -> Hinge:
        """The loss of every `step`-th row, standing for all of them."""
        other = object.__new__(Hinge)
        other.q = self.q[::step] * step
        other.n, other.pool = other.q.shape[0], self.pool
        other.at_zero = float(np.abs(other.q).sum())
        return other

    def value(self, p: np.ndarray) -> float:
        return _core.hinge(self.q, p, self.pool)

    def evaluate(self, p: np.ndarray, out: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        subgrad = np.empty(self.n) if out is None else out
        return _core.hinge(self.q, p, subgrad, self.pool), subgrad

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        k = _core.hinge_search(self.q, p, dp, A0, B0, self.pool)
        return k, _core.hinge_along(self.q, p, dp, k, self.pool)

    def known_subgradient(self) -> None:
        """The search looks at slopes only."""
