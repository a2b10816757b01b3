"""The bytes of a source, whatever it is: a file, standard input or an open stream."""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import IO, Any

import numpy as np

from maxmargin.data.errors import DataError
from maxmargin.data.formats.compression import CHUNK, Unpacked, compression_of
from maxmargin.data.stream.fingerprints import WatchedFile

Source = str | os.PathLike[str] | IO[bytes]

HEAD = 1 << 18  # bytes that tell a format


class Content:
    """All bytes of a source, unpacked, and the name it goes by in messages.

    A plain file stays where it is and is read, never mapped: a mapped file that is cut short while
    it is in use ends the process. Everything else is in memory.

    Parameters
    ----------
    name : str
    memory : uint8 array, optional
        All bytes. None: those of the file of this name.
    packed : int, optional
        How many bytes they were before they were unpacked.
    """

    def __init__(
        self, name: str, memory: np.ndarray | None = None, packed: int | None = None
    ) -> None:
        self.name, self.memory = name, memory
        self.file = WatchedFile(name) if memory is None else None
        if memory is not None:
            self.size, self.head = len(memory), memory[:HEAD]
        else:
            assert self.file is not None
            self.size = self.file.state.size
            with open(name, "rb") as file:
                self.head = np.frombuffer(file.read(HEAD), np.uint8)
        self.packed = self.size if packed is None else packed

    def as_arrow(self) -> Any:
        """The bytes as pyarrow reads them."""
        import pyarrow as pa

        return pa.OSFile(self.name) if self.memory is None else pa.BufferReader(self.memory)

    def check_unchanged(self) -> None:
        """Raise `DataError` if a file is no longer what it was when it was opened."""
        if self.file is not None:
            self.file.check_unchanged()


def read(source: Source) -> Content:
    """The bytes of a file, of standard input (``-``) or of an open binary file.

    Compression is recognised by the first bytes, whatever the name.
    """
    return with_line_feeds(in_utf8(_read(source)))


def _read(source: Source) -> Content:
    name = source_name(source)
    try:
        if source == "-":
            return _of_stream(sys.stdin.buffer, name)
        if hasattr(source, "read"):
            return _of_stream(source, name)
        with open(source, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _of_stream(file, name)
            if compression_of(file.read(8)) is None:
                return Content(name)
        with Unpacked(source) as packed:
            return _unpacked(packed)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from error


def utf16_of(content: Content) -> str | None:
    """The codec of text in UTF-16: spreadsheets begin "Unicode text" with a mark, others do not."""
    start = content.head[:4].tobytes()
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    letters = bytes(map(bool, start))
    return {b"\1\0\1\0": "utf-16-le", b"\0\1\0\1": "utf-16-be"}.get(letters)


def in_utf8(content: Content) -> Content:
    """Text in UTF-16 in UTF-8; anything else as it is."""
    codec = utf16_of(content)
    if codec is None:
        return content
    try:
        text = _in_memory(content).tobytes().decode(codec)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{content.name}: begins as UTF-16 and is not ({error.reason} at byte {error.start}); "
            "expected UTF-8 or UTF-16; save it as UTF-8"
        ) from error
    return Content(content.name, np.frombuffer(text.encode(), np.uint8), content.packed)


def ends_lines_in_cr(content: Content) -> bool:
    """Whether text ends its lines in a carriage return alone, as some programs on Macs do."""
    there = np.bincount(content.head, minlength=256) > 0
    return bool(there[ord("\r")] and not there[ord("\n")] and not there[0])


def with_line_feeds(content: Content) -> Content:
    """Text that ends its lines in a carriage return with line feeds instead."""
    if not ends_lines_in_cr(content):
        return content
    text = _in_memory(content).tobytes().replace(b"\r", b"\n")
    return Content(content.name, np.frombuffer(text, np.uint8), content.packed)


def _in_memory(content: Content) -> np.ndarray:
    if content.memory is not None:
        return content.memory
    with open(content.name, "rb") as file:
        return _read_all(file)


def source_name(source: Source) -> str:
    """What messages call a source."""
    if source == "-":
        return "standard input"
    if hasattr(source, "read"):
        return str(getattr(source, "name", "stream"))
    return os.fspath(source)


def _of_stream(stream: Any, name: str) -> Content:
    raw = _read_all(stream)
    if compression_of(raw[:8].tobytes()) is None:
        return Content(name, raw)
    with Unpacked(io.BytesIO(raw.data), name) as packed:
        return _unpacked(packed)


def _unpacked(packed: Unpacked) -> Content:
    return Content(packed.name, _read_all(packed), packed.packed_size)


def _read_all(stream: Any) -> np.ndarray:
    """Everything a stream has, in one growing buffer: joining chunks would take the room twice."""
    whole = bytearray()
    while chunk := stream.read(CHUNK):
        if not isinstance(chunk, bytes):
            raise DataError("the stream gives text; expected bytes; open it in binary mode ('rb')")
        whole += chunk
    return np.frombuffer(whole, np.uint8)
