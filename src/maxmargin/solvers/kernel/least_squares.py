"""Least squares for every C at once, by the Lanczos process on the Gram matrix.

    minimise   1/2 ||f||^2 + C/2 sum_i s_i (t_i - f(x_i))^2
    solve      (A + I / C) z = b,   A = S K S,   b = S t,   S = diag(sqrt(s_i));   beta = S z

    V, T   A V = V T + h v e_k^T after k steps from b, V^T V = I, T tridiagonal
    y      (T + I / C) y = ||b|| e_1, z = V y: O(k) for each C
    D      1/2 ||b|| y_1
    gap    P - D = C/2 (h y_k)^2

One product with K serves every C. Rows held out (s_i = 0) drop out of A, so the folds of a
cross-validation share the products as well: K is read once a step for all of them. K is float32;
new vectors are made orthogonal to all earlier ones, in float64.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from maxmargin import _core
from maxmargin.solvers.kernel.blas import in_threads
from maxmargin.solvers.kernel.gram import tiles

LEAST_STEPS = 300  # that may be taken, however small K is
FIRST_LOOK = 8  # steps before the first gap check
GROWTH = 1.2  # from one gap check to the next
BLOCK = 256  # rows of K that are multiplied together


def most_steps(n: int, problems: int) -> int:
    """As many as need no more memory than K does."""
    return max(LEAST_STEPS, n // (2 * problems))


def times(K: np.ndarray, columns: np.ndarray, pool: _core.Pool) -> np.ndarray:
    """``K @ columns`` in float32, by blocks of rows."""
    columns = np.ascontiguousarray(columns, dtype=np.float32)
    out = np.empty((K.shape[0], columns.shape[1]), dtype=np.float32)

    def multiply(rows: tuple[int, int]) -> None:
        np.matmul(K[slice(*rows)], columns, out=out[slice(*rows)])

    in_threads(multiply, list(tiles(K.shape[0], BLOCK)), pool)
    return out


def solve_tridiagonal(
    diagonal: np.ndarray, beside: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, int]:
    """The solution, and the order of the first leading minor that is not positive; 0 for none."""
    if len(diagonal) == 1:  # which LAPACK's face does not take
        is_positive = bool(diagonal[0] > 0)
        return right / (diagonal if is_positive else 1.0), int(not is_positive)
    *_, solution, order = scipy.linalg.lapack.dptsv(diagonal, beside, right)
    return solution, int(order)


class Lanczos:
    """The process for several weightings s of the same rows (problems, n), and their targets t."""

    def __init__(self, K: np.ndarray, t: np.ndarray, s: np.ndarray, pool: _core.Pool) -> None:
        self.K, self.pool, self.roots = K, pool, np.sqrt(s)
        # A power of two: nothing is rounded, and products of huge kernel values are within float32.
        self.scale = math.ldexp(1.0, -math.frexp(float(np.diagonal(K).max()))[1])
        b = self.roots * t
        self.size = np.linalg.norm(b, axis=1)
        self.V = np.empty((len(b), FIRST_LOOK, K.shape[0]))
        self.V[:, 0] = b / np.where(self.size > 0, self.size, 1.0)[:, None]
        self.diagonal: list[np.ndarray] = []
        self.beside: list[np.ndarray] = []  # the diagonal beside it; its last is h

    @property
    def steps(self) -> int:
        return len(self.diagonal)

    def advance(self, steps: int) -> None:
        """So many steps more."""
        last = self.steps + steps
        grown = np.empty((self.V.shape[0], last + 1, self.V.shape[2]))
        grown[:, : self.steps + 1] = self.V[:, : self.steps + 1]
        self.V = grown
        while self.steps < last:
            self._step()

    def _step(self) -> None:
        k, V = self.steps, self.V[:, : self.steps + 1]
        products = times(self.K, (self.scale * self.roots * V[:, k]).T, self.pool).T
        w = (self.roots / self.scale) * products
        first = np.zeros(0)
        for again in (False, True):  # once leaves what rounding of the sums themselves adds
            along = np.matmul(V, w[:, :, None])
            w -= np.matmul(along.transpose(0, 2, 1), V)[:, 0]
            first = first if again else along[:, k, 0]
        h = np.linalg.norm(w, axis=1)
        ended = h <= 1e-12 * np.abs(first)  # the rest of the space has no part in the solution
        h[ended] = 0.0
        self.diagonal.append(first)
        self.beside.append(h)
        self.V[:, k + 1] = w / np.where(ended, 1.0, h)[:, None]

    def solve(self, p: int, C: float) -> tuple[np.ndarray, float, float]:
        """y of one problem, and its gap and D.

        Rounding of K may leave it with eigenvalues below -1 / C. The process is then followed to
        the last step before it shows.
        """
        T = np.array([value[p] for value in self.diagonal]) + 1.0 / C
        h = np.array([value[p] for value in self.beside])
        right, y = np.zeros(self.steps), np.zeros(self.steps)
        right[0] = self.size[p]
        k = self.steps
        solved, not_positive = solve_tridiagonal(T, h[: k - 1], right)
        if not_positive == 1:
            return y, 0.5 * C * float(self.size[p]) ** 2, 0.0
        if not_positive > 1:
            k = not_positive - 1
            solved, _ = solve_tridiagonal(T[:k], h[: k - 1], right[:k])
        y[:k] = solved
        gap = 0.5 * C * float(h[k - 1] * y[k - 1]) ** 2
        return y, gap, 0.5 * float(self.size[p] * y[0])

    def beta(self, p: int, y: np.ndarray) -> np.ndarray:
        return self.roots[p] * (y @ self.V[p, : self.steps])


def least_squares(
    K: np.ndarray,
    t: np.ndarray,
    s: np.ndarray,
    Cs: np.ndarray,
    tol: float,
    pool: _core.Pool,
    *,
    of_zero: bool = False,
    most: int | None = None,
) -> tuple[np.ndarray, int]:
    """beta (problems, Cs, n) and the steps taken for it.

    Every gap is at most `tol` times P, or with `of_zero` times the loss of ``f = 0``, unless that
    takes more than `most` steps or float32 does not go so far. `Cs` has a row for each problem.
    """
    process = Lanczos(K, t, s, pool)
    most = most_steps(K.shape[0], len(s)) if most is None else most
    places = [(p, at) for p in range(len(s)) for at in range(Cs.shape[1])]
    following = FIRST_LOOK
    while True:
        process.advance(max(1, min(following, most) - process.steps))
        found = {place: process.solve(place[0], Cs[place]) for place in places}
        done = True
        for (p, at), (_, gap, dual) in found.items():
            beside = 0.5 * Cs[p, at] * process.size[p] ** 2 if of_zero else dual + gap
            done = done and gap <= tol * beside
        if done or process.steps >= most:
            break
        following = int(np.ceil(GROWTH * process.steps))
    beta = np.empty((len(s), Cs.shape[1], K.shape[0]))
    for place, (y, _, _) in found.items():
        beta[place] = process.beta(place[0], y)
    return beta, process.steps
