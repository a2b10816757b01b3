"""Small pictures made of characters, for places without a screen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from maxmargin.problem import Progress
from maxmargin.report.runs import gap, runs

EIGHTHS = " ▁▂▃▄▅▆▇█"


def gap_chart(
    history: Sequence[Progress], tol: float | None = None, width: int = 60, height: int = 8
) -> str:
    """Columns as high as the logarithm of the relative gap, from the start of a run to its end.

    Of several problems, the one that ended furthest from its optimum.

    >>> from maxmargin.problem import Progress
    >>> history = [Progress(0, 0.0, 1.0, 0.0), Progress(1, 0.5, 1.0, 0.9)]
    >>> print(gap_chart(history, width=4, height=2))
           1 |███
         0.1 |███▁
             0 s  0.5 s
    """
    if not history:
        return "no progress was recorded"
    part = max(runs(history), key=lambda part: gap(part[-1]))
    gaps = [gap(progress) for progress in part]
    times = [progress.seconds for progress in part]
    columns = _resample(times, [math.log10(gap) for gap in gaps], width)
    bottom, top = min(columns), max(columns)
    span = (top - bottom) or 1.0
    # The lowest value keeps one eighth, so that an end is told from an absence.
    levels = [1 + (value - bottom) / span * (8 * height - 1) for value in columns]
    lines = []
    for row in range(height - 1, -1, -1):
        cells = "".join(EIGHTHS[max(0, min(8, round(level - 8 * row)))] for level in levels)
        middle = bottom + span * row / max(height - 1, 1)
        lines.append(f"{_short(10**middle):>8} |{cells.rstrip()}")
    first = 0.0 if times[0] < 0.05 * times[-1] else times[0]
    start, end = f"{_short(first)} s", f"{_short(times[-1])} s"
    lines.append(" " * 9 + start + " " * max(2, width + 1 - len(start) - len(end)) + end)
    if tol is not None:
        reached = "reached" if gaps[-1] <= tol else "missed"
        lines.append(" " * 9 + f"relative gap {gaps[-1]:.2g}; tolerance {tol:g} {reached}")
    return "\n".join(lines)


def _resample(times: Sequence[float], values: Sequence[float], width: int) -> list[float]:
    """The latest value known at each of `width` moments, evenly spread over the run."""
    length = (times[-1] - times[0]) or 1.0
    columns, latest = [], 0
    for column in range(width):
        moment = times[0] + length * column / max(width - 1, 1)
        while latest + 1 < len(times) and times[latest + 1] <= moment:
            latest += 1
        columns.append(values[latest])
    columns[-1] = values[-1]
    return columns


def _short(value: float) -> str:
    return f"{value:.2g}"
