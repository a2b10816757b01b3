"""The least objective of a small problem, by methods no solver of the package uses.

Every w has P(w) >= P*, so whatever these methods return, its value bounds P* from above and can
refute a lower bound that lies beyond. They need not be perfect to be right.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.optimize

from tests.refute.arithmetic import PLAIN, Long, Measure, ResidualLoss

ROUNDS = 60
LONG_SIZE = 100_000  # numbers whose products are affordable in the longest float, again and again
SECONDS = 3.0  # for cutting planes; what is found by then is a machine too


def box_dual(Q: np.ndarray, upper: np.ndarray, rounds: int = ROUNDS) -> np.ndarray:
    """``argmax sum_i a_i - 1/2 a^T Q a`` over ``0 <= a <= upper``, upper > 0.

    Mehrotra's predictor-corrector method. The iterates are of the longest float; the Newton systems
    are solved in float64 after scaling to a unit diagonal, which only slows the last steps.
    """
    n = len(upper)
    diagonal = np.diagonal(Q)
    a = np.minimum(upper / 2, 1 / np.where(diagonal > 0, n * diagonal, 2 / upper))
    s = upper - a
    grad = Q @ a - 1
    start = np.maximum(1, np.median(np.abs(grad))) / 2
    z, v = np.maximum(grad, 0) + start, np.maximum(-grad, 0) + start
    for _ in range(rounds):
        products = np.concatenate([a * z, s * v])
        mean = products.mean()
        if not np.isfinite(mean) or products.sum() <= 1e-17 * (a.sum() + 0.5 * a @ Q @ a):
            break
        solve = _factor(Q, z / a + v / s)
        if solve is None:
            break
        wrong = Q @ a - 1 - z + v
        da, dz, dv = _box_step(solve, wrong, (a, s, z, v), Long(0), Long(0))
        step = _longest(np.concatenate([a, s, z, v]), np.concatenate([da, -da, dz, dv]))
        ahead = (a + step * da) @ (z + step * dz) + (s - step * da) @ (v + step * dv)
        centre = mean * (ahead / products.sum()) ** 3
        da, dz, dv = _box_step(solve, wrong, (a, s, z, v), centre - da * dz, centre + da * dv)
        step = _longest(np.concatenate([a, s, z, v]), np.concatenate([da, -da, dz, dv]))
        if not np.isfinite(da).all() or step < 1e-12:
            break
        step *= Long(0.995)
        a, s, z, v = a + step * da, s - step * da, z + step * dz, v + step * dv
    return np.clip(a, 0, upper)


def simplex_dual(H: np.ndarray, offsets: np.ndarray, rounds: int = ROUNDS) -> np.ndarray:
    """``argmax sum_j beta_j b_j - 1/2 beta^T H beta`` over ``beta >= 0, sum_j beta_j = 1``."""
    m = len(offsets)
    beta = np.full(m, Long(1) / m)
    grad = H @ beta - offsets
    level = grad.min() - np.maximum(np.abs(grad).max(), Long(1e-300)) / m
    z = grad - level
    for _ in range(rounds):
        products = beta * z
        if not np.isfinite(products).all() or products.sum() <= 1e-16 * np.abs(offsets @ beta):
            break
        solve = _factor(H, z / beta)
        if solve is None:
            break
        ones = solve(np.ones(m, dtype=Long))
        wrong = H @ beta - offsets - level - z
        d, dz, _ = _simplex_step(solve, ones, wrong, (beta, z), Long(0))
        step = _longest(np.concatenate([beta, z]), np.concatenate([d, dz]))
        centre = products.mean() * ((beta + step * d) @ (z + step * dz) / products.sum()) ** 3
        d, dz, dlevel = _simplex_step(solve, ones, wrong, (beta, z), centre - d * dz)
        step = Long(0.995) * _longest(np.concatenate([beta, z]), np.concatenate([d, dz]))
        if not np.isfinite(d).all() or step < 1e-12:
            break
        beta, z, level = beta + step * d, z + step * dz, level + step * dlevel
    return np.maximum(beta, 0) / np.maximum(beta, 0).sum()


def least_residual(
    X: np.ndarray, loss: ResidualLoss, w: np.ndarray, free: bool = False
) -> list[np.ndarray]:
    """Weights that may be better than w: by L-BFGS and Nelder-Mead steps of scipy from w and 0."""
    value, slope = PLAIN[loss.name]
    X64, cost = X.astype(np.float64), loss.cost.astype(np.float64)
    X = X if X.size <= LONG_SIZE else X64
    own = np.ones(len(w))
    own[-1] = not free

    def objective(v):
        r = (loss.target - loss.sign * (X @ v)).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            grad = own * v - X64.T @ (np.asarray(loss.sign, float) * cost * slope(r, loss.x))
            return 0.5 * v @ (own * v) + np.sum(cost * value(r, loss.x)), grad.astype(np.float64)

    found = []
    for start in (w.astype(np.float64), np.zeros(len(w))):
        with np.errstate(all="ignore"):
            best = scipy.optimize.minimize(
                objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}
            )
        if np.isfinite(best.x).all():
            found.append(best.x.astype(Long))
    return found


def least_kernel_residual(K: np.ndarray, loss: ResidualLoss, beta: np.ndarray) -> list[np.ndarray]:
    """Coefficients that may be better than beta: 0, and what `least_residual` finds for rows Z with
    ``Z Z^T = K``, made of K's eigenvectors but for those of the smallest eigenvalues."""
    zero = np.zeros(len(K), dtype=Long)
    size = np.abs(K).max(initial=0)
    if not np.isfinite(size) or size == 0:
        return [zero]
    values, vectors = np.linalg.eigh((K / size).astype(np.float64))
    kept = values > 1e-12 * values[-1]
    roots = np.sqrt(values[kept].astype(Long) * size)
    vectors = vectors[:, kept].astype(Long)
    w = roots * (vectors.T @ beta)
    if not np.isfinite(w.astype(np.float64)).all():
        return [zero]
    return [zero] + [vectors @ (v / roots) for v in least_residual(vectors * roots, loss, w)]


