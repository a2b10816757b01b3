"""What a callback sees of a run on a stream."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.problem import Progress


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
        return f"  {self.rows_per_second:.3g} rows/s, {self.cache_hit_rate:.0%} from the cache"
