"""What the pages of a Parquet file will be in memory, before they are.

pyarrow unpacks each page to the size that stands at its head, whatever the footer says of the whole
column. And a few bytes of a page can repeat a long text in every row: as an index into a
dictionary, or as what a text has in common with the one before it (DELTA_BYTE_ARRAY). Footer and
heads are read here because pyarrow ends the process where it is asked about a damaged column.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import Any, NamedTuple

from maxmargin import _core
from maxmargin.data.formats.arrow_messages import Read, reader_of
from maxmargin.data.limits import NOT_MUCH, check_unpacked, most_unpacked

_MOST_TIMES_PACKED = {0: 1, 1: 22}  # plain; Snappy, of which three bytes stand for 64 at most
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_DELTA_BYTE_ARRAY = 7
_LONGEST_HEAD = 16 << 20  # pyarrow's limit


def rows_that_fit(name: str, file: Any, most: int) -> int:
    """How many rows may be read at a time, at most `most`, with text repeated in each of them.

    `DataError` if the pages that are in memory together, a dictionary and a page of values for each
    column, unpack to an absurd size. `ValueError` if the file is damaged.
    """
    read, size = reader_of(file), file.size()
    length = int.from_bytes(read(size - 8, 4), "little")
    is_text, row_groups = _core.read_parquet_footer(read(size - 8 - length, length))
    longest = 1  # bytes of a text that rows may share
    for columns in row_groups:
        held = _Held(read, size, list(zip(starmap(_Column, columns), is_text)))
        check_unpacked(name, held.unpacked, held.packed)
        longest = max(longest, held.longest_text)
    return max(1, min(most, NOT_MUCH // longest))


class _Column(NamedTuple):
    """A column in a row group."""

    codec: int
    values: int
    packed: int
    first_page: int
    dictionary: int


class _Held:
    """What the columns of a row group need together: `unpacked` bytes, of `packed` bytes."""

    def __init__(self, read: Read, size: int, columns: list[tuple[_Column, bool]]) -> None:
        self._read, self._size = read, size
        self.packed = min(size, sum(column.packed for column, _ in columns))
        self.unpacked = self.longest_text = 0
        harmless, most = [], 0
        for column, is_text in columns:
            times = _MOST_TIMES_PACKED.get(column.codec)
            if times is None or is_text:
                self._add(column, is_text)
            else:
                harmless.append(column)
                most += times * column.packed
        # To look at every page of a wide table takes as long as to read it.
        if self.unpacked + most <= most_unpacked(self.packed):
            return
        for column in harmless:
            self._add(column, is_text=False)

    def _add(self, column: _Column, is_text: bool) -> None:
        dictionary = values = 0
        for page in _pages(self._read, self._size, column):
            if page.kind == _DICTIONARY_PAGE:
                dictionary = max(dictionary, page.unpacked)
            else:
                values = max(values, page.unpacked)
            if is_text and page.is_shared:
                self.longest_text = max(self.longest_text, page.unpacked)
        self.unpacked += dictionary + values


class _Page(NamedTuple):
    """The head of a page."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    head: int

    @property
    def is_shared(self) -> bool:
        """Whether rows may share the bytes of this page."""
        return self.kind == _DICTIONARY_PAGE or self.encoding == _DELTA_BYTE_ARRAY


def _pages(read: Read, size: int, column: _Column) -> Iterator[_Page]:
    """The pages of a column in a row group, found as pyarrow finds them."""
    at = column.first_page
    if 0 < column.dictionary < at:
        at = column.dictionary
    end = min(size, at + column.packed)
    seen = 0
    while at < end and seen < column.values:
        page = _page_at(read, at, size)
        if page.kind in (_DATA_PAGE, _DATA_PAGE_V2):
            seen += page.values
        yield page
        at += page.head + page.packed


def _page_at(read: Read, at: int, size: int) -> _Page:
    room = 256
    while True:
        head = read(at, min(room, size - at))
        found: Any = _core.read_parquet_page(head)
        if found is not None:
            return _Page(*found)
        if len(head) < room or room >= _LONGEST_HEAD:
            raise ValueError("the head of a page is incomplete")
        room *= 16
