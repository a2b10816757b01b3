"""Linear classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Evaluation, Predictions, classes_of
from maxmargin.cli.kinds.base import Machine

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class Linear(Machine):
    """Classes apart by hyperplanes; what all classifiers share."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.losses.table import losses_for
        from maxmargin.parameters import one_of
        from maxmargin.training.fit import LinearPlan

        plan = choices.plan(LinearPlan, callback, probability=probability_of(choices))
        one_of("loss", plan.loss, losses_for("classification"))
        return plan

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.tasks import OfClasses

        return OfClasses(classes_of(dataset), plan, dataset.weight, dataset.qid)

    def about(self, dataset: Dataset, model: Any) -> str:
        return f"{len(model.classes)} classes"

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        values = model.decision_function(X, threads)
        return Predictions(model.labels(values), values if scores else None)

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        from maxmargin.cli.classification import judged_by_score

        return judged_by_score(model, dataset, threads)


def probability_of(choices: Choices) -> bool:
    """Whether probabilities are wanted; not every command can ask for them."""
    return getattr(choices, "probabilities", False)
