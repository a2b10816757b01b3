"""The rows a model is judged on, and their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxmargin.report.charts import Section, Table
from maxmargin.report.sections.words import counted, first_of, number, share
from maxmargin.report.subject import Subject, label_text

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import TableEncoding

MOST_CLASSES = 30
MOST_COLUMNS = 40


def data(subject: Subject) -> Section | None:
    """Size, storage, labels and columns."""
    rows = subject.rows
    if rows is None:
        return None
    where = f" from {rows.name}" if rows.name else ""
    of = f" of {counted(rows.d, 'feature')}" if rows.d else ""
    judged = "The model was judged on " if subject.y is not None else ""
    text = [f"{judged}{counted(rows.n, 'row')}{of}{where}."]
    facts = [["rows", number(rows.n)], ["storage", rows.storage or "-"]]
    if rows.d:
        facts.insert(1, ["features", number(rows.d)])
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
    if subject.task == "labels":
        return [_label_table(subject.class_names, y != 0, weight)]
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
    title = first_of("Labels", len(order), len(labels), "most frequent")
    return [Table(title, ["label", "weight" if weight is not None else "rows", "share"], rows)]


def _label_table(names: list[str], has: np.ndarray, weight: np.ndarray | None) -> Table:
    """Of several labels a row, how many rows have each."""
    weights = np.ones(len(has)) if weight is None else np.asarray(weight, dtype=np.float64)
    counts, total = weights @ has, weights.sum()
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    rows = [[names[j], number(counts[j]), share(counts[j] / total)] for j in order]
    none = float(weights @ ~has.any(axis=1))
    rows.append(["no label", number(none), share(none / total)])
    title = first_of("Labels", len(order), len(names), "most frequent")
    return Table(title, ["label", "weight" if weight is not None else "rows", "share"], rows)


def _columns(subject: Subject) -> list[Table]:
    if subject.encoder is not None:
        return [_encoded(subject.encoder)]
    names = subject.model.feature_names
    if not names:
        return []
    shown = names[:MOST_COLUMNS]
    title = first_of("Columns", len(shown), len(names), "first")
    return [Table(title, ["number", "name"], [[str(j + 1), name] for j, name in enumerate(shown)])]


def _encoded(encoder: TableEncoding) -> Table:
    """The columns of a table, and what features were made of each."""
    rows = [
        [column.name, column.kind, number(column.width), column.described()]
        for column in encoder.columns
    ]
    rows += [[name, "left out", "-", why] for name, why in encoder.left_out.items()]
    title = first_of("Columns", min(len(rows), MOST_COLUMNS), len(rows), "first")
    return Table(title, ["column", "kind", "features", "what is done"], rows[:MOST_COLUMNS])
