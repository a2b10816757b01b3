"""All points at once by Newton's method, where a Gram matrix has low rank: for large C, at which
steps crawl because the kernel is smooth.

    K ~ L L^T + diag(rest)      pivoted Cholesky in float64, until the rest is too small to matter

S. Fine, K. Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2
(2001). A step of the interior-point method then takes n r^2 operations for rank r in place of n^3.
The answer is feasible for the true kernel too, and it is judged by that: what the approximation
left out shows in the certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.solvers.kernel.blas import OneBlasThread
from maxmargin.solvers.kernel.exact import GivenValues, NamedValues
from maxmargin.solvers.kernel.newton import Solve, solve_box

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.two_variable import Descent

LEAST_REST = 1e-13  # of the largest k(x, x): below it float64 has no digits left
OF_TOLERANCE = 10.0  # times tol / P: a diagonal of the rest that may show in the certificate
LOW = 1e-4  # of the largest k(x, x): a rest beyond it says that the rank is not low
MOST_BYTES = 2**29  # of L
OF_A_STEP = 100  # multiply-adds of Newton's method in the time of a step, for each point
NEWTON_STEPS = 50  # that are to be expected
SHARP = 1e-4  # of the tolerance: which variables are at their bounds is known then
SURE = 1e-9  # of the tolerance where others weigh against what is sought: their sums cancel
# So many points nearest the margin, times the rank, get their variables once more: some optimum has
# no more variables between their bounds than the rank.
NEAR = 2
MOST_NEAR = 2000
REFINED = 2  # solutions of a linear system, each of what the one before left


class LowRank:
    """``Q = L L^T + diag(rest)``, as far as Newton's method needs it."""

    def __init__(self, L: np.ndarray, rest: np.ndarray) -> None:
        self.L, self.rest = L, rest

    def __matmul__(self, a: np.ndarray) -> np.ndarray:
        with OneBlasThread()():
            return np.asarray(self.L @ (self.L.T @ a) + self.rest * a)

    def diagonal(self) -> np.ndarray:
        return np.asarray(np.einsum("ij,ij->i", self.L, self.L) + self.rest)

    def solver(self, diagonal: np.ndarray) -> Solve | None:
        """Solves with ``Q + diag(diagonal)`` by the formula of Sherman, Morrison and Woodbury."""
        D = diagonal + self.rest
        scaled = self.L / np.sqrt(D)[:, None]
        with OneBlasThread()():
            M = scaled.T @ scaled
            M.flat[:: len(M) + 1] += 1.0
            try:
                factor = scipy.linalg.cho_factor(M, lower=True, overwrite_a=True)
            except (np.linalg.LinAlgError, ValueError):
                return None

        def solve(right: np.ndarray) -> np.ndarray:
            found, left = np.zeros(len(right)), right
            with OneBlasThread()():
                for _ in range(REFINED):
                    inner = scipy.linalg.cho_solve(factor, self.L.T @ (left / D))
                    found = found + (left - self.L @ inner) / D
                    left = right - (self.L @ (self.L.T @ found) + D * found)
            return found

        return solve


def factor_low_rank(
    exact: GivenValues | NamedValues, rows: np.ndarray, least: float, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """L and the diagonal of the rest, once that is `least` at most or L has `most` columns."""
    column, rest = columns_of(exact, rows), exact.diagonal[rows].copy()
    L = np.empty((len(rows), min(most, len(rows))), order="F")
    for k in range(L.shape[1]):
        pivot = int(np.argmax(rest))
        if not rest[pivot] > least:
            return L[:, :k], rest
        with OneBlasThread()():
            left = column(pivot) - L[:, :k] @ L[pivot, :k]
        L[:, k] = left / np.sqrt(rest[pivot])
        rest = np.maximum(rest - L[:, k] ** 2, 0.0)
        rest[pivot] = 0.0
    return L, rest


def columns_of(exact: GivenValues | NamedValues, rows: np.ndarray) -> Callable[[int], np.ndarray]:
    """A function of the place of one of these rows: its kernel values with all of them."""
    if isinstance(exact, GivenValues):
        return lambda place: exact.between(rows, rows[place : place + 1])[:, 0]
    points, pool = exact.points.taken(rows), _core.Pool(1)
    own, norms = view(points.X[points.order], 0.0), points.squared_norms
    out = np.empty((1, len(rows)))

    def column(place: int) -> np.ndarray:
        point, at = points.without_centre().tile(place, place + 1), norms[place : place + 1]
        dense = np.ascontiguousarray(point.toarray() if hasattr(point, "toarray") else point)
        _core.kernel_columns(exact.kernel.function, own, norms, dense, at, out, pool)
        return out[0]

    return column


class LowRankSolver:
    """One descent's problem with its Gram matrix approximated."""

    def __init__(self, descent: Descent) -> None:
        self.descent = descent
        self.tried = 0  # columns that were too few before

    def go_on(self) -> bool:
        """Whether the descent is at its end by this. If not it goes on from the better dual value,
        and this may be asked again after more steps."""
        descent, path = self.descent, self.descent.path
        rows = np.flatnonzero(path.c)
        most = self.columns_worth(len(rows))
        if most < 2 * self.tried:
            return False
        self.tried, before, bounds = most, path.beta.copy(), descent.judge()
        found = self.solution(rows, most)
        if found is None:
            return False
        beta, sharp, near = found
        if len(near) <= MOST_NEAR:  # few support vectors, if that will do
            descent.move(sharp)
            descent.move(descent.improved(near, SURE, SURE))
            if descent.solved():
                return True
        descent.move(beta)
        if descent.solved():
            return True
        if not descent.judge().dual > bounds.dual:
            descent.move(before)
        return False

    def columns_worth(self, n: int) -> int:
        """The rank with which Newton's method costs what the steps before it cost."""
        work = OF_A_STEP * float(self.descent.path.core.iterations) / NEWTON_STEPS
        return int(min(work**0.5, MOST_BYTES / (8 * n), n))

    def solution(
        self, rows: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """beta of the approximate problem; the same with all variables at their bounds but those of
        points near the margin; and these. None where the rank is not low."""
        descent, path = self.descent, self.descent.path
        exact, tol = path.problem.source.exact, descent.settings.tol
        largest = float(exact.diagonal[rows].max(initial=0.0))
        least = OF_TOLERANCE * tol / max(descent.judge().primal, tol)
        L, rest = factor_low_rank(exact, rows, max(least, LEAST_REST * largest), most)
        if rest.max(initial=0.0) > LOW * largest:
            return None
        sign = np.sign(path.c[rows])
        L *= sign[:, None]
        Q, q, u = LowRank(L, rest), np.ones(len(rows)), np.abs(path.c[rows])
        a, steps = solve_box(Q, q, u, SHARP * tol, descent.run.raise_if_stopped, 0.1 * tol)
        descent.newton_steps += steps
        beta, sharp, g = np.zeros_like(path.beta), np.zeros_like(path.beta), q - Q @ a
        beta[rows], sharp[rows] = sign * a, sign * np.where(g > 0, u, 0.0)
        near = np.sort(rows[np.argsort(np.abs(g), kind="stable")[: NEAR * L.shape[1]]])
        sharp[near] = beta[near]
        return beta, sharp, near
