"""What kind of column each is, by its type and, where that is text, by what the text says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.values import (
    DATE_FORMATS,
    TRUTH,
    _number,
    distinct,
    is_date,
    is_number,
    is_text,
    parse_dates,
)
from maxmargin.data.formats.text_columns import text_column

KINDS = ("number", "date", "boolean", "category", "text", "drop")
MOST_ALIKE = 0.9  # share of values that make a column of text one of numbers, or of dates
LONG = 2.0  # words a value has on average where mostly different values are text
MOST_DISTINCT = 100_000  # different values that are told apart
MOST_FORMATS = 3  # of dates in one column


@dataclass
class Profile:
    """What the values of a column look like, block by block. Only text has to be looked at."""

    type: pa.DataType
    known: int = 0
    numbers: int = 0
    truths: int = 0
    words: int = 0
    seen: set[str] = field(default_factory=set)
    # dates[f, g]: rows whose date is in format g, but not in f; dates[f, f]: rows in format f
    dates: np.ndarray = field(default_factory=lambda: np.zeros((len(DATE_FORMATS),) * 2, np.int64))

    def add(self, column: pa.Array) -> None:
        """One more block of the column."""
        if not is_text(self.type):
            return
        found = distinct(column)
        counts = np.bincount(found.codes + 1, minlength=len(found.values) + 1)[1:]
        rest: list[str] = []
        rest_counts: list[int] = []
        for value, count in zip(found.values, counts.tolist()):
            if value is None or not count:
                continue
            self.known += count
            self.words += count * (value.count(" ") + 1)
            if value.lower() in TRUTH:
                self.truths += count
            elif not np.isnan(_number(value)):
                self.numbers += count
            else:
                rest.append(value)
                rest_counts.append(count)
            if len(self.seen) < MOST_DISTINCT:
                self.seen.add(value)
        self._look_for_dates(rest, np.array(rest_counts))

    def _look_for_dates(self, texts: list[str], counts: np.ndarray) -> None:
        short = [any(c.isdigit() for c in text[:24]) and len(text) < 40 for text in texts]
        if not any(short):
            return
        some = text_column(texts)
        fits = np.array([~np.isnan(parse_dates(some, format)) for format in DATE_FORMATS])
        if fits.any():
            only = (fits[None, :, :] & ~fits[:, None, :]) @ counts
            self.dates += only + np.diag(fits @ counts)

    def formats(self) -> tuple[str, ...]:
        """The fewest formats, the most frequent first, in which all dates are written."""
        chosen = [int(np.argmax(np.diag(self.dates)))]
        while len(chosen) < MOST_FORMATS:
            gain = self.dates[chosen].min(axis=0)
            gain[chosen] = 0
            if not gain.any():
                break
            chosen.append(int(np.argmax(gain)))
        return tuple(DATE_FORMATS[f] for f in chosen)

    def _dated(self) -> int:
        first = int(np.argmax(np.diag(self.dates)))
        others = self.dates[first].copy()
        others[first] = 0
        return int(self.dates[first, first] + others.max(initial=0))

    def kind(self) -> str:
        """One of `KINDS`; a column without any value is to be dropped."""
        if pa.types.is_null(self.type):
            return "drop"
        if pa.types.is_boolean(self.type):
            return "boolean"
        if is_number(self.type):
            return "number"
        if is_date(self.type):
            return "date"
        return self._kind_of_text()

    def _kind_of_text(self) -> str:
        if not self.known:
            return "drop"
        if self.truths == self.known:
            return "boolean"
        if self.numbers >= MOST_ALIKE * self.known:
            return "number"
        if self._dated() >= MOST_ALIKE * self.known:
            return "date"
        many = len(self.seen) > self.known / 2 or len(self.seen) >= MOST_DISTINCT
        if many and self.words >= LONG * self.known:
            return "text"
        return "category"
