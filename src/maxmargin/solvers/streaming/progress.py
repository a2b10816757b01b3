"""What a callback sees of a run on a stream."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from maxmargin.problem import Progress, written_out


@dataclass(frozen=True)
class StreamProgress(Progress):
    """One moment of a run of the cached loops.

    `iteration` counts passes over the rows. `primal` and `dual` are those of the best gap checks so
    far.
    """

    rows_per_second: float = 0.0  # visits, wherever the rows came from
    cache_hit_rate: float = 0.0  # share of the visits that found their row in the cache
    cached: int = 0  # rows in the cache

    @property
    def note(self) -> str:
        """What a line of progress says besides."""
        rate = written_out(self.rows_per_second)
        return f"  {rate} rows/s, {self.cache_hit_rate:.0%} from the cache"


MANY_PASSES = 200  # before slow progress is called so
STILL = 0.8  # of the gap left after twice the passes: a thousandth of it is out of reach
LARGE = 0.1  # relative gaps below that may rest for a while, and fall again


class SlowProgress(UserWarning):
    """The gap hardly falls: another solver would do better."""


def hardly_falls(history: Sequence[Progress]) -> bool:
    """Whether half of many passes did little to the gap. Counts decide, so that runs repeat."""
    passes = history[-1].iteration if history else 0
    if passes < MANY_PASSES:
        return False
    half = bisect_right(history, passes // 2, key=lambda moment: moment.iteration)
    before = history[half - 1].relative_gap if half > 0 else math.inf
    return history[-1].relative_gap > max(STILL * before, LARGE)
