"""Values of an Arrow column: as numbers, as dates, or as text, whatever type the column has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maxmargin.data.encoding.numerals import COMMA, number_written, plain_number
from maxmargin.data.errors import DataError
from maxmargin.data.formats.text_columns import is_text, text_column

# Words that stand for a missing value, in any table and any case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nat", "?"})
TRUTH = {"true": 1.0, "false": 0.0}
ISO = "ISO 8601"
TIME = "HH:MM:SS"  # of the day, or a duration
DATE_FORMATS = (
    ISO,
    "%Y/%m/%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%b %d %Y",
    "%b %d, %Y",
    "%d %b %Y",
    "%B %d, %Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    TIME,
)
_TIME_PATTERN = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)
_SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True)
class Distinct:
    """A column as its different values, text without the words for missing, and where they are.

    `values[codes[i]]` is the text of row i, and None where the row has none; a code of -1 is a row
    without a value, too.
    """

    values: list[str | None]
    codes: np.ndarray


def type_of(column: pa.Array) -> pa.DataType:
    """The type of the values, which a dictionary may hold."""
    kind = column.type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def is_date(kind: pa.DataType) -> bool:
    return pa.types.is_temporal(kind)


def is_time(kind: pa.DataType) -> bool:
    """Whether values are times of the day or durations."""
    return pa.types.is_time(kind) or pa.types.is_duration(kind)


def is_plain(kind: pa.DataType) -> bool:
    """Whether columns of a type can become numbers."""
    known = pa.types.is_boolean(kind) or pa.types.is_null(kind)
    return known or is_number(kind) or is_date(kind) or is_text(kind)


def check_type(name: str, kind: pa.DataType, place: str) -> None:
    """Refuse columns whose values are neither numbers nor dates nor text."""
    if pa.types.is_binary(kind):
        raise DataError(
            f"{place}: column {name!r} holds bytes that are no UTF-8; expected text in UTF-8 or "
            "UTF-16; save the file as UTF-8 (iconv -f latin1 -t utf-8), or leave the column out "
            "(--drop)"
        )
    if not is_plain(kind):
        raise DataError(
            f"{place}: column {name!r} holds {kind}; expected numbers, text, dates or true and "
            "false; convert it or leave it out (--drop)"
        )


def distinct(column: pa.Array) -> Distinct:
    """The different values of a column as text; blanks around them do not count."""
    if pa.types.is_null(column.type):
        return Distinct([], np.full(len(column), -1))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Distinct([_text(value) for value in column.dictionary.to_pylist()], codes)


def _text(value: Any) -> str | None:
    """A value as text, the same whatever type the table gave it: 1.0 and 1 are "1"."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else repr(int(value)) if value.is_integer() else repr(value)
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def as_numbers(
    column: pa.Array, formats: tuple[str, ...] = ()
) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers of a column, NaN where there is none, and which rows hold words instead (or None).

    `formats` tells how they are written where that is not as programs do it.
    """
    kind = type_of(column)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(kind):
        return _parsed(column, formats[0] if formats else None)
    if is_date(kind):
        return _days(column), None
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), None


def _parsed(column: pa.Array, way: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    try:
        if way != COMMA:
            return column.cast(pa.float64()).to_numpy(zero_copy_only=False), None
    except pa.ArrowInvalid:
        pass
    found = distinct(column)
    numbers = np.array([number_of(value, way) for value in found.values] + [np.nan])
    words = np.array([value is not None for value in found.values] + [False]) & np.isnan(numbers)
    is_word = words[found.codes]
    return numbers[found.codes], is_word if is_word.any() else None


def number_of(value: str | None, way: str | None = None) -> float:
    """A text as a number, written as programs do it or in one of `WAYS`; NaN if it is none."""
    if value is None:
        return np.nan
    if value.lower() in TRUTH:
        return TRUTH[value.lower()]
    return plain_number(value) if way is None else number_written(value, way)


def as_days(column: pa.Array, formats: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray | None]:
    """Dates as days since 1970, NaN where there is none, and which rows hold something else.

    Times of the day and durations are seconds.
    """
    kind = type_of(column)
    if is_date(kind) or pa.types.is_null(kind):
        return as_numbers(column)
    found = distinct(column)
    texts = text_column(found.values)
    days = np.full(len(texts) + 1, np.nan)
    for format in formats:
        parsed = parse_dates(texts, format)
        days[:-1] = np.where(np.isnan(days[:-1]), parsed, days[:-1])
    words = np.array([value is not None for value in found.values] + [False]) & np.isnan(days)
    is_word = words[found.codes]
    return days[found.codes], is_word if is_word.any() else None


def parse_dates(texts: pa.Array, format: str) -> np.ndarray:
    """Days since 1970 of texts in one format, of times seconds; NaN for the others."""
    if format == TIME:
        return np.array([_seconds(text) for text in texts.to_pylist()], float)
    if format != ISO:
        return _days(pc.strptime(texts, format=format, unit="s", error_is_null=True))
    pattern = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?$"
    shaped = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    zoned = pc.and_(shaped, pc.fill_null(pc.match_substring_regex(texts, r"(Z|:.*[+-].*)$"), False))
    plain = _cast_dates(pc.if_else(pc.and_not(shaped, zoned), texts, None), pa.timestamp("us"))
    exact = _cast_dates(pc.if_else(zoned, texts, None), pa.timestamp("us", "UTC"))
    return np.where(np.isnan(plain), exact, plain)


def _seconds(text: str | None) -> float:
    found = _TIME_PATTERN.fullmatch(text or "")
    if found is None:
        return np.nan
    hours, minutes, seconds = found.groups()
    return 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds or 0)


def _cast_dates(texts: pa.Array, kind: pa.DataType) -> np.ndarray:
    """A date that has the form of one and is none (the 31st of June) is no date."""
    try:
        return _days(texts.cast(kind))
    except pa.ArrowInvalid:
        return np.array([_one_date(text, kind) for text in texts])


def _one_date(text: pa.Scalar, kind: pa.DataType) -> float:
    try:
        return float(_days(pa.array([text.as_py()], pa.string()).cast(kind))[0])
    except pa.ArrowInvalid:
        return np.nan


def _days(column: pa.Array) -> np.ndarray:
    """Dates in days since 1970, times and durations in seconds."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if pa.types.is_interval(kind):
        raise DataError(f"found {kind}; expected dates, times or durations; convert the column")
    unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    whole = column.cast(pa.int32()) if pa.types.is_time32(kind) else column
    ticks = whole.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    days = pa.types.is_timestamp(kind)
    return ticks / (unit * _SECONDS_A_DAY) if days else ticks / unit
