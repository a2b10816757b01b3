"""Rankings: scores that order the rows of a query by their grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Predictions, Table, numbers_of
from maxmargin.cli.kinds.base import Machine

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

PLACES = 10  # of NDCG@10


class Rank(Machine):
    """Rows of a query in the order of their grades."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.fit import LinearPlan

        return choices.plan(LinearPlan, callback, loss="ranks", bias=0.0)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.tasks import OfRanks

        return OfRanks(targets_of(dataset), plan, dataset.weight, dataset.qid)

    def about(self, dataset: Dataset, model: Any) -> str:
        queries = count_queries(dataset)
        return f"{queries} {'query' if queries == 1 else 'queries'}"

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        if scores:
            raise typer.BadParameter("--scores: a rank model has no labels, its scores are printed")
        return Predictions(None, model.predict(X, threads))

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        from maxmargin.cli.checks import warn_without_queries
        from maxmargin.metrics import mean_average_precision, ndcg, pairwise_accuracy
        from maxmargin.training.tasks import are_grades

        y, score, qid = targets_of(dataset), model.predict(dataset.X, threads), dataset.qid
        warn_without_queries(dataset)
        accuracy = pairwise_accuracy(y, score, qid=qid, sample_weight=dataset.weight)
        graded = are_grades(y)
        gain = ndcg(y, score, qid=qid, k=PLACES) if graded else None
        precision = mean_average_precision(y, score, qid=qid) if graded else None
        told = {
            "rows": len(y),
            "queries": count_queries(dataset),
            "pairwise_accuracy": accuracy,
            f"ndcg_at_{PLACES}": gain,
            "map": precision,
        }
        shown = {"pairwise accuracy": accuracy, f"NDCG@{PLACES}": gain, "MAP": precision}
        lines = [
            [name, "needs grades 0, 1, ..." if value is None else f"{value:.4f}"]
            for name, value in shown.items()
        ]
        title = f"{told['rows']} rows in {told['queries']} queries"
        return Evaluation(told, [Table(title, ["measure", "value"], lines)])


def count_queries(dataset: Dataset) -> int:
    """Without query numbers all rows are one query."""
    return 1 if dataset.qid is None else len(set(dataset.qid.tolist()))


def targets_of(dataset: Dataset) -> np.ndarray:
    """Grades or other numbers to be ordered by."""
    advice = "--kind rank needs numbers to order rows by: number the grades, 0 for the lowest"
    return numbers_of(dataset, advice)
