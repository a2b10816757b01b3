"""Progress on stderr: one line that rewrites itself, and nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from maxmargin.cli.console import printable, tell

if TYPE_CHECKING:
    from maxmargin.problem import Progress

BETWEEN_UPDATES = 0.1  # seconds: a line that changes faster cannot be read


class Messages:
    """Progress and summaries on stderr: the line that changes only where someone watches."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.watched = not quiet and sys.stderr.isatty()
        self._last = 0.0
        self._shown = False

    def say(self, message: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self.clear()
            tell(printable(message) + "\n")

    def now(self, message: str) -> None:
        """A line that the next one replaces."""
        if self.watched:
            tell(f"\r\x1b[K{printable(message)}")
            self._shown = True

    def clear(self) -> None:
        """Remove the line that changes."""
        if self._shown:
            tell("\r\x1b[K")
            self._shown = False

    def callback(self) -> Callable[[Progress], None] | None:
        """What a solver should call, if anyone watches."""
        return self.progress if self.watched else None

    def progress(self, progress: Progress) -> None:
        """The gap falling."""
        moment = time.monotonic()
        if moment - self._last >= BETWEEN_UPDATES:
            self._last = moment
            self.now(
                f"iteration {progress.iteration}  objective {progress.primal:.6g}  "
                f"relative gap {progress.relative_gap:.1e}  {progress.seconds:.1f} s"
                f"{getattr(progress, 'note', '')}"
            )
