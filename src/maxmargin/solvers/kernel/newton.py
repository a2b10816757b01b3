"""Newton's method on a working set, in float64: where steps in two variables crawl or stall.

    minimise   1/2 <a, Q a> - <q, a>,      0 <= a_i <= u_i

by a primal-dual interior-point method with Mehrotra's corrector. z and w are the multipliers of
``a >= 0`` and of ``s = u - a >= 0``. A step solves with ``Q + diag(z / a + w / s)``, whose Cholesky
factor exists however badly Q is conditioned, so some tens of steps reach any tolerance that float64
can resolve. Each takes n^3 / 3 operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from maxmargin.solvers.kernel.blas import OneBlasThread

MOST_STEPS = 120
PATIENCE = 25  # steps without a smaller gap
TO_THE_WALL = 0.995  # share of the way to the nearest bound that a step goes at most

Solve = Callable[[np.ndarray], np.ndarray]


class Factored(Protocol):
    """A matrix that is kept as a product, and solves with itself and a diagonal added."""

    def __matmul__(self, a: np.ndarray) -> np.ndarray: ...

    def diagonal(self) -> np.ndarray: ...

    def solver(self, diagonal: np.ndarray) -> Solve | None: ...


Matrix = np.ndarray | Factored


def solve_box(
    Q: Matrix,
    q: np.ndarray,
    u: np.ndarray,
    tol: float,
    check_stop: Callable[[], None],
    rounding: float = 0.0,
) -> tuple[np.ndarray, int]:
    """The minimiser, up to a gap of `tol` times the primal objective, and the steps it took.

    Putting variables at their bounds may add `rounding` times the objective to the gap, or `tol`
    times if that is more.
    """
    a, z, w = _start(Q, q, u)
    best, least, since, steps = a, np.inf, 0, 0
    while True:
        check_stop()
        Qa = Q @ a
        primal, gap = _bounds(q, u, a, Qa)
        since += 1
        if gap < 0.99 * least:
            best, least, since = a, gap, 0
        if gap <= tol * primal or since > PATIENCE or steps == MOST_STEPS:
            break
        direction = _direction(Q, a, u - a, z, w, Qa - q - z + w)
        if direction is None:
            break
        a, z, w = _advance(a, z, w, u, *direction)
        steps += 1
    return _at_bounds(Q, q, u, best, least + max(tol, rounding) * primal), steps


def _start(Q: Matrix, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """An inner point that satisfies ``Q a - q = z - w``."""
    size = float(np.abs(q).max()) / max(float(Q.diagonal().mean()), 1e-300)
    a = np.minimum(0.5 * u, max(size, 1e-300))
    g = q - Q @ a
    rest = max(float(np.abs(g).mean()), 1e-3)
    return a, np.maximum(-g, 0.0) + rest, np.maximum(g, 0.0) + rest


def _direction(
    Q: Matrix, a: np.ndarray, s: np.ndarray, z: np.ndarray, w: np.ndarray, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
    """Mehrotra's predictor and corrector; None where no factor can be had."""
    solver = solver_of(Q, z / a + w / s)
    if solver is None:
        return None

    def solve(mu: float, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        da = solver(-residual + (mu - first) / a - z - (mu - second) / s + w)
        dz = (mu - first - z * da) / a - z
        dw = (mu - second + w * da) / s - w
        return da, dz, dw

    mu = (a @ z + s @ w) / (2 * len(a))
    da, dz, dw = solve(0.0, 0.0, 0.0)
    t = step_length(a, s, z, w, da, dz, dw)
    foreseen = ((a + t * da) @ (z + t * dz) + (s - t * da) @ (w + t * dw)) / (2 * len(a))
    centring = mu * min(max(foreseen / mu, 0.0), 1.0) ** 3
    da, dz, dw = solve(centring, da * dz, -da * dw)
    return da, dz, dw, step_length(a, s, z, w, da, dz, dw)


def solver_of(Q: Matrix, diagonal: np.ndarray) -> Solve | None:
    """Solves with ``Q + diag(diagonal)``; None where no factor can be had."""
    if not isinstance(Q, np.ndarray):
        return Q.solver(diagonal)
    factor = factor_of(Q, diagonal)
    if factor is None:
        return None

    def solve(right: np.ndarray) -> np.ndarray:
        with OneBlasThread()():
            return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))

    return solve


def factor_of(Q: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, bool] | None:
    """Cholesky's factor of ``Q + diag(diagonal)``; a shift helps where rounding hides it."""
    level = float(np.abs(np.diagonal(Q)).max())
    for shift in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        M = Q.copy()
        M.flat[:: len(Q) + 1] += diagonal + shift * level
        with OneBlasThread()():
            try:
                return scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
    return None


def step_length(
    a: np.ndarray,
    s: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    da: np.ndarray,
    dz: np.ndarray,
    dw: np.ndarray,
) -> float:
    """How far all four may go and stay positive."""
    longest = 1.0 / TO_THE_WALL
    for value, change in ((a, da), (s, -da), (z, dz), (w, dw)):
        falls = change < 0
        if falls.any():
            with np.errstate(over="ignore"):  # a bound that is out of reach
                longest = min(longest, float((value[falls] / -change[falls]).min()))
    return TO_THE_WALL * longest


def _advance(
    a: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    da: np.ndarray,
    dz: np.ndarray,
    dw: np.ndarray,
    t: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a = np.clip(a + t * da, 1e-300, np.nextafter(u, 0.0))
    return a, np.maximum(z + t * dz, 1e-300), np.maximum(w + t * dw, 1e-300)


def _bounds(q: np.ndarray, u: np.ndarray, a: np.ndarray, Qa: np.ndarray) -> tuple[float, float]:
    """P and the gap."""
    primal = 0.5 * (a @ Qa) + u @ np.maximum(q - Qa, 0.0)
    return float(primal), float(primal - (q @ a - 0.5 * (a @ Qa)))


def _at_bounds(
    Q: Matrix, q: np.ndarray, u: np.ndarray, a: np.ndarray, allowed: float
) -> np.ndarray:
    """Variables that the method keeps a hair inside their bounds are put there.

    Nearest first, as many as leave a gap of at most what is allowed.
    """
    bound = np.where(q - Q @ a < 0, 0.0, u)
    order = np.argsort(np.abs(bound - a))

    def moved(count: int) -> np.ndarray:
        found = a.copy()
        found[order[:count]] = bound[order[:count]]
        return found

    fits, too_many = 0, len(a) + 1
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        found = moved(count)
        if _bounds(q, u, found, Q @ found)[1] <= allowed:
            fits = count
        else:
            too_many = count
    return moved(fits)
