"""A pointwise loss with an intercept that nothing penalises.

    R(p) = min over b of sum_i C_i f(r_i),        r_i = t_i - y_i (p_i + b)

R is convex in the predictions p of the features alone. Where b minimises, a subgradient of the sum
whose entries add up to 0 is one of R. At a kink the slopes to its left and to its right are mixed
until they do: each gives a plane below the sum, and so does their mixture.

    sum l_i       slope of the sum in b, for a subgradient l at p + b
    low, high     values of b with slopes <= 0 and >= 0, as close together as float64 tells apart
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.losses.line_search import SearchedLoss
from maxmargin.losses.pointwise import Pointwise

SLOPE_LEFT = 1e-13  # of the sum of all slopes: rounding leaves as much
NEXT = 1e-14  # of the numbers at hand: how far to the other side of a kink


@dataclass(frozen=True)
class Touch:
    """The sum of losses at p + b: its value, a subgradient, and how that adds up."""

    b: float
    R: float
    subgrad: np.ndarray
    slope: float


class FreeIntercept(SearchedLoss):
    """``R(p) = min over b of loss(p + b)``."""

    def __init__(self, loss: Pointwise) -> None:
        super().__init__()
        self.loss, self.n = loss, loss.n
        self.shifts = Shifts(loss)
        self._b = 0.0  # of the last evaluation
        self.at_zero = self.best(np.zeros(self.n))[1]

    @property
    def pool(self) -> _core.Pool:
        return self.loss.pool

    @pool.setter
    def pool(self, pool: _core.Pool) -> None:
        self.loss = Pointwise(self.loss.spec, self.loss.q, self.loss.t, pool)
        self.shifts = Shifts(self.loss)

    def intercept(self, p: np.ndarray) -> float:
        """The b that minimises ``loss(p + b)``."""
        if self.loss.is_piecewise_linear:
            return self._best_kink(p)
        return self._b + self.shifts.best(p + self._b, p, 0.0)

    def best(self, p: np.ndarray) -> tuple[float, float]:
        """b and R(p)."""
        b = self.intercept(p)
        return b, self.loss.value(p + b)

    def value(self, p: np.ndarray) -> float:
        return self.best(p)[1]

    def evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """R from below: what the plane that comes with it says at p."""
        here = self._touch(p, self.intercept(p))
        self._b = here.b
        if here.slope == 0:
            return here.R, here.subgrad
        near, far = self._both_sides(p, here)
        share = far.slope / (far.slope - near.slope)
        subgrad = np.empty(self.n)
        _core.axpby(share, near.subgrad, 1 - share, far.subgrad, subgrad, self.pool)
        R = sum(
            weight * (touch.R - touch.b * touch.slope)
            for weight, touch in ((share, near), (1 - share, far))
        )
        left = _core.inner(subgrad, self.shifts.ones, self.pool)  # what rounding left of the sum
        return R - abs(left * here.b), subgrad

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        k, _ = super().search(p, dp, A0, B0)
        assert self._end is not None
        return k, self.value(self._end[0])

    def _touch(self, p: np.ndarray, b: float) -> Touch:
        R, subgrad = self.loss.evaluate(p + b)
        return Touch(b, R, subgrad, _core.inner(subgrad, self.shifts.ones, self.pool))

    def _both_sides(self, p: np.ndarray, here: Touch) -> tuple[Touch, Touch]:
        """Two points with slopes of opposite signs, the first `here` or close to it."""
        near = here
        step = NEXT * (1 + abs(here.b) + float(np.abs(p).max()))
        while True:
            far = self._touch(p, near.b - math.copysign(step, near.slope))
            if far.slope * here.slope <= 0:
                return near, far
            near, step = far, 4 * step

    def _best_kink(self, p: np.ndarray) -> float:
        """By selection among the kinks along b, in the direction that falls."""
        slope = self._touch(p, 0.0).slope
        if slope == 0:
            return 0.0
        direction = -math.copysign(1.0, slope)
        dp = self.shifts.ones if direction > 0 else -self.shifts.ones
        return direction * self.loss.core.search_kinks(p, dp, 0.0, 0.0, self.pool)


class Shifts:
    """The loss at predictions that are all moved by the same number."""

    def __init__(self, loss: Pointwise) -> None:
        self.loss, self.ones = loss, np.ones(loss.n)
        self.small = SLOPE_LEFT * float(np.abs(loss.q).sum())

    def best(self, p: np.ndarray, nu: np.ndarray, s: float) -> float:
        """The k that minimises the loss at p + k, rounded by multipliers nu and a penalty 1 / s
        (s = 0: a smooth loss as it is): there the dual variables b_i add up to 0."""
        return self.loss.core.root_along(nu, s, p, self.ones, self.small, self.loss.pool)


def balanced(b: np.ndarray) -> np.ndarray:
    """Dual variables that add up to 0 but for rounding: the sign that weighs more is scaled down,
    which leaves every variable between 0 and where it was."""
    more = np.maximum(b, 0.0).sum()
    less = -np.minimum(b, 0.0).sum()
    if more == less:
        return b
    up, down = (less / more, 1.0) if more > less else (1.0, more / less)
    return np.where(b > 0, up * b, down * b)
