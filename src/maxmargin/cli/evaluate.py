"""``maxmargin evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import kinds, options
from maxmargin.cli.console import print_json, print_table
from maxmargin.cli.fitting import Evaluation


def evaluate(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="From train, or of LIBLINEAR.")],
    threads: options.Threads = None,
    format: options.SourceFormat = None,
    text: options.TextColumn = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    json: options.Json = False,
) -> None:
    """Print how good a model is.

    Classifiers: accuracy, precision, recall, F1, ROC area (two classes), confusion, and the measure
    one was trained for. Ordinal models: mean absolute error too. Rank models: pairs in order,
    NDCG@10 and MAP, averaged over queries. Rows count by their weights where the data has some.
    """
    from maxmargin.cli.rows import rows_for
    from maxmargin.models import load_model

    kept = load_model(model)
    dataset = rows_for(kept, data, format, text, target, qid, zero_based, threads, dtype)
    evaluation = kinds.machine_of(kept).evaluate(kept, dataset, threads)
    if json:
        print_json(evaluation.facts)
    else:
        show(evaluation)


def show(evaluation: Evaluation) -> None:
    """Tables for people."""
    for table in evaluation.tables:
        print_table(table.title, table.columns, table.rows)
