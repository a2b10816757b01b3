"""What the commands say: data and results to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from maxmargin.problem import Progress

BETWEEN_UPDATES = 0.1  # seconds: a line that changes faster cannot be read


def fail(error: object) -> NoReturn:
    """One sentence on stderr, and exit code 1."""
    if isinstance(error, OSError) and error.strerror:
        error = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        error = f"not enough memory ({error}); use fewer rows or a machine with more"
    sys.stderr.write(f"{_line_start()}maxmargin: {' '.join(str(error).split())}\n")
    raise typer.Exit(1)


def warn(message: str) -> None:
    """Something the user should know though the command succeeds."""
    sys.stderr.write(f"{_line_start()}maxmargin: warning: {message}\n")


def _line_start() -> str:
    """What removes a progress line that may be there."""
    return "\r\x1b[K" if sys.stderr.isatty() else ""


def json_line(value: object) -> str:
    """One line of JSON for machines; numbers that JSON lacks become null."""
    return json.dumps(_finite(value), allow_nan=False, ensure_ascii=False) + "\n"


def print_json(value: object) -> None:
    sys.stdout.write(json_line(value))


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A title and a table on stdout; the first column to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(file=sys.stdout, markup=False, highlight=False)
    console.print(title, soft_wrap=True)
    console.print(table)


def print_facts(title: str, facts: dict[str, str]) -> None:
    """A title and names with their values on stdout."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value)
    console = Console(file=sys.stdout, markup=False, highlight=False)
    console.print(title, soft_wrap=True)
    console.print(table)


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
            sys.stderr.write(message + "\n")

    def now(self, message: str) -> None:
        """A line that the next one replaces."""
        if self.watched:
            sys.stderr.write(f"\r\x1b[K{message}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Remove the line that changes."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
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
