"""The rows a model is judged on, and their columns."""

from __future__ import annotations

import numpy as np

from maxmargin.report.charts import Section, Table
from maxmargin.report.sections.words import counted, number, share
from maxmargin.report.subject import Subject, label_text

MOST_CLASSES = 30
MOST_COLUMNS = 40


def data(subject: Subject) -> Section | None:
    """Size, storage, labels and columns."""
    rows = subject.rows
    if rows is None:
        return None
    where = f" from {rows.name}" if rows.name else ""
    text = [f"{counted(rows.n, 'row')} of {counted(rows.d, 'feature')}{where}."]
    facts = [
        ["rows", number(rows.n)],
        ["features", number(rows.d)],
        ["storage", rows.storage or "-"],
    ]
    if rows.entries is not None:
        facts.append(["entries", number(rows.entries)])
        facts.append(["density", share(rows.entries / max(1, rows.n * rows.d))])
    if subject.weight is not None:
        facts.append(["sum of weights", number(float(np.sum(subject.weight)))])
    if subject.qid is not None:
        facts.append(["queries", number(len(np.unique(subject.qid)))])
    warnings = []
    if rows.trained_on:
        warnings.append(
            "These are the rows the model was trained on. Figures on rows it has not seen "
            "are worse."
        )
    tables = [Table("Rows", ["", "value"], facts), *_targets(subject), *_columns(subject)]
    return Section("Data", text, tables=tables, warnings=warnings)


def _targets(subject: Subject) -> list[Table]:
    if subject.y is None:
        return []
    y, weight = subject.y, subject.weight
    if subject.task == "regression":
        marks = np.quantile(y.astype(np.float64), [0, 0.25, 0.5, 0.75, 1])
        names = ("least", "first quartile", "median", "third quartile", "largest")
        return [Table("Targets", ["", "value"], [[n, number(v)] for n, v in zip(names, marks)])]
    labels, place = np.unique(y, return_inverse=True)
    counts = np.bincount(place, weight)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    rows = [
        [label_text(labels[j].item()), number(counts[j]), share(counts[j] / counts.sum())]
        for j in order
    ]
    left = len(labels) - len(order)
    title = "Labels" + (f" (the {len(order)} most frequent of {len(labels)})" if left > 0 else "")
    return [Table(title, ["label", "weight" if weight is not None else "rows", "share"], rows)]


def _columns(subject: Subject) -> list[Table]:
    names = subject.model.feature_names
    if not names:
        return []
    shown = names[:MOST_COLUMNS]
    title = "Columns" + (
        f" (the first {len(shown)} of {len(names)})" if len(names) > len(shown) else ""
    )
    return [Table(title, ["number", "name"], [[str(j + 1), name] for j, name in enumerate(shown)])]
