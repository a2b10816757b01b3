"""``maxmargin predict``: a label or a score for every row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import kinds, options, outputs
from maxmargin.cli.console import json_line, printable
from maxmargin.cli.options import Choices, Option
from maxmargin.cli.progress import Messages

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.fitting import Predictions
    from maxmargin.data import Dataset


OPTIONS = (
    Option("--scores", "Decision values after each label, in class order.", bool, False),
    Option("--probabilities", "Probabilities after each label, in class order.", bool, False),
    *(options.THREADS, options.FORMAT, options.TARGET, options.QID, options.TEXT),
    *(options.ZERO_BASED, options.DTYPE, options.FROM_DISK),
    *(options.FORCE, options.QUIET, options.JSON),
)
EXAMPLES = (
    ("predict new.svm spam.model", "a label per line, to stdout"),
    ("predict new.csv churn.model out.txt --scores", "labels and decision values, to a file"),
)


def predict(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help=options.MODEL_HELP)],
    out: Annotated[str, typer.Argument(metavar="OUT", help="Where they go; '-' is stdout.")] = "-",
    *,
    choices: Choices,
) -> None:
    """Print the predicted label of every row, one per line; of a rank model, its score."""
    from maxmargin.cli.rows import label_names, pieces_for, read_for
    from maxmargin.models import load_model

    if choices.json and choices.from_disk:
        raise typer.BadParameter("--json is one line for all rows: leave out --from-disk")
    kept = load_model(model)
    check_probabilities(kept, model, choices)
    if out != "-":
        classes = getattr(kept, "classes", None)
        labels = None if classes is None else label_names(classes)
        outputs.Outputs([data, model], choices.force).check(out, outputs.predictions(labels))
    pieces: Iterable[Dataset]
    pieces = (
        pieces_for(kept, data, choices) if choices.from_disk else [read_for(kept, data, choices)]
    )
    machine, told = kinds.machine_of(kept), Told()
    with writing(out) as write:
        for piece in pieces:
            predictions = machine.predict(kept, piece.X, choices.threads, choices.scores)
            if choices.probabilities:
                probabilities = kept.probabilities(piece.X, choices.threads)
                predictions = replace(predictions, probabilities=probabilities)
            write(_json(predictions) if choices.json else _lines(predictions))
            if predictions.labels is not None:
                told.add(kept.classes, predictions.labels, piece)
    told.say(Messages(choices.quiet))


def check_probabilities(model: Any, path: str, choices: Choices) -> None:
    """Refuse to print probabilities that a model does not have."""
    if not choices.probabilities:
        return
    if choices.scores:
        raise typer.BadParameter("--probabilities and --scores are one or the other")
    if getattr(model, "calibration", None) is None:
        raise typer.BadParameter(
            f"--probabilities: {path} has none; train it with maxmargin train --probabilities"
        )


class Told:
    """How many predictions are right, if the file has labels that the model knows."""

    def __init__(self) -> None:
        self.right, self.total, self.unknown = 0, 0, False

    def add(self, classes, labels, dataset: Dataset) -> None:
        if dataset.y is None:
            return
        truth = plain_names(dataset.y)
        self.total += len(truth)
        self.right += sum(map(str.__eq__, plain_names(labels), truth))
        self.unknown |= not set(truth) <= set(plain_names(classes))  # then they are placeholders

    def say(self, messages: Messages) -> None:
        if self.total and not self.unknown:
            share = f"{self.right / self.total:.4%}"
            messages.say(f"accuracy {share} ({self.right} of {self.total})")


def plain_names(labels: np.ndarray) -> list[str]:
    """Labels as text, 1.0 as 1: files and models may hold the same labels as different numbers."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels.tolist()
    ]


def _lines(predictions: Predictions) -> str:
    from maxmargin.cli.rows import label_names

    columns = []
    if predictions.labels is not None:
        columns.append(label_names(predictions.labels))
    for numbers in (predictions.scores, predictions.probabilities):
        if numbers is not None:
            by_row = numbers.reshape(len(numbers), -1).tolist()
            columns.append([" ".join(map(repr, row)) for row in by_row])
    return "".join(" ".join(row) + "\n" for row in zip(*columns))


def _json(predictions: Predictions) -> str:
    parts = asdict(predictions)
    return json_line({name: part.tolist() for name, part in parts.items() if part is not None})


@contextmanager
def writing(out: str) -> Iterator[Callable[[str], Any]]:
    """What takes text to its place; a file appears there when all of it is written."""
    from maxmargin.data import write_atomically

    if out == "-":
        watched = sys.stdout.isatty()
        yield lambda text: sys.stdout.write(printable(text) if watched else text)
        sys.stdout.flush()
    else:
        with write_atomically(out) as file:
            yield lambda text: file.write(text.encode())
