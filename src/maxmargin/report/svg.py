"""Charts as SVG: small, without scripts, in colours that the style sheet of the page chooses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.report.charts import Axis, Chart, HeatMap, Series, span_of, ticks_of
from maxmargin.report.heat_map import draw_heat_map
from maxmargin.report.markup import Markup, element, empty, label
from maxmargin.report.svg_parts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    coordinate,
    cut,
    picture,
    text_at,
)

COLOURS = 6


class Frame:
    """Where numbers are in a picture."""

    def __init__(self, chart: Chart) -> None:
        self.x, self.y = chart.x, chart.y
        self.xs, self.ys = span_of(chart, "x"), span_of(chart, "y")
        names = [text for _, text in ticks_of(chart.y, *self.ys)]
        widest = max((len(label(name)) for name in names), default=0)
        self.left = max(LEFT, min(200, 40 + LETTER * widest))
        self.width, self.height = WIDTH, HEIGHT * chart.height
        self.right, self.bottom = WIDTH - RIGHT, self.height - BOTTOM

    def across(self, values: Any) -> Any:
        return self.left + _share(values, self.x, self.xs) * (self.right - self.left)

    def up(self, values: Any) -> Any:
        return self.bottom - _share(values, self.y, self.ys) * (self.bottom - TOP)


def _share(values: Any, axis: Axis, span: tuple[float, float]) -> np.ndarray:
    """Where values are between the ends of an axis; what is beyond stays at the edge."""
    values = np.asarray(values, dtype=np.float64)
    low, high = span
    if axis.log:
        values = np.log(np.maximum(values, low))
        low, high = math.log(low), math.log(high)
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def draw(chart: Chart | HeatMap, id: str) -> Markup:
    """A picture with its title and what it shows, for those who do not see it."""
    if isinstance(chart, HeatMap):
        return draw_heat_map(chart, id)
    frame = Frame(chart)
    parts = [*_axes(frame)]
    for series in chart.series:
        parts += _DRAWN[series.kind](series, frame)
    return picture(id, chart.title, chart.alt, frame.width, frame.height, parts)


def legend(chart: Chart | HeatMap) -> Markup:
    """Names of the series beside their colours; nothing for a single one."""
    if isinstance(chart, HeatMap):
        return Markup("")
    named = [
        s for s in chart.series if s.name and s.kind in ("line", "points", "bars", "area", "lying")
    ]
    if len(named) < 2:
        return Markup("")
    keys = [
        element("li", element("span", class_=f"key k{s.colour % COLOURS}"), " ", label(s.name))
        for s in named
    ]
    return element("ul", *keys, class_="legend")


# ---------------------------------------------------------------- axes


def _axes(frame: Frame) -> list[Markup]:
    parts = []
    for place, text in ticks_of(frame.y, *frame.ys):
        y = coordinate(frame.up(place))
        parts.append(
            empty(
                "line",
                x1=coordinate(frame.left),
                x2=coordinate(frame.right),
                y1=y,
                y2=y,
                class_="grid",
            )
        )
        parts.append(
            text_at(frame.left - 6, float(frame.up(place)) + 4, cut(text, frame.left - 34), "end")
        )
    last = -math.inf
    for place, text in ticks_of(frame.x, *frame.xs):
        x = float(frame.across(place))
        half = LETTER * len(text) / 2
        if x - half < last + 4:
            continue  # it would lie over the one before
        last = x + half
        parts.append(text_at(min(x, WIDTH - half - 2), frame.bottom + 17, text, "middle"))
    middle = (TOP + frame.bottom) / 2
    parts.append(
        empty(
            "line",
            x1=coordinate(frame.left),
            x2=coordinate(frame.right),
            y1=coordinate(frame.bottom),
            y2=coordinate(frame.bottom),
            class_="axis",
        )
    )
    parts.append(
        text_at((frame.left + frame.right) / 2, frame.height - 8, frame.x.label, "middle", "name")
    )
    turned = f"rotate(-90 13 {coordinate(middle)})"
    parts.append(
        element(
            "text",
            frame.y.label,
            x=13,
            y=coordinate(middle),
            text_anchor="middle",
            transform=turned,
            class_="name",
        )
    )
    return parts


# ---------------------------------------------------------------- series


def _line(series: Series, frame: Frame) -> list[Markup]:
    points = _points(frame.across(series.x), frame.up(series.y))
    dashed = "6 4" if series.dashed else None
    return [
        empty(
            "polyline",
            points=points,
            class_=f"line c{series.colour % COLOURS}",
            stroke_dasharray=dashed,
        )
    ]


def _area(series: Series, frame: Frame) -> list[Markup]:
    base = np.zeros_like(series.y) if series.base is None else series.base
    x = np.concatenate([series.x, series.x[::-1]])
    y = np.concatenate([series.y, base[::-1]])
    return [
        empty(
            "polygon",
            points=_points(frame.across(x), frame.up(y)),
            class_=f"area f{series.colour % COLOURS}",
        )
    ]


def _dots(series: Series, frame: Frame) -> list[Markup]:
    class_ = f"dot f{series.colour % COLOURS}"
    return [
        empty("circle", cx=coordinate(x), cy=coordinate(y), r=2.5, class_=class_)
        for x, y in zip(frame.across(series.x), frame.up(series.y))
    ]


def _bars(series: Series, frame: Frame) -> list[Markup]:
    x = frame.across(series.x)
    width = max(1.0, 0.9 * float(np.min(np.diff(np.sort(x)))) if x.size > 1 else 24.0)
    zero, tops = float(frame.up(max(0.0, frame.ys[0]))), frame.up(series.y)
    return [
        empty(
            "rect",
            x=coordinate(at - width / 2),
            y=coordinate(min(top, zero)),
            width=coordinate(width),
            height=coordinate(abs(top - zero)),
            class_=f"bar f{series.colour % COLOURS}",
        )
        for at, top in zip(x, tops)
    ]


def _lying(series: Series, frame: Frame) -> list[Markup]:
    y = frame.up(series.y)
    height = max(1.0, 0.7 * float(np.min(np.diff(np.sort(y)))) if y.size > 1 else 24.0)
    zero, ends = float(frame.across(0.0)), frame.across(series.x)
    return [
        empty(
            "rect",
            x=coordinate(min(end, zero)),
            y=coordinate(at - height / 2),
            width=coordinate(abs(end - zero)),
            height=coordinate(height),
            class_=f"bar f{series.colour % COLOURS}",
        )
        for at, end in zip(y, ends)
    ]


def _rule(series: Series, frame: Frame) -> list[Markup]:
    y = float(frame.up(series.y[0]))
    drawn = empty(
        "line",
        x1=coordinate(frame.left),
        x2=coordinate(frame.right),
        y1=coordinate(y),
        y2=coordinate(y),
        class_="rule",
    )
    above = y - 5 if y - 14 > TOP else y + 13
    return [drawn, text_at(frame.left + 4, above, label(series.name), "start")]


def _mark(series: Series, frame: Frame) -> list[Markup]:
    x, y = float(frame.across(series.x[0])), float(frame.up(series.y[0]))
    dot = empty(
        "circle", cx=coordinate(x), cy=coordinate(y), r=5, class_=f"mark c{series.colour % COLOURS}"
    )
    after = x + 9 + LETTER * len(series.name) < frame.right
    low = y - 8 < TOP + 8
    return [
        dot,
        text_at(
            x + 9 if after else x - 9,
            y + 14 if low else y - 8,
            label(series.name),
            "start" if after else "end",
            "name",
        ),
    ]


_DRAWN = {
    "line": _line,
    "area": _area,
    "points": _dots,
    "bars": _bars,
    "lying": _lying,
    "rule": _rule,
    "mark": _mark,
}


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{coordinate(a)},{coordinate(b)}" for a, b in zip(x, y))
