"""Bytes in and out: decompression by content, and files that are either whole or not there."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import mmap
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from maxmargin.data.errors import DataError

Source = str | os.PathLike | IO[bytes]

_CHUNK = 1 << 20


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


@dataclass(frozen=True)
class Content:
    """All bytes of a source, decompressed, and the name it goes by in messages."""

    name: str
    bytes: np.ndarray  # uint8, read-only: the file itself (mapped) or a copy of a stream


def read(source: Source) -> Content:
    """The bytes of a file, of standard input (``-``) or of an open binary file.

    Plain files are memory-mapped, so nothing is copied. Compression is recognised by the first
    bytes, whatever the name.
    """
    name = source_name(source)
    try:
        if source == "-":
            return _read_stream(sys.stdin.buffer, name)
        if hasattr(source, "read"):
            return _read_stream(source, name)
        with open(source, "rb") as file:
            return _read_file(file, name)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from error


def source_name(source: Source) -> str:
    """What messages call a source."""
    if source == "-":
        return "standard input"
    if hasattr(source, "read"):
        return str(getattr(source, "name", "stream"))
    return os.fspath(source)


def _read_file(file: IO[bytes], name: str) -> Content:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return _read_stream(file, name)
    compression = _compression_of(file.read(8))
    file.seek(0)
    if compression is not None:
        return Content(name, _unpack(compression, file, name))
    if os.fstat(file.fileno()).st_size == 0:
        return Content(name, np.empty(0, np.uint8))
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Content(name, np.frombuffer(mapped, np.uint8))


def _read_stream(stream: Any, name: str) -> Content:
    raw = _read_all(stream)
    if not raw.size:
        return Content(name, raw)
    compression = _compression_of(raw[:8].tobytes())
    if compression is not None:
        return Content(name, _unpack(compression, io.BytesIO(raw.data), name))
    return Content(name, raw)


def _compression_of(first: bytes) -> Compression | None:
    return next((c for c in COMPRESSIONS if first.startswith(c.magic)), None)


def _read_all(stream: Any) -> np.ndarray:
    """Everything a stream has, in one growing buffer: joining chunks would take the room twice."""
    whole = bytearray()
    while chunk := stream.read(_CHUNK):
        if not isinstance(chunk, bytes):
            raise DataError("the stream gives text; expected bytes; open it in binary mode ('rb')")
        whole += chunk
    return np.frombuffer(whole, np.uint8)


def _unpack(compression: Compression, stream: IO[bytes], name: str) -> np.ndarray:
    with _unpacking(compression, name):
        return _read_all(compression.reader(stream))


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
    """The bytes of a file as a stream, unpacked if its first bytes say that it is packed."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.name = os.fspath(path)
        self.closed = False
        try:
            self._file = open(path, "rb")  # noqa: SIM115 (closed by close)
            self._compression = _compression_of(self._file.read(8))
            self._file.seek(0)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read: {error.strerror or error}") from error
        packed = self._compression
        self._stream = self._file if packed is None else packed.reader(self._file)

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        if self._compression is None:
            return self._file.read(size)
        with _unpacking(self._compression, self.name):
            parts = [self._stream.read(size)]
            while size > 0 and parts[-1] and sum(map(len, parts)) < size:
                parts.append(self._stream.read(size - sum(map(len, parts))))
            return b"".join(parts)

    def close(self) -> None:
        self.closed = True
        self._file.close()

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def write_atomically(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` whole when the block ends, and not at all if it fails.

    It is written without a name, where the system can do that, and else beside its place; then it
    is given its name. So a process that is killed leaves nothing behind. An existing file keeps its
    permissions and is untouched until then. Devices and pipes, which cannot be renamed over, are
    written directly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with write_atomically(target) as file:
    ...     _ = file.write(b"1 2 3")
    >>> target.read_bytes()
    b'1 2 3'
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of_target(target, path)
    if mode is not None and not stat.S_ISREG(mode):
        with _open_for_writing(target, path, "wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    unnamed = _open_unnamed(target.parent)
    file = unnamed or _open_for_writing(beside, path, "xb")
    try:
        with file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if unnamed is not None:
                _give_name(unnamed, beside)
        os.replace(beside, target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        beside.unlink(missing_ok=True)


def _open_unnamed(folder: Path) -> IO[bytes] | None:
    """A file that vanishes unless it is given a name; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "wb")
    except OSError:
        return None


def _give_name(file: IO[bytes], name: Path) -> None:
    """Put a file without a name into its folder."""
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        # Any descriptor of a folder makes Python follow the link that stands for the open file.
        os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _mode_of_target(target: Path, path: str | os.PathLike) -> int | None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot_write(path, error) from error
    if stat.S_ISDIR(mode):
        raise DataError(
            f"{os.fspath(path)}: cannot be written: it is a folder; expected the name of a file"
        )
    if stat.S_ISREG(mode) and not os.access(target, os.W_OK):
        raise DataError(
            f"{os.fspath(path)}: cannot be written: it is write-protected; "
            "choose another place or change its permissions"
        )
    return mode


def _open_for_writing(file: Path, path: str | os.PathLike, mode: str) -> IO[bytes]:
    try:
        return open(file, mode)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: str | os.PathLike, error: OSError) -> DataError:
    return DataError(
        f"{os.fspath(path)}: cannot be written: {error.strerror or error}; "
        "expected a folder that exists, may be written to and has room"
    )
