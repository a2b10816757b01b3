"""Line search for losses that can only be evaluated.

    minimise over k >= 0    G(k) = k^2 A0 / 2 + k B0 + R(p + k dp)
    slope                   g(k) = k A0 + B0 + <s(k), dp>,       s(k) a subgradient of R at p + k dp

G is convex, so two points with slopes of opposite signs bracket the minimum, and the tangents there
bound it from below. One evaluation of R gives a value and a slope; nothing touches the data.

    low, high   points with g < 0 and g >= 0 that bracket the minimum
    cubic       minimiser of the cubic through values and slopes of both: fast where G is smooth
    crossing    where their tangents meet: exact where G has a kink, and a bound on what is left
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss

# The search ends when what is left to gain is surely (by the tangents) or likely (by the slopes)
# below this share of what was gained. A plane is added next to the point found in any case, and a
# more exact step costs more evaluations than it saves iterations.
SHARE_LEFT = 0.05
MAX_EVALUATIONS = 30


@dataclass
class SearchPoint:
    """A point on the line: value and slope of G there, and the loss."""

    k: float
    G: float
    g: float
    R: float


@dataclass
class TrialPoint(SearchPoint):
    """A point with the predictions there, and a subgradient."""

    p: np.ndarray
    subgrad: np.ndarray


PointT = TypeVar("PointT", bound=SearchPoint)


class Line(Protocol):
    """G along one direction, by evaluation."""

    A0: float

    def __call__(self, k: float) -> Any:
        """The `SearchPoint` at k."""


class SearchedLoss(Loss, ABC):
    """A loss that is searched along a line by evaluating it.

    The search remembers the loss where it ended: the next one starts there. No plane is made there:
    at a kink it would tell one side only, and the search ends at kinks. Where there are many
    rows a search over a sample of them says where to look first; what is returned is exact.
    """

    pool: _core.Pool

    def __init__(self) -> None:
        self._end: tuple[np.ndarray, float, np.ndarray] | None = None
        self._step = 1.0
        self._sampled: tuple[np.ndarray | slice, SearchedLoss] | None = None

    def use_sample(self, rows: np.ndarray | slice, loss: SearchedLoss) -> None:
        """`loss` is that of the sampled `rows`, scaled to stand for all."""
        self._sampled = rows, loss

    @abstractmethod
    def evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """``R(p)`` and a subgradient ``dR/dp``."""

    def value(self, p: np.ndarray) -> float:
        """``R(p)``, which is never negative but for rounding."""
        return max(self.evaluate(p)[0], 0.0)

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        """``k = argmin_{k >= 0} k^2 A0 / 2 + k B0 + R(p + k dp)``, and ``R(p + k dp)``."""
        line = _Line(self, p, dp, A0, B0)
        start = self._start(line)
        best = minimise(line, start, self._first_step(line, start))
        if best.k > 0:
            self._step = best.k
        self._end = (best.p, best.R, best.subgrad)
        return best.k, best.R

    def _start(self, line: _Line) -> TrialPoint:
        if self._end is not None and np.array_equal(self._end[0], line.p):
            return line.point(0.0, *self._end)
        return line.point(0.0, line.p, *self.evaluate(line.p))

    def _first_step(self, line: _Line, start: TrialPoint) -> float:
        """Where to look first: the minimum for the sampled rows, or the last step."""
        if self._sampled is None or not start.g < 0:
            return self._step
        rows, loss = self._sampled
        some = _Line(
            loss,
            np.ascontiguousarray(line.p[rows]),
            np.ascontiguousarray(line.dp[rows]),
            line.A0,
            0.0,
        )
        # A sample knows how G bends far better than how it slopes, and the slope is known.
        some.B0 = start.g - loss._start(some).g
        return minimise(some, loss._start(some), self._step).k or self._step


class _Line:
    """G along one direction."""

    def __init__(self, loss: SearchedLoss, p: np.ndarray, dp: np.ndarray, A0: float, B0: float):
        self.loss, self.p, self.dp, self.A0, self.B0 = loss, p, dp, A0, B0

    def __call__(self, k: float) -> TrialPoint:
        q = np.empty(self.loss.n)
        _core.axpby(1.0, self.p, k, self.dp, q, self.loss.pool)
        return self.point(k, q, *self.loss.evaluate(q))

    def point(self, k: float, p: np.ndarray, R: float, subgrad: np.ndarray) -> TrialPoint:
        slope = _core.inner(subgrad, self.dp, self.loss.pool)
        G = 0.5 * k * k * self.A0 + k * self.B0 + R
        return TrialPoint(k, G, k * self.A0 + self.B0 + slope, R, p, subgrad)


def minimise(line: Line, start: PointT, first: float) -> PointT:
    """The best point found; `start` itself (k = 0) where G does not fall."""
    if not start.g < 0:
        return start
    low, high, best = start, None, start
    # G' grows at least as fast as A0 k, so the minimum lies before `most`.
    most = -start.g / line.A0 if line.A0 > 0 else math.inf
    k, width = min(first, most), math.inf
    for evaluation in range(MAX_EVALUATIONS):
        point = line(k)
        if point.G < best.G:
            best = point
        before, (low, high) = low, (point, high) if point.g < 0 else (low, point)
        if _good_enough(line.A0, start, low, high, best):
            break
        if high is None:
            k = min(_beyond(before, low), most)
            if k <= low.k:
                break
            continue
        halved, width = high.k - low.k <= 0.5 * width, high.k - low.k
        k = _cubic(low, high) if halved or evaluation % 2 else _crossing(low, high)
        # Stay off the ends: a point too close to one would tell nothing new.
        k = min(max(k, low.k + 0.02 * width), high.k - 0.02 * width)
        if not low.k < k < high.k:
            break
    return best


def _good_enough(
    A0: float, start: SearchPoint, low: SearchPoint, high: SearchPoint | None, best: SearchPoint
) -> bool:
    gained = start.G - best.G
    if gained <= 0:
        # Nothing can be gained that rounding does not hide.
        return high is not None and -start.g * high.k <= 1e-14 * abs(start.R)
    # Where G has fallen as a parabola with these slopes would, a parabola has (g / g0)^2 left. And
    # surely no more than g^2 / (2 A0) is left, since G' grows at least as fast as A0 k.
    parabola = -0.5 * (start.g + best.g) * best.k
    flat = abs(best.g) <= math.sqrt(SHARE_LEFT) * abs(start.g)  # squares may overflow
    likely = flat and abs(gained - parabola) <= 0.1 * gained
    if likely and best.g * best.g <= A0 * gained:
        return True
    if high is None:
        return False
    x = _crossing(low, high)
    return best.G - (low.G + low.g * (x - low.k)) <= SHARE_LEFT * gained


def _beyond(before: SearchPoint, low: SearchPoint) -> float:
    """A step past `low`, where G still falls: by the secant of the slopes, within reason."""
    bend = low.g - before.g
    step = low.k - before.k
    secant = -low.g / bend * step if bend > 0 else math.inf
    return low.k + min(max(1.2 * secant, 0.5 * step), 9.0 * step)


def _crossing(low: SearchPoint, high: SearchPoint) -> float:
    """Where the tangents at low and high meet."""
    bend = high.g - low.g
    if not bend > 0:
        return 0.5 * (low.k + high.k)
    x = (low.G - high.G + high.g * high.k - low.g * low.k) / bend
    return min(max(x, low.k), high.k)


def _cubic(low: SearchPoint, high: SearchPoint) -> float:
    """Minimiser of the cubic with the values and slopes of both ends."""
    width = high.k - low.k
    d1 = low.g + high.g - 3.0 * (high.G - low.G) / width
    root = d1 * d1 - low.g * high.g
    d2 = math.sqrt(root) if root > 0 else 0.0
    bend = high.g - low.g + 2.0 * d2
    if not bend > 0:
        return 0.5 * (low.k + high.k)
    return high.k - width * (high.g + d2 - d1) / bend


def bracketed_newton(
    slope_and_curvature: Callable[[float], tuple[float, float]], small: float
) -> float:
    """A k > 0 where an increasing function with a negative start is at most `small` from 0."""
    k, low, high = 1.0, 0.0, math.inf
    for _ in range(50):
        slope, curvature = slope_and_curvature(k)
        if abs(slope) <= small:
            break
        low, high = (low, k) if slope > 0 else (k, high)
        guess = k - slope / curvature if curvature > 0 else math.nan  # it may underflow
        if not low < guess < high:
            guess = 0.5 * (low + high) if high < math.inf else 2 * k
        k = guess
    return k
