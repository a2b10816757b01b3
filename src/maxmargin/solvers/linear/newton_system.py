"""The linear system of a Newton step, solved the cheapest of three ways.

    (I + H) x = gradient,      H = sum_i h_i x_i x_i^T      (I has a 0 for a free intercept)

    conjugate gradients   a pass over the rows with h_i > 0 for every product, as many as it takes
    directly              a Gram matrix, from a sample of the rows if they are many, and its factor
    preconditioned        conjugate gradients with the factor of an earlier matrix, or of a sample's

Conjugate gradients may look at as many entries as the direct way costs. If they have not got there,
they will not later either (H grows as a run goes on), so from then on the direct way is taken: all
told at most twice what the better one costs. The H of a smooth loss hardly changes in the end, and
that of a sample is like that of all rows, so few products with such a factor do for a matrix; where
they do not, there is a new one. Beyond `DIRECT_WIDTH` features there is no direct way. Small
systems are solved directly; then a row of weight 2 and the same row twice take one path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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
GAP_LEFT = 0.25  # of the gap asked for that they may leave
MOST_RESIDUAL = 0.5  # of the gradient's norm, however wide that gap is

Product = Callable[[np.ndarray], np.ndarray]
Gram = Callable[[], np.ndarray]


@dataclass(frozen=True)
class System:
    """That of one step.

    `gram` computes H, from all rows if `is_exact`; `inner_rows` of the h_i are not 0; conjugate
    gradients end at a residual of norm `enough`.
    """

    identity: np.ndarray
    h: np.ndarray
    inner_rows: int
    gram: Gram
    is_exact: bool
    gradient: np.ndarray
    enough: float


class NewtonSystem:
    """Remembers which way is the cheapest one.

    `keeps_factor`: H changes little from step to step. `factor` is one to begin with.
    """

    def __init__(
        self,
        rows: ArrayRows | SourceRows,
        keeps_factor: bool = False,
        factor: np.ndarray | None = None,
    ) -> None:
        self.rows = rows
        # of rows elsewhere, one pass for a matrix costs less than several for products
        self.is_direct = not isinstance(rows, ArrayRows)
        self.keeps_factor = keeps_factor and isinstance(rows, ArrayRows)
        self.factor = factor if self.keeps_factor else None
        # Of the last solution, where they came along: ``X x``, and what is left of the gradient.
        self.image: np.ndarray | None = None
        self.residual: np.ndarray | None = None

    def solve(self, system: System) -> np.ndarray:
        """An x near the solution."""
        rows, self.image, self.residual = self.rows, None, None
        if isinstance(rows, ArrayRows) and not (self.is_direct and self.factor is None):
            most = self._affordable_products(system)
            if most >= FEWEST_PRODUCTS:
                x, is_solved = self._by_products(rows, system, most)
                if is_solved or rows.width > DIRECT_WIDTH:
                    return x
            self.is_direct, self.image, self.residual = True, None, None
        x, factor = direct(system.gram, system.identity, system.gradient, rows.pool)
        if not self.keeps_factor:
            return x
        self.factor = factor
        if not system.is_exact and isinstance(rows, ArrayRows):
            x, _ = self._by_products(rows, system, FEWEST_PRODUCTS)
        return x

    def _by_products(self, rows: ArrayRows, system: System, most: int) -> tuple[np.ndarray, bool]:
        images = Images(rows.n, rows.pool) if self._wants_image(system) else None

        def product(v: np.ndarray) -> np.ndarray:
            image = None if images is None else images.next()
            return system.identity * v + rows.hessian_product(system.h, v, image)

        x, self.residual = conjugate_gradients(
            product, system.gradient, most, system.enough, self.factor, images
        )
        self.image = None if images is None else images.sum
        least = max(system.enough**2, RESIDUAL**2 * norm2(system.gradient))
        return x, norm2(self.residual) <= least

    def _wants_image(self, system: System) -> bool:
        """Whether ``X x`` costs less as a by-product, with the rows that have no curvature, than
        by a pass of its own."""
        return (self.rows.n - system.inner_rows) * FEWEST_PRODUCTS <= self.rows.n

    def _affordable_products(self, system: System) -> int:
        rows, inner_rows = self.rows, system.inner_rows
        if rows.width > DIRECT_WIDTH:
            return MOST_PRODUCTS
        cost = direct_cost(rows, inner_rows)
        if cost <= SMALL_SYSTEM:
            return 0
        each = product_cost(rows, inner_rows, self.factor is not None)
        return min(int(cost / each), MOST_PRODUCTS)


class Forcing:
    """How exactly to solve the systems of a smooth loss (Eisenstat and Walker 1996).

    The gradient after a step of length 1 is the residual of its system and what the quadratic did
    not foretell. The share of the latter falls with the gradient, and a residual below it is work
    for nothing, as is one whose ``1/2 ||w - v||^2`` is well within the gap asked for.
    """

    def __init__(self) -> None:
        self.before: tuple[np.ndarray, np.ndarray | None] | None = None

    def step(self, gradient: np.ndarray, residual: np.ndarray | None) -> None:
        """A step of length 1 was made with this gradient; None is a residual of 0."""
        self.before = gradient, residual

    def enough(self, gradient: np.ndarray, gap: float) -> float:
        """The norm that a residual may have."""
        g, share = math.sqrt(norm2(gradient)), RESIDUAL
        if self.before is not None:
            old, residual = self.before
            unforetold = gradient if residual is None else gradient - residual
            before = norm2(old)
            if before > 0:  # a square of a tiny gradient may be 0
                share = min(share, math.sqrt(norm2(unforetold)) * g / before)
        self.before = None
        return max(share * g, min(math.sqrt(2 * GAP_LEFT * gap), MOST_RESIDUAL * g))


class Images:
    """``X x`` of an x that is a sum of multiples of directions."""

    def __init__(self, n: int, pool: _core.Pool) -> None:
        self.sum, self.pool = np.zeros(n), pool
        self.last = np.empty(n)

    def next(self) -> np.ndarray:
        """Where ``X direction`` of the next one goes."""
        return self.last

    def add(self, step: float) -> None:
        _core.axpby(1.0, self.sum, step, self.last, self.sum, self.pool)


def hessian_rows(rows: ArrayRows | SourceRows) -> int:
    """How many rows to estimate the Hessian from."""
    rest = 2 * pass_cost(rows) + row_cost(rows) + factor_cost(rows.width)
    affordable = int(HESSIAN_SHARE * rest / gram_cost(rows))
    return max(HESSIAN_ROWS * rows.width, affordable)


def product_cost(rows: ArrayRows | SourceRows, inner_rows: int, has_factor: bool) -> float:
    """Of ``(I + H) x`` by passes over so many rows, and of a solution with a factor."""
    passes = 2 * (entry_cost(rows) * rows.nnz * inner_rows / max(rows.n, 1) + rows.width)
    return passes + (2 * rows.width**2 if has_factor else 0)


def direct_cost(rows: ArrayRows | SourceRows, inner_rows: int) -> float:
    """What the direct way costs: a Gram matrix of so many rows at most, and its factor."""
    return min(hessian_rows(rows), inner_rows) * gram_cost(rows) + factor_cost(rows.width)


def direct(
    gram: Gram, identity: np.ndarray, gradient: np.ndarray, pool: _core.Pool
) -> tuple[np.ndarray, np.ndarray]:
    """By Cholesky's factor, which comes along."""
    ridge = 0.0
    while True:
        H, direction = gram(), gradient.copy()
        np.einsum("jj->j", H)[:] += identity + ridge
        if _core.cholesky_solve(H, direction, pool):
            return direction, H
        # collinear features of huge scale: positive definite on paper only
        ridge = max(10 * ridge, 1e-12 * norm2(np.sqrt(np.abs(np.diagonal(H)))))


