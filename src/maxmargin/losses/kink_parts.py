"""The exact line search of piecewise linear losses where rows lie in parts that never meet.

    minimise over k >= 0    G(k)  = k^2 A0 / 2 + k B0 + R(p + k dp)

G' is a line that rises at kinks, where the residual of a row passes a kink of its loss.

Each part tells its slope at the low end of a bracket, and how G' rises between some edges of its
own choice (`Summary`), at first around the root of its own share of the problem. Between its edges
a part's rise is known up to one bin, so the sum over parts is known to lie in a band: the root lies
where the band meets zero. That is the next bracket. Once the kinks in the bracket are so few that
the parts list them all, the root is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxmargin import _core
from maxmargin.losses.pointwise import Pointwise

# Edges of one part in one round. The more there are the fewer the rounds; the driver should not
# have more than some ALL_EDGES to look at.
LEAST_EDGES, MOST_EDGES = 64, 2048
ALL_EDGES = 32_768


def edges_of_each(parts: int) -> int:
    """How many edges each of so many parts may tell of."""
    return min(max(ALL_EDGES // parts, LEAST_EDGES), MOST_EDGES)


@dataclass(frozen=True)
class Summary:
    """What one part tells about the line in (start, end].

    Parameters
    ----------
    start, end : float
        Within the bracket asked for; narrower only at first, when the whole line is.
    slope, value : float
        The part's loss just after `start` is the line ``value + k slope``.
    count : int
        Kinks in (start, end].
    complete : bool
        Whether every kink is one of the edges.
    edges, rises : arrays
        ``rises[j]`` sums the rises of G' at the kinks in ``(edges[j - 1], edges[j]]``.
    """

    start: float
    end: float
    slope: float
    value: float
    count: int
    complete: bool
    edges: np.ndarray
    rises: np.ndarray


class PartLine:
    """The line as one part sees it. `share` is this part's of A0 and B0: where to look first."""

    def __init__(
        self,
        loss: Pointwise,
        p: np.ndarray,
        dp: np.ndarray,
        share: tuple[float, float],
    ) -> None:
        self._loss, self._line = loss, (p, dp)
        self._kinks = self._list(*loss.core.sampled_bracket(p, dp, *share))

    def _list(self, low: float, high: float) -> _core.KinkList:
        return self._loss.core.list_kinks(*self._line, low, high, self._loss.pool)

    def summary(self, low: float, high: float, most: int) -> Summary:
        """The kinks in (low, high], by `most` edges at the most."""
        kinks = self._kinks
        if (low, high) != (0.0, math.inf):
            if kinks.low <= low and high <= kinks.high:
                kinks = kinks.within(low, high)  # no look at the rows
            else:
                kinks = self._list(low, high)
        edges, rises, complete = kinks.summarise(most)
        return Summary(
            kinks.low,
            kinks.high,
            kinks.slope,
            kinks.value,
            len(kinks),
            complete,
            np.array(edges),
            np.array(rises),
        )


Ask = Callable[[float, float], Sequence[Summary]]


def search(ask: Ask, A0: float, B0: float) -> tuple[float, float]:
    """``k = argmin G`` and the loss there; `ask` gives the parts' summaries of a bracket."""
    low, high, before = 0.0, math.inf, math.inf
    while True:
        line = _Line(ask(low, high), A0, B0)
        whole = line.covers(low, high)
        if whole and line.slope + low * A0 >= 0:
            return low, line.loss(low)
        if whole and line.complete:
            k = line.root(low, high)
            return k, line.loss(k)
        narrow = line.narrowed(low, high)
        if narrow == (low, high) or (whole and line.count > 0.5 * before):
            narrow = line.halved(low, high, ask)  # parts unlike each other
        (low, high), before = narrow, line.count if whole else math.inf


