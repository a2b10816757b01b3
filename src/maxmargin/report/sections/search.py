"""What a cross-validation found, and whether its best point lies at an edge of the grid."""

from __future__ import annotations

import warnings as python_warnings

import numpy as np

from maxmargin.report.charts import Axis, Chart, HeatMap, Section, Series, Table, line, mark
from maxmargin.report.sections.words import number, share
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
        best += f", gamma = {found.gammas[row]:.4g}"
    text = [
        f"Least validation {found.measure}: {shown(found, error[row, column])} at {best}, over "
        f"{found.error.shape[2]} folds."
    ]
    chart = path_chart(found) if found.gammas is None else grid_chart(found)
    return Section("Search", text, [chart], warnings=edge_warnings(found, int(row), int(column)))


def shown(found: Search, value: float) -> str:
    """An error is a share of the rows, a loss is a number."""
    return share(value) if found.measure == "error" else number(value)


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
        axes.append(("gamma", found.gammas, row))
    for name, values, place in axes:
        if len(values) > 1 and place in (0, len(values) - 1):
            end = "smallest" if place == int(np.argmin(values)) else "largest"
            said.append(
                f"The best {name}, {values[place]:.4g}, is the {end} that was tried: a better "
                "one may lie beyond. "
                f"Search again with a wider range of {name}."
            )
    if np.isnan(found.error).any():
        said.append("The search ended early: some points were not tried in every fold.")
    return said


def path_chart(found: Search) -> Chart:
    """The mean error and its spread along C."""
    mean, spread = found.error[0].mean(axis=1), found.error[0].std(axis=1)
    best = int(np.nanargmin(mean))
    rows = [
        [f"{C:.4g}", shown(found, m), shown(found, s)] for C, m, s in zip(found.Cs, mean, spread)
    ]
    band = Series("area", found.Cs, mean + spread, "one standard deviation", 1, base=mean - spread)
    return Chart(
        "Regularisation path",
        f"The validation {found.measure} over C is least, {shown(found, mean[best])}, at C = "
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
    title = f"alidation {found.measure}" + (" in per cent" if errors else "")
    texts = [
        ["" if np.isnan(v) else f"{100 * v:.1f}" if errors else f"{v:.3g}" for v in line]
        for line in error
    ]
    rows, columns = [f"{g:.2g}" for g in found.gammas], [f"{C:.2g}" for C in found.Cs]
    table = Table(
        f"Mean v{title}",
        ["gamma \\ C", *columns],
        [[name, *line] for name, line in zip(rows, texts)],
    )
    return HeatMap(
        f"V{title}",
        f"Least, {shown(found, error[row, column])}, at C = {found.Cs[column]:.4g} and gamma = "
        f"{found.gammas[row]:.4g}.",
        "C",
        "gamma",
        columns,
        rows,
        error,
        texts,
        (int(row), int(column)),
        upwards=True,
        table=table,
    )
