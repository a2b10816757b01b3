"""Rankings: scores that order the rows of a query by their grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Found, Grid, Predictions, Table, labels_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models import RankModel
    from maxmargin.problem import Callback

PLACES = 10  # of NDCG@10


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.fit import LinearPlan

    return choices.plan(LinearPlan, callback, loss="ranks", bias=0.0)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    import numpy as np

    from maxmargin.training.scores import train_ranking

    queries = 1 if dataset.qid is None else len(np.unique(dataset.qid))
    trained = train_ranking(dataset.X, targets_of(dataset), plan, dataset.qid, dataset.weight)
    return trained, f"{queries} {'query' if queries == 1 else 'queries'}"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import OfRanks

    task = OfRanks(targets_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch)


def predict(model: RankModel, X: Any, threads: int | None, scores: bool) -> Predictions:
    if scores:
        raise typer.BadParameter("--scores: a rank model has no labels, its scores are printed")
    return Predictions(None, model.predict(X, threads))


def evaluate(model: RankModel, dataset: Dataset, threads: int | None) -> Evaluation:
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
        "queries": 1 if qid is None else len(set(qid.tolist())),
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


def targets_of(dataset: Dataset) -> np.ndarray:
    """Grades or other numbers to be ordered by."""
    y = labels_of(dataset)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"{dataset.source}: found the label {str(y[0])!r}; --kind rank needs numbers to order "
            "rows by: number the grades, 0 for the lowest"
        )
    return y
