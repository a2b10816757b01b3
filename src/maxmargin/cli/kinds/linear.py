"""Linear classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Evaluation, Found, Grid, Predictions, Table, labels_of

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.cli.progress import Messages
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.fit import LinearPlan

    return choices.plan(LinearPlan, callback)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.linear import train

    trained = train(dataset.X, labels_of(dataset), plan, dataset.weight)
    return trained, f"{len(trained.model.classes)} classes"


def search(dataset: Dataset, grid: Grid, plan: Any, choices: Choices, messages: Messages) -> Found:
    from maxmargin.training.search import search_C

    found = search_C(dataset.X, labels_of(dataset), plan, grid.Cs, grid.folds, dataset.weight)
    Cs = found.Cs.tolist()
    mean, std = found.scores.mean(axis=0).tolist(), found.scores.std(axis=0).tolist()
    told = {"best_C": found.C, "Cs": Cs, "mean": mean, "std": std, "scores": found.scores.tolist()}
    lines = [
        [f"{C:g}", f"{m:.4f}", f"{s:.4f}", "best" if found.C == C else ""]
        for C, m, s in zip(Cs, mean, std)
    ]
    report = Table(f"accuracy over {grid.folds} folds", ["C", "mean", "std", ""], lines)
    return Found(found.trained.model, f"C = {found.C:g}", told, report)


def predict(model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
    values = model.decision_function(X, threads)
    return Predictions(model.labels(values), values if scores else None)


def evaluate(model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import judged_by_score

    return judged_by_score(model, dataset, threads)
