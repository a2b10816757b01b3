"""Progress on stderr: one line that rewrites itself, and nothing where nobody watches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maxmargin.cli.console import printable, tell

if TYPE_CHECKING:
    from maxmargin.cli.stages import Stage
    from maxmargin.problem import Callback

BETWEEN_UPDATES = 0.1  # seconds: a line that changes faster cannot be read


class Messages:
    """Progress and summaries on stderr: the line that changes only where someone watches."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.watched = not quiet and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._shown = False

    def say(self, message: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self.clear()
            tell(printable(message) + "\n")

    def clear(self) -> None:
        """Remove the line that changes."""
        with self._lock:
            if self._shown:
                tell("\r\x1b[K")
                self._shown = False

    @contextmanager
    def showing(self, stage: Stage) -> Iterator[None]:
        """A line about the stage, until it ends: another thread rewrites it."""
        if not self.watched:
            yield
            return
        stage.begin()
        ended = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(stage, ended), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            ended.set()
            ticker.join()
            self.clear()

    def callback(self, see: Callback) -> Callback | None:
        """What a solver should call: nothing if nobody watches."""
        return see if self.watched else None

    def _tick(self, stage: Stage, ended: threading.Event) -> None:
        while not ended.wait(BETWEEN_UPDATES):
            self._now(stage.text())

    def _now(self, message: str) -> None:
        """A line that the next one replaces: no longer than the terminal is wide."""
        width = terminal_width() - 1
        with self._lock:
            tell(f"\r\x1b[K{printable(message)[:width]}")
            self._shown = True


def terminal_width() -> int:
    """Columns of the terminal that stderr is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