def conjugate_gradients(
    product: Product,
    right: np.ndarray,
    most: int,
    enough: float,
    factor: np.ndarray | None = None,
    images: Images | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """``x`` after at most that many products, and the residual ``right - product(x)``, once its
    norm is at most `enough`. `factor` is Cholesky's of a matrix near that of the product."""
    # A power of two: nothing is rounded, and <x, product(x)> of huge features is within float64.
    scale = math.ldexp(1.0, math.frexp(math.sqrt(norm2(right)))[1])
    x, r = np.zeros_like(right), right / scale
    z = preconditioned(r, factor)
    direction, rz = z.copy(), inner(r, z)
    for _ in range(most):
        if norm2(r) <= (enough / scale) ** 2:
            break
        image = product(direction)
        curvature = inner(direction, image)
        if not curvature > 0:  # it is, but for rounding errors of huge features
            break
        step = rz / curvature
        x += step * direction
        r -= step * image
        if images is not None:
            images.add(scale * step)
        z = preconditioned(r, factor)
        rz, before = inner(r, z), rz
        direction = z + (rz / before) * direction
    return scale * x, scale * r


def preconditioned(r: np.ndarray, factor: np.ndarray | None) -> np.ndarray:
    if factor is None:
        return r
    z = r.copy()
    _core.solve_triangles(factor, z)
    return z
