"""Linear classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Evaluation, Found, Grid, Predictions, classes_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.losses.table import losses_for
    from maxmargin.parameters import one_of
    from maxmargin.training.fit import LinearPlan

    wanted = getattr(choices, "probabilities", False)
    plan = choices.plan(LinearPlan, callback, probability=wanted)
    one_of("loss", plan.loss, losses_for("classification"))
    return plan


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.linear import train

    trained = train(dataset.X, classes_of(dataset), plan, dataset.weight)
    return trained, f"{len(trained.model.classes)} classes"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import OfClasses

    task = OfClasses(classes_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch)


def predict(model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
    values = model.decision_function(X, threads)
    return Predictions(model.labels(values), values if scores else None)


def evaluate(model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import judged_by_score

    return judged_by_score(model, dataset, threads)
