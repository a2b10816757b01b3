"""Tables read block by block: what they share, and Parquet and Arrow files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from maxmargin.data.dataset import Dataset
from maxmargin.data.encoding.encoding import TableEncoding
from maxmargin.data.encoding.reading import roles_of
from maxmargin.data.errors import DataError, other_rows
from maxmargin.data.formats.columns import Roles, Wanted, choose
from maxmargin.data.formats.parquet_pages import rows_that_fit
from maxmargin.data.formats.tables import (
    Filled,
    check_types,
    readable,
    reading,
    rows_of_arrow,
    sound,
)
from maxmargin.data.formats.text_columns import decoded, is_text, value_type
from maxmargin.data.limits import check_unpacked
from maxmargin.data.store.layout import strings_of
from maxmargin.data.stream.blocks import BLOCK_BYTES, Block
from maxmargin.data.stream.fingerprints import WatchedFile
from maxmargin.data.stream.reading_ahead import read_ahead


class TableSource(ABC):
    """What tables have in common: columns with roles, batches of rows."""

    index_base: int | None = None
    _format: str  # what messages call it
    _line_of_row: Callable[[int], int] | None = None  # where rows are lines of text

    def __init__(
        self,
        path: str | os.PathLike[str],
        wanted: Wanted,
        *,
        dtype: np.dtype,
        text: str | None,
        any_columns: bool = False,
        encoding: TableEncoding | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._file, self._block_bytes = WatchedFile(path), block_bytes
        self._any_columns = any_columns  # they may hold anything: they are to be encoded
        self._encoding = encoding  # of a model: it knows which columns it needs
        self._wanted, self._dtype, self._text = wanted, np.dtype(dtype), text
        self.n = self._count()
        check_unpacked(self.name, self.n, self._file.state.size)  # a row is a byte at least
        if self.n == 0:
            raise DataError(f"{self.name}: found no rows; expected at least one")
        self._check_columns()
        self.largest_block = self._measure()

    @property
    def name(self) -> str:
        return self._file.path

    @property
    def kind(self) -> str:
        return "dense" if self._text is None else "strings"

    @property
    def d(self) -> int:
        return 0 if self._text is not None else len(self._roles.features)

    @property
    def feature_names(self) -> list[str] | None:
        return self._roles.features if self._text is None and self._has_names else None

    @property
    def fingerprint(self) -> str:
        return self._file.fingerprint

    @property
    def _has_names(self) -> bool:
        return True

    @property
    @abstractmethod
    def _schema(self) -> pa.Schema:
        """The columns."""

    @cached_property
    def _roles(self) -> Roles:
        names, likely = self._schema.names, self._likely_targets()
        if self._encoding is not None:
            return roles_of(self.name, names, self._wanted, self._encoding, likely)
        roles = choose(self.name, names, self._wanted, likely)
        if self._text is None:
            return roles
        if self._text not in roles.features:
            raise DataError(
                f"{self.name}: found no text column {self._text!r}; expected one of "
                f"{', '.join(map(repr, roles.features[:20]))}"
            )
        return Roles([self._text], roles.target, roles.qid, roles.weight)

    def _likely_targets(self) -> list[str] | None:
        return None

    @abstractmethod
    def _count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in order."""

    @property
    def _rows_at_once(self) -> int:
        width = max(len(self._roles.features), 1) * self._dtype.itemsize
        return max(1, self._block_bytes // max(width, 256))

    def _measure(self) -> int:
        if self._text is None or self._any_columns:
            return self._rows_at_once * (self.d * self._dtype.itemsize + 24)
        return self._block_bytes + max(block.X.letters.nbytes for block in self.blocks())  # type: ignore

    def _check_columns(self) -> None:
        """Refuse columns of the wrong type before any row is read."""
        roles = self._roles
        if self._text is None and not self._any_columns:
            check_types(self.name, self._schema, roles)
            return
        check_types(self.name, self._schema, Roles([], roles.target, roles.qid, roles.weight))
        if self._text is None:
            return
        kind = value_type(self._schema.field(self._text).type)
        if not is_text(kind):
            raise DataError(
                f"{self.name}: the text column {self._text!r} holds {kind}; expected text"
            )

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        self.check_unchanged()
        first = 0
        for block in read_ahead(self._filled()):
            first += block.n
            if first > self.n:
                raise other_rows(self.name, first, self.n)
            yield block
        self.check_unchanged()
        if first != self.n:
            raise other_rows(self.name, first, self.n)

    def _filled(self) -> Iterator[Block]:
        for first, batch in self.batches():
            yield self._block(first, batch)

    def batches(self) -> Generator[tuple[int, pa.RecordBatch], None, None]:
        """Columns as the file has them, some rows at a time, with the number of the first row."""
        first = 0
        with reading(self.name, self._format):
            for batch in self._batches():
                large = sound(batch, self.name, self._file.state.size)
                for begin in range(0, large.num_rows, self._rows_at_once):
                    some = large.slice(begin, self._rows_at_once)
                    yield first, some
                    first += some.num_rows

    @property
    def roles(self) -> Roles:
        """What each column is for."""
        return self._roles

    def line_of_row(self) -> Callable[[int], int] | None:
        """What tells the line of a row, where rows are lines."""
        return self._line_of_row

    def metadata(self, first: int, batch: pa.RecordBatch) -> Dataset:
        """Labels, weights and queries of some rows; X has no columns."""
        return self._fill(first, batch, [])

    def _block(self, first: int, batch: pa.RecordBatch) -> Block:
        rows = self._fill(first, batch, self._roles.features if self._text is None else [])
        X: Any = rows.X if self._text is None else self._strings(first, batch)
        return Block(first, X, rows.y, weight=rows.weight, qid=rows.qid)

    def _fill(self, first: int, batch: pa.RecordBatch, features: list[str]) -> Dataset:
        roles = self._roles
        filled = Filled(
            self.name,
            self._file.state.size,
            batch.schema,
            Roles(features, roles.target, roles.qid, roles.weight),
            batch.num_rows,
            self._dtype,
            self._line_of_row,
            first,
        )
        return filled.dataset([batch], None)

    def _strings(self, first: int, batch: pa.RecordBatch) -> Any:
        column = batch.column(batch.schema.get_field_index(self._text))
        column = decoded(column, self.name, self._file.state.size)
        if column.null_count:
            row = first + 1 + column.is_null().to_pylist().index(True)
            raise DataError(
                f"{self.name}: column {self._text!r}, row {row}: found no text; expected some; "
                "fill in or drop the row"
            )
        return strings_of(column)


class ParquetSource(TableSource):
    """A Parquet file, a part of a row group at a time."""

    _format = "Parquet"

    def _open(self) -> pa.parquet.ParquetFile:
        with reading(self.name, "Parquet"):
            return pa.parquet.ParquetFile(self.name, buffer_size=1 << 20, pre_buffer=False)

    @cached_property
    def _schema(self) -> pa.Schema:
        with reading(self.name, "Parquet"), self._open() as file:
            return readable(file.schema_arrow)

    def _count(self) -> int:
        with reading(self.name, "Parquet"), self._open() as file, pa.OSFile(self.name) as pages:
            self._rows_that_fit = rows_that_fit(self.name, pages, self._rows_at_once)
            return file.metadata.num_rows

    def _batches(self) -> Iterator[pa.RecordBatch]:
        columns = self._roles.features + self._roles.others
        with reading(self.name, "Parquet"), self._open() as file:
            yield from file.iter_batches(self._rows_that_fit, columns=columns, use_threads=False)


class ArrowSource(TableSource):
    """An Arrow IPC (Feather) file that is a table, not a row store; a record batch at a time."""

    _format = "Arrow"

    @cached_property
    def _schema(self) -> pa.Schema:
        with reading(self.name, "Arrow"), pa.OSFile(self.name) as opened:
            return readable(pa.ipc.open_file(opened).schema)

    def _count(self) -> int:
        with reading(self.name, "Arrow"), pa.OSFile(self.name) as opened:
            return rows_of_arrow(self.name, opened)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with reading(self.name, "Arrow"), pa.OSFile(self.name) as opened:
            file = pa.ipc.open_file(opened)
            for k in range(file.num_record_batches):
                yield file.get_batch(k)