class _Line:
    """G' within a bracket, from the summaries of all parts added in their order."""

    def __init__(self, summaries: Sequence[Summary], A0: float, B0: float) -> None:
        self.summaries, self.A0, self.B0 = summaries, A0, B0
        self.active = sum(summary.slope for summary in summaries)
        self.slope = B0 + self.active
        self.value = sum(summary.value for summary in summaries)
        self.count = sum(summary.count for summary in summaries)
        self.complete = all(summary.complete for summary in summaries)
        edges = np.concatenate([summary.edges for summary in summaries])
        rises = np.concatenate([summary.rises for summary in summaries])
        order = np.argsort(edges, kind="stable")
        self.edges, self.rises = edges[order], rises[order]

    def covers(self, low: float, high: float) -> bool:
        """Whether every part told of the whole bracket."""
        return all((summary.start, summary.end) == (low, high) for summary in self.summaries)

    def narrowed(self, low: float, high: float) -> tuple[float, float]:
        """The part of the bracket where G' may change its sign."""
        limits = {bound for s in self.summaries for bound in (s.start, s.end)} - {math.inf}
        at = np.union1d(self.edges, sorted(limits))
        least, most = self.bounds(at)
        negative, positive = at[most < 0], at[least >= 0]
        return (
            max(low, float(negative[-1])) if len(negative) else low,
            min(high, float(positive[0])) if len(positive) else high,
        )

    def bounds(self, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What G' just after k is at least, and at most: a bin of a part has risen by k if its
        upper edge is not above k, and may have if its lower edge is below."""
        rigid = self.slope + k * self.A0
        least = rigid + _sums_up_to(self.edges, self.rises, k, "right")
        lower = np.concatenate([np.append(s.start, s.edges)[:-1] for s in self.summaries])
        rises = np.concatenate([s.rises for s in self.summaries])
        order = np.argsort(lower, kind="stable")
        most = rigid + _sums_up_to(lower[order], rises[order], k, "left")
        least[k < max(s.start for s in self.summaries)] = -np.inf
        most[k > min(s.end for s in self.summaries)] = np.inf
        return least, most

    def halved(self, low: float, high: float, ask: Ask) -> tuple[float, float]:
        """One half of the bracket, by the slope at the median of what parts know."""
        inside = self.edges[(low < self.edges) & (self.edges < high)]
        if len(inside):
            middle = float(inside[len(inside) // 2])
        else:
            middle = 0.5 * (low + high) if math.isfinite(high) else 2.0 * max(low, 1.0)
        if not low < middle < high:  # no number lies between
            return high, high
        slope = _Line(ask(middle, high), self.A0, self.B0).slope + middle * self.A0
        return (middle, high) if slope < 0 else (low, middle)

    def root(self, low: float, high: float) -> float:
        """Where G' changes its sign, all kinks being known."""
        after = self.slope + np.cumsum(self.rises)
        before = np.concatenate(([self.slope], after[:-1]))
        j = int(np.argmax(after + self.edges * self.A0 >= 0)) if len(after) else 0
        if not len(after) or after[j] + self.edges[j] * self.A0 < 0:  # beyond the last kink
            slope = after[-1] if len(after) else self.slope
            last = self.edges[-1] if len(after) else low
            return min(max(-slope / self.A0, last), high) if self.A0 > 0 else float(last)
        if before[j] + self.edges[j] * self.A0 < 0:
            return float(self.edges[j])
        first = self.edges[j - 1] if j else low
        return float(np.clip(-before[j] / self.A0, first, self.edges[j]))

    def loss(self, k: float) -> float:
        """R at k: every kink passed adds its rise."""
        passed = self.edges < k
        rest = float(np.sum(self.rises[passed] * (k - self.edges[passed])))
        return self.value + k * self.active + rest


def _sums_up_to(
    at: np.ndarray, values: np.ndarray, k: np.ndarray, side: Literal["left", "right"]
) -> np.ndarray:
    """For every k the sum of the values before it; `at` rises."""
    return np.append(0.0, np.cumsum(values))[np.searchsorted(at, k, side)]
