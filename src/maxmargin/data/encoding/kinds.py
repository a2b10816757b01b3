"""What kind of column each is, by its type and, where that is text, by what the text says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.numerals import WAYS, also_comma, number_written
from maxmargin.data.encoding.values import (
    DATE_FORMATS,
    TIME,
    TRUTH,
    distinct,
    is_date,
    is_number,
    is_time,
    number_of,
    parse_dates,
)
from maxmargin.data.formats.text_columns import is_text, text_column

KINDS = ("number", "date", "boolean", "category", "text", "drop")
MOST_ALIKE = 0.9  # share of values that make a column of text one of numbers, or of dates
LONG = 2.0  # words a value has on average where mostly different values are text
MOST_DISTINCT = 100_000  # different values that are told apart
MOST_FORMATS = 3  # of dates in one column
_TIME_AT = DATE_FORMATS.index(TIME)
FEW_WORDS = 3  # among numbers they stand for missing ones ("unknown"), however often
MANY_NUMBERS = 20  # different ones, beside which words are that


@dataclass
class Profile:
    """What the values of a column look like, block by block. Only text has to be looked at."""

    type: pa.DataType
    known: int = 0
    numbers: int = 0  # as programs write them
    truths: int = 0
    words: int = 0
    seen: set[str] = field(default_factory=set)
    # written[w]: rows with a number in way w of writing; words_of[w]: some values that are none
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    words_of: dict[str, set[str]] = field(default_factory=lambda: {way: set() for way in WAYS})
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
            elif not np.isnan(number_of(value)):
                self.numbers += count
                self._look_at_writing(value, count, (True, also_comma(value)))
            else:
                rest.append(value)
                rest_counts.append(count)
                fits = tuple(not np.isnan(number_written(value, way)) for way in WAYS)
                self._look_at_writing(value, count, fits)
            if len(self.seen) < MOST_DISTINCT:
                self.seen.add(value)
        self._look_for_dates(rest, np.array(rest_counts))

    def _look_at_writing(self, value: str, count: int, fits: tuple[bool, ...]) -> None:
        for way, fit in zip(WAYS, fits):
            if fit:
                self.written[way] += count
            elif len(self.words_of[way]) <= FEW_WORDS:
                self.words_of[way].add(value)

    def _look_for_dates(self, texts: list[str], counts: np.ndarray) -> None:
        short = [any(c.isdigit() for c in text[:24]) and len(text) < 40 for text in texts]
        if not any(short):
            return
        some = text_column(texts)
        fits = np.array([~np.isnan(parse_dates(some, format)) for format in DATE_FORMATS])
        if fits.any():
            only = (fits[None, :, :] & ~fits[:, None, :]) @ counts
            only[_TIME_AT] = only[:, _TIME_AT] = 0  # seconds and days do not go together
            self.dates += only + np.diag(fits @ counts)

    def formats_of(self, kind: str) -> tuple[str, ...]:
        """How the values of a column of dates or numbers are written."""
        if kind == "date":
            return self.formats()
        return self.writing() if kind == "number" else ()

    def writing(self) -> tuple[str, ...]:
        """How numbers are written, if that is not as programs do it."""
        way = max(WAYS, key=lambda way: self.written[way])  # the first of equals
        return (way,) if self.written[way] > self.numbers else ()

    def _is_of_numbers(self) -> bool:
        """Whether values are numbers, but for a few or for a word that stands for missing ones."""
        if max(self.numbers, *self.written.values()) >= MOST_ALIKE * self.known:
            return True
        way = next(iter(self.writing()), WAYS[0])
        words = len(self.words_of[way])
        several = len(self.seen) - words >= MANY_NUMBERS
        return several and words <= FEW_WORDS and 2 * self.written[way] >= self.known

    def formats(self) -> tuple[str, ...]:
        """The fewest formats, the most frequent first, in which all dates are written."""
        if is_time(self.type):
            return (TIME,)
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
        if self._is_of_numbers():
            return "number"
        many = len(self.seen) > self.known / 2 or len(self.seen) >= MOST_DISTINCT
        if many and self.words >= LONG * self.known:
            return "text"
        return "category"
