"""How a block of rows lies in an Arrow record batch, and what a store says about itself.

    label            float64, int64, bool or utf8        where the rows have labels
    indices, values  list<int32|int64>, list<float>      sparse rows; indices from 0, increasing
    x                fixed_size_list<float>[d]           dense rows
    string           utf8                                rows that are strings
    qid              int64                               where rows belong to queries
    sample_weight    float64                             where rows have weights

What is known before the first row is JSON in the schema's metadata under the key ``maxmargin``;
what is known after the last row is JSON in the metadata of the last record batch, which is empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import QID_NAME, WEIGHT_NAME
from maxmargin.data.formats.text_columns import is_text, text_array
from maxmargin.data.store.description import (
    DENSE_NAME,
    INDICES_NAME,
    LABEL_NAME,
    STRING_NAME,
    VALUES_NAME,
    Description,
    type_name,
    type_names,
)
from maxmargin.data.stream.blocks import Block, Strings

_LABEL_TYPES = {"f": pa.float64(), "i": pa.int64(), "b": pa.bool_(), "U": pa.string()}
_FLOATS = {np.dtype(np.float32): pa.float32(), np.dtype(np.float64): pa.float64()}
_NARROW = np.iinfo(np.int32).max


def schema_of(description: Description, block: Block) -> pa.Schema:
    """The columns for rows like those of a block."""
    fields = []
    if block.y is not None:
        fields.append(pa.field(LABEL_NAME, _LABEL_TYPES[_label_array(block.y).dtype.kind]))
    if isinstance(block.X, Strings):
        fields.append(pa.field(STRING_NAME, pa.string()))
    else:
        number = _FLOATS[block.X.dtype]
        if sp.issparse(block.X):
            index = pa.int32() if description.features <= _NARROW else pa.int64()
            fields.append(pa.field(INDICES_NAME, pa.list_(index)))
            fields.append(pa.field(VALUES_NAME, pa.list_(number)))
        else:
            fields.append(pa.field(DENSE_NAME, pa.list_(number, description.features)))
    if block.qid is not None:
        fields.append(pa.field(QID_NAME, pa.int64()))
    if block.weight is not None:
        fields.append(pa.field(WEIGHT_NAME, pa.float64()))
    described = replace(description, columns=type_names(pa.schema(fields)))
    return pa.schema(fields, metadata=described.pack())


def batch_of(schema: pa.Schema, block: Block) -> pa.RecordBatch:
    """A block as a record batch; arrays that fit are not copied."""
    columns: dict[str, pa.Array] = {}
    if block.y is not None:
        columns[LABEL_NAME] = pa.array(_label_array(block.y))
    X: Any = block.X
    if isinstance(X, Strings):
        columns[STRING_NAME] = string_array(X.letters, X.starts)
    elif sp.issparse(X):
        index = schema.field(INDICES_NAME).type.value_type.to_pandas_dtype()
        starts = pa.array(X.indptr.astype(np.int32, copy=False))
        indices = pa.array(X.indices.astype(index, copy=False))
        columns[INDICES_NAME] = pa.ListArray.from_arrays(starts, indices)
        columns[VALUES_NAME] = pa.ListArray.from_arrays(starts, pa.array(X.data))
    else:
        flat = pa.array(np.ascontiguousarray(X).ravel())
        columns[DENSE_NAME] = pa.FixedSizeListArray.from_arrays(flat, X.shape[1])
    if block.qid is not None:
        columns[QID_NAME] = pa.array(block.qid)
    if block.weight is not None:
        columns[WEIGHT_NAME] = pa.array(block.weight)
    found = {name: column.type for name, column in columns.items()}
    wanted = {column.name: column.type for column in schema}
    if found != wanted:
        raise DataError(
            f"row {block.first + 1} and those after it have columns {_shown(found)}; expected "
            f"{_shown(wanted)} as in the rows before; give all rows the same columns, labels of "
            "one kind and values of one type (dtype=...)"
        )
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _shown(types: dict[str, pa.DataType]) -> str:
    return ", ".join(f"{name} ({type_name(kind)})" for name, kind in types.items())


def string_array(letters: np.ndarray, starts: np.ndarray) -> pa.Array:
    """Strings as Arrow knows them, without a copy of the letters."""
    offsets = starts.astype(np.int32)
    array = pa.Array.from_buffers(
        pa.string(), len(starts) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    )
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"found strings that are not UTF-8 text ({error})") from error
    return array


def strings_of(array: pa.Array) -> Strings:
    """The strings of an Arrow array, without a copy of the letters."""
    n = len(array)
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, letters = array.buffers()
    starts = np.frombuffer(offsets, np.int64 if wide else np.int32)
    starts = starts[array.offset : array.offset + n + 1].astype(np.int64)
    size = 0 if letters is None else len(letters)
    if n and (starts[0] < 0 or starts[-1] > size or (np.diff(starts) < 0).any()):
        raise ValueError("its strings overlap or lie outside the block")
    first, last = (int(starts[0]), int(starts[-1])) if n else (0, 0)
    text = np.frombuffer(letters or b"", np.uint8)[first:last]
    return Strings(text, starts - first)


def block_of(
    description: Description, first: int, batch: pa.RecordBatch, name: str, packed: int
) -> Block:
    """A record batch of so many bytes as a block, views into its buffers; ValueError if it cannot
    be one."""
    names = batch.schema.names
    batch.validate()
    column = {name: batch.column(name) for name in names}
    if any(array.null_count for array in column.values()):
        raise ValueError("it has missing values")
    return Block(
        first,
        _rows_of(description, column, batch.num_rows),
        _labels_of(column[LABEL_NAME], name, packed) if LABEL_NAME in column else None,
        weight=numbers_of(column[WEIGHT_NAME]) if WEIGHT_NAME in column else None,
        qid=numbers_of(column[QID_NAME]) if QID_NAME in column else None,
    )


def numbers_of(array: pa.Array) -> np.ndarray:
    """A view of an array of numbers. Arrow's own `to_numpy` imports pandas where there is one: tens
    of megabytes, which a budget of memory would feel."""
    if array.null_count:
        raise ValueError("it has missing values")
    kind = np.dtype(array.type.to_pandas_dtype())
    if len(array) == 0:
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)


def _rows_of(description: Description, column: dict[str, pa.Array], n: int) -> Any:
    if description.kind == "strings":
        return strings_of(column[STRING_NAME])
    if description.kind == "dense":
        return numbers_of(column[DENSE_NAME].flatten()).reshape(n, description.features)
    indices, values = column[INDICES_NAME], column[VALUES_NAME]
    starts = numbers_of(indices.offsets)
    if not np.array_equal(starts, numbers_of(values.offsets)):
        raise ValueError("its rows have more indices than values, or fewer")
    if len(starts) != n + 1 or starts[0] != 0:
        raise ValueError("its rows do not begin where they should")
    entries = int(starts[-1])
    flat, numbers = numbers_of(indices.values)[:entries], numbers_of(values.values)[:entries]
    starts = starts.astype(flat.dtype, copy=False)
    _core.check_csr(flat, starts, len(numbers), description.features)
    X = sp.csr_array((numbers, flat, starts), shape=(n, description.features), copy=False)
    X.has_canonical_format = True  # just checked
    return X


def _label_array(y: np.ndarray) -> np.ndarray:
    y = np.asarray(y)
    if y.dtype.kind in "Ub":
        return y
    if y.dtype.kind in "iu":
        return y.astype(np.int64, copy=False)
    if y.dtype.kind == "f":
        return y.astype(np.float64, copy=False)
    return y.astype(str)


def _labels_of(array: pa.Array, name: str, packed: int) -> np.ndarray:
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_of(array)
    array.validate(full=True)
    return (
        text_array(array, name, packed)
        if is_text(array.type)
        else array.to_numpy(zero_copy_only=False)
    )
