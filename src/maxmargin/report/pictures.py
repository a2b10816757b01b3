"""Pictures by matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxmargin.problem import Progress
from maxmargin.report.figures import INK, new_figure
from maxmargin.report.runs import gap, runs
from maxmargin.report.saving import format_of, saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIMAL, DUAL, GAP = "#c2410c", "#1d4ed8", "#047857"


def training_curve(
    history: Sequence[Progress],
    path: str | os.PathLike[str] | None = None,
    tol: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw how primal and dual approached each other, and the gap between them on a log scale.

    Parameters
    ----------
    history : of a fitted estimator (`history_`); a line each for several problems
    path : file to write, if any; its suffix chooses the format (.png, .svg, .pdf)
    tol : drawn as the line the gap had to cross
    """
    if len(history) == 0:
        raise ValueError("the history is empty: fit the estimator before drawing its run")
    kind = format_of(path)
    figure = new_figure(figsize=(7.2, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    parts = runs(history)
    _draw_bounds(above, parts)
    _draw_gap(below, parts, tol)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        axes.set_axisbelow(True)
    figure.suptitle(title or summary(parts), color=INK, fontsize=12)
    return saved(figure, path, kind)


def summary(parts: list[list[Progress]]) -> str:
    """The title: the longest of the problems in each respect, and the worst gap."""
    worst = max((part[-1] for part in parts), key=gap)
    problems = "" if len(parts) == 1 else f"{len(parts)} problems, at most "
    return (
        f"{problems}{max(part[-1].iteration for part in parts)} iterations, "
        f"{max(part[-1].seconds for part in parts):.3g} s, gap {worst.relative_gap:.1e}"
    )


def _draw_bounds(axes: Any, parts: list[list[Progress]]) -> None:
    for part in parts:
        seconds = [progress.seconds for progress in part]
        primal = [progress.primal for progress in part]
        dual = [progress.dual for progress in part]
        width = 2 if len(parts) == 1 else 1
        axes.fill_between(seconds, dual, primal, color="#f1f0ee", linewidth=0, zorder=0)
        (above,) = axes.plot(seconds, primal, color=PRIMAL, linewidth=width)
        (below,) = axes.plot(seconds, dual, color=DUAL, linewidth=width)
    axes.set_ylabel("objective", color=INK)
    axes.legend(
        [above, below],
        ["primal (this model)", "dual (no model is below)"],
        frameon=False,
        labelcolor=INK,
        loc="best" if len(parts) > 1 else "center right",
    )


def _draw_gap(axes: Any, parts: list[list[Progress]], tol: float | None) -> None:
    for part in parts:
        seconds = [progress.seconds for progress in part]
        gaps = [gap(progress) for progress in part]
        axes.semilogy(seconds, gaps, color=GAP, linewidth=2 if len(parts) == 1 else 1)
        axes.plot(seconds[-1:], gaps[-1:], "o", color=GAP, markersize=5, clip_on=False)
    if tol is not None:
        axes.axhline(tol, color=INK, linewidth=1, linestyle=(0, (4, 4)))
        axes.annotate(
            f"tolerance {tol:g}",
            (0, tol),
            xycoords=("axes fraction", "data"),
            xytext=(4, 4),
            textcoords="offset points",
            color=INK,
            fontsize=9,
        )
    axes.set_ylabel("relative gap", color=INK)
    axes.set_xlabel("seconds", color=INK)
