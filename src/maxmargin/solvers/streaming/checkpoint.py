"""Checkpoints of the cached loops: all dual shares and the best point, in one file.

    line 1    maxmargin checkpoint 3
    line 2    CRC-32C of line 3, in hexadecimal
    line 3    JSON: identity (source and problem), passes, rows seen and their checksum, and each
              array's type, length and CRC-32C
    then      the arrays, one after the other, and nothing after them

A file is replaced as a whole or not at all. It belongs to one source and one problem: both are
compared before anything is used, and the rows themselves in the first pass after that. It holds no
bounds: a run that goes on sums w afresh and finds P and D in its first pass.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from maxmargin import _core
from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.errors import DataError
from maxmargin.data.stream.fingerprints import as_bytes
from maxmargin.problem import Clock
from maxmargin.solvers.streaming.state import State

NAME = b"maxmargin checkpoint "
MAGIC = NAME + b"3\n"
MOST_HEADER = 1 << 24
PIECE = 1 << 22  # bytes written or read at a time
SHARE = 0.1  # of the time goes to writing checkpoints, at most


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written: training goes on, and the last one stays."""


class RowsSeen(NamedTuple):
    """The first rows of a source, and a checksum of all that is known of them."""

    rows: int
    checksum: int


class Checkpoints:
    """Writes the state of a run to `path` every so many seconds.

    `seen` tells which rows the state may depend on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: float,
        identity: dict[str, Any],
        seen: Callable[[], RowsSeen],
    ) -> None:
        self.path, self.every, self.identity, self.seen = path, every, identity, seen
        self._clock, self._next = Clock(), every

    def __call__(self, state: State) -> None:
        """Between two blocks: writes if it is time to."""
        if self._clock() >= self._next:
            self.write(state)

    def write(self, state: State) -> None:
        """Now. Where that fails, a warning says so and the last checkpoint stays."""
        began = self._clock()
        try:
            write(self.path, state, self.identity, self.seen())
        except (OSError, DataError) as error:
            warnings.warn(
                f"no checkpoint was written ({error}); the last one stays and training goes on",
                CheckpointWarning,
                stacklevel=2,
            )
        now = self._clock()
        self._next = now + max(self.every, (now - began) / SHARE)


def write(
    path: str | os.PathLike[str], state: State, identity: dict[str, Any], seen: RowsSeen
) -> None:
    """The state as one file."""
    arrays = _arrays(state)
    header = {
        "identity": identity,
        "passes": state.passes,
        "seen": list(seen),
        "arrays": [[str(a.dtype), len(a), _checksum(a)] for a in arrays],
    }
    text = json.dumps(header, allow_nan=False).encode()
    with write_atomically(path) as file:
        file.write(MAGIC + b"%08x\n" % _core.crc32c(as_bytes(text)) + text + b"\n")
        for array in arrays:
            for piece in _pieces(array):
                file.write(piece)


def resume(path: str | os.PathLike[str], state: State, identity: dict[str, Any]) -> RowsSeen | None:
    """Fills a fresh state from a checkpoint; None if there is none.

    The rows it was made with are still to be compared with those it is used for.

    Raises
    ------
    DataError
        The file is no checkpoint, is damaged, or belongs to another source or problem.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return _read(name, file, state, identity)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(
            f"{name}: the checkpoint cannot be read ({error.strerror or error}); make it readable, "
            "delete it to start anew, or name another file"
        ) from error


def passes_in(path: str | os.PathLike[str]) -> int | None:
    """The passes that a checkpoint has behind it; None where there is none, or no sound one."""
    try:
        with open(path, "rb") as file:
            return int(_read_header(file)["passes"]) if file.readline(len(MAGIC)) == MAGIC else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _read(name: str, file: IO[bytes], state: State, identity: dict[str, Any]) -> RowsSeen:
    magic = file.readline(len(MAGIC))
    if magic != MAGIC and magic.startswith(NAME):
        raise DataError(
            f"{name}: the checkpoint was written by another version of maxmargin; delete it to "
            "start anew, or name another file"
        )
    if magic != MAGIC:
        raise DataError(f"{name}: is no checkpoint; name another file for checkpoints")
    try:
        header = _read_header(file)
        _check_identity(name, header["identity"], identity)
        _read_arrays(file, _arrays(state), header["arrays"])
        state.passes, seen = header["passes"], RowsSeen(*header["seen"])
        if not all(type(count) is int and count >= 0 for count in (state.passes, *seen)):
            raise ValueError("its counts make no sense")
        if not all(np.isfinite(best).all() for best in state.best):
            raise ValueError("its point is not finite")
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise DataError(
            f"{name}: the checkpoint is damaged ({error}); delete it to start anew"
        ) from error
    state.P = [math.inf] * len(state.P)
    return seen


def _read_header(file: IO[bytes]) -> dict[str, Any]:
    checksum = file.readline(16)
    text = file.readline(MOST_HEADER)
    if checksum != b"%08x\n" % _core.crc32c(as_bytes(text[:-1])) or text[-1:] != b"\n":
        raise ValueError("the checksum of its header is wrong")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("its header makes no sense")
    return header


def _read_arrays(file: IO[bytes], arrays: list[np.ndarray], entries: Any) -> None:
    wanted = [[str(a.dtype), len(a)] for a in arrays]
    if [entry[:2] for entry in entries] != wanted:
        raise ValueError("its arrays have other sizes")
    for array, entry in zip(arrays, entries):
        for piece in _pieces(array):
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise ValueError("it ends too early")
        if _checksum(array) != entry[2]:
            raise ValueError("a checksum is wrong")
    if file.read(1):
        raise ValueError("something follows its end")


def _check_identity(name: str, found: Any, wanted: dict[str, Any]) -> None:
    plain = json.loads(json.dumps(wanted))
    if found == plain:
        return
    keys = sorted(plain) if isinstance(found, dict) else []
    different = [key for key in keys if found.get(key) != plain[key]] or ["everything"]
    shown = "; ".join(
        f"{key} was {found.get(key) if isinstance(found, dict) else None!r}, is {plain.get(key)!r}"
        for key in different
    )
    raise DataError(
        f"{name}: the checkpoint belongs to another run ({shown}); delete it, or name another file"
    )


def _arrays(state: State) -> list[np.ndarray]:
    return [*state.shares, *state.best]


def _pieces(array: np.ndarray) -> Iterator[memoryview]:
    view = array.data.cast("B")
    for begin in range(0, len(view), PIECE):
        yield view[begin : begin + PIECE]


def _checksum(array: np.ndarray) -> int:
    value = 0
    for piece in _pieces(array):
        value = _core.crc32c(as_bytes(piece), value)
    return value
