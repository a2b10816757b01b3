"""Which features a linear model leans on, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.report.charts import Axis, Chart, Section, Series, Table
from maxmargin.report.sections.words import number
from maxmargin.report.subject import Subject

MOST = 20  # weights of one score
MOST_PROBLEMS = 4  # charts; a table has the largest weights of all


def weights(subject: Subject) -> Section | None:
    """The largest weights of each score."""
    coef = getattr(subject.model, "coef", None)
    if coef is None:
        return None
    names = feature_names(subject.model, coef.shape[1])
    used = int((coef != 0).any(axis=0).sum())
    value = "prediction" if subject.task == "regression" else "score"
    text = [
        f"{number(used)} of {number(coef.shape[1])} weights are not zero. A weight says how much "
        f"the {value} changes when the feature grows by one, so that weights compare features of "
        "equal scale only."
    ]
    scores = score_names(subject, len(coef))
    shown = list(zip(scores, coef))[:MOST_PROBLEMS]
    if len(coef) > len(shown):
        text.append(f"Drawn are the first {len(shown)} of {len(coef)} scores.")
    charts = [weights_chart(w, names, f"Largest weights for {score}") for score, w in shown]
    return Section("Weights", text, charts)


def score_names(subject: Subject, k: int) -> list[str]:
    """What each row of weights speaks for."""
    if subject.classes is None or subject.model.task == "order":
        value = "prediction" if subject.task == "regression" else "score"
        return subject.level_names(k) or [f"the {value}"] * k
    return subject.class_names[-k:]  # of two classes, the second has the score


def feature_names(model: Any, d: int) -> list[str]:
    """Names of columns; their numbers in the file where there are none."""
    names = getattr(model, "feature_names", None)
    if names is not None and len(names) == d:
        return list(names)
    base = getattr(model, "index_base", None)
    return [f"feature {j + (0 if base is None else base)}" for j in range(d)]


def weights_chart(w: np.ndarray, names: list[str], title: str) -> Chart:
    """The largest weights of a score, the largest on top."""
    order = np.argsort(-np.abs(w), kind="stable")[: min(MOST, w.size)]
    order = order[w[order] != 0]
    order = order[np.argsort(-w[order], kind="stable")]
    places = np.arange(order.size, 0, -1, dtype=np.float64)
    up = w[order] > 0
    series = [
        Series("lying", w[order][part], places[part], "", colour)
        for colour, part in ((1, up), (0, ~up))
        if part.any()
    ]
    rows = [[names[j], f"{w[j]:.6g}"] for j in order]
    told = (
        f"The largest is {w[order[0]]:.4g} for {names[order[0]]}."
        if order.size
        else "All are zero."
    )
    ticks = [(place, names[j]) for place, j in zip(places.tolist(), order)]
    return Chart(
        title,
        f"Bars of the weights that are largest in size. {told}",
        Axis("weight"),
        Axis("", limits=(0.5, order.size + 0.5), ticks=ticks),
        series,
        Table(title, ["feature", "weight"], rows),
        height=max(0.6, 0.18 + 0.075 * order.size),
    )
