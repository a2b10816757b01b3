"""How far a machine in a span is from the exact one, from the planes that hold it up.

Symbols as in `certificate`, and

    r_j       Psi_j - P_B Psi_j: what the span leaves of plane j;   r that of the mixture
    delta     max_j ||r_j||

**exact_gap.** The planes bound the loss of any function, so for every 0 <= t <= 1

    P* >= t sum_j mu_j b_j - 1/2 t^2 ||Psi||^2,      ||Psi||^2 = ||P_B Psi||^2 + ||r||^2

**theorem2.** (Theorem 2 of the paper in our units.) Let f* be the exact machine and mu the weights.
R(f*) is at least the mixture of the planes, ``sum_j mu_j b_j + <Psi, f*>``, and <Psi, f*> at least
``<P_B Psi, P_B f*> - ||r|| ||f*||``. With ``||f*|| >= ||P_B f*||`` the rest is a value of the
problem within the span, whose minimum is D, and ``||r|| <= sum_j mu_j ||r_j|| <= delta``:

    P* >= D - delta ||f*||,     ||f*||^2 <= 2 P* <= 2 min(P, R(0))

since f = 0 has the value R(0) (of the hinge, sum_i C_i), and P is that of our machine.

``||Psi_j||^2 = sum_iq l_ji l_jq k(x_i, x_q)`` takes a kernel value a pair of rows with weight.
Where these are more work than the run may take, rows are drawn: see `sampled_squares`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel.blas import in_threads
from maxmargin.solvers.kernel.gram import DENSE_ADVANTAGE, tiles
from maxmargin.solvers.subspace.certificate import (
    ActivePlanes,
    Evaluation,
    kernel_error,
    scaled_dual,
)
from maxmargin.solvers.subspace.kernel_values import diagonal, is_wide, kernel_tiles
from maxmargin.solvers.subspace.span import Subspace

BLOCK = 2048  # rows and columns of kernel values at a time
VALUE_WORK = 16  # multiplications that an exponential is worth
LEAST_WORK = 2**28  # multiplications that every run may take for its bounds: a moment
RISK = 1e-3  # of bounds from drawn rows not to hold
LEAST_DRAWS = 32


@dataclass(frozen=True)
class Bounds:
    """Distances from the exact machine; NaN where numbers overflow.

    `delta` is the largest projection error of a plane with weight, `theorem2` the paper's bound on
    ``P - P*`` over all functions, `exact_gap` the closer one by the exact problem's dual. They hold
    always, or with a confidence of ``1 - RISK`` if `estimated`.
    """

    delta: float = math.nan
    theorem2: float = math.nan
    exact_gap: float = math.nan
    estimated: bool = False


@dataclass(frozen=True)
class Weighted:
    """The rows that have weight in some plane: their points, k(x, x), max_j |l_ji|, and l_ji."""

    X: object
    own: np.ndarray
    cost: np.ndarray
    subgrad: np.ndarray

    @classmethod
    def of(cls, subspace: Subspace, planes: ActivePlanes) -> Weighted:
        used = np.flatnonzero(np.any(planes.shares != 0, axis=0) & (planes.unit != 0))
        own = diagonal(subspace.kernel, subspace.norms[used])
        subgrad = planes.subgradients(used)
        return cls(subspace.X[used], own, np.abs(subgrad).max(axis=0, initial=0.0), subgrad)

    @property
    def n(self) -> int:
        return len(self.own)


def bounds_of(
    subspace: Subspace,
    planes: ActivePlanes,
    found: Evaluation,
    P: float,
    scale: float,
    work: float,
    seed: int,
) -> Bounds:
    """The distances of a machine of value P; scale is ``R(0)``.

    `work` is how many multiplications computing them may take. A stop leaves what needs no pairs.
    """
    rows = Weighted.of(subspace, planes)
    try:
        residuals, square, estimated = squares_of(subspace, rows, planes, found, work, seed)
    except _core.Stopped:
        lengths = np.abs(rows.subgrad) @ np.sqrt(rows.own)
        residuals, estimated = lengths**2, False
        square = float(residuals[-1])
    delta = math.sqrt(residuals.max())
    gap = max(P - found.dual, 0.0)
    theorem2 = delta * math.sqrt(2 * min(P, scale)) + gap
    exact = P - scaled_dual(found.total, square)
    values = (delta, theorem2, float(min(max(exact, gap), P)))
    return Bounds(*values, estimated) if np.isfinite(values).all() else Bounds()


def squares_of(
    subspace: Subspace,
    rows: Weighted,
    planes: ActivePlanes,
    found: Evaluation,
    work: float,
    seed: int,
) -> tuple[np.ndarray, float, bool]:
    """Upper bounds on ``||r_j||^2`` and on ``||Psi||^2``, and whether they are estimates."""
    each = work_of_a_value(subspace, len(planes))
    estimated = 0.5 * each * rows.n**2 > max(work, LEAST_WORK)
    if estimated:
        draws = max(LEAST_DRAWS, int(max(work, LEAST_WORK) / (each * rows.n)))
        residuals = sampled_squares(subspace, rows, found, draws, seed)
        square = float(found.projections[-1]) + found.error + float(residuals[-1])
    else:
        squares, error = all_squares(subspace, rows, found.digits)
        gram = found.c @ found.span.G
        nearest = np.einsum("ji,ji->j", found.c, gram - 2 * found.u)  # any c is an upper bound
        residuals = np.maximum(squares + nearest, 0.0) + error + found.error
        square = float(squares[-1]) + error
    return residuals, square, estimated


def work_of_a_value(subspace: Subspace, planes: int) -> float:
    """Multiplications for one kernel value of two rows and its part in all sums."""
    X = subspace.X
    wide = is_wide(X)
    product = DENSE_ADVANTAGE * X.nnz / X.shape[0] if wide else X.shape[1]
    return product + VALUE_WORK + planes


def all_squares(subspace: Subspace, rows: Weighted, digits: float) -> tuple[np.ndarray, float]:
    """``||Psi_j||^2`` over all pairs of rows, and the rounding error that may be in them."""
    kernel, sums, size = subspace.kernel, np.zeros(len(rows.subgrad)), 0.0
    peak = np.abs(rows.subgrad).max(axis=0, initial=0.0)
    for first, last in tiles(rows.n, BLOCK):
        for begin, end in tiles(rows.n, BLOCK):
            if begin < first:
                continue
            twice = 2.0 if begin > first else 1.0
            left, right = rows.X[first:last], rows.X[begin:end]  # type: ignore[index]
            for part, columns, K in kernel_tiles(left, right, kernel, subspace.pool, digits):
                mine = np.arange(first + part.start, first + part.stop)
                theirs = slice(begin + columns.start, begin + columns.stop)
                if begin == first:
                    K[np.arange(len(mine)), mine - first] = rows.own[mine]
                sums += twice * np.einsum(
                    "jq,jq->j", rows.subgrad[:, mine] @ K, rows.subgrad[:, theirs]
                )
                size += twice * float(peak[mine] @ np.abs(K) @ peak[theirs])
    if not kernel.of_distance:  # products that cancel are no more exact than those that do not
        reach = float(peak @ np.sqrt(rows.own))
        size = reach * reach
    largest = float(subspace.norms.max(initial=0.0))
    return sums, kernel_error(kernel, subspace.X, largest, digits) * size


def length_outside(subspace: Subspace, subgrad: np.ndarray) -> float:
    """``||Psi - P_B Psi||`` of ``Psi = sum_i l_i phi(x_i)``, over all pairs of rows with weight."""
    used = np.flatnonzero(subgrad)
    own, weights = diagonal(subspace.kernel, subspace.norms[used]), subgrad[used]
    rows = Weighted(subspace.X[used], own, np.abs(weights), weights[None])
    squares, _ = all_squares(subspace, rows, 0.0)
    inside = subspace.rows.rmatvec(subgrad) if subspace.k else np.zeros(1)
    return math.sqrt(max(float(squares[0]) - float(inside @ inside), 0.0))


def sampled_squares(
    subspace: Subspace, rows: Weighted, found: Evaluation, draws: int, seed: int
) -> np.ndarray:
    """Upper bounds on every ``||r_j||^2`` that hold together with a confidence of ``1 - RISK``.

    With e_i = phi(x_i) - P_B phi(x_i), ``||r_j||^2 = sum_i l_ji <e_i, r_j>``. Row i is drawn with
    probability ``p_i = c_i ||e_i|| / S``, ``S = sum_i c_i ||e_i||``, ``c_i = max_j |l_ji|``: then
    ``X_i = l_ji <e_i, r_j> / p_i`` has the mean ||r_j||^2 and lies within ``S ||r_j||`` of 0. By
    the empirical Bernstein inequality (Maurer, Pontil 2009, theorem 4) for m draws with mean M and
    variance V,

        ||r_j||^2 <= M + sqrt(2 V lambda / m) + 14 S ||r_j|| lambda / (3 (m - 1)),

    lambda = log(2 (planes + 1) / RISK): a quadratic inequality for ||r_j||. By the triangle
    inequality ``||r_j|| <= sum_i |l_ji| ||e_i||`` always.
    """
    heights = heights_of(subspace, rows, found)
    triangle = np.abs(rows.subgrad) @ heights
    total = float(rows.cost @ heights)
    if not total > 0:
        return triangle**2
    chances = rows.cost * heights / total
    random = np.random.default_rng(seed)
    counts = random.multinomial(draws, chances / chances.sum())
    drawn = np.flatnonzero(counts)
    values = (
        rows.subgrad[:, drawn]
        / chances[drawn]
        * products_with_residuals(subspace, rows, found, drawn)
    )
    mean = values @ counts[drawn] / draws
    variance = (values - mean[:, None]) ** 2 @ counts[drawn] / (draws - 1)
    reach = math.log(2 * len(mean) / RISK)
    constant = mean + np.sqrt(2 * variance * reach / draws)
    slope = 14 * total * reach / (3 * (draws - 1))
    length = 0.5 * (slope + np.sqrt(np.maximum(slope * slope + 4 * constant, 0.0)))
    return np.minimum(length, triangle) ** 2 + found.error


def heights_of(subspace: Subspace, rows: Weighted, found: Evaluation) -> np.ndarray:
    """``||phi(x_i) - P_B phi(x_i)||`` of every row."""
    if subspace.k == 0:
        return np.sqrt(rows.own)
    basis, kernel, alone = subspace.basis.vectors, subspace.kernel, _core.Pool(1)

    def of_block(block: tuple[int, int]) -> np.ndarray:
        first, last = block
        K = np.empty((last - first, subspace.k))
        part = rows.X[first:last]  # type: ignore[index]
        for some, columns, values in kernel_tiles(part, basis, kernel, alone):
            K[some, columns] = values
        return found.span.heights(K, rows.own[first:last])

    return np.concatenate(in_threads(of_block, list(tiles(rows.n, BLOCK)), subspace.pool))


def products_with_residuals(
    subspace: Subspace, rows: Weighted, found: Evaluation, drawn: np.ndarray
) -> np.ndarray:
    """``<phi(x_i), r_j>`` for the drawn rows i (columns) and every plane (rows)."""
    g = np.zeros((len(rows.subgrad), len(drawn)))
    X = rows.X[drawn]  # type: ignore[index]
    kernel, pool = subspace.kernel, subspace.pool
    for some, columns, K in kernel_tiles(rows.X, X, kernel, pool):
        g[:, columns] += rows.subgrad[:, some] @ K
    for some, columns, K in kernel_tiles(X, subspace.basis.vectors, kernel, pool):
        g[:, some] -= found.c[:, columns] @ K.T
    return g
