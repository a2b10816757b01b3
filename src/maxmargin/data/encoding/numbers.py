"""Columns of numbers, dates and truth values: scaled, and 0 where a value is missing.

A column with zeros in most rows is divided by the root mean square of the others, so that zeros
stay zeros. Any other has its mean subtracted and is divided by its standard deviation. Either way
a missing value becomes 0, the mean or the usual value, and an indicator says that it was missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.entries import Entries
from maxmargin.data.encoding.numerals import WAYS
from maxmargin.data.encoding.values import DATE_FORMATS, TIME, as_days, as_numbers

MOSTLY_ZERO = 0.5  # more than this share of zeros
DIGITS = 6  # of centre and scale: so they do not depend on how the rows were cut into blocks


@dataclass(frozen=True)
class NumberColumn:
    """``(x - centre) / scale``, and a column that is 1 where x is missing if some were.

    Parameters
    ----------
    name : str
    kind : {"number", "date", "boolean"}
    centre, scale : float
    varies : bool
        Whether the numbers differ; if not, only the indicator is left.
    indicator : bool
        Whether there were missing values.
    formats : tuple of str
        How dates are written, where the table has them as text, and numbers, where that is not as
        programs do it.
    fill : float
        Entries a row has, about.
    """

    kinds: ClassVar[tuple[str, ...]] = ("number", "date", "boolean")

    name: str
    kind: str
    centre: float = 0.0
    scale: float = 1.0
    varies: bool = True
    indicator: bool = False
    formats: tuple[str, ...] = ()
    fill: float = 1.0

    @property
    def width(self) -> int:
        return int(self.varies) + int(self.indicator)

    def feature_names(self) -> list[str]:
        names = [self.name] if self.varies else []
        return names + ([f"{self.name}=<missing>"] if self.indicator else [])

    def numbers(self, column: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
        """Values before scaling, and which rows hold words that are none."""
        read = as_days if self.kind == "date" else as_numbers
        return read(column, self.formats)

    def entries(self, column: pa.Array) -> Entries:
        numbers, words = self.numbers(column)
        missing = np.isnan(numbers)
        _refuse_infinity(numbers)
        parts = []
        if self.varies:
            scaled = (numbers - self.centre) / self.scale
            scaled[missing] = 0.0
            kept = np.flatnonzero(scaled)
            parts.append((kept, np.zeros(len(kept), np.int64), scaled[kept]))
        if self.indicator:
            rows = np.flatnonzero(missing)
            at = int(self.varies)
            parts.append((rows, np.full(len(rows), at), np.ones(len(rows))))
        rows, columns, values = (np.concatenate(part) for part in zip(*parts))
        return Entries(rows, columns, values, words)

    def described(self) -> str:
        """What is done to the column, for people."""
        missing = "missing values get an indicator" if self.indicator else ""
        if not self.varies:
            return missing
        how = f"minus {self.centre:g}, " if self.centre else ""
        scaled = f"{how}divided by {self.scale:g}" if how or self.scale != 1 else "0 or 1"
        if self.kind == "date":
            scaled = f"in {'seconds' if TIME in self.formats else 'days'}, {scaled}"
        elif self.formats:
            scaled = f"written as {self.formats[0]}, {scaled}"
        return "; ".join(filter(None, (scaled, missing)))

    def expected(self) -> str:
        """What a value should be, for messages."""
        what = {"number": "a number", "date": "a date", "boolean": "true or false"}[self.kind]
        return what + (f" written as {' or '.join(self.formats)}" if self.formats else "")

    def packed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "centre": self.centre,
            "scale": self.scale,
            "varies": self.varies,
            "indicator": self.indicator,
            "formats": list(self.formats),
        }


def _refuse_infinity(numbers: np.ndarray) -> None:
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise FoundInfinity(row, float(numbers[row]))


class FoundInfinity(Exception):
    """A number that cannot be scaled; whoever knows the table says where."""

    def __init__(self, row: int, value: float) -> None:
        self.row, self.value = row, value


@dataclass
class NumberStats:
    """What has to be known of the numbers of a column, added up block by block.

    Sums are of ``x - shift``, the shift being the first number, so that large numbers that differ
    little (dates in seconds) keep their digits.
    """

    rows: int = 0
    missing: int = 0
    zeros: int = 0
    shift: float | None = None
    total: float = 0.0
    squares: float = 0.0
    plain_squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    row_numbers: bool = True  # whole numbers from 0 or 1, one more in every row
    last: float = field(default=math.nan, repr=False)

    def add(self, numbers: np.ndarray) -> None:
        """One more block of numbers, NaN where one is missing."""
        _refuse_infinity(numbers)
        self._look_for_row_numbers(numbers)
        known = numbers[~np.isnan(numbers)]
        self.rows += len(numbers)
        self.missing += len(numbers) - len(known)
        if not len(known):
            return
        if self.shift is None:
            self.shift = float(known[0])
        moved = known - self.shift
        self.zeros += len(known) - int(np.count_nonzero(known))
        with np.errstate(over="ignore"):
            self.total += float(moved.sum())
            self.squares += float(np.square(moved).sum())
            self.plain_squares += float(np.square(known).sum())
        self.low = min(self.low, float(known.min()))
        self.high = max(self.high, float(known.max()))

    def _look_for_row_numbers(self, numbers: np.ndarray) -> None:
        if not self.row_numbers or not len(numbers):
            return
        starts = numbers[0] in (0.0, 1.0) if self.rows == 0 else numbers[0] == self.last + 1
        self.row_numbers = bool(starts and (np.diff(numbers) == 1.0).all())
        self.last = float(numbers[-1])

    def column(self, name: str, kind: str, formats: tuple[str, ...] = ()) -> NumberColumn:
        """The encoder these numbers ask for."""
        known = self.rows - self.missing
        varies = known > 0 and self.low < self.high
        about: dict[str, Any] = {
            "varies": varies,
            "indicator": self.missing > 0,
            "formats": formats,
        }
        if kind == "boolean" or not varies:
            return NumberColumn(name, kind, fill=float(varies), **about)
        if self.zeros > MOSTLY_ZERO * known:
            scale = math.sqrt(self.plain_squares / (known - self.zeros))
            return NumberColumn(
                name, kind, scale=_positive(scale), fill=1 - self.zeros / known, **about
            )
        assert self.shift is not None
        mean = self.total / known
        scale = _positive(math.sqrt(max(self.squares / known - mean * mean, 0.0)))
        places = DIGITS - 1 - math.floor(math.log10(scale))
        centre = round(self.shift + mean, places)
        return NumberColumn(name, kind, centre, scale, **about)


def _positive(scale: float) -> float:
    """A scale by which one can divide, to a few digits."""
    rounded = float(f"{scale:.{DIGITS}g}")
    return rounded if math.isfinite(rounded) and rounded >= 1e-300 else 1.0


def unpack_number(packed: dict[str, Any]) -> NumberColumn:
    """The encoder of a file; ValueError where its values cannot be one."""
    numbers: list[Any] = [packed.get("centre"), packed.get("scale")]
    if not all(type(value) in (int, float) and abs(value) < 1e300 for value in numbers):
        raise ValueError("its encoding has a centre or scale that is no number")
    if packed["scale"] <= 0:
        raise ValueError(f"its encoding divides by {packed['scale']}")
    varies, indicator, formats = (packed.get(k) for k in ("varies", "indicator", "formats"))
    if not isinstance(varies, bool) or not isinstance(indicator, bool) or not varies | indicator:
        raise ValueError("its encoding does not say what a number becomes")
    if not isinstance(formats, list):
        raise ValueError(f"its encoding has formats {formats!r}; expected a list")
    # Arrow reads beyond the end of an empty one.
    if packed["kind"] == "date" and not all(format in DATE_FORMATS for format in formats):
        raise ValueError(f"its encoding has dates written as {formats}; expected {DATE_FORMATS}")
    if packed["kind"] == "number" and formats not in ([], *([way] for way in WAYS)):
        raise ValueError(f"its encoding has numbers written as {formats}; expected {WAYS}")
    centre, scale = float(packed["centre"]), float(packed["scale"])
    return NumberColumn(
        packed["name"], packed["kind"], centre, scale, varies, indicator, tuple(formats)
    )
