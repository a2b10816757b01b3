"""Several labels a row: which are given, missed and given wrongly, and how many a row gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.report.charts import Axis, Chart, HeatMap, Section, Series, Table
from maxmargin.report.curves import shares
from maxmargin.report.sections.classes import areas, calibration_chart, ratio
from maxmargin.report.sections.words import first_of, number, share
from maxmargin.report.subject import Subject

MOST_DRAWN = 20  # labels in a picture that can be read
MOST_LISTED = 60


@dataclass(frozen=True)
class Decisions:
    """Weights of the rows by what is true and what is predicted, one number a label."""

    found: np.ndarray
    missed: np.ndarray
    wrong: np.ndarray  # given to a row that does not have it
    rest: np.ndarray

    @property
    def f1(self) -> np.ndarray:
        """0 where a label is neither there nor given."""
        twice = 2 * self.found
        whole = twice + self.missed + self.wrong
        return np.divide(twice, whole, out=np.zeros_like(twice), where=whole > 0)


def labels(subject: Subject) -> Section | None:
    """How often rows get the labels they have."""
    if subject.task != "labels" or not subject.judged:
        return None
    true, given = np.asarray(subject.y) != 0, np.asarray(subject.predicted) != 0
    weight = np.ones(len(true)) if subject.weight is None else np.asarray(subject.weight)
    weight = weight / weight.sum()
    counts = decisions(true, given, subject.weight)
    exact = float(weight @ (true == given).all(axis=1))
    off = float(weight @ (true != given).mean(axis=1))
    text = [
        f"{share(exact)} of the rows get exactly their labels. Of the single decisions, whether "
        f"a row has a label, {share(off)} are wrong.",
        f"On average a row has {number(float(weight @ true.sum(axis=1)))} of the "
        f"{len(subject.class_names)} labels and is given "
        f"{number(float(weight @ given.sum(axis=1)))}.",
        "A label is found where a row has it and is given it, missed where a row has it and is "
        "not, wrong where a row is given it and does not have it.",
    ]
    charts: list[Chart | HeatMap] = [
        decision_chart(subject.class_names, counts),
        number_chart(true, given, weight),
    ]
    if subject.probability is not None:
        k = true.shape[1]
        drawn = calibration_chart(
            "with the label",
            true.ravel(),
            subject.probability.ravel(),
            None if subject.weight is None else np.repeat(subject.weight, k),
            True,
        )
        text.append("The calibration is that of the decisions on all labels.")
        charts.append(drawn)
    return Section("Labels", text, charts, [_by_label(subject, counts)])


def decisions(true: np.ndarray, given: np.ndarray, weight: np.ndarray | None) -> Decisions:
    """Of boolean matrices with a column a label."""
    w = np.ones(len(true)) if weight is None else np.asarray(weight, dtype=np.float64)
    return Decisions(
        w @ (true & given), w @ (true & ~given), w @ (~true & given), w @ ~(true | given)
    )


def decision_chart(names: list[str], counts: Decisions) -> HeatMap:
    """What becomes of each label, those with the least F1 first."""
    order = np.argsort(counts.f1, kind="stable")[:MOST_DRAWN]
    columns = ["found", "missed", "wrong", "rest"]
    cells = np.column_stack([counts.found, counts.missed, counts.wrong, counts.rest])[order]
    texts = [[number(value) for value in row] for row in cells]
    chosen = [names[j] for j in order]
    title = first_of("Decisions by label", len(order), len(names), "with the least F1")
    worst = order[0]
    return HeatMap(
        "Decisions by label",
        f"The label with the least F1, {counts.f1[worst]:.4f}, is {names[worst]}: "
        f"{number(counts.found[worst])} found, {number(counts.missed[worst])} missed, "
        f"{number(counts.wrong[worst])} wrong.",
        "rows",
        "label",
        columns,
        chosen,
        cells / cells.sum(axis=1, keepdims=True),
        texts,
        table=Table(title, ["label", *columns], [[n, *t] for n, t in zip(chosen, texts)]),
    )


def number_chart(true: np.ndarray, given: np.ndarray, weight: np.ndarray) -> Chart:
    """How many labels rows have and get."""
    has, gets = true.sum(axis=1), given.sum(axis=1)
    most = int(max(has.max(), gets.max()))
    places = np.arange(most + 1, dtype=np.float64)
    edges = np.arange(most + 2) - 0.5
    parts = [shares(values, edges, weight) for values in (has, gets)]
    rows = [[str(k), share(a), share(b)] for k, (a, b) in enumerate(zip(*parts))]
    return Chart(
        "Labels of a row",
        f"How many labels rows have, and how many they are given: {share(parts[0][0])} have "
        f"none, {share(parts[1][0])} are given none.",
        Axis("labels of a row", limits=(-0.5, most + 0.5)),
        Axis("share of rows"),
        [
            Series("bars", places, parts[0], "has", 1),
            Series("bars", places, parts[1], "is given", 0),
        ],
        Table("Share of rows by number of labels", ["labels", "have", "are given"], rows),
    )


def _by_label(subject: Subject, counts: Decisions) -> Table:
    names, found_areas = subject.class_names, areas(subject)
    has, gets = counts.found + counts.missed, counts.found + counts.wrong
    order = np.argsort(-has, kind="stable")[:MOST_LISTED]
    rows = []
    for j in order:
        found = counts.found[j]
        ratios = [ratio(found, gets[j]), ratio(found, has[j]), ratio(2 * found, gets[j] + has[j])]
        rows.append([names[j], *ratios, found_areas.get(names[j], "-"), number(has[j])])
    total = [float(part.sum()) for part in (counts.found, gets, has)]
    rows.append(
        [
            "all decisions",
            ratio(total[0], total[1]),
            ratio(total[0], total[2]),
            ratio(2 * total[0], total[1] + total[2]),
            "-",
            number(total[2]),
        ]
    )
    title = first_of("By label", len(order), len(names), "most frequent")
    return Table(title, ["label", "precision", "recall", "F1", "ROC area", "rows with it"], rows)
