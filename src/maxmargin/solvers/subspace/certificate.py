"""The certificate of a machine in a span, from kernel values in float64 and nothing else.

    beta      the coefficients that a model keeps; f(x) = sum_j beta_j k(b_j, x)
    l_j, b_j  planes with weight at the end: R(p) >= <l_j, p> + b_j for all predictions p
    mu_j      their weights, mu_j >= 0, sum_j mu_j <= 1
    Psi_j     sum_i l_ji phi(x_i);    Psi = sum_j mu_j Psi_j
    u_j       its products with the basis vectors, K_B l_j;   G = K(B, B)

``P = 1/2 beta^T G beta + R(K beta)`` and, for every 0 <= t <= 1,

    D = t sum_j mu_j b_j - 1/2 t^2 ||P_B Psi||^2,      ||P_B Psi||^2 = u^T G^-1 u

Coordinates in float32, the reduced problem's idea of its planes, a factor that has lost its digits:
none of them is used, so none of their errors can be in the numbers.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.kernel_values import (
    ALL_DIGITS,
    PLAIN_DIGITS,
    diagonal,
    exponent_error,
    is_wide,
    kernel_tiles,
    squared_norms,
)
from maxmargin.solvers.subspace.span import Subspace

ROUNDINGS = 16 * np.finfo(float).eps  # relative error of a kernel value and of sums of them
AGREED = 1e-10  # share of P that errors of kernel values may amount to before they are made smaller


@dataclass(frozen=True)
class ActivePlanes:
    """The planes with weight: mu_j, the subgradients in units of each row (a row each), and b_j."""

    weights: np.ndarray
    shares: np.ndarray
    unit: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(
        cls, weights: np.ndarray, shares: np.ndarray, unit: np.ndarray, offsets: np.ndarray
    ) -> ActivePlanes | None:
        """Those with weight, made feasible; None if there are none."""
        weights = np.nan_to_num(np.maximum(weights, 0.0), posinf=0.0)
        weights = weights / max(1.0, float(weights.sum()))
        used = np.flatnonzero(weights)
        return cls(weights[used], shares[used], unit, offsets[used]) if len(used) else None

    @classmethod
    def at_zero(cls, loss: Loss) -> ActivePlanes:
        """The plane that touches the loss at f = 0."""
        _, subgrad = loss.evaluate(np.zeros(loss.n))
        return cls(np.ones(1), subgrad[None, :], np.ones(loss.n), np.array([loss.at_zero]))

    def __len__(self) -> int:
        return len(self.weights)

    def subgradients(self, rows: Any = slice(None)) -> np.ndarray:
        """``l_ji`` of some rows: one row per plane, the mixture last."""
        shares = self.shares[:, rows].astype(np.float64)
        return np.vstack([shares, self.weights @ shares]) * self.unit[rows]

    @property
    def total(self) -> float:
        """``sum_j mu_j b_j``, less what adding them up may have added."""
        return float(self.weights @ self.offsets - ROUNDINGS * self.weights @ np.abs(self.offsets))


def kernel_error(kernel: Kernel, X: Any, largest: float, digits: float) -> float:
    """Relative error of kernel values of points with squared norms up to `largest`, where `digits`
    are asked for; wide sparse rows have those that products leave."""
    if not kernel.of_distance:
        return ROUNDINGS
    if is_wide(X):
        return ROUNDINGS + exponent_error(kernel, largest)
    # Products are taken where they leave the digits; about a centre points are twice as long.
    return ROUNDINGS + min(digits, exponent_error(kernel, 4 * largest))


class Span:
    """span(B) by a Gram matrix of its own. `factor` is None where it is not positive definite."""

    def __init__(self, vectors: Any, kernel: Kernel, pool: _core.Pool, digits: float) -> None:
        k = vectors.shape[0]
        self.G = np.empty((k, k))
        for rows, columns, values in kernel_tiles(vectors, vectors, kernel, pool, digits):
            self.G[rows, columns] = values
        np.fill_diagonal(self.G, diagonal(kernel, squared_norms(vectors)))
        self.factor: np.ndarray | None = None
        with contextlib.suppress(LinAlgError, ValueError):  # dependent, or not finite
            self.factor = cholesky(self.G, lower=True) if k else self.G

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """``G^-1 u`` for some u (rows), refined once."""
        c = self._solve(self._solve(u), transposed=True)
        return c + self._solve(self._solve(u - c @ self.G), transposed=True)

    def projections(self, u: np.ndarray, c: np.ndarray) -> np.ndarray:
        """``u^T G^-1 u`` for some u (rows) and c about ``G^-1 u``: exact but for rounding, since
        what c misses is added: ``2 c^T u - c^T G c + e^T G^-1 e``, ``e = u - G c``."""
        e = u - c @ self.G
        missed = self._solve(e)
        return np.einsum("ji,ji->j", c, u + e) + np.einsum("ji,ji->j", missed, missed)

    def heights(self, K: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Distances of rows from the span, by their kernel values with the basis (a row each)."""
        if self.factor is None or not K.shape[1]:
            return np.sqrt(own)
        z = self._solve(K)
        return np.sqrt(np.maximum(own - np.einsum("ij,ij->i", z, z), 0.0) + ROUNDINGS * own)

    def _solve(self, u: np.ndarray, transposed: bool = False) -> np.ndarray:
        if not u.shape[1]:
            return u
        trans = "T" if transposed else "N"
        assert self.factor is not None
        return solve_triangular(self.factor, u.T, lower=True, trans=trans, check_finite=False).T


