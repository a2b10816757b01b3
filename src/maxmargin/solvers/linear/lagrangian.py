"""The augmented Lagrangian that Newton's method minimises; `newton` says what each letter means.

`Lagrangian` knows w, and what follows from sums over the rows. `RowsLagrangian` makes the sums of
rows that this process reads; where rows are elsewhere another one asks for them there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import SourceRows
from maxmargin.losses.free_intercept import Shifts
from maxmargin.losses.line_search import bracketed_newton
from maxmargin.losses.pointwise import Pointwise
from maxmargin.solvers.common.vectors import dual_bound, inner, norm2
from maxmargin.solvers.linear.dual_descent import best_multiple
from maxmargin.solvers.linear.newton_system import (
    RESIDUAL,
    Forcing,
    NewtonSystem,
    System,
    hessian_rows,
    preconditioned,
)

SIGMA_START = 0.3
SIGMA_WARM = 3.0  # from a solution of a neighbouring problem
SIGMA_GROWTH = 9.0  # divided by the Newton steps that the last sigma took
LEAST_GROWTH = 1.5
SIGMA_BACK = 9.0  # how far back where sigma grew too fast
SIGMA_MOST = 1e9
GRADIENT_SHARE = 0.1  # the inner loop ends when 1/2 ||grad||^2 is below this share of the gap
INNER_STEPS = 15  # more than this many Newton steps at one sigma: it grew too fast
SLOPE_LEFT = 0.1  # of the slope at 0 that a line search may leave
KINK_ROWS = 4.0  # a feature, at least, near a kink at the first rounding from a w
SHARPER = 3.0  # times sigma, before the rows near the kink are counted again
SHORT_STEP = 0.1  # of Newton's: kinks lie closer to each other than the step assumes
EPSILON = float(np.finfo(np.float64).eps)


def evenly(loss: Pointwise) -> np.ndarray:
    """Multipliers that round every kink alike to both sides."""
    return np.full(loss.n, loss.core.middle)


def kink_rows(n: int, d: int) -> float:
    """How many rows the first rounding from a w should leave near a kink."""
    return max(KINK_ROWS * d, 0.5 * math.sqrt(n * d))


def penalised(w: np.ndarray, free: bool) -> np.ndarray:
    """The weights that ||w||^2 is of."""
    return w[:-1] if free else w


class Lagrangian(ABC):
    """phi with its current w, multipliers and penalty."""

    def __init__(
        self, w: np.ndarray, sigma: float, is_piecewise_linear: bool, free: bool = False
    ) -> None:
        self.w, self.sigma, self.free = w, sigma, free
        self.is_piecewise_linear = is_piecewise_linear
        self.steps = 0  # Newton steps at this sigma
        self.is_sharpened = (
            False  # sigma is a guess: until multipliers are taken, steps may lower it
        )
        self.tol = 0.0  # the gap asked for, relative to P

    @abstractmethod
    def sums(self) -> tuple[float, float, float, np.ndarray]:
        """R, both sums of the dual, and v at w: one pass over the data."""

    @abstractmethod
    def take_multipliers(self) -> None:
        """``nu <- u``"""

    @abstractmethod
    def direction(self) -> np.ndarray:
        """``(I + sum_i h_i x_i x_i^T)^-1 gradient``, where I has a 0 for a free intercept."""

    @abstractmethod
    def search(self, dw: np.ndarray) -> float:
        """A k > 0 along dw where phi is about lowest: one pass over the data."""

    @abstractmethod
    def move(self, k: float) -> None:
        """Moves the predictions by k along the line searched last."""

    def foretold_gain(self) -> float:
        """By how much the next step is likely to lower phi; infinite where that is not known."""
        return math.inf

    @property
    def s(self) -> float:
        """The weight of the proximal term; 0 for a smooth loss."""
        return 1.0 / self.sigma if self.is_piecewise_linear else 0.0

    def evaluate(self) -> None:
        """Gradient, both bounds, and which rows have curvature."""
        R, added, size, v = self.sums()
        self.gradient = self.w - v
        if self.free:
            self.gradient[-1] = -v[-1]
            added -= abs(v[-1] * self.w[-1])  # what rounding left of the sum of u
        self.v, v_squared = v, norm2(penalised(v, self.free))
        self.P = 0.5 * norm2(penalised(self.w, self.free)) + R
        # u shrunk by a factor in [0, 1] is feasible too
        self.scale = best_multiple(added, v_squared)
        self.D = dual_bound(self.scale * added, self.scale**2 * v_squared, self.scale * size)

    def is_minimised(self, gap: float) -> bool:
        """Whether it is time for other multipliers: never for a loss that is not rounded."""
        return (
            self.is_piecewise_linear
            and self.steps > 0
            and 0.5 * norm2(self.gradient) <= GRADIENT_SHARE * gap
        )

    def update_multipliers(self) -> None:
        self.take_multipliers()
        self.is_sharpened = False
        growth = max(SIGMA_GROWTH / max(self.steps, 1), LEAST_GROWTH)
        self.sigma = min(self.sigma * growth, SIGMA_MOST)
        self.steps = 0

    def newton_step(self) -> None:
        """Moves w along the Newton direction."""
        self.steps += 1
        if self.s > 0 and self.steps > INNER_STEPS and self.sigma > SIGMA_START:
            self.sigma /= SIGMA_BACK
            self.steps = 1
            self.evaluate()
        dw = -self.direction()
        k = self.search(dw)
        self.w = self.w + k * dw
        self.move(k)
        if self.is_sharpened and k < SHORT_STEP:
            self.blunt()

    def blunt(self) -> None:
        """Lowers sigma after a short step, which says that it was raised too far for this w."""
        self.sigma = max(self.sigma / SHARPER, SIGMA_START)
        self.steps = 0


class Foretold:
    """The dual point b that a Newton step of length 1 foretells, its sums if it is feasible, and
    ``1/2 ||w - v||^2`` there."""

    def __init__(self, n: int) -> None:
        self.b, self.left = np.empty(n), 0.0
        self.dual: tuple[float, float] | None = None


class RowsLagrangian(Lagrangian):
    """The same of rows in memory or on disk."""

    def __init__(
        self,
        rows: ArrayRows | SourceRows,
        loss: Pointwise,
        w: np.ndarray,
        nu: np.ndarray,
        sigma: float,
        free: bool = False,
        factor: np.ndarray | None = None,
    ) -> None:
        """`factor` is one to precondition with."""
        super().__init__(w, sigma, loss.is_piecewise_linear, free)
        self.rows, self.loss, self.pool = rows, loss, loss.pool
        self.shifts = Shifts(loss) if free else None
        self.nu = nu
        self.p = rows.matvec(w) if w.any() else np.zeros(rows.n)
        self.b, self.h = np.empty(rows.n), np.empty(rows.n)
        self.drift = 0.0  # what rounding may have done to a prediction since a pass made it
        self.system = NewtonSystem(rows, not loss.is_piecewise_linear, factor)
        self.forcing = Forcing()
        # with a free intercept the b_i must add up to 0, which these do not quite
        self.foretold = None if loss.is_piecewise_linear or free else Foretold(loss.n)

    def evaluate(self) -> None:
        if self.shifts is not None:
            self.balance(self.shifts)
        super().evaluate()

    def balance(self, shifts: Shifts) -> None:
        """Moves the intercept to where the b_i add up to 0."""
        k = shifts.best(self.p, self.nu, self.s)
        if k != 0:
            self.w = np.append(self.w[:-1], self.w[-1] + k)
            self.p += k

    def sums(self) -> tuple[float, float, float, np.ndarray]:
        """`gram` is the curvature at w."""
        R, added, size, self.inner_rows = self.loss.core.proximal(
            self.nu, self.s, self.p, self.b, self.h, self.pool
        )
        closing = self.closing_sums(R)
        if closing is not None:
            return closing
        self.every = max(1, self.inner_rows // hessian_rows(self.rows))
        v, self.gram = self.rows.rmatvec_and_gram(self.b, self.h, self.every)
        return R, added, size, v

    def closing_sums(self, R: float) -> tuple[float, float, float, np.ndarray] | None:
        """The same with the dual point that the last step foretold, if that closes the gap.

        The slopes at w are ``grad`` away from where ``w = v``, and with much curvature the bound
        that they give is poor long after P is as low as can be. The point that a Newton step
        foretells has ``v = w`` where the step is exact, and its bound is as good as the quadratic.
        """
        if self.foretold is None or self.foretold.dual is None:
            return None
        (added, size), w_squared = self.foretold.dual, norm2(self.w)
        self.foretold.dual = None
        enough = self.tol * (0.5 * w_squared + R)
        if w_squared + R - added + self.foretold.left > enough:
            return None
        v = self.rows.rmatvec(self.foretold.b)
        if 0.5 * w_squared + R - dual_bound(added, norm2(v), size) > enough:
            return None
        self.b, self.foretold.b = self.foretold.b, self.b
        return R, added, size, v

    def take_multipliers(self) -> None:
        self.nu = self.loss.shares(self.b)

    def sharpen(self) -> None:
        """Raises sigma to where about as many rows have curvature as determine w: with more a step
        costs more, and moves w to the minimum of a problem that is less like the one asked for;
        with fewer, rows at the kink are others after every step.

        The path leads from all n rows to about d at the kink, and half their geometric mean is on
        the way. Rows that stay near the kink however sharp it is have equal predictions, and tell
        less than their number. At w = 0 all are equal.
        """
        if not self.is_piecewise_linear or not self.w.any():
            return
        enough = kink_rows(self.rows.n, self.rows.width)
        curved = self.curved_rows(self.sigma)
        while curved > 1.5 * enough:
            sigma = self.sigma * min(curved / enough, SHARPER)
            fewer = self.curved_rows(sigma)
            of_all = 2 * curved > self.rows.n  # a window wider than the rows lie apart: no clump
            if fewer > (0.95 if of_all else 0.65) * curved or 2 * fewer < enough:
                break
            self.sigma, curved, self.is_sharpened = sigma, fewer, True

    def curved_rows(self, sigma: float) -> int:
        """How many rows have curvature at w with that penalty."""
        return self.loss.core.proximal(self.nu, 1 / sigma, self.p, self.b, self.h, self.pool)[3]

    def rescale(self) -> None:
        """Moves w to the best of its multiples, which takes no pass.

        The first epochs of dual descent find where w points before they find how long it is, and
        Newton's quadratic is a poor model of the logistic loss far from the minimum.
        """
        own = penalised(self.w, self.free)
        A0 = norm2(own)
        if A0 == 0:
            return
        zero = np.zeros(self.rows.n)

        def slope_and_curvature(k: float) -> tuple[float, float]:
            slope, curvature = self.loss.core.along(self.nu, self.s, zero, self.p, k, self.pool)
            return k * A0 + slope, A0 + curvature

        slope_at_0 = slope_and_curvature(0.0)[0]
        enough = SLOPE_LEFT * abs(slope_at_0)
        k = bracketed_newton(slope_and_curvature, enough) if slope_at_0 < 0 else 0.0
        self.w, self.p = k * self.w, k * self.p

    def direction(self) -> np.ndarray:
        identity = np.ones(self.rows.width)
        identity[-1] = 0.0 if self.free and self.inner_rows > 0 else 1.0
        enough = RESIDUAL * math.sqrt(norm2(self.gradient))
        if not self.is_piecewise_linear:
            enough = self.forcing.enough(self.gradient, self.tol * self.P)
        every_row = self.every == 1
        return self.system.solve(
            System(identity, self.h, self.inner_rows, self.gram, every_row, self.gradient, enough)
        )

    def foretold_gain(self) -> float:
        """By the last factor."""
        if self.system.factor is None:
            return math.inf
        return 0.5 * inner(self.gradient, preconditioned(self.gradient, self.system.factor))

    def search(self, dw: np.ndarray) -> float:
        """k with ``|phi'(k)| <= phi'(0) / 10``, by Newton's method in one variable, bracketed."""
        image = self.system.image  # of -dw
        self.dp = self.rows.matvec(dw) if image is None else np.negative(image, out=image)
        own, slope_at_0 = penalised(dw, self.free), inner(self.gradient, dw)
        A0, B0 = norm2(own), inner(penalised(self.w, self.free), own)

        def slope_and_curvature(k: float) -> tuple[float, float]:
            slope, curvature = self.loss.core.along(self.nu, self.s, self.p, self.dp, k, self.pool)
            return B0 + k * A0 + slope, A0 + curvature

        k = bracketed_newton(slope_and_curvature, SLOPE_LEFT * abs(slope_at_0))
        if k == 1.0 and not self.is_piecewise_linear:
            self.foretell()
        return k

    def foretell(self) -> None:
        """What a step of length 1 leaves, if the loss is as curved along it as at its start."""
        residual = self.system.residual
        self.forcing.step(self.gradient, residual)
        if self.foretold is None:
            return
        self.foretold.left = 0.0 if residual is None else 0.5 * norm2(residual)
        if self.foretold.left <= self.tol * self.P:
            self.foretold.dual = self.loss.core.foretell_dual(
                self.b, self.h, self.dp, self.foretold.b, self.pool
            )

    def move(self, k: float) -> None:
        _core.axpby(1.0, self.p, k, self.dp, self.p, self.pool)
        if isinstance(self.rows, SourceRows):
            self.drift += EPSILON * float(np.abs(self.p).max())
