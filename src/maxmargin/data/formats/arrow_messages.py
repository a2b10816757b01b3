"""What the record batches of an Arrow IPC file will be in memory, before they are.

pyarrow unpacks a batch of any size without a word, and does not tell where batches lie. Both stand
in the flatbuffers of the file: a footer that lists blocks, and a message at the head of each.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MAGIC = b"ARROW1"
_TAIL = 4 + len(MAGIC)  # length of the footer, and the magic
_DICTIONARIES, _BATCHES = 2, 3  # fields of the footer
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3  # of a record batch
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # types of messages

Read = Callable[[int, int], bytes]  # so many bytes from a place


@dataclass(frozen=True)
class Place:
    """Where a message lies in the file, and its body after it."""

    begin: int
    body: int
    end: int


@dataclass(frozen=True)
class Footer:
    """Where the dictionaries and the record batches of a file lie."""

    dictionaries: list[Place]
    batches: list[Place]


def reader_of(file: Any) -> Read:
    """Reads from a pyarrow file."""

    def read(begin: int, count: int) -> bytes:
        if begin < 0 or count < 0 or begin + count > file.size():
            raise ValueError("it names places outside the file")
        file.seek(begin)
        return file.read(count)

    return read


def footer_of(read: Read, size: int) -> Footer:
    """The list of blocks at the end of a file; ValueError or struct.error if there is none."""
    (length,) = struct.unpack("<i", read(size - _TAIL, 4))
    footer = read(size - _TAIL - length, length)
    (table,) = struct.unpack_from("<I", footer, 0)
    dictionaries = list(_places(footer, table, _DICTIONARIES))
    return Footer(dictionaries, list(_places(footer, table, _BATCHES)))


def _places(footer: bytes, table: int, field: int) -> Iterator[Place]:
    """A vector of structs (offset int64, metadata length int32, 4 bytes, body length int64)."""
    for offset, metadata, body in _structs(footer, table, field, "<qi4xq"):
        if min(offset, metadata, body) < 0:
            raise ValueError("its list of blocks makes no sense")
        yield Place(offset, offset + metadata, offset + metadata + body)


def size_of(read: Read, place: Place) -> tuple[int, int]:
    """Rows of a batch, and bytes of its arrays once they are unpacked."""
    head = read(place.begin, place.body - place.begin)
    (mark,) = struct.unpack_from("<i", head, 0)
    message = head[8:] if mark == -1 else head[4:]  # old files have no mark
    (table,) = struct.unpack_from("<I", message, 0)
    (kind,) = struct.unpack_from("<B", message, _at(message, table, 1))
    batch = _table(message, table, 2)
    if kind == _DICTIONARY_BATCH:
        batch = _table(message, batch, 1)
    elif kind != _RECORD_BATCH:
        raise ValueError("its list of blocks names something that is no block")
    at = _field(message, batch, _LENGTH)
    (rows,) = (0,) if at is None else struct.unpack_from("<q", message, at)
    packed = _field(message, batch, _COMPRESSION) is not None
    size = 0
    for begin, length in _structs(message, batch, _BUFFERS, "<qq"):
        unpacked = length
        if packed and length >= 8:
            (unpacked,) = struct.unpack("<q", read(place.body + begin, 8))
        size += length if unpacked < 0 else unpacked  # -1: this one is not packed
    if rows < 0:
        raise ValueError("it has a block of a negative number of rows")
    return rows, size


# ---------------------------------------------------------------- flatbuffers


def _field(buffer: bytes, table: int, number: int) -> int | None:
    """Where a field of a table stands; None if it is left out."""
    (to_vtable,) = struct.unpack_from("<i", buffer, table)
    vtable = table - to_vtable
    (size,) = struct.unpack_from("<H", buffer, vtable)
    if vtable < 0 or 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return table + offset if offset else None


def _at(buffer: bytes, table: int, number: int) -> int:
    found = _field(buffer, table, number)
    if found is None:
        raise ValueError("its description of a block is incomplete")
    return found


def _table(buffer: bytes, table: int, number: int) -> int:
    at = _at(buffer, table, number)
    return at + struct.unpack_from("<I", buffer, at)[0]


def _structs(buffer: bytes, table: int, number: int, layout: str) -> Iterator[tuple[Any, ...]]:
    at = _field(buffer, table, number)
    if at is None:
        return
    vector = at + struct.unpack_from("<I", buffer, at)[0]
    (count,) = struct.unpack_from("<I", buffer, vector)
    end = vector + 4 + struct.calcsize(layout) * count
    if end > len(buffer):
        raise ValueError("it has a list that is longer than what it stands in")
    yield from struct.iter_unpack(layout, buffer[vector + 4 : end])
