"""The charts of reports as matplotlib figures, which show themselves in notebooks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.report.charts import Chart, HeatMap, Series, span_of, ticks_of
from maxmargin.report.markup import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#333333"
COLOURS = ("#c2410c", "#1d4ed8", "#047857", "#7c3aed", "#b45309", "#475569")
NEEDED = "drawing pictures needs matplotlib: pip install 'maxmargin[report]'"


def new_figure(**options: Any) -> Figure:
    """An empty figure that belongs to nobody: no global list of figures holds it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(NEEDED) from error

    class Picture(Figure):
        """A figure that a notebook shows when it is the value of a cell."""

        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    return Picture(**options)


def figure_of(chart: Chart | HeatMap) -> Figure:
    """The picture of a chart."""
    if isinstance(chart, HeatMap):
        return _heat_map(chart)
    figure = new_figure(figsize=(5.6, 3.6 * chart.height), layout="constrained")
    axes = figure.subplots()
    for series in chart.series:
        _DRAWN[series.kind](axes, series, COLOURS[series.colour % len(COLOURS)])
    for name in ("x", "y"):
        axis = getattr(chart, name)
        span = span_of(chart, name)
        if axis.log:
            getattr(axes, f"set_{name}scale")("log")
        if axis.limits is not None:
            room = 0.0 if axis.log else 0.02 * (span[1] - span[0])
            getattr(axes, f"set_{name}lim")(span[0] - room, span[1] + room)
        if axis.ticks is not None:
            places = ticks_of(axis, *span)
            getattr(axes, f"set_{name}ticks")(
                [at for at, _ in places], [_plain(t) for _, t in places]
            )
        getattr(axes, f"set_{name}label")(_plain(axis.label), color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(_plain(chart.title), color=INK, fontsize=11)
    if len([s for s in chart.series if s.name and s.kind not in ("rule", "mark")]) > 1:
        axes.legend(frameon=False, labelcolor=INK, fontsize=9)
    return figure


def _plain(text: str) -> str:
    """Text in which matplotlib finds no formula."""
    return label(text).replace("$", r"\$")


def _name(series: Series) -> dict[str, Any]:
    return {"label": _plain(series.name)} if series.name else {}


def _line(axes: Any, series: Series, colour: str) -> None:
    style = (0, (5, 3)) if series.dashed else "-"
    axes.plot(series.x, series.y, color=colour, linewidth=2, linestyle=style, **_name(series))


def _area(axes: Any, series: Series, colour: str) -> None:
    base = 0.0 if series.base is None else series.base
    axes.fill_between(
        series.x, base, series.y, color=colour, alpha=0.15, linewidth=0, **_name(series)
    )


def _dots(axes: Any, series: Series, colour: str) -> None:
    axes.plot(series.x, series.y, "o", color=colour, markersize=3, alpha=0.6, **_name(series))


def _bars(axes: Any, series: Series, colour: str) -> None:
    x = np.sort(series.x)
    width = 0.9 * float(np.min(np.diff(x))) if x.size > 1 else 0.8
    axes.bar(series.x, series.y, width=width, color=colour, alpha=0.6, **_name(series))


def _lying(axes: Any, series: Series, colour: str) -> None:
    axes.barh(series.y, series.x, height=0.7, color=colour, **_name(series))


def _rule(axes: Any, series: Series, colour: str) -> None:
    axes.axhline(series.y[0], color=INK, linewidth=1, linestyle=(0, (4, 4)))
    axes.annotate(
        _plain(series.name),
        (0.01, series.y[0]),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=9,
        color=INK,
    )


def _mark(axes: Any, series: Series, colour: str) -> None:
    axes.plot(series.x, series.y, "o", color=colour, markersize=7, fillstyle="none", mew=2)
    axes.annotate(
        _plain(series.name),
        (series.x[0], series.y[0]),
        xytext=(8, -12),
        textcoords="offset points",
        fontsize=9,
        color=INK,
    )


_DRAWN = {
    "line": _line,
    "area": _area,
    "points": _dots,
    "bars": _bars,
    "lying": _lying,
    "rule": _rule,
    "mark": _mark,
}


def _heat_map(chart: HeatMap) -> Figure:
    rows, columns = chart.values.shape
    figure = new_figure(
        figsize=(max(3.6, 1.8 + 0.62 * columns), max(3.0, 1.6 + 0.46 * rows)), layout="constrained"
    )
    axes = figure.subplots()
    axes.imshow(
        chart.values, origin="lower" if chart.upwards else "upper", aspect="auto", cmap="Blues"
    )
    known = chart.values[np.isfinite(chart.values)]
    middle = known.min() + 0.5 * np.ptp(known) if known.size else 0.0
    for (row, column), value in np.ndenumerate(chart.values):
        colour = "white" if np.isfinite(value) and value > middle else INK
        text = _plain(chart.texts[row][column])
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    if chart.marked is not None:
        row, column = chart.marked
        axes.plot(column, row, marker="s", markersize=24, fillstyle="none", color=COLOURS[0], mew=2)
    axes.set_xticks(range(columns), [_plain(name) for name in chart.columns], rotation=45)
    axes.set_yticks(range(rows), [_plain(name) for name in chart.rows])
    axes.set_xlabel(chart.x_label, color=INK)
    axes.set_ylabel(chart.y_label, color=INK)
    axes.set_title(_plain(chart.title), color=INK, fontsize=11)
    return figure
