"""Kernel machines as `train` and `cv` run them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from maxmargin.cli.console import Messages, print_json, warn
from maxmargin.cli.fitting import Choices, Evaluation, Fitted, Predictions, with_columns
from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.models import KernelModel
    from maxmargin.models.kernel_training import KernelPlan, TrainedKernel
    from maxmargin.problem import Callback
    from maxmargin.solvers.kernel_grid import GridProgress


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    """Train on labelled rows. Ctrl-C gives the best model so far."""
    from maxmargin.models.kernel_training import train

    assert dataset.y is not None
    plan = plan_of(choices, gamma=gamma_of(choices.gamma))
    weights = weights_of(dataset, choices)
    trained = train(dataset.X, dataset.y, choices.C, plan, weights, callback)
    model = with_columns(trained.model, dataset)
    return Fitted(model, trained.history, f"{len(model.classes)} classes")


def predict(model: KernelModel, X, threads: int | None, scores: bool) -> Predictions:
    values = model.decision_function(X, threads)
    return Predictions(model.labels(values), values if scores else None)


def evaluate(model: KernelModel, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import judged_by_score

    return judged_by_score(model, dataset, threads)


def facts(model: KernelModel) -> dict:
    return {
        "classes": model.classes.tolist(),
        "kernel": str(model.kernel),
        "support vectors": len(model.support),
    }


def search(
    dataset: Dataset,
    Cs: int | list[float],
    gammas: int | list[float],
    folds: int,
    choices: Choices,
    messages: Messages,
) -> TrainedKernel:
    """Every C and gamma in every fold, and the best on all rows."""
    from maxmargin.models import kernel_training

    def show(progress: GridProgress) -> None:
        messages.now(
            f"{progress.done} of {progress.total} folds of widths  best error "
            f"{progress.best_error:.2%} at C {progress.best_C:.3g}, "
            f"gamma {progress.best_gamma:.3g}  {progress.seconds_left:.0f} s left"
        )

    assert dataset.y is not None
    trained = kernel_training.search(
        dataset.X,
        dataset.y,
        Cs,
        gammas,
        kernel_training.stratified_folds(dataset.y, folds, choices.seed),
        plan_of(choices),
        weights_of(dataset, choices),
        show if messages.watched else None,
    )
    return replace(trained, model=with_columns(trained.model, dataset))


def report_grid(trained: TrainedKernel, folds: int, picture: str | None, json: bool) -> None:
    """What `cv --kind kernel` prints: the errors over the grid, or all of it as JSON."""
    from maxmargin.report.grid import error_chart, error_map

    grid = trained.grid
    assert grid is not None
    error = grid.error.mean(axis=2)
    if picture is not None:
        error_map(grid.Cs, grid.gammas, error, picture)
    if not grid.complete:
        warn("the search ended early: grid points without a number were not tried in every fold")
    if json:
        print_json(
            {
                "best_C": grid.C,
                "best_gamma": grid.gamma,
                "best_error": float(error[grid.best]),
                "Cs": grid.Cs.tolist(),
                "gammas": grid.gammas.tolist(),
                "errors": grid.error.tolist(),
                "losses": grid.loss.tolist(),
                "seconds": grid.seconds,
                "picture": picture,
            }
        )
        return
    typer.echo(f"validation error in per cent over {folds} folds, {grid.seconds:.2f} s")
    typer.echo(error_chart(grid.Cs, grid.gammas, error), nl=False)
    typer.echo(f"best: C = {grid.C:.4g}, gamma = {grid.gamma:.4g}, error {error[grid.best]:.2%}")


def plan_of(choices: Choices, **more) -> KernelPlan:
    """The options as training knows them."""
    from maxmargin.models.kernel_training import KernelPlan

    return KernelPlan(
        kernel=choices.kernel,
        tol=choices.tol,
        memory=choices.memory,
        max_iter=choices.max_iter,
        max_time=choices.max_time,
        threads=choices.threads,
        seed=choices.seed,
        **more,
    )


def gamma_of(text: str) -> float | str:
    """A number if it is one, else the word."""
    try:
        return float(text)
    except ValueError:
        return text


def weights_of(dataset: Dataset, choices: Choices):
    """Weights of the rows times those of their classes."""
    import numpy as np

    from maxmargin.models import kernel_training

    assert dataset.y is not None
    classes, codes = np.unique(dataset.y, return_inverse=True)
    weights = np.ones(len(codes)) if dataset.weight is None else np.asarray(dataset.weight)
    given = class_weights(choices.class_weight, classes.tolist())
    return kernel_training.class_weights(given, classes, codes, weights)
