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
    basis = subject.kind.startswith("sparse-kernel")
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
    """The machines of the cells and, where rows were judged, how each did on those it decided."""
    machines = getattr(subject.model, "cells", None)
    if not machines:
        return None
    vectors = np.array([cell.vectors.shape[0] for cell in machines])
    text = [
        f"{number(len(machines))} cells, each a machine of its own with {number(vectors.min())} "
        f"to {number(vectors.max())} support vectors."
    ]
    columns, charts = ["cell", "C", "gamma", "support vectors"], []
    facts = [
        [str(k + 1), f"{cell.C:.4g}", f"{cell.gamma:.4g}", number(size)]
        for k, (cell, size) in enumerate(zip(machines, vectors))
    ]
    order, title = np.argsort(-vectors, kind="stable"), "Cells with the most support vectors"
    if subject.cell is not None and subject.judged and subject.classes is not None:
        wrong = np.asarray(subject.predicted != subject.y, dtype=np.float64)
        rows, errors = cell_errors(subject.cell, wrong, len(machines))
        columns += ["rows", "error"]
        facts = [[*f, number(n), share(e)] for f, n, e in zip(facts, rows, errors)]
        order, title = np.argsort(-errors, kind="stable"), "Cells with the largest error"
        charts = [cell_chart(rows[rows > 0], errors[rows > 0])]
    table = Table(title, columns, [facts[k] for k in order[:MOST_CELLS]])
    return Section("Cells", text, charts, [table])


def cell_errors(cell: np.ndarray, wrong: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each of k cells: how many of the rows fell into it, and the share that it got wrong."""
    rows = np.bincount(cell, minlength=k)
    return rows, np.bincount(cell, wrong, minlength=k) / np.maximum(rows, 1)


def cell_chart(rows: np.ndarray, errors: np.ndarray) -> Chart:
    """Cells that decided any row, by the number of these rows."""
    order = np.argsort(-rows, kind="stable")[:MOST_CELLS]
    table = [[number(rows[k]), share(errors[k])] for k in order]
    return Chart(
        "Cells by size and error",
        f"The share of rows that each cell gets wrong, from {share(errors.min())} to "
        f"{share(errors.max())}, over the number of rows it decides.",
        Axis("rows", log=bool(rows.max() > 20 * rows.min())),
        Axis("error"),
        [Series("points", rows.astype(np.float64), errors, "", 1)],
        Table("The largest cells", ["rows", "error"], table),
    )
