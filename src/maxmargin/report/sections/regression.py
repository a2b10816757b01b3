"""How far predictions are from their targets, and how often quantiles hold."""

from __future__ import annotations

import numpy as np

from maxmargin.report.charts import Axis, Chart, Section, Series, Table, line, rule
from maxmargin.report.curves import histogram_edges, shares
from maxmargin.report.sections.words import number, share
from maxmargin.report.subject import Subject

MOST_DOTS = 600


def regression(subject: Subject) -> Section | None:
    """Residuals; of quantile models also what share of targets lies below each."""
    if subject.task != "regression" or not subject.judged:
        return None
    assert subject.y is not None and subject.predicted is not None
    y, predicted = subject.y.astype(np.float64), np.asarray(subject.predicted, dtype=np.float64)
    levels = quantiles_of(subject)
    centre = (
        predicted if predicted.ndim == 1 else predicted[:, _central(levels, predicted.shape[1])]
    )
    residual = y - centre
    weight = (
        np.ones(y.size) if subject.weight is None else np.asarray(subject.weight, dtype=np.float64)
    )
    charts = [residual_chart(centre, residual), residual_histogram(residual, subject.weight)]
    tables = [_errors(y, residual, weight)]
    text = [
        f"Half of the rows are predicted to within {number(float(np.median(abs(residual))))} "
        "of their target."
    ]
    if levels:
        columns = predicted[:, None] if predicted.ndim == 1 else predicted
        charts.append(coverage_chart(y, columns, levels, weight))
        text.append(
            f"These are the errors of the quantile {levels[_central(levels, columns.shape[1])]:g}. "
            "A quantile of 0.9, say, is right if nine tenths of the targets lie below it."
        )
    return Section("Errors", text, charts, tables)


def quantiles_of(subject: Subject) -> list[float]:
    """The quantiles that a model predicts; none of other regressions."""
    found = getattr(subject.model, "quantiles", None)
    if found is None:
        parameters = subject.model.parameters
        found = parameters.get("quantiles", parameters.get("quantile"))
    if found is None or parameters_of_another_loss(subject):
        return []
    return [float(level) for level in np.atleast_1d(np.asarray(found, dtype=np.float64))]


def parameters_of_another_loss(subject: Subject) -> bool:
    """Whether the model minimises something else, whatever a quantile among its parameters is."""
    return subject.model.parameters.get("loss", "pinball") not in ("pinball", "quantile")


def _central(levels: list[float], columns: int) -> int:
    if len(levels) != columns:
        return columns // 2
    return int(np.argmin(np.abs(np.array(levels) - 0.5)))


def _errors(y: np.ndarray, residual: np.ndarray, weight: np.ndarray) -> Table:
    total = weight.sum()
    square = float(weight @ residual**2 / total)
    mean = float(weight @ y / total)
    spread = float(weight @ (y - mean) ** 2 / total)
    absolute = float(weight @ np.abs(residual) / total)
    rows = [
        ["mean absolute error", number(absolute)],
        ["root mean squared error", number(square**0.5)],
        ["mean error", number(float(weight @ residual / total))],
        ["R2", f"{1 - square / spread:.4f}" if spread > 0 else "-"],
    ]
    return Table("Errors", ["", "value"], rows)


def residual_chart(predicted: np.ndarray, residual: np.ndarray) -> Chart:
    """What is left over the predictions, for an even subsample of the rows."""
    order = np.argsort(predicted, kind="stable")
    kept = order[np.unique(np.linspace(0, order.size - 1, min(MOST_DOTS, order.size)).astype(int))]
    cuts = np.array_split(order, min(10, order.size))
    rows = [
        [
            f"{predicted[part].mean():.4g}",
            *(f"{v:.4g}" for v in np.quantile(residual[part], [0.1, 0.5, 0.9])),
        ]
        for part in cuts
    ]
    low, high = np.quantile(residual, [0.1, 0.9])
    return Chart(
        "Residuals",
        f"Target less prediction over the prediction: eight tenths lie between {low:.4g} and "
        f"{high:.4g}.",
        Axis("prediction"),
        Axis("target less prediction"),
        [Series("points", predicted[kept], residual[kept], "", 1), rule(0.0, "")],
        Table(
            "Residuals by tenths of the prediction",
            ["mean prediction", "10 %", "median", "90 %"],
            rows,
        ),
    )


def residual_histogram(residual: np.ndarray, weight: np.ndarray | None) -> Chart:
    """How large errors are."""
    edges = histogram_edges(residual)
    middle = (edges[1:] + edges[:-1]) / 2
    part = shares(residual, edges, weight)
    rows = [[f"{m:.4g}", share(p)] for m, p in zip(middle, part)]
    return Chart(
        "Size of the residuals",
        f"Histogram of target less prediction, with its median at {np.median(residual):.4g}.",
        Axis("target less prediction"),
        Axis("share of rows"),
        [Series("bars", middle, part, "", 1)],
        Table("Share of rows by residual", ["residual", "share"], rows),
    )


def coverage_chart(
    y: np.ndarray, predicted: np.ndarray, levels: list[float], weight: np.ndarray
) -> Chart:
    """The share of targets below each predicted quantile, beside the quantile."""
    below = np.array([weight @ (y <= column) / weight.sum() for column in predicted.T])
    levels_ = np.array(levels[: below.size])
    unit = np.array([0.0, 1.0])
    told = ", ".join(f"{share(b)} below the {q:g} quantile" for q, b in zip(levels_, below))
    rows = [[f"{q:g}", share(b), share(b - q)] for q, b in zip(levels_, below)]
    return Chart(
        "Coverage of quantiles",
        f"Of the targets {told}.",
        Axis("quantile", limits=(0.0, 1.0)),
        Axis("share of targets below", limits=(0.0, 1.0)),
        [
            Series("line", unit, unit, "exact", 5, True),
            line(levels_, below, "observed", 1),
            Series("points", levels_, below, "", 1),
        ],
        Table("Coverage", ["quantile", "share below", "difference"], rows),
    )
