"""Tables of any library as Arrow columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from maxmargin.data.errors import DataError


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table, from row `first`."""

    first: int
    batch: pa.RecordBatch

    @property
    def rows(self) -> int:
        return self.batch.num_rows

    def column(self, name: str) -> pa.Array:
        return self.batch.column(self.batch.schema.get_field_index(name))


def as_table(table: Any, names: list[str] | None = None) -> pa.Table:
    """Arrow columns of pyarrow, pandas, polars and what else speaks Arrow, of a mapping, an array.

    An array's columns have the `names` in order, or x0, x1, ... Names that are no text become text.
    """
    if isinstance(table, pa.Table):
        found = table
    elif isinstance(table, pa.RecordBatch):
        found = pa.Table.from_batches([table])
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        found = _of_pandas(table)
    elif hasattr(table, "__arrow_c_stream__"):
        found = pa.table(table)
    elif isinstance(table, dict):
        found = _of_columns([str(name) for name in table], list(table.values()))
    else:
        found = _of_array(table, names)
    twice = {name for name in found.column_names if found.column_names.count(name) > 1}
    if twice:
        raise DataError(
            f"the table has several columns named {', '.join(map(repr, sorted(twice)))}; expected "
            "different names; rename them"
        )
    return found


def _of_pandas(frame: Any) -> pa.Table:
    """A DataFrame, column by column: one of mixed values is no reason to refuse the others."""
    names = [str(name) for name in frame.columns]
    return _of_columns(names, [frame.iloc[:, at] for at in range(len(names))])


def _of_columns(names: list[str], columns: list[Any]) -> pa.Table:
    return pa.Table.from_arrays([_array(column) for column in columns], names=names)


def _of_array(rows: Any, names: list[str] | None) -> pa.Table:
    array = np.asarray(rows)
    if array.ndim != 2:
        raise DataError(
            f"X has shape {array.shape}; expected a table, or an array of rows and columns"
        )
    d = array.shape[1]
    if names is None:
        names = [f"x{j}" for j in range(d)]
    elif d != len(names):
        raise DataError(f"X has {d} features, but the encoding was made for {len(names)} features")
    return _of_columns(names, [array[:, j] for j in range(d)])


def _array(column: Any) -> Any:
    """One column; values of several types become text."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        return pa.array(column.astype(str).tolist(), pa.string())
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([_plain(value) for value in column], pa.string())


def _plain(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return repr(value) if isinstance(value, float) else str(value)
