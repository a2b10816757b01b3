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

import math
from collections.abc import Callable

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.solvers.common.vectors import inner, norm2
from maxmargin.solvers.linear.costs import entry_cost, factor_cost, gram_cost, pass_cost, row_cost

HESSIAN_ROWS = 10  # rows a feature, at least, that estimate the Hessian
HESSIAN_SHARE = 2.0  # and as many more as cost no more than this share of the rest of a step
DIRECT_WIDTH = 3000  # a d x d factorisation is affordable up to here
SMALL_SYSTEM = 2e5  # what a few calls cost
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
        each = 2 * (entry_cost(rows) * rows.nnz * inner_rows / max(rows.n, 1) + rows.width)
        return min(int(cost / each), MOST_PRODUCTS)


def hessian_rows(rows: ArrayRows | SourceRows) -> int:
    """How many rows to estimate the Hessian from."""
    rest = 2 * pass_cost(rows) + row_cost(rows) + factor_cost(rows.width)
    affordable = int(HESSIAN_SHARE * rest / gram_cost(rows))
    return max(HESSIAN_ROWS * rows.width, affordable)


def direct_cost(rows: ArrayRows | SourceRows, inner_rows: int) -> float:
    """What the direct way costs: a Gram matrix of so many rows at most, and its factor."""
    return min(hessian_rows(rows), inner_rows) * gram_cost(rows) + factor_cost(rows.width)


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
    # A power of two: nothing is rounded, and <x, product(x)> of huge features is within float64.
    scale = math.ldexp(1.0, math.frexp(math.sqrt(norm2(right)))[1])
    x, r = np.zeros_like(right), right / scale
    direction, rr = r.copy(), norm2(r)
    enough = RESIDUAL**2 * rr
    for _ in range(most):
        if rr <= enough:
            return scale * x, True
        image = product(direction)
        curvature = inner(direction, image)
        if not curvature > 0:  # it is, but for rounding errors of huge features
            return scale * x, False
        step = rr / curvature
        x += step * direction
        r -= step * image
        rr, before = norm2(r), rr
        direction = r + (rr / before) * direction
    return scale * x, rr <= enough