def _box_step(solve, wrong, iterate, target_z, target_v):
    """Newton's step towards ``a z = target_z, s v = target_v``."""
    a, s, z, v = iterate
    da = solve(-wrong + target_z / a - z - target_v / s + v)
    return da, target_z / a - z - z / a * da, target_v / s - v + v / s * da


def _simplex_step(solve, ones, wrong, iterate, target):
    """The same towards ``beta z = target, sum beta = 1``."""
    beta, z = iterate
    plain = solve(-wrong + target / beta - z)
    dlevel = (1 - beta.sum() - plain.sum()) / ones.sum()
    d = plain + dlevel * ones
    return d, target / beta - z - z / beta * d, dlevel


def _longest(x: np.ndarray, dx: np.ndarray):
    """The longest step, 1 at most, that keeps x + step dx from being negative."""
    falling = dx < 0
    return np.minimum(1, np.min(-x[falling] / dx[falling], initial=Long(1)))


def _factor(Q: np.ndarray, diagonal: np.ndarray):
    """A function that solves ``(Q + diag) x = r``, or None where float64 cannot."""
    H = Q + np.diag(diagonal)
    scale = 1 / np.sqrt(np.diagonal(H))
    scaled = (H * scale[:, None] * scale[None, :]).astype(np.float64)
    if not np.isfinite(scaled).all():
        return None
    try:
        factor = scipy.linalg.cho_factor(scaled + 1e-15 * np.eye(len(scaled)))
    except scipy.linalg.LinAlgError:
        return None

    def solve(r):
        r = r * scale
        size = np.abs(r).max()
        if not np.isfinite(size) or size == 0:
            return r * 0
        return scale * size * scipy.linalg.cho_solve(factor, (r / size).astype(np.float64))

    return solve


# ---------------------------------------------------------------- machines


