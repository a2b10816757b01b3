"""Standard streams that may be closed, full, or broken: errors with a name, and no traceback."""

from __future__ import annotations

import errno
import io
import os
import sys

# A closed descriptor is given to the next file that is opened, which would then receive what is
# meant for the stream. It is held by the null device instead, opened the wrong way round for
# streams whose absence should be noticed.
MODES = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_RDWR}


class Stdout(io.FileIO):
    """Standard output, named in errors."""

    def write(self, data: object) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(error.errno, f"cannot be written: {why}", "standard output") from error


def open_standard_streams() -> None:
    """Let every standard stream be there, and errors of standard output say what they are about."""
    for descriptor in MODES:
        _hold(descriptor)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)))
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 (for the whole run)
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    errors = "strict" if sys.stdout is None else sys.stdout.errors
    raw = Stdout(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=raw.isatty()
    )


def close_stdout(code: int) -> int:
    """The exit code, once all output is out: 1 if it cannot be."""
    from maxmargin.cli.console import print_error

    try:
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if not code and not isinstance(error, BrokenPipeError):  # then the reader left by itself
            print_error(error)
        return code or 1
    return code


def _hold(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        opened = os.open(os.devnull, MODES[descriptor])
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)


def _discard_output() -> None:
    """What is still buffered goes nowhere, so that the interpreter can end in silence."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
