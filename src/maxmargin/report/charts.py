"""Charts and tables as plain descriptions, for `svg` (pages) and `figures` (matplotlib) to draw.

A description holds numbers and text as they are. Whoever draws it escapes the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

MOST_POINTS = 400  # of a line: more would not be seen, and pages stay small


@dataclass(frozen=True)
class Table:
    """Rows of text under the names of their columns; the first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Axis:
    """What an axis shows. Without `limits` it covers the data; `ticks` are pairs (place, text)."""

    label: str
    log: bool = False
    limits: tuple[float, float] | None = None
    ticks: Sequence[tuple[float, str]] | None = None


@dataclass(frozen=True)
class Series:
    """One set of numbers drawn in one colour.

    `line` and `points` have y over x; `bars` stand at x from 0 to y; `lying` bars lie at y from 0
    to x; an `area` lies between `base` and y; `rule` is a line across at y; `mark` a single point
    with its name beside it.
    """

    kind: Literal["line", "points", "bars", "lying", "area", "rule", "mark"]
    x: np.ndarray
    y: np.ndarray
    name: str = ""
    colour: int = 0
    dashed: bool = False
    base: np.ndarray | None = None


@dataclass(frozen=True)
class Chart:
    """Series over two axes. `alt` says in a sentence what a picture of it shows."""

    title: str
    alt: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    table: Table | None = None
    height: float = 1.0  # of the usual one


@dataclass(frozen=True)
class HeatMap:
    """Numbers in cells, dark where they are large; `texts` stand in the cells, NaN stays empty."""

    title: str
    alt: str
    x_label: str
    y_label: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: np.ndarray
    texts: Sequence[Sequence[str]]
    marked: tuple[int, int] | None = None
    upwards: bool = False  # the first row at the bottom, as on an axis
    table: Table | None = None


@dataclass(frozen=True)
class Section:
    """A part of a report: what it is called, what it says, shows and tabulates."""

    title: str
    text: Sequence[str] = ()
    charts: Sequence[Chart | HeatMap] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    warnings: Sequence[str] = ()


def line(x: Any, y: Any, name: str = "", colour: int = 0, dashed: bool = False) -> Series:
    """A line through points, thinned where there are more than can be seen."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.size > MOST_POINTS:
        kept = np.unique(np.linspace(0, x.size - 1, MOST_POINTS).round().astype(int))
        x, y = x[kept], y[kept]
    return Series("line", x, y, name, colour, dashed)


def rule(y: float, name: str) -> Series:
    """A dashed line across the picture."""
    return Series("rule", np.empty(0), np.array([float(y)]), name, dashed=True)


def mark(x: float, y: float, name: str, colour: int = 3) -> Series:
    """A point that is named."""
    return Series("mark", np.array([float(x)]), np.array([float(y)]), name, colour)


def span_of(chart: Chart, axis: Literal["x", "y"]) -> tuple[float, float]:
    """From where to where an axis goes: its limits, or all that is drawn."""
    given: Axis = getattr(chart, axis)
    if given.limits is not None:
        return given.limits
    values = [getattr(series, axis) for series in chart.series]
    if axis == "y":
        values += [s.base for s in chart.series if s.base is not None]
        values += [np.zeros(1) for s in chart.series if s.kind == "bars"]
    else:
        values += [np.zeros(1) for s in chart.series if s.kind == "lying"]
    numbers = np.concatenate([np.asarray(v, dtype=np.float64).ravel() for v in values])
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not given.log))]
    if numbers.size == 0:
        return (0.1, 1.0) if given.log else (0.0, 1.0)
    low, high = float(numbers.min()), float(numbers.max())
    if given.log:
        return (low / 2, high * 2) if low == high else (low, high)
    if low == high:
        pad = abs(low) / 10 or 1.0
        return low - pad, high + pad
    return low, high


def ticks_of(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
    """Where an axis is labelled, and with what."""
    if axis.ticks is not None:
        return [(float(at), text) for at, text in axis.ticks]
    if axis.log:
        first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
        powers = range(first, last + 1, max(1, -(-(last - first) // 6)))
        inside = [
            place
            for place in (10.0**power for power in powers)
            if low * 0.999 <= place <= high * 1.001
        ]
        return [(place, f"{place:g}") for place in inside or [low, high]]
    step = _round_step((high - low) / 5)
    places = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return [
        (float(place), _tick_text(place + 0.0))
        for place in np.where(abs(places) < step / 1e6, 0, places)
    ]


def _tick_text(place: float) -> str:
    return f"{place:,.0f}" if 1e4 <= abs(place) < 1e10 else f"{place:.6g}"


def _round_step(step: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= step * 0.999))
