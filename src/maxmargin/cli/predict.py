"""``maxmargin predict``: a label for every row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from maxmargin.cli import options
from maxmargin.cli.console import Messages, json_line

if TYPE_CHECKING:
    import numpy as np


def predict(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="From train, or of LIBLINEAR.")],
    out: Annotated[
        str, typer.Argument(metavar="[OUT]", help="Where labels go; '-' is stdout.")
    ] = "-",
    scores: Annotated[
        bool, typer.Option("--scores", help="Decision values after each label, in class order.")
    ] = False,
    threads: options.Threads = None,
    format: options.DataFormat = None,
    target: options.Target = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Print the predicted label of every row, one a line."""
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
    values = kept.decision_function(dataset.X, threads)
    labels = kept.labels(values)
    names = rows.label_names(labels)
    shown = values if scores else None
    text = _json(labels, shown) if json else _lines(names, shown)
    _write(text, out)
    if dataset.y is not None:
        truth = rows.label_names(dataset.y)
        if set(truth) <= set(rows.label_names(kept.classes)):  # else they are placeholders
            right = sum(map(str.__eq__, names, truth))
            Messages(quiet).say(f"accuracy {right / len(truth):.4%} ({right} of {len(truth)})")


def _lines(names: list[str], scores: np.ndarray | None) -> str:
    if scores is None:
        return "\n".join(names) + "\n"
    columns = scores.reshape(len(names), -1).tolist()
    return "".join(f"{name} {' '.join(map(repr, row))}\n" for name, row in zip(names, columns))


def _json(labels: np.ndarray, scores: np.ndarray | None) -> str:
    answer = {"labels": labels.tolist()}
    if scores is not None:
        answer["scores"] = scores.tolist()
    return json_line(answer)


def _write(text: str, out: str) -> None:
    from maxmargin.data import write_atomically

    if out == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        with write_atomically(out) as file:
            file.write(text.encode())
