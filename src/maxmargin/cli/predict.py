"""``maxmargin predict``: a label or a score for every row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import fitting, kinds, options, outputs
from maxmargin.cli.console import json_line, printable
from maxmargin.cli.model_files import loaded
from maxmargin.cli.options import OUTPUT, Choices, Option
from maxmargin.cli.progress import Messages
from maxmargin.cli.stages import Counting

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.fitting import Predictions
    from maxmargin.data import Dataset

ID = Option("--id", "Tables: names of rows, for --out.", metavar="COLUMN", group=options.DATA)
OPTIONS = (
    Option("--scores", "Decision values after each label, in class order.", bool, False),
    Option("--probabilities", "Probabilities after each label, in class order.", bool, False),
    Option(
        "--threshold",
        "Two classes: the second one where the decision value is above this.",
        float,
        metavar="T",
        said="0",
    ),
    *(options.THREADS, options.FORMAT, options.TARGET, ID),
    *(options.QID, options.TEXT, options.ZERO_BASED, options.DTYPE, options.FROM_DISK),
    Option("--out", "Write here; .csv and .parquet are tables.", metavar="FILE", group=OUTPUT),
    *(options.FORCE, options.QUIET, options.JSON),
)
EXAMPLES = (
    ("predict new.svm spam.model", "a label per line, to stdout"),
    ("predict new.csv churn.model --scores --out p.csv", "a table: id, label, score"),
    ("predict new.csv churn.model --threshold 0.5", "fewer, surer positives"),
)


def predict(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help=options.MODEL_HELP)],
    place: Annotated[
        str, typer.Argument(metavar="OUT", help="Where they go; '-' is stdout.")
    ] = "-",
    *,
    choices: Choices,
) -> None:
    """Print the predicted label of every row, one per line; of a rank model, its score."""
    out = _place(place, choices)
    kept = loaded(model, data, "predict TEST MODEL")
    table = out.lower().endswith((".csv", ".parquet"))
    _check_options(kept, choices, table)
    check_probabilities(kept, model, choices)
    if out != "-":
        outputs.Outputs([data, model], choices.force).check(out, _written(kept, table))
    messages, accuracy = Messages(choices.quiet), Accuracy()
    every = _predicted_pieces(kept, data, choices, messages, accuracy)
    if table:
        from maxmargin.cli.tables_out import write_table

        write_table(out, list(every), kept, data, choices.id)
    elif choices.json:
        with writing(out) as write:
            write(_json(list(every)))
    else:
        with writing(out) as write:
            for predictions in every:
                write(_lines(predictions))
    accuracy.say(messages)


def _predicted_pieces(
    model: Any, data: str, choices: Choices, messages: Messages, accuracy: Accuracy
) -> Iterator[Predictions]:
    """Predictions of all rows, some at a time; those of a file in memory while a line counts."""
    from maxmargin.cli import rows

    bare = rows.bare(model)
    if choices.from_disk:
        some = Counting("predicting", 0, "rows")
        with messages.showing(some), fitting.warnings_as_messages():
            for piece in rows.pieces_for(model, data, choices, some):
                yield _predicted(bare, piece, choices, accuracy)
                some.done += piece.X.shape[0]
        return
    dataset = rows.read_for_shown(model, data, choices, messages)
    stage = Counting("predicting", dataset.X.shape[0], "rows")
    with messages.showing(stage):
        for piece in rows.pieces_of(dataset):
            yield _predicted(bare, piece, choices, accuracy)
            stage.done += piece.X.shape[0]


def _place(out: str, choices: Choices) -> str:
    if choices.out is None:
        return out
    if out != "-":
        raise typer.BadParameter(f"two outputs are named, {out} and --out {choices.out}: keep one")
    return choices.out


def _check_options(model: Any, choices: Choices, table: bool) -> None:
    if choices.json and choices.from_disk:
        raise typer.BadParameter("--json is one line for all rows: leave out --from-disk")
    if choices.json and table:
        raise typer.BadParameter("--json goes to stdout or a file of text: leave it out")
    if choices.id is not None and not table:
        raise typer.BadParameter("--id needs a table: --out FILE.csv or --out FILE.parquet")
    if choices.threshold is not None and choices.probabilities:
        raise typer.BadParameter("--threshold is of decision values: leave out --probabilities")
    if choices.threshold is not None and len(getattr(model, "classes", ())) != 2:
        raise typer.BadParameter("--threshold is for models of two classes: leave it out")


def _written(model: Any, table: bool) -> Any:
    from maxmargin.cli.rows import label_names

    if table:
        return outputs.data()
    classes = getattr(model, "classes", None)
    return outputs.predictions(None if classes is None else label_names(classes))


def _predicted(model: Any, piece: Dataset, choices: Choices, accuracy: Accuracy) -> Predictions:
    needed = choices.scores or choices.threshold is not None
    predictions = kinds.machine_of(model).predict(model, piece.X, choices.threads, needed)
    if choices.threshold is not None and predictions.scores is not None:
        above = (predictions.scores > choices.threshold).astype(int)
        predictions = replace(predictions, labels=model.classes[above])
        if not choices.scores:
            predictions = replace(predictions, scores=None)
    if choices.probabilities:
        probabilities = model.probabilities(piece.X, choices.threads)
        predictions = replace(predictions, probabilities=probabilities)
    if predictions.labels is not None and hasattr(model, "classes"):
        accuracy.add(model.classes, predictions.labels, piece)
    return predictions


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


class Accuracy:
    """How many predictions are right, if the file has labels that the model knows."""

    def __init__(self) -> None:
        self.right, self.total, self.unknown = 0, 0, False

    def add(self, classes: Any, labels: Any, dataset: Dataset) -> None:
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


def _json(pieces: list[Predictions]) -> str:
    parts = {name: [getattr(piece, name) for piece in pieces] for name in vars(pieces[0])}
    return json_line(
        {
            name: [value for array in arrays for value in array.tolist()]
            for name, arrays in parts.items()
            if arrays[0] is not None
        }
    )


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
