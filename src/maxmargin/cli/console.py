"""What the commands say: data and results to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from typing import NoReturn

import typer

# Control characters but line ends and tabs, and halves of characters, by what stands for them:
# labels and file names may hold sequences that a terminal obeys.
_VISIBLE = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
} | {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}


NOT_LOADED = "failed to map segment"  # as the loader of libraries says that memory is short


def printable(text: str) -> str:
    """Text that cannot command a terminal."""
    return text.translate(_VISIBLE)


def fail(error: object) -> NoReturn:
    """One sentence on stderr, and exit code 1."""
    print_error(error)
    raise typer.Exit(1)


def print_error(error: object) -> None:
    """One sentence on stderr about what went wrong."""
    if isinstance(error, OSError) and error.strerror:
        error = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, MemoryError) or NOT_LOADED in str(error):
        why = f" ({error})" if str(error) else ""
        error = (
            f"there is not enough memory for this{why}: use fewer rows, read them piece by piece "
            "(--from-disk, --kind stream), or take a machine with more"
        )
    else:
        from maxmargin.cli.wording import for_shell

        error = for_shell(str(error))
    tell(f"{_line_start()}maxmargin: {printable(' '.join(str(error).split()))}\n")


def warn(message: str) -> None:
    """Something the user should know though the command succeeds."""
    from maxmargin.cli.wording import for_shell

    tell(f"{_line_start()}maxmargin: warning: {printable(for_shell(message))}\n")


def tell(text: str) -> None:
    """Text to stderr. A message that nobody can read is no reason to fail."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _line_start() -> str:
    """What removes a progress line that may be there."""
    return "\r\x1b[K" if sys.stderr.isatty() else ""


# JSON leaves these as they are, and terminals obey them; halves of characters are no UTF-8.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0xD800, 0xE000))}


def json_line(value: object) -> str:
    """One line of JSON for machines; numbers that JSON lacks become null."""
    text = json.dumps(_finite(value), allow_nan=False, ensure_ascii=False)
    return text.translate(_JSON_ESCAPES) + "\n"


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
        table.add_column(
            printable(column), justify="left" if position == 0 else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*map(printable, row))
    console = Console(file=sys.stdout, markup=False, highlight=False)
    console.print(printable(title), soft_wrap=True)
    console.print(table)


def print_facts(title: str, facts: dict[str, str]) -> None:
    """A title and names with their values on stdout."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(printable(name), printable(value))
    console = Console(file=sys.stdout, markup=False, highlight=False)
    console.print(printable(title), soft_wrap=True)
    console.print(table)
