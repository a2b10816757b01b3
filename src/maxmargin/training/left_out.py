"""Scores of rows by a machine that was trained without them, without training it again.

    f_i    score of row i by the machine on all rows
    b_i    its dual variable with its sign: w = sum_i b_i x_i
    k_i    curvature C_i f'' of its loss; a kink is rounded over a width delta to both sides
    H      I + sum_i k_i x_i x_i^T
    g_i    <x_i, H^-1 x_i>

Without row i one Newton step from w changes the score of that row to

    f_i - b_i g_i / (1 - k_i g_i)

which is exact for a squared loss. Equal rows of a class are left out together: their b and k add
up. In kernels, with A the rows that have curvature and D their k,

    g_i = k(x_i, x_i) - <v_i, (K_AA + D^-1)^-1 v_i>,      v_i = (k(x_j, x_i)) for j in A

    delta  deviation of the residuals, times N^(-1/3), where N is what all rows weigh: how wide a
           slope of a distribution function is best measured (P. Hall, S. Sheather, J. R. Stat.
           Soc. B 50, 1988); what curves a sum of kinks is the density of residuals there

K. Rad, A. Maleki, *A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation*, J. R. Stat. Soc. B 82 (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import Pointwise
from maxmargin.solvers.linear.lagrangian import evenly
from maxmargin.solvers.linear.newton_system import DIRECT_WIDTH, hessian_rows

LEAST_WIDTH = 1e-3  # over which a kink is rounded, of the margin
LEAST_REST = 0.05  # of 1 - k g: where H is of a sample it may not know the row that is left out
FIT_PASSES = 36  # a fit by Newton takes about so many: a factor of H must cost no more than these
SMALL = 1e6  # entries looked at, or a factor of 300 features
FORMS = 2e8  # multiplications that may go into all g_i, or those of H from 8 rows a feature
FORMS_PER_FEATURE = 8


@dataclass(frozen=True)
class LeftOut:
    """Rows to leave out: `rows[i]` with all rows of its group; `first[k]` is one of group k."""

    rows: np.ndarray
    group: np.ndarray
    first: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Over the rows of each group."""
        return np.bincount(self.group, values[self.rows], minlength=len(self.first))

    def scores(
        self, f: np.ndarray, b: np.ndarray, k: np.ndarray, needed: np.ndarray, g: np.ndarray
    ) -> np.ndarray:
        """Of the rows left out; g is known for the needed groups, the others do not move."""
        moves = np.zeros(len(self.first))
        rest = 1.0 - self.sums(k)[needed] * g
        moves[needed] = self.sums(b)[needed] * g / np.maximum(rest, LEAST_REST)
        return f[self.rows] - moves[self.group]


def is_affordable(rows: ArrayRows) -> bool:
    """Whether a factor of H costs little beside the fit."""
    factor = rows.width**3 / 96
    return rows.width <= DIRECT_WIDTH and factor <= max(FIT_PASSES * rows.nnz, SMALL)


def most_rows(rows: ArrayRows) -> int:
    """How many rows may be left out, one at a time."""
    return int(max(FORMS_PER_FEATURE * rows.width, FORMS / max(rows.width, 1) ** 2))


def slopes_and_curvatures(
    loss: Pointwise, f: np.ndarray, weight: float, b: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """``b_i`` (those that are known, else the slopes of the rounded loss) and ``k_i``."""
    width = 0.0
    if loss.is_piecewise_linear:
        residuals, cost = np.where(loss.q < 0, -f, f), np.abs(loss.q)
        square = np.average((residuals - np.average(residuals, weights=cost)) ** 2, weights=cost)
        width = max(math.sqrt(square) * weight ** (-1 / 3), LEAST_WIDTH)
    slopes, k = np.empty(loss.n), np.empty(loss.n)
    loss.core.proximal(evenly(loss), 2 * width, f, slopes, k, loss.pool)
    return slopes if b is None else b, k


def linear_scores(
    rows: ArrayRows,
    loss: Pointwise,
    w: np.ndarray,
    share: np.ndarray | None,
    weight: float,
    out: LeftOut,
) -> np.ndarray:
    """Of one problem; `share` are its dual variables in units of costs."""
    f = rows.matvec(w)
    b = None if share is None else loss.q * share
    b, k = slopes_and_curvatures(loss, f, weight, b)
    every = max(1, int(np.count_nonzero(k)) // hessian_rows(rows))
    needed = np.flatnonzero(out.sums(b))
    H, ridge, g = rows.gram(k, every), 1.0, np.empty(len(needed))
    chosen = out.first[needed].astype(np.uint32)
    while not _core.inverse_forms(rows.core, chosen, plus(H, ridge), g, rows.pool):
        # collinear features of huge scale: positive definite on paper only
        ridge = 10 * max(ridge, 1e-12 * float(np.trace(H)))
    return out.scores(f, b, k, needed, g)


def plus(H: np.ndarray, ridge: float) -> np.ndarray:
    """H with the same number more on its diagonal, to be written over."""
    H = H.copy()
    np.einsum("jj->j", H)[:] += ridge
    return H
