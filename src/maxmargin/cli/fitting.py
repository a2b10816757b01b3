"""From rows and options to a fitted model: the one place where commands meet training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.data import Dataset
    from maxmargin.models import LinearModel
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

    model: LinearModel
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
    from maxmargin.models.training import train

    trained = train(dataset.X, dataset.y, plan(dataset, C, choices, callback), dataset.weight)
    return Fitted(with_columns(trained.model, dataset), trained.history)


def plan(dataset: Dataset, C: float, choices: Choices, callback: Callback | None) -> Plan:
    """The options as training knows them."""
    import numpy as np

    from maxmargin.models.training import Plan

    weights = None
    if choices.class_weight:
        weights = class_weights(choices.class_weight, np.unique(dataset.y).tolist())
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
