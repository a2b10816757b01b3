"""The linear system of a Newton step, solved the cheaper of two ways.

    (I + H) x = gradient,      H = sum_i h_i x_i x_i^T      (I has a 0 for a free intercept)

    conjugate gradients   a pass over the rows with h_i > 0 for every product, as many as it takes
    directly              a Gram matrix, from a sample of the rows if they are many, and its factor

Conjugate gradients may look at as many entries as the direct way costs. If they have not got there,
they will not later either (H grows as a run goes on), so from then on the direct way is taken: all
told at most twice what the better one costs. Beyond `DIRECT_WIDTH` features there is no direct way.
Small systems are solved directly; then a row of weight 2 and the same row twice take one path.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.solvers.common.vectors import inner, norm2

HESSIAN_ROWS = 10  # rows a feature, at least, that estimate the Hessian
HESSIAN_PASSES = 4  # and as many more as cost no more than so many passes over the data
DIRECT_WIDTH = 3000  # a d x d factorisation is affordable up to here
SMALL_SYSTEM = 1e5  # entries that are looked at in the time that a few calls take
FEWEST_PRODUCTS, MOST_PRODUCTS = 3, 200
RESIDUAL = 0.1  # of the gradient's norm that conjugate gradients may leave

Gram = Callable[[], np.ndarray]


class NewtonSystem:
    """Remembers which way is the cheaper one."""

    def __init__(self, rows: ArrayRows | SourceRows) -> None:
        self.rows = rows
        # of rows elsewhere, one pass for a matrix costs less than several for products
        self.is_direct = not isinstance(rows, ArrayRows)

    def solve(
        self,
        identity: np.ndarray,
        h: np.ndarray,
        inner_rows: int,
        gram: Gram,
        gradient: np.ndarray,
    ) -> np.ndarray:
        """An x near the solution; `inner_rows` of the h_i are not 0, and `gram` computes H."""
        if not self.is_direct and isinstance(self.rows, ArrayRows):
            rows, most = self.rows, self._affordable_products(inner_rows)
            if most >= FEWEST_PRODUCTS:
                x, is_solved = conjugate_gradients(
                    lambda v: identity * v + rows.hessian_product(h, v), gradient, most
                )
                if is_solved or rows.width > DIRECT_WIDTH:
                    return x
            self.is_direct = True
        return direct(gram, identity, gradient, self.rows.pool)

    def _affordable_products(self, inner_rows: int) -> int:
        rows = self.rows
        if rows.width > DIRECT_WIDTH:
            return MOST_PRODUCTS
        cost = direct_cost(rows, inner_rows)
        if cost <= SMALL_SYSTEM:
            return 0
        each = 2 * (rows.nnz * inner_rows / max(rows.n, 1) + rows.width)
        return min(int(cost / each), MOST_PRODUCTS)


def hessian_rows(rows: ArrayRows | SourceRows) -> int:
    """How many rows to estimate the Hessian from."""
    affordable = int(HESSIAN_PASSES * rows.nnz / rows.gram_steps_per_row)
    return max(HESSIAN_ROWS * rows.width, affordable)


def direct_cost(rows: ArrayRows | SourceRows, inner_rows: int) -> float:
    """What the direct way costs in entries of rows looked at: a Gram matrix, its factor (d^3 / 3
    multiplications, of which 32 take the time of an entry) and sums over the matrix."""
    d = rows.width
    gram = min(hessian_rows(rows), inner_rows) * rows.gram_steps_per_row
    return gram + d**3 / 96 + 6 * d**2


def direct(gram: Gram, identity: np.ndarray, gradient: np.ndarray, pool: _core.Pool) -> np.ndarray:
    """By Cholesky's factor."""
    ridge = 0.0
    while True:
        H, direction = gram(), gradient.copy()
        np.einsum("jj->j", H)[:] += identity + ridge
        if _core.cholesky_solve(H, direction, pool):
            return direction
        # collinear features of huge scale: positive definite on paper only
        ridge = max(10 * ridge, 1e-12 * norm2(np.sqrt(np.abs(np.diagonal(H)))))


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], right: np.ndarray, most: int
) -> tuple[np.ndarray, bool]:
    """``x`` after at most that many products; whether ``||product(x) - right||`` is small."""
    x, r = np.zeros_like(right), right.copy()
    direction, rr = r.copy(), norm2(r)
    enough = RESIDUAL**2 * rr
    for _ in range(most):
        if rr <= enough:
            return x, True
        image = product(direction)
        step = rr / inner(direction, image)
        x += step * direction
        r -= step * image
        rr, before = norm2(r), rr
        direction = r + (rr / before) * direction
    return x, rr <= enough
