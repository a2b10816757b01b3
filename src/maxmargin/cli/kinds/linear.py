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
    with_columns,
)
from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.cli.console import Messages
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel, LinearModel
    from maxmargin.models.training import Plan, Trained
    from maxmargin.problem import Callback


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    from maxmargin.cli.rows import labels_of
    from maxmargin.models.training import train

    task = plan(dataset, choices, callback)
    return _fitted(train(dataset.X, labels_of(dataset), task, dataset.weight), dataset)


def search(dataset: Dataset, grid: Grid, choices: Choices, messages: Messages) -> Found:
    from maxmargin.cli.rows import labels_of
    from maxmargin.models.search import search_C

    task = plan(dataset, choices, messages.callback())
    found = search_C(dataset.X, labels_of(dataset), task, grid.Cs, grid.folds, dataset.weight)
    Cs = found.Cs.tolist()
    mean, std = found.scores.mean(axis=0).tolist(), found.scores.std(axis=0).tolist()
    told = {"best_C": found.C, "Cs": Cs, "mean": mean, "std": std, "scores": found.scores.tolist()}
    lines = [
        [f"{C:g}", f"{m:.4f}", f"{s:.4f}", "best" if found.C == C else ""]
        for C, m, s in zip(Cs, mean, std)
    ]
    report = Table(f"accuracy over {grid.folds} folds", ["C", "mean", "std", ""], lines)
    return Found(_fitted(found.trained, dataset), f"C = {found.C:g}", told, report)


def plan(dataset: Dataset, choices: Choices, callback: Callback | None) -> Plan:
    """The options as training knows them."""
    import numpy as np

    from maxmargin.cli.rows import labels_of
    from maxmargin.models.training import Plan

    weights = None
    if choices.class_weight:
        weights = class_weights(choices.class_weight, np.unique(labels_of(dataset)).tolist())
    return Plan(
        C=choices.C,
        solver=choices.solver,
        tol=choices.tol,
        max_iter=choices.max_iter,
        max_time=choices.max_time,
        bias=choices.constant,
        class_weight=weights,
        threads=choices.threads,
        seed=choices.seed,
        callback=callback,
    )


def _fitted(trained: Trained, dataset: Dataset) -> Fitted:
    model = with_columns(trained.model, dataset)
    return Fitted(model, trained.history, f"{len(model.classes)} classes")


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
