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

from maxmargin import _core
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.arrow_messages import Place, Read, footer_of, reader_of, size_of
from maxmargin.data.formats.content import Content
from maxmargin.data.limits import check_unpacked
from maxmargin.data.store.description import FORMAT, KEY, Description, Summary
from maxmargin.data.store.layout import block_of
from maxmargin.data.store.rows import LabelCounts, StoredRows, entries_of
from maxmargin.data.stream.blocks import Block
from maxmargin.data.stream.fingerprints import WatchedFile, as_bytes
from maxmargin.data.stream.reading_ahead import read_ahead

_HEAD = 1 << 16
_ADVISED = 8 << 20  # bytes the system is asked to fetch ahead, and twice as many at most
_KEPT_BUFFERS = 6  # one is read into, one waits, one is worked on; more for those who look back


@dataclass(frozen=True)
class Span:
    """Where a block lies: its bytes begin..end are checked, its message is the last of them."""

    begin: int
    message: Place

    @property
    def end(self) -> int:
        return self.message.end


class Store:
    """What the end of a store tells: columns, description, summary, where the blocks lie."""

    def __init__(self, name: str, file: Any, size: int) -> None:
        try:
            read = reader_of(file)
            footer = footer_of(read, size)
            if footer.batches:
                self._check_size(name, read, footer.batches[-1])
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema
            last = reader.get_batch_with_custom_metadata(max(reader.num_record_batches - 1, 0))
        except DataError:
            raise
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
        blocks = footer.batches[:-1]
        if len(blocks) != len(self.summary.checksums):
            raise DataError(
                f"{name}: found {len(blocks)} blocks; expected {len(self.summary.checksums)}, as "
                "its summary says; copy or convert it again"
            )
        begins = [0] + [block.end for block in blocks[:-1]]
        self.spans = [Span(begin, block) for begin, block in zip(begins, blocks)]
        if not all(0 <= s.begin <= s.message.begin < s.end <= size for s in self.spans):
            raise DataError(
                f"{name}: its blocks overlap or lie outside the file; copy or convert it again"
            )
        self.name = name
        self.fingerprint = _fingerprint(self.description, self.summary)

    def check_counts(self, rows: int, entries: int, at_end: bool) -> None:
        """Refuse a summary that counts other rows or entries than there are."""
        said = self.summary.rows, self.summary.entries
        if rows > said[0] or entries > said[1] or (at_end and (rows, entries) != said):
            more = "" if at_end else " or more"
            raise DataError(
                f"{self.name}: found {rows} rows of {entries} entries{more}; expected {said[0]} of "
                f"{said[1]}, as its summary says; convert the data again"
            )

    def check_labels(self, found: LabelCounts) -> None:
        """Refuse a summary that counts other labels than the rows have."""
        if self.summary.labels is not None and not found.agree(self.summary.labels):
            raise DataError(
                f"{self.name}: its rows have other labels than its summary says; convert the data "
                "again"
            )

    @staticmethod
    def _check_size(place: str, read: Read, message: Place) -> None:
        """Refuse a block that would unpack to an absurd size."""
        _, size = size_of(read, message)
        check_unpacked(place, size, message.end - message.begin)

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
            self._check_size(place, _reader_at(data, span.begin), span.message)
            message = pa.ipc.read_message(pa.py_buffer(data[span.message.begin - span.begin :]))
            batch = pa.ipc.read_record_batch(message, self.schema)
            return block_of(self.description, first, batch, place, len(data))
        except DataError:
            raise
        except (pa.ArrowException, ValueError, KeyError, OSError, EOFError, struct.error) as error:
            raise DataError(
                f"{place} cannot be read ({error}); expected rows as the store describes them; "
                "convert the data again"
            ) from error


def _reader_at(data: np.ndarray, begin: int) -> Read:
    """Reads bytes of a block, by their places in the file."""

    def read(at: int, count: int) -> bytes:
        if at < begin or count < 0 or at - begin + count > len(data):
            raise ValueError("it names places outside itself")
        return data[at - begin : at - begin + count].tobytes()

    return read


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
        of the file itself. The file must not be cut short or written to while it is in use.
    """

    def __init__(self, path: str | os.PathLike[str], *, mapped: bool = False) -> None:
        self._file = WatchedFile(path)
        self._mapped = np.memmap(path, np.uint8, "r") if mapped else None
        self._labels_are_true = False  # until a pass has seen them all
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
            yield from self._decoded(self._mapped[s.begin : s.end] for s in self._store.spans)
        else:
            yield from read_ahead(self._decoded(self._read()))
        self.check_unchanged()

    def _decoded(self, parts: Iterator[np.ndarray]) -> Iterator[Block]:
        rows = entries = 0
        labels = None if self._labels_are_true else LabelCounts()
        for k, data in enumerate(parts):
            block = self._store.block(k, rows, data)
            rows, entries = rows + block.n, entries + entries_of(block.X)
            self._store.check_counts(rows, entries, at_end=False)
            if labels is not None:
                labels.add(block.y)
            yield block
        self._store.check_counts(rows, entries, at_end=True)
        if labels is not None:
            self._store.check_labels(labels)
            self._labels_are_true = True

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


def is_store(file: str | Content) -> bool:
    """Whether an Arrow file, by its path or its content, is a row store or claims to be one."""
    content = Content(file) if isinstance(file, str) else file
    try:
        with content.as_arrow() as opened:
            schema = pa.ipc.open_file(opened).schema
    except (pa.ArrowException, OSError):
        # The description stands at the beginning too: a cut-off store is known by it.
        return FORMAT.encode() in content.head[:_HEAD].tobytes()
    return KEY in (schema.metadata or {})


def read_store(content: Content, *, dtype: np.dtype) -> Dataset:
    """All rows of a row store in memory."""
    with content.as_arrow() as file:
        store = Store(content.name, file, content.size)
        if store.description.kind == "strings":
            raise DataError(
                f"{content.name}: its rows are strings; expected rows of numbers; train on it with "
                "a feature map (features=...)"
            )
        rows = StoredRows(store.description, store.summary, dtype)
        check_unpacked(content.name, rows.nbytes, content.packed)
        labels = LabelCounts()
        for k, span in enumerate(store.spans):
            file.seek(span.begin)
            data = as_bytes(file.read(span.end - span.begin))
            block = store.block(k, rows.n, data)
            n, entries = rows.n + block.n, rows.entries + entries_of(block.X)
            store.check_counts(n, entries, at_end=False)
            labels.add(block.y)
            rows.add(block)
    content.check_unchanged()
    store.check_counts(rows.n, rows.entries, at_end=True)
    store.check_labels(labels)
    return rows.dataset(content.name)
