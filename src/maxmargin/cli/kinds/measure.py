"""Linear classifiers trained for the measure they are judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Found, Grid, Table, classes_of
from maxmargin.cli.kinds.linear import predict
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models import MeasureModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "measure_of", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.fit import LinearPlan

    check_measure(choices)
    measure_of(choices)
    return choices.plan(LinearPlan, callback, loss="measures")


def check_measure(choices: Choices) -> None:
    """Refuse options of one measure beside another."""
    from maxmargin.training.scores import AT_K, OF_ORDER, Measure

    measure = choices.measure or Measure.name
    if choices.k is not None and measure not in AT_K:
        raise typer.BadParameter(f"--k is for --measure {' or '.join(AT_K)}; this is {measure}")
    ks = getattr(choices, "ks", None)
    if ks is not None and measure not in AT_K:
        raise typer.BadParameter(f"--ks is for --measure {' or '.join(AT_K)}; this is {measure}")
    if choices.k is None and ks is None and measure in AT_K:
        raise typer.BadParameter(
            f"--measure {measure} needs --k: a number of rows, or a share of them below 1"
        )
    if choices.beta is not None and measure != "fbeta":
        raise typer.BadParameter(f"--beta is for --measure fbeta; this is {measure}")
    if choices.bias is not None and measure in OF_ORDER:
        raise typer.BadParameter(
            f"--bias: --measure {measure} looks at the order of the scores alone, which a "
            "constant does not change: leave it out"
        )


def measure_of(choices: Choices) -> Any:
    """The measure as training knows it. Whole numbers k count rows; others are a share of them."""
    from maxmargin.training.scores import Measure

    k = choices.k
    beta = 1.0 if choices.beta is None else choices.beta
    k = int(k) if k is not None and k == int(k) else k
    return Measure(choices.measure or Measure.name, beta, k, choices.pos_label)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.scores import train_measure

    measure = measure_of(choices)
    trained = train_measure(dataset.X, classes_of(dataset), plan, measure, dataset.weight)
    return trained, f"{len(trained.model.classes)} classes, for {measure.name}"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import OfMeasure

    y, measure = classes_of(dataset), measure_of(choices)
    task = OfMeasure(y, plan, dataset.weight, dataset.qid, measure=measure)
    axis = None if choices.ks is None else ("k", choices.ks)
    return search_along_C(dataset, task, grid, choices, watch, axis)


def evaluate(model: MeasureModel, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import held_out, judged_by_score
    from maxmargin.metrics.named import judged

    told: Any = model.parameters
    name, held = told.get("measure"), held_out(model, dataset, threads)
    value = judged(str(name), held, told.get("beta") or 1.0, told.get("k"))
    whole = judged_by_score(model, dataset, threads)
    table = Table("trained for", ["measure", "value"], [[str(name), f"{value:.6f}"]])
    return Evaluation({"measure": name, "value": value} | whole.facts, [table, *whole.tables])
