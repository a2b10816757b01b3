"""``maxmargin predict``: a label or a score for every row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from maxmargin.cli import kinds, options
from maxmargin.cli.console import Messages, json_line

if TYPE_CHECKING:
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
    format: options.DataFormat = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Print the predicted label of every row, one a line; of a rank model, its score."""
    from maxmargin.cli.rows import model_and_rows

    kept, dataset = model_and_rows(model, data, format, target, qid, zero_based, threads, dtype)
    predictions = kinds.machine_of(kept).predict(kept, dataset.X, threads, scores)
    _write(_json(predictions) if json else _lines(predictions), out)
    if predictions.labels is not None:
        say_accuracy(kept.classes, predictions.labels, dataset, Messages(quiet))


def say_accuracy(classes, labels, dataset: Dataset, messages: Messages) -> None:
    """How many are right, if the file has labels that the model knows."""
    from maxmargin.cli.rows import label_names

    if dataset.y is None:
        return
    truth = label_names(dataset.y)
    if set(truth) <= set(label_names(classes)):  # else they are placeholders
        right = sum(map(str.__eq__, label_names(labels), truth))
        messages.say(f"accuracy {right / len(truth):.4%} ({right} of {len(truth)})")


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


def _write(text: str, out: str) -> None:
    from maxmargin.data import write_atomically

    if out == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        with write_atomically(out) as file:
            file.write(text.encode())
