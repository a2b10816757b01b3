"""The row store: blocks of rows in an Arrow IPC file, each with a checksum, read at disk speed.

A block is one record batch. Its checksum covers the bytes from the end of the block before (of the
file's beginning, for the first) to its own end, as they lie on disk, so a damaged block is noticed
before anything in it is believed. Other programs see an ordinary Arrow table.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.blocks import Block, Strings
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.files import Content
from maxmargin.data.files import read as read_content
from maxmargin.data.fingerprints import WatchedFile, as_bytes
from maxmargin.data.reading_ahead import read_ahead
from maxmargin.data.store_layout import FORMAT, KEY, Description, Summary, block_of

_MAGIC = b"ARROW1"
_TAIL = 4 + len(_MAGIC)  # length of the footer, and the magic
_HEAD = 1 << 16
_ADVISED = 8 << 20  # bytes the system is asked to fetch ahead, and twice as many at most
_KEPT_BUFFERS = 6  # one is read into, one waits, one is worked on; more for those who look back


@dataclass(frozen=True)
class Span:
    """Where a block lies: its bytes begin..end are checked, its message starts at `message`."""

    begin: int
    message: int
    end: int


class Store:
    """What the end of a store tells: columns, description, summary, where the blocks lie."""

    def __init__(self, name: str, file: Any, size: int) -> None:
        try:
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema
            last = reader.get_batch_with_custom_metadata(max(reader.num_record_batches - 1, 0))
            ends = [(at, at + length) for at, length in _record_batches(_footer(file, size))]
        except (ValueError, OSError, IndexError, struct.error, pa.ArrowException) as error:
            raise DataError(
                f"{name}: the row store is damaged or incomplete ({error}); expected a complete "
                "file; copy or convert it again"
            ) from error
        self.description = Description.unpack(name, self.schema)
        metadata = last.custom_metadata
        self.summary = Summary.unpack(name, None if metadata is None else dict(metadata))
        if self.summary.description != self.description.checksum:
            raise DataError(
                f"{name}: its description is not the one it was written with; copy or convert it "
                "again"
            )
        blocks = ends[:-1]
        if len(blocks) != len(self.summary.checksums):
            raise DataError(
                f"{name}: found {len(blocks)} blocks; expected {len(self.summary.checksums)}, as "
                "its summary says; copy or convert it again"
            )
        begins = [0] + [end for _, end in blocks[:-1]]
        self.spans = [Span(begin, *block) for begin, block in zip(begins, blocks)]
        if not all(0 <= s.begin <= s.message < s.end <= size for s in self.spans):
            raise DataError(
                f"{name}: its blocks overlap or lie outside the file; copy or convert it again"
            )
        self.name = name
        self.fingerprint = _fingerprint(self.description, self.summary)

    def block(self, k: int, first: int, data: np.ndarray) -> Block:
        """Block k from its bytes, once they are known to be whole."""
        span, count = self.spans[k], len(self.spans)
        place = f"{self.name}: block {k + 1} of {count} (bytes {span.begin} to {span.end})"
        if len(data) != span.end - span.begin:
            raise DataError(
                f"{place} ends too early: found {len(data)} bytes; expected "
                f"{span.end - span.begin}; the file was cut off: copy or convert it again"
            )
        checksum = _core.crc32c(data)
        if checksum != self.summary.checksums[k]:
            raise DataError(
                f"{place} is damaged: its checksum is {checksum:08x}; expected "
                f"{self.summary.checksums[k]:08x}; copy or convert it again"
            )
        try:
            message = pa.ipc.read_message(pa.py_buffer(data[span.message - span.begin :]))
            batch = pa.ipc.read_record_batch(message, self.schema)
            return block_of(self.description, first, batch)
        except (pa.ArrowException, ValueError, KeyError, OSError) as error:
            raise DataError(
                f"{place} cannot be read ({error}); expected rows as the store describes them; "
                "convert the data again"
            ) from error


def _footer(file: Any, size: int) -> bytes:
    file.seek(size - _TAIL)
    (length,) = struct.unpack("<i", file.read(4))
    file.seek(size - _TAIL - length)
    return file.read(length)


def _record_batches(footer: bytes) -> list[tuple[int, int]]:
    """Offset and length of each record batch, from the flatbuffer at the end of the file.

    pyarrow knows them but does not tell. The footer is a table whose fourth field is a vector of
    structs (offset int64, metadata length int32, 4 bytes of padding, body length int64).
    """
    (table,) = struct.unpack_from("<I", footer, 0)
    (to_vtable,) = struct.unpack_from("<i", footer, table)
    (field,) = struct.unpack_from("<H", footer, table - to_vtable + 4 + 2 * 3)
    (to_vector,) = struct.unpack_from("<I", footer, table + field)
    vector = table + field + to_vector
    (count,) = struct.unpack_from("<I", footer, vector)
    if vector + 4 + 24 * count > len(footer):
        raise IndexError("its list of blocks is longer than the footer")
    blocks = struct.iter_unpack("<qi4xq", footer[vector + 4 : vector + 4 + 24 * count])
    return [(offset, metadata + body) for offset, metadata, body in blocks]


def _fingerprint(description: Description, summary: Summary) -> str:
    text = repr((description.pack()[KEY], summary.pack()[KEY])).encode()
    return f"{summary.rows:x}-{_core.crc32c(as_bytes(text)):08x}"


class StoreSource:
    """The rows of a row store, block by block.

    Parameters
    ----------
    path : path
    mapped : bool
        Map the file into memory instead of reading it: blocks of uncompressed stores are then views
        of the file itself. The file must not be cut short while it is in use.
    """

    def __init__(self, path: str | os.PathLike, *, mapped: bool = False) -> None:
        self._file = WatchedFile(path)
        self._mapped = read_content(path) if mapped else None
        try:
            with pa.OSFile(self._file.path) as file:
                self._store = Store(self._file.path, file, self._file.state.size)
        except OSError as error:
            raise DataError(f"{self._file.path}: cannot be read: {error}") from error

    @property
    def name(self) -> str:
        return self._file.path

    @property
    def description(self) -> Description:
        """What the store says about its columns."""
        return self._store.description

    @property
    def summary(self) -> Summary:
        """What the store says about its rows."""
        return self._store.summary

    @property
    def n(self) -> int:
        return self.summary.rows

    @property
    def d(self) -> int:
        return self.description.features

    @property
    def kind(self) -> str:
        return self.description.kind

    @property
    def feature_names(self) -> list[str] | None:
        return self.description.feature_names

    @property
    def index_base(self) -> int | None:
        return self.description.index_base

    @property
    def fingerprint(self) -> str:
        return self._store.fingerprint

    @property
    def largest_block(self) -> int:
        longest = max((span.end - span.begin for span in self._store.spans), default=0)
        return max(self.summary.largest_block, longest)

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        self.check_unchanged()
        if self._mapped is not None:
            yield from self._decoded(self._mapped.bytes[s.begin : s.end] for s in self._store.spans)
        else:
            yield from read_ahead(self._decoded(self._read()))
        self.check_unchanged()

    def _decoded(self, parts: Iterator[np.ndarray]) -> Iterator[Block]:
        first = 0
        for k, data in enumerate(parts):
            block = self._store.block(k, first, data)
            first += block.n
            yield block
        if first != self.n:
            raise DataError(
                f"{self.name}: found {first} rows; expected {self.n}, as its summary says; convert "
                "the data again"
            )

    def _read(self) -> Iterator[np.ndarray]:
        """The bytes of each block; the system fetches those that follow meanwhile."""
        spans = self._store.spans
        buffers = _Buffers(max((span.end - span.begin for span in spans), default=0))
        advised = 0
        try:
            with open(self._file.path, "rb", buffering=0) as file:
                for span in spans:
                    if advised < span.end + _ADVISED:
                        _advise(file.fileno(), advised, span.end + 2 * _ADVISED - advised)
                        advised = span.end + 2 * _ADVISED
                    yield _fill(buffers.take(span.end - span.begin), file.fileno(), span.begin)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read: {error.strerror or error}") from error


class _Buffers:
    """Memory for blocks, used again once nobody looks at the block it held: fresh pages would take
    longer to get than the bytes to put into them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffers: list[np.ndarray] = []

    def take(self, size: int) -> np.ndarray:
        free = (k for k in range(len(self._buffers)) if _is_free(self._buffers, k))
        k = next(free, None)
        if k is not None:
            return self._buffers[k][:size]
        buffer = np.empty(self._size, np.uint8)
        if len(self._buffers) < _KEPT_BUFFERS:
            self._buffers.append(buffer)
        return buffer[:size]


