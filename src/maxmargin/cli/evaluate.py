"""``maxmargin evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import kinds, options
from maxmargin.cli.console import print_json, print_table
from maxmargin.cli.fitting import Evaluation
from maxmargin.cli.options import Choices
from maxmargin.cli.progress import Messages

OPTIONS = (
    *(options.THREADS, options.FORMAT, options.TARGET, options.QID, options.TEXT),
    *(options.ZERO_BASED, options.DTYPE, options.JSON),
)
EXAMPLES = (("evaluate test.svm spam.model", "accuracy, F1, ROC area, confusion"),)


def evaluate(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[str, typer.Argument(metavar="MODEL", help=options.MODEL_HELP)],
    *,
    choices: Choices,
) -> None:
    """Print how good a model is.

    Classifiers: accuracy, precision, recall, F1, ROC area (two classes), confusion, and the measure
    one was trained for. Ordinal models: mean absolute error too. Rank models: pairs in order,
    NDCG@10 and MAP, averaged over queries. Rows count by their weights where the data has some.
    """
    from maxmargin.cli import rows
    from maxmargin.models import load_model

    kept = load_model(model)
    dataset = rows.read_for_shown(kept, data, choices, Messages())
    kept = rows.bare(kept)
    evaluation = kinds.machine_of(kept).evaluate(kept, dataset, choices.threads)
    if choices.json:
        print_json(evaluation.facts)
    else:
        show(evaluation)


def show(evaluation: Evaluation) -> None:
    """Tables for people."""
    for table in evaluation.tables:
        print_table(table.title, table.columns, table.rows)
