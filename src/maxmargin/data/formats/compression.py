"""Packed bytes: told by how they begin, unpacked as a stream, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from maxmargin.data.errors import DataError
from maxmargin.data.limits import check_unpacked

CHUNK = 1 << 20  # bytes unpacked at a time


class _KeptOpen:
    """A stream that outlives the compressor around it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write
        self.flush = stream.flush
        self.closed = False

    def close(self) -> None:
        self.flush()
        self.closed = True


# pyarrow takes a quarter of a second to import, so only those who use it wait for it.
def _unpack_zstd(stream: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(stream, "zstd")


def _pack_zstd(stream: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedOutputStream(_KeptOpen(stream), "zstd")


@dataclass(frozen=True)
class Compression:
    """One way of packing bytes: how its files begin, how they are named, how they are opened."""

    name: str
    magic: bytes
    suffix: str
    reader: Callable[[IO[bytes]], Any]
    writer: Callable[[IO[bytes]], Any]


COMPRESSIONS = (
    Compression(
        "gzip",
        b"\x1f\x8b",
        ".gz",
        lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
        # No name and no time, so that the same data gives the same file.
        lambda stream: gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0),
    ),
    Compression(
        "bzip2",
        b"BZh",
        ".bz2",
        bz2.BZ2File,
        partial(bz2.BZ2File, mode="w"),
    ),
    Compression(
        "xz",
        b"\xfd7zXZ\x00",
        ".xz",
        lzma.LZMAFile,
        partial(lzma.LZMAFile, mode="w"),
    ),
    Compression(
        "zstd",
        b"\x28\xb5\x2f\xfd",
        ".zst",
        _unpack_zstd,
        _pack_zstd,
    ),
)


def compression_of(first: bytes) -> Compression | None:
    """How bytes that begin like this are packed, if they are."""
    return next((c for c in COMPRESSIONS if first.startswith(c.magic)), None)


@contextmanager
def _unpacking(compression: Compression, name: str) -> Iterator[None]:
    """Says what is wrong with packed bytes that cannot be unpacked."""
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        cut = isinstance(error, EOFError) or "Truncated" in str(error)
        found = "ends too early" if cut else f"is damaged ({error})"
        raise DataError(
            f"{name}: the {compression.name} data {found}; expected a complete {compression.name} "
            "file; copy or download it again"
        ) from error


class Unpacked:
    """The bytes of a file as a stream, unpacked if its first bytes say that it is packed.

    A small file that unpacks to an absurd size is a `DataError` as soon as that shows.
    """

    def __init__(
        self, source: str | os.PathLike[str] | io.BytesIO, name: str | None = None
    ) -> None:
        self.name = name or os.fspath(source)  # type: ignore[arg-type]
        self.closed = False
        self._written = 0  # bytes handed out
        try:
            in_memory = isinstance(source, io.BytesIO)
            self._file: IO[bytes] = source if in_memory else open(source, "rb")  # type: ignore # noqa: SIM115
            self._compression = packed = compression_of(self._file.read(8))
            self._file.seek(0)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read: {error.strerror or error}") from error
        self._stream = self._file if packed is None else packed.reader(self._file)

    @property
    def is_packed(self) -> bool:
        return self._compression is not None

    @property
    def packed_size(self) -> int:
        """Bytes of the file that were looked at so far."""
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        if self._compression is None:
            return self._file.read(size)
        parts: list[bytes] = []
        missing = size if size >= 0 else sys.maxsize
        with _unpacking(self._compression, self.name):
            while missing and (part := self._stream.read(min(missing, CHUNK))):
                parts.append(part)
                missing -= len(part)
                self._written += len(part)
                check_unpacked(self.name, self._written, self.packed_size)
        return b"".join(parts)

    def close(self) -> None:
        self.closed = True
        self._file.close()

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