def _is_free(buffers: list[np.ndarray], k: int) -> bool:
    """Whether the list is the only one that knows the buffer: views of it count as well."""
    return sys.getrefcount(buffers[k]) == 2  # the list, and the call itself


def _advise(descriptor: int, begin: int, length: int) -> None:
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, begin, length, os.POSIX_FADV_WILLNEED)


def _fill(data: np.ndarray, descriptor: int, begin: int) -> np.ndarray:
    """The bytes of a file from `begin`; fewer if it ends before."""
    done = 0
    while done < len(data):
        count = os.preadv(descriptor, [data[done:].data], begin + done)
        if count == 0:
            return data[:done]
        done += count
    return data


def is_store(file: str | np.ndarray) -> bool:
    """Whether an Arrow file, by its path or by its bytes, is a row store or claims to be one."""
    try:
        opened = pa.OSFile(file) if isinstance(file, str) else _buffer(file)
        with opened:
            schema = pa.ipc.open_file(opened).schema
    except (pa.ArrowException, OSError):
        return _begins_like_a_store(file)
    return KEY in (schema.metadata or {})


def _begins_like_a_store(file: str | np.ndarray) -> bool:
    """The description stands at the beginning too: a cut-off store is known by it."""
    if isinstance(file, str):
        with open(file, "rb") as opened:
            head = opened.read(_HEAD)
    else:
        head = file[:_HEAD].tobytes()
    return FORMAT.encode() in head


