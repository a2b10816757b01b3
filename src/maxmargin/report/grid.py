"""Validation errors over a grid of C and gamma, as a picture or in characters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.report.figures import INK, new_figure
from maxmargin.report.saving import format_of, saved
from maxmargin.report.sections.words import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = " .:-=+*#%@"  # from the smallest error to the largest


def error_map(
    Cs: np.ndarray,
    gammas: np.ndarray,
    error: np.ndarray,
    path: str | os.PathLike[str] | None = None,
    best: tuple[int, int] | None = None,
) -> Figure:
    """Draw the mean validation error of every grid point.

    Parameters
    ----------
    Cs, gammas : the values tried
    error : array of shape (gammas, Cs), between 0 and 1; NaN where a search ended early
    path : file to write, if any; its suffix chooses the format (.png, .svg, .pdf)
    best : (row, column) of the point the model was fitted at: `best_index_` of KernelSVCCV, which
        breaks ties of errors by the loss; None for the first of the smallest errors
    """
    _check(Cs, gammas, error)
    kind = format_of(path)
    figure = new_figure(
        figsize=(1.8 + 0.62 * len(Cs), 1.6 + 0.46 * len(gammas)), layout="constrained"
    )
    axes = figure.subplots()
    percent = 100 * error
    drawn = axes.imshow(percent, origin="lower", aspect="auto", cmap="YlGnBu_r")
    middle = np.nanmin(percent) + 0.5 * np.ptp(percent[~np.isnan(percent)])
    for (row, column), value in np.ndenumerate(percent):
        if not np.isnan(value):
            colour = "white" if value < middle else INK
            axes.text(
                column, row, f"{value:.1f}", ha="center", va="center", color=colour, fontsize=8
            )
    row, column = best_of(error) if best is None else best
    axes.plot(column, row, marker="s", markersize=24, fillstyle="none", color="#c2410c", mew=2)
    axes.set_xticks(range(len(Cs)), [short(C) for C in Cs], rotation=45)
    axes.set_yticks(range(len(gammas)), [short(gamma) for gamma in gammas])
    axes.set_xlabel("C", color=INK)
    axes.set_ylabel("gamma", color=INK)
    figure.colorbar(drawn, label="validation error, per cent")
    figure.suptitle(
        f"error {percent[row, column]:.2f} % at C = {Cs[column]:.3g}, gamma = {gammas[row]:.3g}",
        color=INK,
        fontsize=12,
    )
    return saved(figure, path, kind)


def error_chart(
    Cs: np.ndarray, gammas: np.ndarray, error: np.ndarray, best: tuple[int, int] | None = None
) -> str:
    """The same in characters: rows are gammas, columns Cs; the best point has an arrow."""
    _check(Cs, gammas, error)
    best = best_of(error) if best is None else best
    lines = ["gamma \\ C " + "".join(f"{C:>9.2g}" for C in Cs)]
    for row in reversed(range(len(gammas))):
        cells = ""
        for column in range(len(Cs)):
            value = error[row, column]
            mark = ">" if (row, column) == best else " "
            text = "-" if np.isnan(value) else f"{100 * value:.1f}{_shade(value, error)}"
            cells += f"{mark + text:>9}"
        lines.append(f"{gammas[row]:<10.2g}{cells}")
    return "\n".join(lines) + "\n"


def best_of(error: np.ndarray) -> tuple[int, int]:
    """Where the error is smallest; of equal ones the first."""
    row, column = np.unravel_index(np.nanargmin(error), error.shape)
    return int(row), int(column)


def _shade(value: float, error: np.ndarray) -> str:
    low, high = np.nanmin(error), np.nanmax(error)
    share = (value - low) / (high - low) if high > low else 0.0
    return SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]


def _check(Cs: np.ndarray, gammas: np.ndarray, error: np.ndarray) -> None:
    if error.shape != (len(gammas), len(Cs)):
        raise ValueError(
            f"errors of shape {error.shape} do not fit {len(gammas)} gammas and {len(Cs)} Cs"
        )
    if np.isnan(error).all():
        raise ValueError("no grid point was tried in every fold: there is nothing to draw")
