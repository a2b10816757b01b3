"""What a cross-validation found, and whether its best point lies at an edge of the grid."""

from __future__ import annotations

import warnings as python_warnings

import numpy as np

from maxmargin.report.charts import Axis, Chart, HeatMap, Section, Series, Table, line, mark
from maxmargin.report.sections.words import number, share, short
from maxmargin.report.subject import Search, Subject


def search(subject: Subject) -> Section | None:
    """Validation errors over C, or over C and gamma."""
    found = subject.search
    if found is None:
        return None
    error = mean_error(found)
    row, column = np.unravel_index(int(np.nanargmin(error)), error.shape)
    best = f"C = {found.Cs[column]:.4g}"
    if found.gammas is not None:
        best += f", {found.axis} = {found.gammas[row]:.4g}"
    value = shown(found, error[row, column])
    text = [
        f"{best_word(found).capitalize()} validation {found.measure}: {value} at {best}, over "
        f"{found.error.shape[2]} folds."
    ]
    if np.isnan(found.error).all(axis=2).any():
        text.append("Points without a number were not tried.")
    chart = path_chart(found) if found.gammas is None else grid_chart(found)
    return Section("Search", text, [chart], warnings=edge_warnings(found, int(row), int(column)))


def shown(found: Search, value: float) -> str:
    """An error is a share of the rows, a loss is a number, and so is a score."""
    return share(value) if found.measure == "error" else number(sign(found) * value)


def sign(found: Search) -> float:
    """What makes of an error what is shown."""
    return -1.0 if found.negative else 1.0


def best_word(found: Search) -> str:
    return "best" if found.negative else "least"


def mean_error(found: Search) -> np.ndarray:
    """Over the folds; NaN where one of them was not tried."""
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)
        return found.error.mean(axis=2)


def edge_warnings(found: Search, row: int, column: int) -> list[str]:
    """A best point at an edge may have a better one beyond."""
    said = []
    axes = [("C", found.Cs, column)]
    if found.gammas is not None:
        axes.append((found.axis, found.gammas, row))
    for name, values, place in axes:
        if len(values) > 1 and place in (0, len(values) - 1):
            end = "smallest" if place == int(np.argmin(values)) else "largest"
            said.append(
                f"The best {name}, {values[place]:.4g}, is the {end} that was tried: a better "
                "one may lie beyond. "
                f"Search again with a wider range of {name}."
            )
    missing = np.isnan(found.error)
    if (missing.any(axis=2) & ~missing.all(axis=2)).any():
        said.append("The search ended early: some points were not tried in every fold.")
    return said


def path_chart(found: Search) -> Chart:
    """The mean error and its spread along C."""
    error, spread = found.error[0].mean(axis=1), found.error[0].std(axis=1)
    best, mean = int(np.nanargmin(error)), sign(found) * error
    rows = [
        [f"{C:.4g}", shown(found, e), shown(found, sign(found) * s)]
        for C, e, s in zip(found.Cs, error, spread)
    ]
    band = Series("area", found.Cs, mean + spread, "one standard deviation", 1, base=mean - spread)
    return Chart(
        "Regularisation path",
        f"The validation {found.measure} over C is {best_word(found)}, "
        f"{shown(found, error[best])}, at C = "
        f"{found.Cs[best]:.4g}.",
        Axis("C", log=True),
        Axis(f"validation {found.measure}"),
        [
            band,
            line(found.Cs, mean, "mean over folds", 1),
            mark(found.Cs[best], mean[best], "best", 0),
        ],
        Table("Validation along C", ["C", f"mean {found.measure}", "standard deviation"], rows),
    )


def grid_chart(found: Search) -> HeatMap:
    """The mean error over C and gamma."""
    assert found.gammas is not None
    error = mean_error(found)
    row, column = np.unravel_index(int(np.nanargmin(error)), error.shape)
    errors = found.measure == "error"
    digits = "1f" if errors else "3g"
    title = f"alidation {found.measure}" + (" in per cent" if errors else "")
    texts = [
        ["" if np.isnan(v) else f"{100 * v if errors else sign(found) * v:.{digits}}" for v in line]
        for line in error
    ]
    rows, columns = [short(g) for g in found.gammas], [short(C) for C in found.Cs]
    table = Table(
        f"Mean v{title}",
        [f"{found.axis} \\ C", *columns],
        [[name, *line] for name, line in zip(rows, texts)],
    )
    return HeatMap(
        f"V{title}",
        f"{best_word(found).capitalize()}, {shown(found, error[row, column])}, at C = "
        f"{found.Cs[column]:.4g} and {found.axis} = {found.gammas[row]:.4g}.",
        "C",
        found.axis,
        columns,
        rows,
        error,
        texts,
        (int(row), int(column)),
        upwards=True,
        table=table,
    )
