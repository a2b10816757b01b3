"""Ordinal regression: labels that have an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Evaluation, Predictions, labels_of
from maxmargin.cli.kinds.base import Machine
from maxmargin.cli.typed_weights import labels_named

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class Ordinal(Machine):
    """One score for all labels, cut by thresholds."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.fit import LinearPlan

        return choices.plan(LinearPlan, callback, loss="ranks", bias=0.0)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.tasks import OfOrder

        order = order_of(choices.order, dataset)
        return OfOrder(labels_of(dataset), plan, dataset.weight, dataset.qid, order=order)

    def about(self, dataset: Dataset, model: Any) -> str:
        return f"{len(model.classes)} ordered classes"

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        values = model.decision_function(X, threads) if scores else None
        return Predictions(model.predict(X, threads), values)

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        import numpy as np

        from maxmargin.cli.classification import class_facts, counted, tables, whole

        predicted = model.places(dataset.X, threads)
        scores = counted(model, dataset, predicted)
        unknown = scores.labels[len(model.classes) :]
        if unknown:
            raise ValueError(
                f"{dataset.source}: found the label {unknown[0]!r}, which has no place among "
                f"{', '.join(scores.labels[: len(model.classes)])}: correct the label or drop the "
                "row"
            )
        places = np.arange(len(model.classes))
        apart = np.abs(places[:, None] - places[None, :])
        error = float((scores.confusion * apart).sum() / scores.total)
        told = {
            "rows": whole(scores.total),
            "accuracy": scores.accuracy,
            "mean_absolute_error": error,
        }
        title = f"accuracy {scores.accuracy:.4%}, mean absolute error {error:.4f} places"
        return Evaluation(told | class_facts(scores, model, dataset), tables(title, scores))


def order_of(text: str | None, dataset: Dataset) -> list[Any] | None:
    """The labels from the lowest to the highest; None for numbers, whose order is known."""
    import numpy as np

    found = np.unique(labels_of(dataset)).tolist()
    if text is not None:
        order = labels_named(text.split(","), found, "the order names")
        missing = [label for label in found if label not in order]
        if missing:
            raise ValueError(f"--order {text} leaves out the label {missing[0]!r}: name all labels")
        return order
    if isinstance(found[0], str):
        raise ValueError(
            f"{dataset.source}: found the labels {', '.join(found[:5])}; which is the lowest? Say "
            "so with --order LOWEST,...,HIGHEST"
        )
    return None
