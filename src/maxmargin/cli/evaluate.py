"""``maxmargin evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maxmargin.cli import options
from maxmargin.cli.console import print_json, print_table

if TYPE_CHECKING:
    from maxmargin.cli.measures import Scores
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel, LinearModel

MOST_CLASSES_SHOWN = 20  # a confusion table wider than this cannot be read; --json has it all


def evaluate(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="From train, or of LIBLINEAR.")],
    threads: options.Threads = None,
    format: options.DataFormat = None,
    target: options.Target = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    json: options.Json = False,
) -> None:
    """Print accuracy, precision, recall, F1, ROC area (two classes) and confusion.

    Rows count by their weights where the data has some.
    """
    from maxmargin.cli import rows
    from maxmargin.models import load_model

    kept = load_model(model)
    dataset = rows.read_for(
        kept,
        data,
        format=format,
        target=target,
        zero_based=zero_based,
        threads=threads,
        dtype=dtype,
    )
    scores, area = measure(kept, dataset, threads)
    if json:
        print_json(as_dict(scores, area))
    else:
        show(scores, area)


def measure(
    model: LinearModel | KernelModel, dataset: Dataset, threads: int | None = None
) -> tuple[Scores, float | None]:
    """Scores of a model on labelled rows, and the ROC area if there are two classes."""
    import numpy as np

    from maxmargin.cli import measures, rows

    values = model.decision_function(dataset.X, threads)
    binary = values.ndim == 1
    predicted = (values > 0).astype(np.intp) if binary else np.argmax(values, axis=1)
    classes = rows.label_names(model.classes)
    truth = rows.label_names(rows.labels_of(dataset))
    scores = measures.confusion(truth, predicted, classes, dataset.weight)
    if not binary or len(scores.labels) > 2:
        return scores, None
    positive = np.array([name == classes[1] for name in truth])
    return scores, measures.roc_area(positive, values, dataset.weight)


def as_dict(scores: Scores, area: float | None) -> dict:
    return {
        "rows": scores.total,
        "accuracy": scores.accuracy,
        "roc_area": area,
        "classes": [
            {
                "label": label,
                "precision": scores.precision(j),
                "recall": scores.recall(j),
                "f1": scores.f1(j),
                "support": scores.support(j),
            }
            for j, label in enumerate(scores.labels)
        ],
        "confusion": scores.confusion.tolist(),
    }


def show(scores: Scores, area: float | None) -> None:
    """Tables for people."""
    print_table(
        f"accuracy {scores.accuracy:.4%}" + ("" if area is None else f", ROC area {area:.6f}"),
        ["class", "precision", "recall", "F1", "support"],
        [
            [
                label,
                f"{scores.precision(j):.4f}",
                f"{scores.recall(j):.4f}",
                f"{scores.f1(j):.4f}",
                f"{scores.support(j):g}",
            ]
            for j, label in enumerate(scores.labels)
        ],
    )
    if len(scores.labels) <= MOST_CLASSES_SHOWN:
        print_table(
            "confusion: true class down, predicted across",
            ["", *scores.labels],
            [
                [label, *(f"{count:g}" for count in row)]
                for label, row in zip(scores.labels, scores.confusion.tolist())
            ],
        )
