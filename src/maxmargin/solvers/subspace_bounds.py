"""How far a machine in a span is from the exact one, from the planes that hold it up.

    l_j, beta_j   planes with weight at the end, sum_j beta_j <= 1;   l = sum_j beta_j l_j
    r_j           Psi_j - P_B Psi_j: what the span leaves of plane j;  r = sum_j beta_j r_j
    delta         max_j ||r_j||

Theorem 2 of the paper, in our units (its planes are ours over ``sum_i C_i``):

    P - P* <= delta sqrt(2 sum_i C_i) + (P - D)

Closer, since ``a_i = -y_i l_i`` is feasible for the dual of the exact problem, where its value is
the one within the span less what the span leaves out:

    P* >= D - 1/2 ||r||^2,      hence      P - P* <= 1/2 ||r||^2 + (P - D)

and the same with t a, 0 <= t <= 1, where less of a is better.

``||r||^2 = sum_iq l_i l_q (k(x_i, x_q) - <z_i, z_q>)`` has n^2 terms: beyond `ROWS` rows with
weight it is estimated, without bias, from a sample of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.solvers import kernels
from maxmargin.solvers.subspace import Subspace, kernel_tiles

ROWS = 1024


@dataclass(frozen=True)
class Bounds:
    """Distances from the exact machine; NaN where the run was stopped before they were known.

    `delta` is the largest projection error of a plane with weight, `theorem2` the paper's bound on
    ``P - P*`` over all functions, `exact_gap` the closer one by the exact problem's dual.
    """

    delta: float
    theorem2: float
    exact_gap: float


@dataclass(frozen=True)
class ActivePlanes:
    """The planes with weight: beta_j, b_j, and l_j as rows."""

    weights: np.ndarray
    offsets: np.ndarray
    subgradients: np.ndarray

    @property
    def offset(self) -> float:
        """``sum_j beta_j b_j``, the linear part of the dual."""
        return float(self.weights @ self.offsets)

    def mixed(self) -> np.ndarray:
        """``l = sum_j beta_j l_j``"""
        return np.asarray(self.weights @ self.subgradients.astype(np.float64))


def fresh_values(
    subspace: Subspace, beta: np.ndarray, planes: ActivePlanes
) -> tuple[np.ndarray, float]:
    """Predictions of the machine, and its lower bound, from kernel values computed anew.

    D = sum_j beta_j b_j - 1/2 ||L^-1 K_B l||^2: what Z in float32 had lost, this has not.
    """
    l = planes.mixed()  # noqa: E741
    p, u = np.zeros(subspace.n), np.zeros(len(beta))
    tiles = kernel_tiles(subspace.X, subspace.basis.vectors, subspace.kernel, subspace.pool)
    for rows, vectors, K in tiles:
        p[rows] += K @ beta[vectors]
        u[vectors] += l[rows] @ K
    a = subspace.solve_L(u)
    return p, planes.offset - 0.5 * float(a @ a)


def bounds_of(
    subspace: Subspace, planes: ActivePlanes, P: float, D: float, scale: float, seed: int
) -> Bounds:
    """The distances of a machine of value P, its span bounded by D; scale is ``sum_i C_i``."""
    squares, mixed = residual_squares(subspace, planes, seed)
    delta = math.sqrt(max(squares.max(initial=0.0), 0.0))
    linear = planes.offset
    square = 2 * (linear - D) + max(mixed, 0.0)  # ||sum_i a_i y_i phi(x_i)||^2
    t = min(1.0, linear / square) if square > 0 else 1.0
    exact_D = t * linear - 0.5 * t**2 * square
    theorem2 = delta * math.sqrt(2 * scale) + max(P - D, 0.0)
    return Bounds(delta, theorem2, max(P - exact_D, 0.0))


def residual_squares(
    subspace: Subspace, planes: ActivePlanes, seed: int
) -> tuple[np.ndarray, float]:
    """``||r_j||^2`` of every plane, and ``||sum_j beta_j r_j||^2``."""
    ls, weights = planes.subgradients, planes.weights
    used = np.flatnonzero(np.any(ls != 0, axis=0))
    N = len(used)
    if N == 0:
        return np.zeros(len(ls)), 0.0
    rows = used
    if N > ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(used, ROWS, replace=False))
    m = len(rows)
    pool = _core.Pool(subspace.pool.threads)
    z = subspace.coordinates(rows).astype(np.float32)
    parts = np.vstack([ls[:, rows], weights @ ls[:, rows]]).astype(np.float64)
    E = kernels.kernel_matrix(subspace.X[rows], subspace.kernel, pool)
    with kernels.blas_threads(pool):
        E -= z @ z.T
        whole = np.einsum("ji,ji->j", parts @ E, parts)
    # Pairs of different rows and pairs of a row with itself are sampled at different rates.
    own = (parts**2) @ np.diagonal(E)
    pairs = whole - own
    rate = N / m * ((N - 1) / (m - 1) if m > 1 else 1.0)
    squares = pairs * rate + own * (N / m)
    return squares[:-1], float(squares[-1])