def _buffer(data: np.ndarray) -> pa.BufferReader:
    return pa.BufferReader(pa.py_buffer(data))


def read_store(content: Content, *, dtype: np.dtype) -> Dataset:
    """All rows of a row store in memory."""
    store = Store(content.name, _buffer(content.bytes), content.bytes.size)
    description = store.description
    if description.kind == "strings":
        raise DataError(
            f"{content.name}: its rows are strings; expected rows of numbers; train on it with a "
            "feature map (StreamSVC, features=...)"
        )
    blocks = []
    for k, span in enumerate(store.spans):
        blocks.append(store.block(k, 0, content.bytes[span.begin : span.end]))
    return Dataset(
        _joined_rows(blocks, description, dtype),
        _joined([block.y for block in blocks]),
        qid=_joined([block.qid for block in blocks]),
        weight=_joined([block.weight for block in blocks]),
        feature_names=description.feature_names,
        index_base=description.index_base,
        source=content.name,
    )


def _joined(parts: list[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def _joined_rows(blocks: list[Block], description: Description, dtype: np.dtype) -> Any:
    Xs: list[Any] = [block.X for block in blocks if not isinstance(block.X, Strings)]
    if description.kind == "dense":
        return _as_type(Xs, dtype)
    entries = sum(X.nnz for X in Xs)
    index = np.result_type(Xs[0].indices, np.int64 if entries > np.iinfo(np.int32).max else "i4")
    starts = np.zeros(sum(X.shape[0] for X in Xs) + 1, index)
    np.cumsum(np.concatenate([np.diff(X.indptr) for X in Xs]), out=starts[1:])
    values = _as_type([X.data for X in Xs], dtype)
    indices = np.concatenate([X.indices for X in Xs], dtype=index)
    return sp.csr_matrix((values, indices, starts), (len(starts) - 1, description.features))


def _as_type(parts: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """The parts joined, of a type that must hold every value."""
    with np.errstate(over="ignore"):
        values = np.concatenate(parts, dtype=dtype, casting="same_kind")
    if parts[0].dtype != dtype and not np.isfinite(values).all():
        raise DataError(f"found a value that {dtype} cannot hold; read as float64")
    return values
