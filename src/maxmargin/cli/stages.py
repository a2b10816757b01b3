"""What a line of progress says of each stage of a command: a share, a rate, the time left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from maxmargin.problem import percent, written_out
from maxmargin.training.verbose import share_of_gap

if TYPE_CHECKING:
    from maxmargin.problem import Progress
    from maxmargin.training.search import SearchProgress

BAR = 16  # characters
LEAST_SECONDS, LEAST_SHARE = 0.5, 0.01  # before which the time left is anybody's guess


class Stage:
    """Work under way. `share` is how much of it is done, None where nobody knows."""

    def __init__(self, what: str) -> None:
        self.what, self._start = what, time.monotonic()

    def begin(self) -> None:
        """Seconds count from here."""
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def share(self) -> float | None:
        return None

    def details(self) -> list[str]:
        return []

    def text(self) -> str:
        """One line."""
        share, seconds = self.share(), self.seconds
        if share is None:
            return "  ".join([self.what, *self.details(), duration(seconds)])
        share = min(max(share, 0.0), 1.0)
        left = []
        if share >= LEAST_SHARE and seconds > LEAST_SECONDS:
            left = [f"{duration(seconds / share * (1 - share))} left"]
        return "  ".join([self.what, f"{share:4.0%} {bar(share)}", *self.details(), *left])


class Reading(Stage):
    """A file being read, by the bytes that the system says this process has read.

    Where a file is read several times nobody knows how often: passes are counted.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"reading {os.path.basename(path)}")
        self.size = os.path.getsize(path) if os.path.isfile(path) else 0
        self._before = bytes_read()
        self._encoding: Counting | None = None

    def begin(self) -> None:
        super().begin()
        self._before = bytes_read()

    def see(self, what: str, share: float) -> None:
        """What `data.open` tells: the reading begins, or columns become numbers."""
        if what == "reading":
            self.begin()
            return
        if self._encoding is None:
            self._encoding = Counting(self.what.replace("reading", "encoding", 1), 1)
        self._encoding.done = share

    def share(self) -> float | None:
        now = bytes_read()
        if not self.size or now is None or self._before is None:
            return None
        passes = (now - self._before) / self.size
        return passes if passes <= 1.05 else None  # and a little that is no part of the file

    def details(self) -> list[str]:
        now = bytes_read()
        if now is None or self._before is None:
            return []
        return [f"{(now - self._before) / max(self.seconds, 1e-3) / 1e6:.0f} MB/s"]

    def text(self) -> str:
        if self._encoding is not None:
            return self._encoding.text()
        if (self.share() or 0) >= 1:  # of a file read at once the work only begins
            return f"{self.what.replace('reading', 'parsing', 1)}  {duration(self.seconds)}"
        return super().text()


class Counting(Stage):
    """So many of so many."""

    def __init__(self, what: str, total: float, unit: str = "") -> None:
        super().__init__(what)
        self.total, self.unit, self.done, self.more = total, unit, 0.0, ""

    def share(self) -> float | None:
        return self.done / self.total if self.total else None

    def count(self, source: Any) -> None:
        """Count the rows of a source as they are read."""
        self.total = source.n
        count_rows(source, lambda rows: setattr(self, "done", rows))

    def details(self) -> list[str]:
        rate = self.done / max(self.seconds, 1e-3)
        told = [f"{written_out(rate)} {self.unit}/s"] if self.unit else []
        return told + ([self.more] if self.more else [])


class Fitting(Stage):
    """The gap of each problem falling to the tolerance: shares are of its logarithm."""

    def __init__(self, tol: float, max_time: float | None = None) -> None:
        super().__init__("fitting")
        self._pass = self._rows = self._of_rows = 0  # of rows that stay on disk
        self.tol, self.max_time = tol, max_time
        self.where = ""  # "fold 3 of 5, C = 1" of a search
        self.before, self.total = 0, 1  # fits done, and fits in all
        self._last: Progress | None = None
        self._shares: dict[int, float] = {}

    def tried(self, progress: SearchProgress) -> None:
        """Another fit of a search begins."""
        self.where, self.before, self.total = str(progress), progress.done, progress.total
        self._shares = {}

    def count(self, source: Any) -> None:
        """Count passes over a source, and the rows of each."""
        self._of_rows = source.n
        count_rows(source, self._count)

    def _count(self, rows: int) -> None:
        self._pass, self._rows = self._pass + (rows == 0), rows

    def see(self, progress: Progress) -> None:
        """What the solver tells."""
        self._last = progress
        self._shares[progress.problem] = share_of_gap(progress.relative_gap, self.tol)

    def share(self) -> float | None:
        if self._last is None and self.total == 1:
            return None
        fit = 0.0
        if self._last is not None and self._shares:
            fit = sum(self._shares.values()) / max(self._last.problems, len(self._shares))
        known = (self.before + fit) / self.total
        if self.max_time is not None and self.total == 1:
            known = max(known, self.seconds / self.max_time)  # whichever ends it first
        return known

    def details(self) -> list[str]:
        told = [self.where] if self.where else []
        if self._pass:
            told.append(f"pass {self._pass}: {self._rows / max(self._of_rows, 1):.0%}")
        last = self._last
        if last is None:
            return told
        if last.problems > 1:
            solved = sum(share == 1 for share in self._shares.values())
            told.append(f"{solved} of {last.problems} classes")
        told.append(f"iteration {last.iteration}")
        told.append(f"gap {percent(last.relative_gap)}")
        return told + [note for note in (getattr(last, "note", "").strip(),) if note]


class Tried(Counting):
    """Cells, or folds of a grid, as they are done."""

    def __init__(self, what: str, unit: str) -> None:
        super().__init__(what, 0)
        self.one = unit

    def see(self, progress: Any) -> None:
        """What a search tells; the steps of single fits are left out."""
        if not hasattr(progress, "done"):
            return
        self.done, self.total = progress.done, progress.total
        self.more = f"{progress.done} of {progress.total} {self.one}"
        if getattr(progress, "best_error", None) is not None:
            self.more += (
                f"  best {progress.best_error:.2%} (C {progress.best_C:.3g}, "
                f"gamma {progress.best_gamma:.3g})"
            )

    tried = see


def count_rows(source: Any, tell: Callable[[int], object]) -> None:
    """Let a source tell how many rows of a pass have been read, from 0."""
    blocks = source.blocks

    def counted() -> Iterator[Any]:
        rows = 0
        tell(rows)
        for block in blocks():
            rows += block.n
            tell(rows)
            yield block

    source.blocks = counted


def bar(share: float) -> str:
    """A share as a row of blocks, or of what the terminal can show."""
    done, open_ = "█░" if "utf" in (sys.stderr.encoding or "").lower() else "#."
    full = round(share * BAR)
    return done * full + open_ * (BAR - full)


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def bytes_read() -> int | None:
    """Bytes this process has read so far; None where the system does not say."""
    try:
        with open("/proc/self/io", "rb", buffering=0) as file:
            return int(file.read(40).split()[1])
    except (OSError, ValueError, IndexError):
        return None