@dataclass(frozen=True)
class Evaluation:
    """What one pass over all rows and basis vectors says about a machine and its planes."""

    predictions: np.ndarray
    w_squared: float
    value_error: float  # relative, of a kernel value
    reach: np.ndarray  # sum_j |beta_j k(b_j, x_i)|: what the errors of predictions are beside
    w_reach: float  # |beta|^T |G| |beta|
    span: Span
    u: np.ndarray  # one row a plane, the mixture last
    c: np.ndarray  # G^-1 u
    projections: np.ndarray  # ||P_B Psi_j||^2
    error: float  # that rounding may have left in the mixture's
    total: float  # sum_j mu_j b_j
    digits: float  # that kernel values were asked to have

    @property
    def dual(self) -> float:
        """The lower bound within the span; 0, which needs no kernel value, if it is no better."""
        square = float(self.projections[-1]) + self.error
        value = scaled_dual(self.total, square)
        return value if value > 0 else 0.0

    def primal(self, loss: Loss) -> float:
        """``1/2 beta^T G beta + R(K beta)``"""
        return 0.5 * self.w_squared + loss.value(self.predictions)

    def uncertainty(self, loss: Loss) -> float:
        """How much of P and D errors of kernel values may be."""
        e = self.value_error * self.reach
        slopes = [np.abs(loss.evaluate(p)[1]) for p in (self.predictions - e, self.predictions + e)]
        of_loss = float(np.maximum(*slopes) @ e)
        return of_loss + 0.5 * (self.value_error * self.w_reach + self.error)


def scaled_dual(total: float, square: float) -> float:
    """``max_t t total - 1/2 t^2 ||Psi||^2`` over 0 <= t <= 1: less of the planes may be better."""
    if not math.isfinite(square):
        return 0.0
    t = min(1.0, max(0.0, total / square)) if square > 0 else 1.0
    return t * total - 0.5 * t**2 * square


def evaluate(subspace: Subspace, beta: np.ndarray, planes: ActivePlanes, loss: Loss) -> Evaluation:
    """A pass of kernel values from products of rows; with all digits, where costs are so large that
    P or D would show the errors of those.

    No stop flag ends it: it takes no longer than the growth of the basis did, and an answer without
    it would have no certificate."""
    found = evaluate_by(subspace, beta, planes, PLAIN_DIGITS)
    if found.uncertainty(loss) > AGREED * found.primal(loss):
        found = evaluate_by(subspace, beta, planes, ALL_DIGITS)
    return found


def evaluate_by(
    subspace: Subspace, beta: np.ndarray, planes: ActivePlanes, digits: float
) -> Evaluation:
    """One pass over kernel values with so many digits."""
    pool = _core.Pool(subspace.pool.threads)
    X, vectors, kernel = subspace.X, subspace.basis.vectors, subspace.kernel
    span = Span(vectors, kernel, pool, digits)
    p, reach = np.zeros(subspace.n), np.zeros(subspace.n)
    u, sizes = np.zeros((len(planes) + 1, subspace.k)), np.zeros(subspace.k)
    for rows, columns, K in kernel_tiles(X, vectors, kernel, pool, digits):
        subgrad = planes.subgradients(rows)
        p[rows] += K @ beta[columns]
        u[:, columns] += subgrad @ K
        np.abs(K, out=K)
        reach[rows] += K @ np.abs(beta[columns])
        sizes[columns] += np.abs(subgrad[-1]) @ K
    if span.factor is None:
        c = np.zeros_like(u)
        projections = np.full(len(u), np.inf)
    else:
        c = span.coefficients(u)
        projections = span.projections(u, c)
    largest = max(
        float(norms.max(initial=0.0)) for norms in (subspace.norms, squared_norms(vectors))
    )
    value_error = kernel_error(kernel, X, largest, digits)
    G, weight = np.abs(span.G), np.abs(c[-1])
    size = 2 * float(weight @ sizes) + float(weight @ G @ weight)
    return Evaluation(
        p,
        max(float(beta @ span.G @ beta), 0.0),
        value_error,
        reach,
        float(np.abs(beta) @ G @ np.abs(beta)),
        span,
        u,
        c,
        projections,
        value_error * size,
        planes.total,
        digits,
    )
