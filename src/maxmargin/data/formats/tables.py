"""Tables: Parquet and Arrow files, one row an example, into dense rows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError, other_rows
from maxmargin.data.formats.arrow_messages import footer_of, reader_of, size_of
from maxmargin.data.formats.columns import Roles, Wanted, choose
from maxmargin.data.formats.content import Content
from maxmargin.data.formats.parquet_pages import rows_that_fit
from maxmargin.data.formats.text_columns import (
    decoded,
    is_text,
    text_array,
    value_type,
    without_views,
)
from maxmargin.data.limits import check_unpacked

ROWS_AT_ONCE = 1 << 13


def read_parquet(content: Content, wanted: Wanted, *, dtype: np.dtype, threads: int) -> Dataset:
    """The rows of a Parquet file, a few thousand at a time, so that only X is held whole."""
    with reading(content, "Parquet"), content.as_arrow() as opened:
        file = pa.parquet.ParquetFile(opened, pre_buffer=False)
        rows = rows_that_fit(content.name, opened, ROWS_AT_ONCE)
        n = file.metadata.num_rows
        batches = file.iter_batches(rows, use_threads=threads > 1)
        return _dataset(content, file.schema_arrow, n, batches, wanted, dtype)


def read_arrow(content: Content, wanted: Wanted, *, dtype: np.dtype) -> Dataset:
    """The rows of an Arrow IPC (Feather) file, a record batch at a time."""
    with reading(content, "Arrow"), content.as_arrow() as opened:
        n = rows_of_arrow(content.name, opened)
        file = pa.ipc.open_file(opened)
        batches = (file.get_batch(k) for k in range(file.num_record_batches))
        return _dataset(content, file.schema, n, batches, wanted, dtype)


def rows_of_arrow(name: str, opened: Any) -> int:
    """Rows of an Arrow file, once it is known that no batch unpacks to an absurd size."""
    read = reader_of(opened)
    footer = footer_of(read, opened.size())
    for place in footer.dictionaries:
        check_unpacked(name, size_of(read, place)[1], place.end - place.begin)
    rows = 0
    for place in footer.batches:
        count, size = size_of(read, place)
        check_unpacked(name, size, place.end - place.begin)
        rows += count
    return rows


@contextmanager
def reading(content: Content | str, kind: str) -> Iterator[None]:
    """Says in a sentence what is wrong with a table that cannot be read."""
    name = content if isinstance(content, str) else content.name
    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError, struct.error) as e:
        if not isinstance(content, str):
            content.check_unchanged()
        raise damaged(name, kind, e) from e
    if not isinstance(content, str):
        content.check_unchanged()


def _dataset(
    content: Content,
    schema: pa.Schema,
    n: int,
    batches: Iterable[pa.RecordBatch],
    wanted: Wanted,
    dtype: np.dtype,
) -> Dataset:
    name = content.name
    roles = choose(name, schema.names, wanted)
    check_types(name, schema, roles)
    a_row = len(roles.features) * np.dtype(dtype).itemsize + 8 * len(roles.others)
    check_unpacked(name, n * a_row, content.packed)
    filled = Filled(name, content.packed, schema, roles, n, dtype)
    return filled.dataset(
        (sound(batch, name, content.packed) for batch in batches), feature_names=roles.features
    )


def readable(schema: pa.Schema) -> pa.Schema:
    """The schema, once its names are known to be text."""
    _ = schema.names
    return schema


def sound(batch: pa.RecordBatch, name: str, packed: int) -> pa.RecordBatch:
    """The batch, once no length, offset or dictionary index in it leads outside its arrays."""
    batch.validate(full=True)
    return without_views(batch, name, packed)


def check_types(name: str, schema: pa.Schema, roles: Roles) -> None:
    """Refuse columns that hold something else than their role asks for, before a row is read."""
    for feature in roles.features:
        kind = value_type(schema.field(feature).type)
        if not (is_numeric(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"{name}: column {feature!r} holds {kind}; expected numbers; encode it as numbers, "
                "drop it, or name it as the target"
            )
    for role, column in (("label", roles.target), ("weight", roles.weight), ("qid", roles.qid)):
        kind = pa.null() if column is None else value_type(schema.field(column).type)
        if is_numeric(kind) or pa.types.is_null(kind) or (role != "weight" and is_text(kind)):
            continue
        expected = {"label": "numbers or strings", "qid": "whole numbers", "weight": "numbers"}
        raise DataError(
            f"{name}: the {role} column {column!r} holds {kind}; expected {expected[role]}; "
            "convert it"
        )


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are numbers (true and false count as 1 and 0)."""
    types = pa.types
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def damaged(name: str, kind: str, error: Exception) -> DataError:
    """What to say of a file that pyarrow cannot make sense of."""
    return DataError(
        f"{name}: the {kind} file is damaged or incomplete ({error}); expected a complete file; "
        "copy or write it again"
    )


