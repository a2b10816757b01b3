"""What a row store says of itself: its columns first, its counts last."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from maxmargin import _core
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import QID_NAME, WEIGHT_NAME
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
_TYPE_NAMES = {
    pa.bool_(): "bool",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float32(): "float32",
    pa.float64(): "float64",
    pa.string(): "utf8",
}


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
    return {column.name: type_name(column.type) for column in schema}


def type_name(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_list(kind):
        return f"{type_name(kind.value_type)}[{kind.list_size}]"
    if pa.types.is_list(kind):
        return f"{type_name(kind.value_type)}[]"
    return _TYPE_NAMES.get(kind, "other")
