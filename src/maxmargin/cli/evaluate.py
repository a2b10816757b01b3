"""``maxmargin evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import kinds, known, options
from maxmargin.cli.console import print_json, print_table
from maxmargin.cli.fitting import Evaluation, Table
from maxmargin.cli.model_files import loaded
from maxmargin.cli.options import Choices, Option
from maxmargin.cli.progress import Messages

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.metrics.named import Named

MEASURES = Option(
    "--measures", "Also these: ndcg@1,3,5, precision@10, f2, ...", metavar="LIST",
)  # fmt: skip
OPTIONS = (
    MEASURES,
    *(options.THREADS, options.FORMAT, options.TARGET, options.QID, options.TEXT),
    *(options.ZERO_BASED, options.DTYPE, options.FROM_DISK, options.POSITIVE, options.NEGATIVE),
    options.JSON,
)
EXAMPLES = (
    ("evaluate test.svm spam.model", "accuracy, F1, ROC area, confusion"),
    ("evaluate test.svm rank.model --measures ndcg@1,3,5,10", "gains at several places"),
)


def evaluate(
    data: Annotated[str, typer.Argument(metavar="TEST", help=options.DATA_HELP)],
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help=options.MODEL_HELP, show_default=False)
    ] = None,
    *,
    choices: Choices,
) -> None:
    """Print how good a model is.

    Classifiers: accuracy, precision, recall, F1, ROC area (two classes), confusion, and the measure
    one was trained for. Ordinal models: mean absolute error too. Rank models: pairs in order,
    NDCG@10 and MAP, averaged over queries. --measures names others. Rows count by their weights
    where the data has some.
    """
    from maxmargin.cli import rows
    from maxmargin.metrics.named import measures_of

    wanted = [] if choices.measures is None else measures_of(choices.measures)
    (data, *_), model = rows.files_of(data, model, choices)
    if model is None:
        raise typer.BadParameter("name the MODEL after the rows")
    kept = loaded(model, data, "evaluate TEST MODEL")
    messages, machine = Messages(), kinds.machine_of(kept)
    if choices.from_disk:
        kept, dataset = known.block_by_block(kept, data, choices, messages)
    else:
        dataset = rows.read_for_shown(kept, data, choices, messages)
        kept = rows.bare(kept)
    evaluation = machine.evaluate(kept, dataset, choices.threads)
    if wanted:
        evaluation = with_measures(evaluation, wanted, kept, dataset, choices.threads)
    if choices.json:
        print_json(evaluation.facts)
    else:
        show(evaluation)


def with_measures(
    evaluation: Evaluation, wanted: list[Named], model: Any, dataset: Dataset, threads: int | None
) -> Evaluation:
    """The same with measures that were asked for by name, first."""
    from maxmargin.cli.classification import held_out

    held = held_out(model, dataset, threads)
    values = {measure.title: measure.value(held) for measure in wanted}
    lines = [[name, f"{value:.6f}"] for name, value in values.items()]
    table = Table("asked for", ["measure", "value"], lines)
    return Evaluation(evaluation.facts | {"measures": values}, [table, *evaluation.tables])


def show(evaluation: Evaluation) -> None:
    """Tables for people."""
    for table in evaluation.tables:
        print_table(table.title, table.columns, table.rows)