class Filled:
    """X and the labels of a table, filled batch by batch."""

    def __init__(
        self,
        name: str,
        packed: int,
        schema: pa.Schema,
        roles: Roles,
        n: int,
        dtype: np.dtype,
        line_of_row: Callable[[int], int] | None = None,
        first_row: int = 0,
    ) -> None:
        if n == 0:
            raise DataError(f"{name}: found no rows; expected at least one")
        self.name = name
        self.packed = packed  # bytes of the file
        self.roles = roles
        self.line_of_row = line_of_row
        self.first_row = first_row  # of the file, where only some of its rows are filled in
        self.X = np.empty((n, len(roles.features)), dtype)
        self.features = [schema.get_field_index(c) for c in roles.features]
        self.others: dict[str, list[pa.Array]] = {c: [] for c in roles.others}

    def dataset(
        self, batches: Iterable[pa.RecordBatch], feature_names: list[str] | None
    ) -> Dataset:
        at = 0
        for batch in batches:
            if at + batch.num_rows > len(self.X):
                raise other_rows(self.name, at + batch.num_rows, len(self.X))
            self._fill(at, batch)
            for column, parts in self.others.items():
                values = batch.column(batch.schema.get_field_index(column))
                parts.append(decoded(values, self.name, self.packed))
                check_unpacked(self.name, sum(part.nbytes for part in parts), self.packed)
            at += batch.num_rows
        if at != len(self.X):
            raise other_rows(self.name, at, len(self.X))
        roles = self.roles
        return Dataset(
            self.X,
            None if roles.target is None else self._labels(roles.target),
            qid=None if roles.qid is None else self._query_ids(roles.qid),
            weight=None if roles.weight is None else self._weights(roles.weight),
            feature_names=feature_names,
            source=self.name,
        )

    def _fill(self, at: int, batch: pa.RecordBatch) -> None:
        block = self.X[at : at + batch.num_rows]
        for j, position in enumerate(self.features):
            column = decoded(batch.column(position), self.name, self.packed)
            if column.null_count:
                self._missing(self.roles.features[j], [at + _rows(column.is_null())[0]])
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())
            with np.errstate(over="ignore"):
                block[:, j] = column.to_numpy(zero_copy_only=False)
        finite = np.isfinite(block)
        if not finite.all():
            row, j = np.argwhere(~finite)[0]
            found = batch.column(self.features[j])[int(row)].as_py()
            if found != found:
                self._missing(self.roles.features[j], [at + int(row)])
            self._fail(
                self.roles.features[j],
                at + int(row),
                f"found {found}; expected a finite number that {block.dtype} can hold; "
                "replace the value, or read as float64",
            )

    def _labels(self, column: str) -> np.ndarray:
        values = self._whole(column)
        if is_text(values.type):
            values = pc.utf8_trim_whitespace(values)
            empty = pc.equal(values, "")
            if pc.any(empty).as_py():
                self._missing(column, _rows(empty))
            return text_array(values, self.name, self.packed)
        if pa.types.is_integer(values.type):
            return values.cast(pa.int64()).to_numpy()
        if pa.types.is_boolean(values.type):
            return values.to_numpy(zero_copy_only=False)
        return self._finite(column, values)

    def _query_ids(self, column: str) -> np.ndarray:
        values = self._whole(column)
        try:
            return values.cast(pa.int64()).to_numpy()
        except pa.ArrowException as error:
            raise DataError(
                f"{self.name}: the qid column {column!r} holds {values.type} ({error}); expected "
                "whole numbers; number the queries"
            ) from error

    def _weights(self, column: str) -> np.ndarray:
        return self._finite(column, self._whole(column))

    def _whole(self, column: str) -> pa.Array:
        values = pa.concat_arrays(self.others[column])
        if values.null_count:
            self._missing(column, _rows(values.is_null()))
        return values

    def _finite(self, column: str, values: pa.Array) -> np.ndarray:
        numbers = values.cast(pa.float64()).to_numpy()
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int(np.argmin(finite))
            self._fail(
                column, row, f"found {numbers[row]}; expected a finite number; replace the value"
            )
        return numbers

    def _missing(self, column: str, rows: list[int]) -> NoReturn:
        others = [str(self.first_row + row + 1) for row in rows[1:10]] + ["..."] * (len(rows) > 10)
        more = f"; also in row{'s' * (len(others) > 1)} {', '.join(others)}" * bool(others)
        told = "found no value; expected a number or label; fill in or drop the row"
        self._fail(column, rows[0], told + more)

    def _fail(self, column: str, row: int, message: str) -> NoReturn:
        place = self.name
        row += self.first_row
        if self.line_of_row is not None:
            place = f"{self.name}:{self.line_of_row(row)}"
        raise DataError(f"{place}: column {column!r}, row {row + 1}: {message}")


def _rows(mask: pa.Array) -> list[int]:
    return pc.indices_nonzero(mask).to_pylist()
