"""What kernel machines keep: support vectors, basis vectors, and cells."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.report.charts import Axis, Chart, Section, Series, Table
from maxmargin.report.curves import histogram_edges
from maxmargin.report.sections.words import number, share
from maxmargin.report.subject import Subject

MOST_CELLS = 25


def vectors(subject: Subject) -> Section | None:
    """How many vectors carry the decision, and how much each."""
    model = subject.model
    coefficients = getattr(model, "coefficients", None)
    if coefficients is None or coefficients.ndim != 2:
        return None
    basis = subject.kind == "sparse-kernel"
    what = "basis vectors" if basis else "support vectors"
    facts = [["kernel", str(model.kernel)], [what, number(len(coefficients))]]
    text = [
        f"A prediction takes {number(len(coefficients))} kernel values, one for each of the {what}."
    ]
    if basis and model.bounds and math.isfinite(model.exact_gap):
        estimate = " (with a confidence of 99.9 %)" if model.bounds_are_estimates else ""
        text.append(
            f"The objective is at most {model.exact_gap:.4g} above that of the exact "
            f"machine{estimate}."
        )
    largest = np.abs(coefficients).max(axis=1) if coefficients.size else np.zeros(0)
    charts = [coefficient_chart(largest, what)] if largest.size else []
    return Section("Vectors", text, charts, [Table("Size", ["", "value"], facts)])


def coefficient_chart(largest: np.ndarray, what: str) -> Chart:
    """How large the coefficients of the vectors are."""
    edges = histogram_edges(largest, 20)
    counts = np.histogram(np.clip(largest, edges[0], edges[-1]), edges)[0].astype(np.float64)
    middle = (edges[1:] + edges[:-1]) / 2
    rows = [[f"{m:.3g}", number(c)] for m, c in zip(middle, counts)]
    return Chart(
        f"Coefficients of the {what}",
        "Histogram of the largest coefficient of each vector; the median is "
        f"{np.median(largest):.3g}.",
        Axis("largest coefficient in size"),
        Axis(what),
        [Series("bars", middle, counts, "", 1)],
        Table(f"{what.capitalize()} by coefficient", ["coefficient", what], rows),
    )


def cells(subject: Subject) -> Section | None:
    """Cells by size and validation error, where a machine was trained on parts of the space."""
    model = subject.model
    sizes, errors = getattr(model, "cell_sizes", None), getattr(model, "cell_errors", None)
    if sizes is None or errors is None or len(sizes) == 0:
        return None
    sizes, errors = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    text = [
        f"{number(sizes.size)} cells of {number(sizes.min())} to {number(sizes.max())} rows; "
        "the mean validation "
        f"error by rows is {share(float(sizes @ errors / sizes.sum()))}."
    ]
    worst = np.argsort(-errors, kind="stable")[:MOST_CELLS]
    rows = [[str(j), number(sizes[j]), share(errors[j])] for j in worst]
    chart = Chart(
        "Cells by size and error",
        f"Validation error of each cell over its number of rows, from {share(errors.min())} "
        f"to {share(errors.max())}.",
        Axis("rows", log=bool(sizes.min() > 0 and sizes.max() > 20 * sizes.min())),
        Axis("validation error"),
        [Series("points", sizes, errors, "", 1)],
        Table("Cells with the largest error", ["cell", "rows", "validation error"], rows),
    )
    return Section("Cells", text, [chart])
