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

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import QID_NAME, WEIGHT_NAME
from maxmargin.data.formats.text_columns import is_text, text_array
from maxmargin.data.stream.blocks import Block, Strings
from maxmargin.data.stream.fingerprints import as_bytes

KEY, CHECKSUM_KEY = b"maxmargin", b"crc32c"
FORMAT = "maxmargin row store"
VERSION = 1
LABEL_NAME, INDICES_NAME, VALUES_NAME, DENSE_NAME, STRING_NAME = (
    "label",
    "indices",
    "values",
    "x",
    "string",
)

_LABEL_TYPES = {"f": pa.float64(), "i": pa.int64(), "b": pa.bool_(), "U": pa.string()}
_FLOATS = {np.dtype(np.float32): pa.float32(), np.dtype(np.float64): pa.float64()}
_TYPE_NAMES = {
    pa.bool_(): "bool",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float32(): "float32",
    pa.float64(): "float64",
    pa.string(): "utf8",
}
_NARROW = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Description:
    """What a store says about itself before its rows (schema metadata)."""

    kind: str  # dense | csr | strings
    features: int
    index_base: int | None = None
    feature_names: list[str] | None = None
    source: str = ""  # fingerprint of what it was made from
    shuffled: int | None = None  # seed, if the rows were put into random order
    compression: str | None = None
    columns: dict[str, str] = field(default_factory=dict)  # name and type of each

    def pack(self) -> dict[bytes, bytes]:
        fields = {"format": FORMAT, "version": VERSION, **self.__dict__}
        return {KEY: json.dumps(fields).encode()}

    @property
    def checksum(self) -> int:
        """Of its JSON, which the summary repeats."""
        return _core.crc32c(as_bytes(self.pack()[KEY]))

    @classmethod
    def unpack(cls, name: str, schema: pa.Schema) -> Description:
        """What the metadata of a schema say; `DataError` if they are not a store's."""
        fields = _read_json(name, (schema.metadata or {}).get(KEY))
        if fields.pop("format", None) != FORMAT:
            raise DataError(
                f"{name}: is an Arrow file but not a row store; expected one written by "
                "`maxmargin convert`"
            )
        version = fields.pop("version", None)
        if not isinstance(version, int) or version > VERSION:
            raise DataError(
                f"{name}: is a row store of version {version!r}; expected at most {VERSION}; "
                "update maxmargin, or convert the data again"
            )
        try:
            description = cls(**{f: fields[f] for f in cls.__dataclass_fields__})
        except KeyError as error:
            raise _strange(name, f"its description lacks {error}") from None
        description._check(name, schema)
        return description

    def _has_its_columns(self) -> bool:
        """Whether the columns are those of its kind, and of types that can be read."""
        floats = ("float32", "float64")
        types: dict[str, tuple[str, ...]] = {
            LABEL_NAME: ("float64", "int64", "bool", "utf8"),
            QID_NAME: ("int64",),
            WEIGHT_NAME: ("float64",),
        }
        rows: dict[str, tuple[str, ...]]
        if self.kind == "csr":
            rows = {INDICES_NAME: ("int32[]", "int64[]"), VALUES_NAME: ("float32[]", "float64[]")}
        elif self.kind == "dense":
            rows = {DENSE_NAME: tuple(f"{kind}[{self.features}]" for kind in floats)}
        else:
            rows = {STRING_NAME: ("utf8",)}
        types |= rows
        return all(kind in types.get(column, ()) for column, kind in self.columns.items()) and all(
            column in self.columns for column in rows
        )

    def _check(self, name: str, schema: pa.Schema) -> None:
        names = self.feature_names
        good = (
            _is_count(self.features)
            and self.columns == type_names(schema)
            and self._has_its_columns()
            and self.kind in ("dense", "csr", "strings")
            and self.index_base in (None, 0, 1)
            and (self.shuffled is None or _is_count(self.shuffled))
            and isinstance(self.source, str)
            and (names is None or (_are_texts(names) and len(names) == self.features))
        )
        if not good:
            raise _strange(name, "its description makes no sense")


@dataclass
class Summary:
    """What is known after the last row (metadata of the empty last batch)."""

    rows: int = 0
    entries: int = 0
    largest_block: int = 0  # bytes in memory
    checksums: list[int] = field(default_factory=list)  # CRC-32C of each block
    labels: list[list[Any]] | None = field(default_factory=list)  # [label, count], if few
    description: int = 0  # checksum of the description

    def pack(self) -> dict[bytes, bytes]:
        text = json.dumps(self.__dict__).encode()
        return {KEY: text, CHECKSUM_KEY: b"%08x" % _core.crc32c(as_bytes(text))}

    @classmethod
    def unpack(cls, name: str, metadata: dict[bytes, bytes] | None) -> Summary:
        text = (metadata or {}).get(KEY, b"")
        if (metadata or {}).get(CHECKSUM_KEY) != b"%08x" % _core.crc32c(as_bytes(text)):
            raise _strange(name, "its summary is missing or damaged")
        fields = _read_json(name, text)
        try:
            summary = cls(**{f: fields[f] for f in cls.__dataclass_fields__})
        except KeyError as error:
            raise _strange(name, f"its summary lacks {error}") from None
        counts = (summary.rows, summary.entries, summary.largest_block)
        good = all(map(_is_count, counts)) and isinstance(summary.checksums, list)
        if not good or not (summary.labels is None or _are_label_counts(summary.labels)):
            raise _strange(name, "its summary makes no sense")
        return summary


def _read_json(name: str, text: bytes | None) -> dict[str, Any]:
    try:
        fields = json.loads(text or b"{}")
    except (ValueError, RecursionError) as error:
        raise _strange(name, f"its description is damaged ({error})") from error
    if not isinstance(fields, dict):
        raise _strange(name, "its description is damaged")
    return fields


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _are_label_counts(values: object) -> bool:
    """Whether these are pairs of a label and how many rows have it."""
    return isinstance(values, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], (str, int, float))
        and _is_count(pair[1])
        for pair in values
    )


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _strange(name: str, found: str) -> DataError:
    return DataError(f"{name}: {found}; expected a complete row store; copy or convert it again")


def type_names(schema: pa.Schema) -> dict[str, str]:
    """Name and type of each column, in words of our own: pyarrow's may change."""
    return {column.name: _type_name(column.type) for column in schema}


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_list(kind):
        return f"{_type_name(kind.value_type)}[{kind.list_size}]"
    if pa.types.is_list(kind):
        return f"{_type_name(kind.value_type)}[]"
    return _TYPE_NAMES.get(kind, "other")


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
    return ", ".join(f"{name} ({_type_name(kind)})" for name, kind in types.items())


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
