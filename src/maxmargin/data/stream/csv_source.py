"""CSV text read block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from maxmargin.data.formats.columns import Roles, Wanted
from maxmargin.data.formats.compression import Unpacked
from maxmargin.data.formats.content import HEAD, Content
from maxmargin.data.formats.csv_text import LABEL_TYPES, CsvText, column_types, labels_as
from maxmargin.data.formats.pieces import LINE_END, pieces
from maxmargin.data.formats.tables import check_types
from maxmargin.data.stream.table_sources import TableSource


class _CsvStream(CsvText):
    """CSV text that is read as a stream, unpacked on the way."""

    def __init__(self, path: str, wanted: Wanted, name_all: bool) -> None:
        with Unpacked(path) as stream:
            head = np.frombuffer(stream.read(HEAD), np.uint8)
        super().__init__(path, Content(path, head), wanted, name_all)

    def reader(self) -> Any:
        return pa.PythonFile(Unpacked(self.name), "r")

    def lines(self) -> Iterable[np.ndarray]:
        return pieces(self.name, LINE_END)


class CsvSource(TableSource):
    """CSV text, some thousand lines at a time."""

    _format = "CSV"

    @cached_property
    def _csv(self) -> _CsvStream:
        return _CsvStream(self.name, self._wanted, self._any_columns)

    @cached_property
    def _schema(self) -> pa.Schema:
        return self._csv.schema()

    @property
    def _has_names(self) -> bool:
        return self._csv.has_names

    def _check_columns(self) -> None:
        """What other columns hold shows when they are read as what they are to be."""
        if self._text is None and not self._any_columns:
            roles = Roles(self._roles.features, None, None, None)
            check_types(self.name, self._schema, roles)

    def _likely_targets(self) -> list[str] | None:
        return self._csv.likely_targets(self._schema.names)

    def _line_of_row(self, row: int) -> int:
        return self._csv.line_of_row(row)

    def _count(self) -> int:
        """Rows, and on the way what kind of labels they have, which all of them together tell."""
        written = self._encoding is not None and self._encoding.target_format is not None
        self._label_kind = LABEL_TYPES.index(pa.string()) if written else 0
        rows, target = 0, self._roles.target
        first, batch = target or self._schema.names[0], None
        read = dict.fromkeys((first, self._schema.names[-1]), pa.string())
        for batch in self._stream(read, list(read)):
            rows += batch.num_rows
            while target and labels_as(batch.column(0), LABEL_TYPES[self._label_kind]) is None:
                self._label_kind += 1
        if batch is not None:
            self._csv.check_closed(batch.column(batch.num_columns - 1))
        return rows

    def _batches(self) -> Iterator[pa.RecordBatch]:
        types = column_types(self._schema, self._roles, self._dtype)
        if self._text is not None:
            types[self._text] = pa.string()
        if self._any_columns:  # what a column is shows at its end only
            types |= dict.fromkeys(self._roles.features, pa.string())
        target = self._roles.target
        wanted = [c for c in self._schema.names if c in types or c in self._roles.features]
        for batch in self._stream(types, wanted):
            if target is not None:
                at = batch.schema.get_field_index(target)
                kind = LABEL_TYPES[self._label_kind]
                batch = batch.set_column(at, target, labels_as(batch.column(at), kind))
            yield batch

    def _stream(
        self, types: dict[str, pa.DataType], columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        convert = pa.csv.ConvertOptions(column_types=types, include_columns=columns)
        reader = self._csv.reader()
        try:
            options = self._csv.options(threads=1)
            with pa.csv.open_csv(reader, convert_options=convert, **options) as stream:
                yield from stream
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._csv.fault(error, self._schema.names, types) from error
        finally:
            reader.close()
