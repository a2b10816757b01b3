"""How good predicted labels are, as facts and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.cli import checks, measures, rows
from maxmargin.cli.fitting import Evaluation, Table, labels_of
from maxmargin.metrics.labelling import roc_area
from maxmargin.metrics.named import HeldOut

if TYPE_CHECKING:
    from maxmargin.cli.measures import Scores
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel, LinearModel

MOST_CLASSES_SHOWN = 20  # a confusion table wider than this cannot be read; --json has it all


def judged_by_score(
    model: LinearModel | KernelModel, dataset: Dataset, threads: int | None
) -> Evaluation:
    """Labels and, if there are two classes, the ROC area of the scores."""
    values = model.decision_function(dataset.X, threads)
    binary = values.ndim == 1
    predicted = (values > 0).astype(np.intp) if binary else np.argmax(values, axis=1)
    scores = counted(model, dataset, predicted)
    area = None
    if binary and len(scores.labels) == 2:
        truth = rows.label_names(labels_of(dataset))
        positive = np.array([name == scores.labels[1] for name in truth])
        area = roc_area(positive, values, dataset.weight)
    shown = "" if area is None else f", ROC area {area:.6f}"
    facts = {"rows": whole(scores.total), "accuracy": scores.accuracy, "roc_area": area}
    return Evaluation(
        facts | class_facts(scores, model, dataset),
        tables(f"accuracy {scores.accuracy:.4%}{shown}", scores),
    )


def held_out(model: Any, dataset: Dataset, threads: int | None) -> HeldOut:
    """Rows beside what a model says of them. Labels are names: a file may write as 1 what the model
    knows as "1"."""
    y, named = labels_of(dataset), model
    if hasattr(model, "classes"):
        y = np.array(rows.label_names(y))
        bare = getattr(model, "_model", model)
        named = replace(bare, classes=np.array(rows.label_names(model.classes)))
    values = model.decision_function(dataset.X, threads)
    return HeldOut(named, values, y, dataset.weight, dataset.qid)


def counted(model: Any, dataset: Dataset, predicted: np.ndarray) -> Scores:
    """Predictions (positions in the model's classes) beside the labels of the data."""
    truth, known = rows.label_names(labels_of(dataset)), rows.label_names(model.classes)
    scores = measures.confusion(truth, predicted, known, dataset.weight)
    checks.warn_of_unknown_labels(scores.labels[len(known) :], known, dataset.source)
    return scores


def class_facts(scores: Scores, model: Any, dataset: Dataset) -> dict[str, Any]:
    found = [*np.unique(labels_of(dataset)).tolist(), *model.classes.tolist()]
    known = {str(label): label for label in found}
    return {
        "classes": [
            {
                "label": known[label],
                "precision": scores.precision(j),
                "recall": scores.recall(j),
                "f1": scores.f1(j),
                "support": whole(scores.support(j)),
            }
            for j, label in enumerate(scores.labels)
        ],
        "confusion": [list(map(whole, row)) for row in scores.confusion.tolist()],
    }


def whole(count: float) -> int | float:
    """A count as a whole number, unless rows have fractional weights."""
    return int(count) if count == int(count) else count


def _ratio(value: float) -> str:
    """For people; a class that no row has, or is given, has no recall, or no precision."""
    return "-" if value != value else f"{value:.4f}"


def tables(title: str, scores: Scores) -> list[Table]:
    """Ratios by class, and the confusion if it can be read."""
    ratios = Table(
        title,
        ["class", "precision", "recall", "F1", "support"],
        [
            [
                label,
                *map(_ratio, (scores.precision(j), scores.recall(j), scores.f1(j))),
                f"{scores.support(j):g}",
            ]
            for j, label in enumerate(scores.labels)
        ],
    )
    if len(scores.labels) > MOST_CLASSES_SHOWN:
        return [ratios]
    confusion = Table(
        "confusion: true class down, predicted across",
        ["", *scores.labels],
        [
            [label, *(f"{count:g}" for count in row)]
            for label, row in zip(scores.labels, scores.confusion.tolist())
        ],
    )
    return [ratios, confusion]
