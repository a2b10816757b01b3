"""The planes of a cutting plane method, and the minimum of their maximum.

    max_{beta >= 0, sum beta <= 1}   sum_j beta_j b_j - 1/2 beta^T H beta,    H_jk = <a_j, a_k>
    w = - sum_j beta_j a_j

The core keeps H and beta from one call to the next (an active set method, warm-started). Any
feasible beta gives a lower bound on the optimum; it is computed from the planes themselves, so it
holds whatever the rounding errors of H.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.vectors import inner, norm2

IDLE_LIMIT = 30  # iterations a plane may have weight 0 before it may be dropped
IDLE_SHARE = 0.2  # and planes are only moved together when this share of them may


class Planes:
    """Planes ``<a_j, w> + b_j``, kept as rows of a matrix that grows by halves."""

    def __init__(self, width: int, pool: _core.Pool | None = None) -> None:
        self._pool = pool if pool is not None else _core.Pool(1)
        self._a = np.empty((8, width))
        self._b = np.empty(0)
        self._idle = np.empty(0, dtype=int)
        self._qp = _core.ReducedQP()

    def __len__(self) -> int:
        return len(self._b)

    def add(self, a: np.ndarray, b: float) -> None:
        """Adds the plane ``<a, w> + b``."""
        t = len(self)
        if t == len(self._a):
            grown = np.empty((t + t // 2, self._a.shape[1]))
            grown[:t] = self._a
            self._a = grown
        self._a[t] = a
        self._b = np.append(self._b, b)
        self._idle = np.append(self._idle, 0)
        self._qp.append(b, self._rows().predict(a))

    def widen(self, coordinates: np.ndarray) -> None:
        """Every plane gains a coordinate: w grows by one."""
        new = np.zeros((len(self._a), 1))
        new[: len(self), 0] = coordinates
        self._a = np.hstack([self._a, new])
        self._qp.widen(coordinates)

    def minimise(self, tolerance: float) -> tuple[np.ndarray, float]:
        """w at the minimum of ``1/2 ||w||^2 + max(0, planes)``, and a lower bound on it."""
        self._qp.solve(tolerance)
        beta = self._qp.beta
        beta /= max(1.0, float(beta.sum()))  # feasible to the last digit, or it bounds nothing
        self._idle = np.where(beta > 0, 0, self._idle + 1)
        w = -self._rows().combine(beta)
        return w, inner(beta, self._b) - 0.5 * norm2(w)

    def drop_idle(self) -> None:
        """Forgets planes that have not mattered for a while; the bound does not fall by it."""
        idle = self._idle >= IDLE_LIMIT
        if idle.sum() <= IDLE_SHARE * len(self):
            return
        self._keep(np.flatnonzero(~idle))

    def _keep(self, kept: np.ndarray) -> None:
        self._qp.keep(kept.tolist())
        for place, plane in enumerate(kept):
            if place != plane:
                self._a[place] = self._a[plane]
        self._b, self._idle = self._b[kept], self._idle[kept]

    def _rows(self) -> ArrayRows:
        return ArrayRows(self._a[: len(self)], pool=self._pool)
