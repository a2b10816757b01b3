"""Columns of text: what they will be in memory is known before they are.

A dictionary holds a text once, whatever the number of rows that have it, and an array of numpy's
has room for the longest text in every row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maxmargin.data.limits import check_unpacked

_BYTES_OF_A_LETTER = np.dtype("U1").itemsize


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column, which a dictionary may hold."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are text."""
    types = pa.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def without_views(batch: pa.RecordBatch, name: str, packed: int) -> pa.RecordBatch:
    """The batch with its views of text as text, which is all that Arrow's functions take."""
    for j, column in enumerate(batch.columns):
        if pa.types.is_string_view(column.type):
            views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)[column.offset :]
            check_unpacked(name, int(views[: len(column), 0].sum(dtype=np.int64)), packed)
            text = column.cast(pa.large_string())
            batch = batch.set_column(j, batch.schema.field(j).with_type(text.type), text)
    return batch


def text_column(values: Sequence[str | None]) -> pa.Array:
    """Text as an Arrow array, put together by hand: `pa.array` of a list imports pandas."""
    letters = [b"" if value is None else value.encode(errors="surrogatepass") for value in values]
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(word) for word in letters], out=starts[1:])
    known = np.packbits([value is not None for value in values], bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(starts), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def decoded(column: pa.Array, name: str, packed: int) -> pa.Array:
    """The values of a column, without a dictionary."""
    if not pa.types.is_dictionary(column.type):
        return column
    if is_text(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        check_unpacked(name, pc.sum(lengths.take(column.indices)).as_py() or 0, packed)
    return column.dictionary_decode()


def text_array(column: pa.Array, name: str, packed: int) -> np.ndarray:
    """Text as an array of numpy's."""
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    check_unpacked(name, len(column) * longest * _BYTES_OF_A_LETTER, packed)
    return column.to_numpy(zero_copy_only=False).astype(str)
