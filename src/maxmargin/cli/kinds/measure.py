"""Linear classifiers trained for the measure they are judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Table, classes_of, labels_of
from maxmargin.cli.kinds.linear import predict

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models import MeasureModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "measure_of", "plan", "predict", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.fit import LinearPlan

    check_measure(choices)
    measure_of(choices)
    return choices.plan(LinearPlan, callback, loss="measures")


def check_measure(choices: Choices) -> None:
    """Refuse options of one measure beside another."""
    from maxmargin.training.scores import AT_K, OF_ORDER

    measure = choices.measure
    if choices.k is not None and measure not in AT_K:
        raise typer.BadParameter(f"--k is for --measure {' or '.join(AT_K)}; this is {measure}")
    if choices.k is None and measure in AT_K:
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
    return Measure(choices.measure, beta, int(k) if k is not None and k == int(k) else k)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.scores import train_measure

    measure = measure_of(choices)
    trained = train_measure(dataset.X, classes_of(dataset), plan, measure, dataset.weight)
    return trained, f"{len(trained.model.classes)} classes, for {measure.name}"


def evaluate(model: MeasureModel, dataset: Dataset, threads: int | None) -> Evaluation:
    import numpy as np

    from maxmargin.cli.classification import judged_by_score
    from maxmargin.cli.rows import label_names
    from maxmargin.estimators.measure import MeasureSVC

    # By name: a file may write as 1 what the model knows as "1".
    named = replace(model, classes=np.array(label_names(model.classes)), feature_names=None)
    judge = MeasureSVC.from_model(named).set_params(n_jobs=threads)
    value = judge.score(dataset.X, np.array(label_names(labels_of(dataset))), dataset.weight)
    whole = judged_by_score(model, dataset, threads)
    name = model.parameters.get("measure")
    table = Table("trained for", ["measure", "value"], [[str(name), f"{value:.6f}"]])
    return Evaluation({"measure": name, "value": value} | whole.facts, [table, *whole.tables])
