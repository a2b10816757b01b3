"""Pictures by matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence

from maxmargin.data.files import write_atomically
from maxmargin.problem import Progress

INK, PRIMAL, DUAL, GAP = "#333333", "#c2410c", "#1d4ed8", "#047857"
SMALLEST = 1e-16  # gaps below rounding error are drawn as this


def training_curve(
    history: Sequence[Progress],
    path: str | os.PathLike,
    tol: float | None = None,
    title: str | None = None,
) -> None:
    """Draw how primal and dual approached each other, and the gap between them on a log scale.

    Parameters
    ----------
    history : of a fitted estimator (`history_`)
    path : file to write; its suffix chooses the format (.png, .svg, .pdf)
    tol : drawn as the line the gap had to cross
    """
    if len(history) == 0:
        raise ValueError("the history is empty: fit the estimator before drawing its run")
    Figure = _import_figure()
    kind = os.path.splitext(path)[1].lstrip(".").lower() or "png"
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    if kind not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"cannot draw {os.fspath(path)}: end its name in .png, .svg or .pdf")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_bounds(above, history)
    _draw_gap(below, history, tol)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        axes.set_axisbelow(True)
    last = history[-1]
    figure.suptitle(
        title or f"{last.iteration} iterations, {last.seconds:.3g} s, gap {last.relative_gap:.1e}",
        color=INK,
        fontsize=12,
    )
    with write_atomically(path) as file:
        figure.savefig(file, format=kind, dpi=150)


def _draw_bounds(axes, history: Sequence[Progress]) -> None:
    seconds = [progress.seconds for progress in history]
    primal = [progress.primal for progress in history]
    dual = [progress.dual for progress in history]
    axes.fill_between(seconds, dual, primal, color="#f1f0ee", linewidth=0, zorder=0)
    axes.plot(seconds, primal, color=PRIMAL, linewidth=2, label="primal (this model)")
    axes.plot(seconds, dual, color=DUAL, linewidth=2, label="dual (no model is below)")
    # A first point far above the rest (w = 0 on large data) would flatten the interesting part.
    low, high = min(dual), max(primal)
    if len(primal) > 3 and primal[0] > 5 * primal[-1]:
        high = 5 * primal[-1]
    margin = 0.04 * (high - low or 1.0)
    axes.set_ylim(low - margin, high + margin)
    axes.set_ylabel("objective", color=INK)
    axes.legend(frameon=False, labelcolor=INK, loc="center right")


def _draw_gap(axes, history: Sequence[Progress], tol: float | None) -> None:
    seconds = [progress.seconds for progress in history]
    gaps = [max(progress.relative_gap, SMALLEST) for progress in history]
    axes.semilogy(seconds, gaps, color=GAP, linewidth=2)
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


def _import_figure():
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing pictures needs matplotlib: pip install 'maxmargin[report]'"
        ) from error
    return Figure
