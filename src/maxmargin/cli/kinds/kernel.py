"""Kernel classifiers. Trained without scikit-learn, as linear ones are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Choices, Fitted, Found, Grid, fitted
from maxmargin.cli.kinds.linear import evaluate, predict
from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.cli.console import Messages
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel
    from maxmargin.problem import Callback
    from maxmargin.solvers.kernel.grid import GridProgress, GridResult
    from maxmargin.training.kernel import KernelPlan, TrainedKernel

__all__ = ["evaluate", "facts", "fit", "predict", "search"]


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    from maxmargin.cli.rows import labels_of
    from maxmargin.training.kernel import train

    plan = plan_of(dataset, choices, callback, gamma=gamma_of(choices.gamma))
    return _fitted(train(dataset.X, labels_of(dataset), plan, dataset.weight), dataset)


def search(dataset: Dataset, grid: Grid, choices: Choices, messages: Messages) -> Found:
    from maxmargin.cli.rows import labels_of
    from maxmargin.training import kernel as kernel_training

    def show(progress: GridProgress) -> None:
        messages.now(
            f"{progress.done} of {progress.total} folds of widths  best error "
            f"{progress.best_error:.2%} at C {progress.best_C:.3g}, "
            f"gamma {progress.best_gamma:.3g}  {progress.seconds_left:.0f} s left"
        )

    y = labels_of(dataset)
    trained = kernel_training.search(
        dataset.X,
        y,
        grid.Cs,
        grid.gammas,
        kernel_training.stratified_folds(y, grid.folds, choices.seed),
        plan_of(dataset, choices, None),
        dataset.weight,
        show if messages.watched else None,
    )
    assert trained.grid is not None
    return found_in(trained.grid, grid.folds, _fitted(trained, dataset))


def found_in(result: GridResult, folds: int, fitted: Fitted) -> Found:
    """The errors over the grid as numbers, as characters and as a picture."""
    from maxmargin.report.grid import error_chart, error_map

    error = result.error.mean(axis=2)
    best = f"C = {result.C:.4g}, gamma = {result.gamma:.4g}"
    told = {
        "best_C": result.C,
        "best_gamma": result.gamma,
        "best_error": float(error[result.best]),
        "Cs": result.Cs.tolist(),
        "gammas": result.gammas.tolist(),
        "errors": result.error.tolist(),
        "losses": result.loss.tolist(),
        "seconds": result.seconds,
    }
    report = (
        f"validation error in per cent over {folds} folds, {result.seconds:.2f} s\n"
        f"{error_chart(result.Cs, result.gammas, error)}"
        f"best: {best}, error {error[result.best]:.2%}"
    )
    early = "the search ended early: grid points without a number were not tried in every fold"
    return Found(
        fitted,
        best,
        told,
        report,
        warning=None if result.complete else early,
        draw=lambda path: error_map(result.Cs, result.gammas, error, path),
    )


def facts(model: KernelModel) -> dict:
    return {
        "classes": model.classes.tolist(),
        "kernel": str(model.kernel),
        "support vectors": len(model.support),
    }


def plan_of(
    dataset: Dataset, choices: Choices, callback: Callback | None, **more: Any
) -> KernelPlan:
    """The options as training knows them."""
    from maxmargin.training.kernel import KernelPlan

    return KernelPlan(
        C=choices.C,
        kernel=choices.kernel,
        class_weight=weights_of(dataset, choices),
        memory=choices.memory,
        options=choices.options(callback),
        **more,
    )


def gamma_of(text: str | None) -> float | str:
    """A number if it is one, else the word; scale if nothing was said."""
    if text is None:
        return "scale"
    try:
        return float(text)
    except ValueError:
        return text


def weights_of(dataset: Dataset, choices: Choices) -> dict | str | None:
    """Weights of classes by the labels of the data."""
    import numpy as np

    from maxmargin.cli.rows import labels_of

    if not choices.class_weight:
        return None
    return class_weights(choices.class_weight, np.unique(labels_of(dataset)).tolist())


def _fitted(trained: TrainedKernel, dataset: Dataset) -> Fitted:
    return fitted(trained, dataset, f"{len(trained.model.classes)} classes")
