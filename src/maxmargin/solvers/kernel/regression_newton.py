"""Kernel regression in float64, where steps in two variables crawl or stall.

    minimise   1/2 <b, K b> - <t, b> + sum_i tube (p_i + q_i) + (d_i p_i^2 + e_i q_i^2) / 2
    over       b = p - q,   0 <= p_i <= high_i,   0 <= q_i <= -low_i

by a primal-dual interior-point method with Mehrotra's corrector. p and q are the rows of `a`, z and
w the multipliers of ``a >= 0`` and ``s = u - a >= 0``. p and q share K, so a step solves with one
matrix ``K + diag`` of n rows, whose Cholesky factor exists however badly K is conditioned: n^3 / 3
operations, some ten times. A squared loss needs one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec
from maxmargin.solvers.kernel.blas import OneBlasThread
from maxmargin.solvers.kernel.newton import factor_of, step_length

MOST_STEPS = 80
PATIENCE = 10  # steps without a smaller gap
SIGN = np.array([[1.0], [-1.0]])


class RegressionNewton:
    """One problem, all of whose rows cost something."""

    def __init__(self, K: np.ndarray, t: np.ndarray, c: np.ndarray, spec: LossSpec) -> None:
        self.K, self.t, self.c = K, t, c
        self.shape = shape = _core.LossShape(spec.name, spec.x)
        self.loss = spec.on_targets(t, c, _core.Pool(1))
        self.bend = np.array([[shape.bend_above], [shape.bend_below]]) / c
        self.u = self._ends()
        self.plain = spec.name == "squared"

    def _ends(self) -> np.ndarray:
        """Of p and q. Where the loss has slopes of any size: beyond what any beta can be whose loss
        is at most that of ``f = 0``, P0, as ``c r^2 / (2 bend) <= P0``."""
        slopes = np.array([[self.shape.high], [-self.shape.low]])
        if np.all(slopes < 1e200):
            return slopes * self.c
        out_of_reach = np.sqrt(2 * self.loss.at_zero / self.bend)
        return 2 * out_of_reach + 1e-300

    def solve(self, tol: float, check_stop: Callable[[], None]) -> tuple[np.ndarray, int]:
        """beta of a gap of at most `tol` times P, if float64 can tell, and the steps it took."""
        if self.plain:
            return self._least_squares(), 1
        a, z, w = self._start()
        best, least, since, steps = np.zeros(len(self.t)), np.inf, 0, 0
        while True:
            check_stop()
            b = a[0] - a[1]
            Kb = self.K @ b
            gap, primal = self.gap(b, Kb)
            since += 1
            if gap < 0.99 * least:
                best, least, since = b, gap, 0
            if gap <= tol * primal or since > PATIENCE or steps == MOST_STEPS:
                return self._at_ends(best, tol * primal), steps
            direction = self._direction(a, z, w, Kb)
            if direction is None:
                return best, steps
            da, dz, dw, length = direction
            a = np.clip(a + length * da, 1e-300, np.nextafter(self.u, 0.0))
            z, w = np.maximum(z + length * dz, 1e-300), np.maximum(w + length * dw, 1e-300)
            steps += 1

    def gap(self, b: np.ndarray, Kb: np.ndarray) -> tuple[float, float]:
        """P - D and P."""
        norm2 = float(b @ Kb)
        primal = 0.5 * norm2 + self.loss.value(Kb)
        dual = self.loss.dual_sum(self.loss.clipped(b / self.c))[0] - 0.5 * norm2
        return primal - dual, primal

    def _least_squares(self) -> np.ndarray:
        factor = factor_of(self.K, self.bend[0])
        if factor is None:
            return np.zeros(len(self.t))
        with OneBlasThread()():
            return scipy.linalg.cho_solve(factor, self.t, check_finite=False)

    def _gradient(self, a: np.ndarray, Kb: np.ndarray) -> np.ndarray:
        return SIGN * (Kb - self.t) + self.shape.tube + self.bend * a

    def _start(self) -> tuple[np.ndarray, ...]:
        """An inner point with ``b = 0`` and ``gradient = z - w``, far from all walls."""
        size = float(np.abs(self.t).max()) + self.shape.tube
        with np.errstate(divide="ignore"):
            reach = np.minimum(self.u, 2 * size / self.bend).min(axis=0)
        a = np.maximum(np.tile(0.5 * reach, (2, 1)), 1e-300)
        g = self._gradient(a, np.zeros(len(self.t)))
        rest = max(size, 1e-300)
        return a, np.maximum(g, 0.0) + rest, np.maximum(-g, 0.0) + rest

    def _direction(
        self, a: np.ndarray, z: np.ndarray, w: np.ndarray, Kb: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
        """Mehrotra's predictor and corrector; None where no factor can be had."""
        s = self.u - a
        wrong = self._gradient(a, Kb) - z + w
        with np.errstate(over="ignore"):
            D = np.minimum(self.bend + z / a + w / s, 1e150)
        both = D[0] + D[1]
        share = D / both  # D_0 D_1 / (D_0 + D_1) is what p and q together add to K
        E = D[0] * share[1]
        factor = factor_of(self.K, E)
        if factor is None:
            return None

        def solve(mu: float, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            R = -wrong + (mu - first) / a - z - (mu - second) / s + w
            right = share[1] * R[0] - share[0] * R[1]
            with OneBlasThread()():
                db = scipy.linalg.cho_solve(factor, right, check_finite=False)
                rest = right - self.K @ db - E * db
                db += scipy.linalg.cho_solve(factor, rest, check_finite=False)
            da = (R[0] + R[1]) / both + SIGN * share[::-1] * db
            dz = (mu - first - z * da) / a - z
            dw = (mu - second + w * da) / s - w
            return da, dz, dw

        count = 2 * a.size
        mu = (np.sum(a * z) + np.sum(s * w)) / count
        da, dz, dw = solve(0.0, 0.0, 0.0)
        length = step_length(a, s, z, w, da, dz, dw)
        ahead = np.sum((a + length * da) * (z + length * dz))
        ahead += np.sum((s - length * da) * (w + length * dw))
        centring = mu * min(max(float(ahead) / count / mu, 0.0), 1.0) ** 3
        da, dz, dw = solve(centring, da * dz, -da * dw)
        if not np.isfinite(da).all():
            return None
        return da, dz, dw, step_length(a, s, z, w, da, dz, dw)

    def _at_ends(self, b: np.ndarray, allowed: float) -> np.ndarray:
        """Coefficients that the method keeps a hair from 0 or an end are put there, nearest first,
        as long as P cannot change by more than is allowed."""
        ends = [self.u[0], -self.u[1]] + ([np.zeros(len(b))] if self.shape.tube > 0 else [])
        distances = np.abs(np.array(ends) - b)
        nearest = distances.argmin(axis=0)
        sizes = np.sqrt(np.maximum(np.diagonal(self.K), 0.0))
        change = distances.min(axis=0) * sizes
        order = np.argsort(change)
        near = order[np.cumsum(change[order]) * float(self.u.max(axis=0) @ sizes) <= allowed]
        b = b.copy()
        b[near] = np.array(ends)[nearest[near], near]
        return b
