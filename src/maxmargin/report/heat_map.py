"""Heat maps as SVG."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.report.charts import HeatMap
from maxmargin.report.markup import Markup, element, empty, joined, label
from maxmargin.report.svg_parts import (
    BOTTOM,
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


def draw_heat_map(chart: HeatMap, id: str) -> Markup:
    """The picture of a heat map."""
    rows, columns = chart.values.shape
    left = max(LEFT, min(170, 40 + LETTER * max(len(label(name)) for name in chart.rows)))
    step = (WIDTH - RIGHT - left) / columns
    tall = min(40.0, max(22.0, 240.0 / rows))
    wide = max((len(t) for texts in chart.texts for t in texts), default=0) * LETTER < step - 2
    height = TOP + tall * rows + BOTTOM
    parts = []
    for (row, column), level in np.ndenumerate(_levels(chart.values)):
        at = rows - 1 - row if chart.upwards else row
        x, y = left + column * step, TOP + at * tall
        parts.append(_cell(chart, (row, column), level, (x, y, step, tall), wide))
    if chart.marked is not None:
        row, column = chart.marked
        at = rows - 1 - row if chart.upwards else row
        place = {"x": coordinate(left + column * step + 1), "y": coordinate(TOP + at * tall + 1)}
        parts.append(
            empty(
                "rect",
                **place,
                width=coordinate(step - 2),
                height=coordinate(tall - 2),
                class_="best",
            )
        )
    parts += _names(chart, left, step, tall, rows)
    return picture(id, chart.title, chart.alt, WIDTH, height, parts)


def _levels(values: np.ndarray) -> np.ndarray:
    """Shades from 0 to 1; NaN where there is no value."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    return (values - low) / ((high - low) or 1.0)


def _cell(
    chart: HeatMap, place: tuple[Any, ...], level: float, box: tuple[Any, ...], wide: bool
) -> Markup:
    x, y, step, tall = box
    text = chart.texts[place[0]][place[1]]
    told = f"{label(chart.rows[place[0]])}, {label(chart.columns[place[1]])}: {text}"
    dark = bool(np.isfinite(level) and level > 0.5)
    rectangle = element(
        "rect",
        element("title", told),
        x=coordinate(x + 0.5),
        y=coordinate(y + 0.5),
        width=coordinate(step - 1),
        height=coordinate(tall - 1),
        class_="cell" if np.isfinite(level) else "cell none",
        fill_opacity=coordinate(0.06 + 0.94 * level) if np.isfinite(level) else None,
    )
    written = text_at(x + step / 2, y + tall / 2 + 4, text, "middle", "on" if dark else "off")
    return joined(rectangle, written) if wide else rectangle


def _names(chart: HeatMap, left: float, step: float, tall: float, rows: int) -> list[Markup]:
    longest = max(len(label(name)) for name in chart.columns)
    every = min(3, math.ceil(longest * LETTER / step))  # names share the room of their neighbours
    parts = [
        text_at(
            left + (column + 0.5) * step, TOP + tall * rows + 16, cut(name, step * every), "middle"
        )
        for column, name in enumerate(chart.columns)
        if column % every == 0
    ]
    for row, name in enumerate(chart.rows):
        at = rows - 1 - row if chart.upwards else row
        parts.append(text_at(left - 6, TOP + (at + 0.5) * tall + 4, cut(name, left - 34), "end"))
    parts.append(
        text_at(
            (left + WIDTH - RIGHT) / 2,
            TOP + tall * rows + BOTTOM - 8,
            chart.x_label,
            "middle",
            "name",
        )
    )
    middle = coordinate(TOP + tall * rows / 2)
    parts.append(
        element(
            "text",
            chart.y_label,
            x=13,
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 13 {middle})",
            class_="name",
        )
    )
    return parts
