"""Labels that are to be numbers, however people wrote them: 1.234,50 or $12."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.kinds import Profile
from maxmargin.data.encoding.numerals import WAYS, number_written
from maxmargin.data.encoding.values import distinct
from maxmargin.data.errors import DataError
from maxmargin.data.formats.text_columns import text_column


def format_of(labels: Iterable[np.ndarray]) -> str | None:
    """How the labels of a table are written, block by block; None where they are numbers."""
    profile = Profile(pa.large_string())
    for y in labels:
        if y.dtype.kind in "OU":
            profile.add(text_column(y.tolist()))
    if not profile.known:
        return None
    return max(WAYS, key=lambda way: profile.written[way])  # the first of equals


def as_numbers(
    y: np.ndarray, way: str | None, place: Callable[[int], str], column: str
) -> np.ndarray:
    """Labels in one way of writing as numbers; the first that is none is refused."""
    if way is None or y.dtype.kind not in "OU":
        return y
    found = distinct(text_column(y.tolist()))
    numbers = np.array(
        [math.nan if text is None else number_written(text, way) for text in found.values]
    )[found.codes]
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"{place(row)}: column {column!r}: found {str(y[row])!r}; expected a number, as 1234.5 "
            "or 1.234,5; replace it or drop the row, or train classes with --kind linear"
        )
    return numbers
