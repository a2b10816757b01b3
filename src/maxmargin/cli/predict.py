"""``maxmargin predict``: a label or a score for every row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import kinds, options, outputs
from maxmargin.cli.console import Messages, json_line, printable

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.fitting import Predictions
    from maxmargin.data import Dataset


def predict(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="From train, or of LIBLINEAR.")],
    out: Annotated[
        str, typer.Argument(metavar="[OUT]", help="Where they go; '-' is stdout.")
    ] = "-",
    scores: Annotated[
        bool, typer.Option("--scores", help="Decision values after each label, in class order.")
    ] = False,
    threads: options.Threads = None,
    format: options.SourceFormat = None,
    text: options.TextColumn = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    from_disk: options.PiecesFromDisk = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Print the predicted label of every row, one a line; of a rank model, its score."""
    from maxmargin.cli.rows import label_names, pieces_for, read_for, rows_for
    from maxmargin.models import load_model

    if json and from_disk:
        raise typer.BadParameter("--json is one line for all rows: leave out --from-disk")
    kept = load_model(model)
    if out != "-":
        classes = getattr(kept, "classes", None)
        labels = None if classes is None else label_names(classes)
        outputs.Outputs([data, model], force).check(out, outputs.predictions(labels))
    about = (kept, data, format, text, target, qid, zero_based, threads, dtype)
    read = rows_for(*about, reader=pieces_for if from_disk else read_for)
    pieces: Iterable[Dataset] = read if from_disk else [read]
    machine, told = kinds.machine_of(kept), Told()
    with writing(out) as write:
        for piece in pieces:
            predictions = machine.predict(kept, piece.X, threads, scores)
            write(_json(predictions) if json else _lines(predictions))
            if predictions.labels is not None:
                told.add(kept.classes, predictions.labels, piece)
    told.say(Messages(quiet))


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
    if predictions.scores is not None:
        by_row = predictions.scores.reshape(len(predictions.scores), -1).tolist()
        columns.append([" ".join(map(repr, row)) for row in by_row])
    return "".join(" ".join(row) + "\n" for row in zip(*columns))


def _json(predictions: Predictions) -> str:
    parts = {"labels": predictions.labels, "scores": predictions.scores}
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
