"""How a file is known again, and how a change to it is noticed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin import _core
from maxmargin.data.errors import DataError

_SAMPLES = 33
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class State:
    """What the system says about a file without reading it."""

    size: int
    modified: int
    inode: int


class WatchedFile:
    """A file as it was when it was opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.state = self._look()

    def _look(self) -> State:
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise DataError(
                f"{self.path}: cannot be read: {error.strerror or error}; expected a file"
            ) from error
        return State(found.st_size, found.st_mtime_ns, found.st_ino)

    def check_unchanged(self) -> None:
        """Raise `DataError` if the file is no longer what it was."""
        state = self._look()
        if state != self.state:
            if state.size != self.state.size:
                found = f"it has {state.size} bytes, and had {self.state.size}"
            else:
                found = "it was written to or replaced"
            raise DataError(
                f"{self.path}: changed while it was in use: {found}; expected the same file until "
                "the end; open it again"
            )

    @cached_property
    def fingerprint(self) -> str:
        """Its size and a checksum of samples spread over it: the same for a copy elsewhere."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                checksum = sampled_checksum(file.fileno(), self.state.size)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        return f"{self.state.size:x}-{checksum:08x}"


def sampled_checksum(descriptor: int, size: int) -> int:
    """CRC-32C of up to 33 samples of 64 KB, the first and the last bytes among them."""
    last = max(size - _SAMPLE_BYTES, 0)
    starts = sorted({last * k // (_SAMPLES - 1) for k in range(_SAMPLES)})
    checksum = 0
    for start in starts:
        checksum = _core.crc32c(as_bytes(os.pread(descriptor, _SAMPLE_BYTES, start)), checksum)
    return checksum


def as_bytes(data: bytes | bytearray | memoryview) -> np.ndarray:
    """Bytes as the core takes them, without a copy."""
    return np.frombuffer(data, np.uint8)


def joint_fingerprint(parts: list[str]) -> str:
    """One for several."""
    if len(parts) == 1:
        return parts[0]
    return f"{len(parts)}x{_core.crc32c(as_bytes(' '.join(parts).encode())):08x}"
