"""From rows and options to a fitted model: the one place where commands meet training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel, LinearModel
    from maxmargin.models.training import Plan
    from maxmargin.problem import Callback, Progress


@dataclass(frozen=True)
class Choices:
    """What the options of `train` and `cv` say about a linear machine."""

    tol: float
    bias: float
    class_weight: list[str]
    solver: str
    max_time: float | None
    max_iter: int | None
    threads: int | None
    seed: int


@dataclass(frozen=True)
class Fitted:
    """A model and how the run went."""

    model: LinearModel | KernelModel
    history: list[Progress]


@dataclass(frozen=True)
class Found:
    """A search for C: what was tried, accuracy by (fold, C), and the model of the best."""

    C: float
    Cs: list[float]
    scores: np.ndarray
    fitted: Fitted


def fit_linear(dataset: Dataset, C: float, choices: Choices, callback: Callback | None) -> Fitted:
    """Train on labelled rows. Ctrl-C gives the best model so far."""
    from maxmargin.cli.rows import labels_of
    from maxmargin.models.training import train

    task = plan(dataset, C, choices, callback)
    trained = train(dataset.X, labels_of(dataset), task, dataset.weight)
    return Fitted(with_columns(trained.model, dataset), trained.history)


def plan(dataset: Dataset, C: float, choices: Choices, callback: Callback | None) -> Plan:
    """The options as training knows them."""
    import numpy as np

    from maxmargin.cli.rows import labels_of
    from maxmargin.models.training import Plan

    weights = None
    if choices.class_weight:
        weights = class_weights(choices.class_weight, np.unique(labels_of(dataset)).tolist())
    return Plan(
        C=C,
        solver=choices.solver,
        tol=choices.tol,
        max_iter=choices.max_iter,
        max_time=choices.max_time,
        bias=max(choices.bias, 0.0),
        class_weight=weights,
        threads=choices.threads,
        seed=choices.seed,
        callback=callback,
    )


def with_columns(model: LinearModel, dataset: Dataset) -> LinearModel:
    """The model with what the file says about its columns."""
    names = dataset.feature_names
    return replace(
        model,
        feature_names=None if names is None else tuple(names),
        index_base=dataset.index_base,
    )


def search_linear(
    dataset: Dataset,
    Cs: int | list[float],
    folds: int,
    choices: Choices,
    callback: Callback | None,
) -> Found:
    """The best C by cross-validation, and the model it gives on all rows."""
    from maxmargin.cli.rows import labels_of
    from maxmargin.models.search import search_C

    task = plan(dataset, 1.0, choices, callback)
    found = search_C(dataset.X, labels_of(dataset), task, Cs, folds, dataset.weight)
    fitted = Fitted(with_columns(found.trained.model, dataset), found.trained.history)
    return Found(found.C, found.Cs.tolist(), found.scores, fitted)
