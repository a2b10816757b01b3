"""Tables: Parquet and Arrow files, one row an example, into dense rows; tables out of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import scipy.sparse as sp

from maxmargin.data.columns import (
    QID_NAME,
    WEIGHT_NAME,
    Roles,
    Wanted,
    choose,
)
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.files import Content

ROWS_AT_ONCE = 1 << 13
_WIDEST_SPARSE = 10_000


def read_parquet(content: Content, wanted: Wanted, *, dtype: np.dtype, threads: int) -> Dataset:
    """The rows of a Parquet file, a few thousand at a time, so that only X is held whole."""
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(pa.py_buffer(content.bytes)))
        schema, n = file.schema_arrow, file.metadata.num_rows
        batches = file.iter_batches(ROWS_AT_ONCE, use_threads=threads > 1)
        return _dataset(content.name, schema, n, batches, wanted, dtype)
    except (pa.ArrowException, OSError) as error:
        raise damaged(content.name, "Parquet", error) from error


def read_arrow(content: Content, wanted: Wanted, *, dtype: np.dtype) -> Dataset:
    """The rows of an Arrow IPC (Feather) file, used where they lie until they are in X."""
    try:
        table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content.bytes))).read_all()
        batches = table.to_batches(max_chunksize=ROWS_AT_ONCE)
        return _dataset(content.name, table.schema, table.num_rows, batches, wanted, dtype)
    except (pa.ArrowException, OSError) as error:
        raise damaged(content.name, "Arrow", error) from error


def _dataset(
    name: str,
    schema: pa.Schema,
    n: int,
    batches: Iterable[pa.RecordBatch],
    wanted: Wanted,
    dtype: np.dtype,
) -> Dataset:
    roles = choose(name, schema.names, wanted)
    check_numeric(name, schema, roles.features)
    return Filled(name, schema, roles, n, dtype).dataset(batches, feature_names=roles.features)


def check_numeric(name: str, schema: pa.Schema, features: list[str]) -> None:
    """Refuse features that are not numbers."""
    for feature in features:
        kind = schema.field(feature).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (is_numeric(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"{name}: column {feature!r} holds {kind}; expected numbers; encode it as numbers, "
                "drop it, or name it as the target"
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
        self.roles = roles
        self.line_of_row = line_of_row
        self.first_row = first_row  # of the file, where only some of its rows are filled in
        self.X = np.empty((n, len(roles.features)), dtype)
        self.features = [schema.get_field_index(c) for c in roles.features]
        self.others: dict[str, list[pa.Array]] = {
            c: [] for c in (roles.target, roles.qid, roles.weight) if c is not None
        }

    def dataset(
        self, batches: Iterable[pa.RecordBatch], feature_names: list[str] | None
    ) -> Dataset:
        at = 0
        for batch in batches:
            self._fill(at, batch)
            for column, parts in self.others.items():
                parts.append(_decoded(batch.column(batch.schema.get_field_index(column))))
            at += batch.num_rows
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
            column = _decoded(batch.column(position))
            if column.null_count:
                self._missing(self.roles.features[j], at + _first(column.is_null()))
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())
            with np.errstate(over="ignore"):
                block[:, j] = column.to_numpy(zero_copy_only=False)
        finite = np.isfinite(block)
        if not finite.all():
            row, j = np.argwhere(~finite)[0]
            found = batch.column(self.features[j])[int(row)].as_py()
            if found != found:
                self._missing(self.roles.features[j], at + int(row))
            self._fail(
                self.roles.features[j],
                at + int(row),
                f"found {found}; expected a finite number that {block.dtype} can hold; "
                "replace the value, or read as float64",
            )

    def _labels(self, column: str) -> np.ndarray:
        values = self._whole(column)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            values = pc.utf8_trim_whitespace(values)
            empty = pc.equal(values, "")
            if pc.any(empty).as_py():
                self._missing(column, _first(empty))
            return values.to_numpy(zero_copy_only=False).astype(str)
        if not is_numeric(values.type):
            raise DataError(
                f"{self.name}: the label column {column!r} holds {values.type}; expected numbers "
                "or strings; convert it"
            )
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
        values = self._whole(column)
        if not is_numeric(values.type):
            raise DataError(
                f"{self.name}: the weight column {column!r} holds {values.type}; expected numbers"
            )
        return self._finite(column, values)

    def _whole(self, column: str) -> pa.Array:
        values = pa.concat_arrays(self.others[column])
        if values.null_count:
            self._missing(column, _first(values.is_null()))
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

    def _missing(self, column: str, row: int) -> NoReturn:
        self._fail(
            column, row, "found no value; expected a number or label; fill in or drop the row"
        )

    def _fail(self, column: str, row: int, message: str) -> NoReturn:
        place = self.name
        row += self.first_row
        if self.line_of_row is not None:
            place = f"{self.name}:{self.line_of_row(row)}"
        raise DataError(f"{place}: column {column!r}, row {row + 1}: {message}")


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _first(mask: pa.Array) -> int:
    return pc.index(mask, True).as_py()


def write_csv(dataset: Dataset, file: IO[bytes]) -> None:
    """Write rows as CSV: a line of names, the label first, numbers that read back as themselves."""
    writer = None
    for batch in _batches(dataset):
        if writer is None:
            writer = pa.csv.CSVWriter(file, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def write_parquet(dataset: Dataset, file: IO[bytes]) -> None:
    """Write rows as Parquet: the label first, then one column a feature."""
    writer = None
    for batch in _batches(dataset):
        if writer is None:
            writer = pa.parquet.ParquetWriter(file, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _batches(dataset: Dataset) -> Iterable[pa.RecordBatch]:
    X: Any = dataset.X
    n, d = X.shape
    if sp.issparse(X) and d > _WIDEST_SPARSE:
        raise DataError(
            f"X is sparse with {d} columns; CSV and Parquet would hold every zero of at most "
            f"{_WIDEST_SPARSE}; save as svmlight"
        )
    names, columns = _named_columns(dataset)
    rows = max(1, min(1 << 16, (1 << 24) // max(d, 1)))
    for begin in range(0, max(n, 1), rows):
        part = X[begin : begin + rows]
        block = part.toarray() if sp.issparse(part) else part
        sides = {name: pa.array(values[begin : begin + rows]) for name, values in columns.items()}
        label = [sides.pop("label")] if "label" in sides else []
        features = [pa.array(np.ascontiguousarray(block[:, j])) for j in range(d)]
        yield pa.RecordBatch.from_arrays([*label, *features, *sides.values()], names=names)


def _named_columns(dataset: Dataset) -> tuple[list[str], dict[str, np.ndarray]]:
    """Names of all columns in order, and the columns that are not features."""
    columns = {}
    if dataset.y is not None:
        columns["label"] = np.asarray(dataset.y)
    if dataset.qid is not None:
        columns[QID_NAME] = np.asarray(dataset.qid)
    if dataset.weight is not None:
        columns[WEIGHT_NAME] = np.asarray(dataset.weight)
    d = dataset.X.shape[1]
    features = dataset.feature_names or [f"x{j + 1}" for j in range(d)]
    for name in columns:
        if name in features:
            raise DataError(
                f"found a feature named {name!r}, the name of the column for "
                f"{'labels' if name == 'label' else name}; rename the feature"
            )
    first = ["label"] if "label" in columns else []
    return [*first, *features, *(c for c in columns if c != "label")], columns
