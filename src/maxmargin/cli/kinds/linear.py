"""Linear classifiers. Trained without scikit-learn, whose import takes longer than many a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxmargin.cli.fitting import (
    Choices,
    Evaluation,
    Fitted,
    Found,
    Grid,
    Predictions,
    Table,
    fitted,
    linear_plan,
)

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.console import Messages
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel, LinearModel
    from maxmargin.problem import Callback
    from maxmargin.training.fit import LinearPlan, Trained


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    from maxmargin.cli.rows import labels_of
    from maxmargin.training.linear import train

    y = labels_of(dataset)
    trained = train(dataset.X, y, plan(y, choices, callback), dataset.weight)
    return _fitted(trained, dataset)


def search(dataset: Dataset, grid: Grid, choices: Choices, messages: Messages) -> Found:
    from maxmargin.cli.rows import labels_of
    from maxmargin.training.search import search_C

    y = labels_of(dataset)
    task = plan(y, choices, messages.callback())
    found = search_C(dataset.X, y, task, grid.Cs, grid.folds, dataset.weight)
    Cs = found.Cs.tolist()
    mean, std = found.scores.mean(axis=0).tolist(), found.scores.std(axis=0).tolist()
    told = {"best_C": found.C, "Cs": Cs, "mean": mean, "std": std, "scores": found.scores.tolist()}
    lines = [
        [f"{C:g}", f"{m:.4f}", f"{s:.4f}", "best" if found.C == C else ""]
        for C, m, s in zip(Cs, mean, std)
    ]
    report = Table(f"accuracy over {grid.folds} folds", ["C", "mean", "std", ""], lines)
    return Found(_fitted(found.trained, dataset), f"C = {found.C:g}", told, report)


def plan(y: np.ndarray, choices: Choices, callback: Callback | None) -> LinearPlan:
    """The options as training knows them."""
    import numpy as np

    return linear_plan(choices, callback, np.unique(y).tolist() if choices.class_weight else [])


def _fitted(trained: Trained, dataset: Dataset) -> Fitted:
    return fitted(trained, dataset, f"{len(trained.model.classes)} classes")


def predict(model: LinearModel | KernelModel, X, threads: int | None, scores: bool) -> Predictions:
    values = model.decision_function(X, threads)
    return Predictions(model.labels(values), values if scores else None)


def evaluate(model: LinearModel | KernelModel, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import judged_by_score

    return judged_by_score(model, dataset, threads)


def facts(model: LinearModel) -> dict:
    return {
        "classes": model.classes.tolist(),
        "nonzero weights": int((model.coef != 0).any(axis=0).sum()),
        "intercept": model.intercept.tolist(),
    }
