"""An encoding in a model file: JSON, checked value by value when it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.data.encoding.categories import CategoryColumn, unpack_category
from maxmargin.data.encoding.encoding import Column, TableEncoding
from maxmargin.data.encoding.numbers import NumberColumn, unpack_number
from maxmargin.data.encoding.numerals import WAYS
from maxmargin.data.encoding.text import TextColumn, unpack_text

MOST_FEATURES = 1 << 31
ROLES = ("target", "weight", "qid")

_UNPACK: dict[str, Callable[[dict[str, Any]], Column]] = {
    **dict.fromkeys(NumberColumn.kinds, unpack_number),
    **dict.fromkeys(CategoryColumn.kinds, unpack_category),
    **dict.fromkeys(TextColumn.kinds, unpack_text),
}


def pack(encoding: TableEncoding) -> dict[str, Any]:
    """Plain values from which `unpack` makes the encoding again."""
    return {
        "columns": [column.packed() for column in encoding.columns],
        "left_out": dict(encoding.left_out),
        "sparse": encoding.sparse,
        "roles": dict(encoding.roles),
        "dtype": encoding.dtype,
        **({} if encoding.target_format is None else {"target_format": encoding.target_format}),
    }


def unpack(packed: object) -> TableEncoding:
    """The encoding `pack` was given; ValueError where a file's values cannot be one."""
    if not isinstance(packed, dict) or not isinstance(packed.get("columns"), list):
        raise ValueError("its encoding has no columns")
    columns = tuple(_column(column) for column in packed["columns"])
    left_out, roles = _texts(packed, "left_out"), _texts(packed, "roles")
    if not set(roles) <= set(ROLES):
        raise ValueError(f"its encoding has the roles {sorted(roles)}; expected some of {ROLES}")
    names = [column.name for column in columns]
    if not names or len(set(names)) < len(names) or set(names) & {*left_out, *roles.values()}:
        raise ValueError("its encoding has no column, or one twice")
    if not isinstance(packed.get("sparse"), bool):
        raise ValueError("its encoding does not say whether rows are sparse")
    if packed.get("dtype") not in ("float32", "float64"):
        raise ValueError(f"its encoding makes rows of {packed.get('dtype')!r}")
    written = packed.get("target_format")
    if written is not None and written not in WAYS:
        raise ValueError(f"its encoding reads numbers written as {written!r}")
    encoding = TableEncoding(columns, left_out, packed["sparse"], roles, packed["dtype"], written)
    if encoding.width > MOST_FEATURES:
        raise ValueError(f"its encoding makes {encoding.width} features")
    return encoding


def _column(packed: object) -> Column:
    if not isinstance(packed, dict) or not isinstance(packed.get("name"), str):
        raise ValueError("its encoding has a column without a name")
    kind = packed.get("kind")
    if not isinstance(kind, str) or kind not in _UNPACK:
        raise ValueError(f"its encoding has a column of unknown kind {kind!r}")
    column = _UNPACK[kind](packed)
    if not column.width:
        raise ValueError(f"its encoding makes nothing of the column {column.name!r}")
    return column


def _texts(packed: dict[str, Any], key: str) -> dict[str, str]:
    texts = packed.get(key)
    if not isinstance(texts, dict) or not all(isinstance(value, str) for value in texts.values()):
        raise ValueError(f"its encoding lacks {key!r}")
    return texts
