"""Checkpoints of the cached loops: all dual variables, w and the best point, in one file.

    line 1    maxmargin checkpoint 1
    line 2    JSON: identity (source and problem), counters, and each array's type, shape, CRC-32
    then      the arrays, one after the other

A file is replaced as a whole or not at all. It belongs to one source and one problem: both are
compared before anything is used.
"""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.errors import DataError
from maxmargin.data.files import write_atomically
from maxmargin.problem import Clock
from maxmargin.solvers.cached_loops import State

MAGIC = b"maxmargin checkpoint 1\n"
MOST_HEADER = 1 << 24
PIECE = 1 << 22  # bytes written or read at a time
SHARE = 0.1  # of the time goes to writing checkpoints, at most


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written: training goes on, and the last one stays."""


class Checkpoints:
    """Writes the state of a run to `path` every so many seconds."""

    def __init__(self, path: str | os.PathLike, every: float, identity: dict[str, Any]) -> None:
        self.path, self.every, self.identity = path, every, identity
        self._clock, self._next = Clock(), every

    def __call__(self, state: State) -> None:
        """Between two blocks: writes if it is time to."""
        if self._clock() >= self._next:
            self.write(state)

    def write(self, state: State) -> None:
        """Now. Where that fails, a warning says so and the last checkpoint stays."""
        began = self._clock()
        try:
            write(self.path, state, self.identity)
        except (OSError, DataError) as error:
            warnings.warn(
                f"no checkpoint was written ({error}); the last one stays and training goes on",
                CheckpointWarning,
                stacklevel=2,
            )
        now = self._clock()
        self._next = now + max(self.every, (now - began) / SHARE)


def write(path: str | os.PathLike, state: State, identity: dict[str, Any]) -> None:
    """The state as one file."""
    arrays = _arrays(state)
    header = {
        "identity": identity,
        "P": state.P,
        "passes": state.passes,
        "steps": state.steps,
        "largest": state.largest,
        "arrays": [[str(a.dtype), len(a), _checksum(a)] for a in arrays],
    }
    with write_atomically(path) as file:
        file.write(MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n")
        for array in arrays:
            for piece in _pieces(array):
                file.write(piece)


def resume(path: str | os.PathLike, state: State, identity: dict[str, Any]) -> bool:
    """Fills a fresh state from a checkpoint; False if there is none.

    Raises
    ------
    DataError
        The file is no checkpoint, is damaged, or belongs to another source or problem.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return False
    with file:
        name = os.fspath(path)
        if file.readline(len(MAGIC)) != MAGIC:
            raise DataError(f"{name}: is no checkpoint; name another file for checkpoints")
        try:
            header = json.loads(file.readline(MOST_HEADER))
            _check_identity(name, header["identity"], identity)
            arrays = _arrays(state)
            wanted = [[str(a.dtype), len(a)] for a in arrays]
            if [entry[:2] for entry in header["arrays"]] != wanted:
                raise ValueError("its arrays have other sizes")
            for array, entry in zip(arrays, header["arrays"]):
                for piece in _pieces(array):
                    if file.readinto(piece) != len(piece):
                        raise ValueError("it ends too early")
                if _checksum(array) != entry[2]:
                    raise ValueError("a checksum is wrong")
            state.P = [float(value) for value in header["P"]]
            state.passes, state.steps = int(header["passes"]), int(header["steps"])
            state.largest = float(header["largest"])
        except DataError:
            raise
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(
                f"{name}: the checkpoint is damaged ({error}); delete it to start anew"
            ) from error
    return True


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
    return [*state.alpha, *state.w, *state.best]


def _pieces(array: np.ndarray) -> Iterator[memoryview]:
    view = array.data.cast("B")
    for begin in range(0, len(view), PIECE):
        yield view[begin : begin + PIECE]


def _checksum(array: np.ndarray) -> int:
    value = 0
    for piece in _pieces(array):
        value = zlib.crc32(piece, value)
    return value