def least_hinge(X: np.ndarray, y: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """w of ``1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i <w, x_i>)``."""
    used = cost > 0
    rows = (X * y[:, None])[used]
    return box_dual(rows @ rows.T, cost[used]) @ rows


def least_hinge_free(X: np.ndarray, y: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The same without a penalty on the last weight, of a feature 1: w of a penalty of next to
    nothing, or 0, and the best intercept for it, which is at a kink."""
    used = np.flatnonzero(cost > 0)
    X, y, cost = X[used], y[used], cost[used]
    found = [np.zeros(X.shape[1], dtype=Long)]
    if len(used) <= 400:
        size = 1 + np.abs(X).max()
        found.append(least_hinge(np.column_stack([X[:, :-1], 1e3 * size * X[:, -1]]), y, cost))
    best, least = found[0], Long(np.inf)
    for w in found:
        p = X[:, :-1] @ w[:-1]
        kinks = np.append(y - p, 0)[:: max(1, len(used) // 400)]
        losses = np.array([cost @ np.maximum(0, 1 - y * (p + b)) for b in kinks])
        value = w[:-1] @ w[:-1] / 2 + losses.min()
        if value < least:
            best, least = np.append(w[:-1], kinks[losses.argmin()]), value
    return best


def least_kernel_hinge(K: np.ndarray, y: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """beta of ``1/2 beta^T K beta + sum_i C_i max(0, 1 - y_i (K beta)_i)``."""
    used = np.flatnonzero((cost > 0) & (y != 0))
    signs = y[used]
    Q = K[np.ix_(used, used)] * signs[:, None] * signs[None, :]
    beta = np.zeros(len(y), dtype=Long)
    beta[used] = signs * box_dual(Q, cost[used])
    return beta


def least_ranks(X: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """w of the ranking problem: every pair is a row, the difference of two."""
    i, j = np.nonzero(cost)
    return least_hinge(X[i] - X[j], np.ones(len(i), dtype=Long), cost[i, j])


def least_measure(X: np.ndarray, measure: Measure, rounds: int = 40) -> np.ndarray:
    """w of the problem of a measure: cutting planes at the worst labelling of each w."""
    d = X.shape[1]
    planes, offsets = [np.zeros(d, dtype=Long)], [Long(0)]
    w, best, best_value = np.zeros(d, dtype=Long), np.zeros(d, dtype=Long), Long(np.inf)
    deadline = time.monotonic() + SECONDS
    for _ in range(rounds):
        if time.monotonic() > deadline:
            break
        p = X @ w
        loss, grad = measure.worst(p)
        value = w @ w / 2 + loss
        if value < best_value:
            best, best_value = w, value
        planes.append(X.T @ grad)
        offsets.append(loss - grad @ p)
        A, b = np.array(planes), np.array(offsets)
        size = b.max()
        if not size > 0:  # nothing costs anything: w = 0 is best
            break
        beta = simplex_dual(A @ A.T / size, b / size)
        bound = beta @ b - (beta @ A) @ (beta @ A) / 2
        w = -(beta @ A)
        if best_value - bound <= 1e-11 * best_value:
            break
    return best


def in_span(K: np.ndarray, inner: np.ndarray, least: Callable) -> list[np.ndarray]:
    """beta of the kernel problem restricted to a basis: K holds k(x_i, b_j), `inner` k(b_i, b_j),
    and `least` solves linear problems, each w of rows Z.

    With ``inner = L L^T`` the rows ``z_i = L^-1 k_i`` make it a linear problem, ``beta = L^-T w``.
    Basis vectors that depend on those before them are left out.
    """
    L = np.zeros_like(inner)
    for k in range(len(inner)):
        rest = inner[k, k] - L[k, :k] @ L[k, :k]
        if rest <= 1e-10 * inner[k, k]:
            continue
        L[k, k] = np.sqrt(rest)
        L[k + 1 :, k] = (inner[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k]) / L[k, k]
    used = np.flatnonzero(np.diagonal(L) > 0)
    if not used.size:
        return []
    L = L[np.ix_(used, used)]
    Z = np.zeros((len(K), len(used)), dtype=Long)
    for k in range(len(used)):
        Z[:, k] = (K[:, used[k]] - Z[:, :k] @ L[k, :k]) / L[k, k]
    found = []
    for w in least(Z):
        for k in reversed(range(len(used))):
            w[k] = (w[k] - L[k + 1 :, k] @ w[k + 1 :]) / L[k, k]
        beta = np.zeros(len(inner), dtype=Long)
        beta[used] = w
        found.append(beta)
    return found
