"""Kernel machines as `train` and `cv` run them."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from maxmargin.cli.console import Messages, print_json, warn
from maxmargin.cli.fitting import Choices, Fitted
from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.models.kernel_training import KernelPlan, TrainedKernel
    from maxmargin.problem import Callback
    from maxmargin.solvers.kernel_grid import GridProgress


class KernelName(StrEnum):
    """Kernels by name."""

    rbf = "rbf"
    laplacian = "laplacian"
    poly = "poly"
    linear = "linear"


KernelChoice = Annotated[
    KernelName, typer.Option("--kernel", help="--kind kernel: the kernel function.")
]
Gamma = Annotated[
    str,
    typer.Option("--gamma", metavar="G", help="--kind kernel: its gamma, scale or auto."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="BYTES", help="--kind kernel: for the kernel matrix, e.g. 2GB."
    ),
]


def fit_kernel(
    dataset: Dataset,
    C: float,
    choices: Choices,
    kernel: KernelName,
    gamma: str,
    memory: str | None,
    callback: Callback | None,
) -> Fitted:
    """Train on labelled rows. Ctrl-C gives the best model so far."""
    from maxmargin.models.kernel_training import train

    assert dataset.y is not None
    plan = plan_of(choices, kernel, memory, gamma=gamma_of(gamma))
    trained = train(dataset.X, dataset.y, C, plan, weights_of(dataset, choices), callback)
    return Fitted(with_columns(trained, dataset).model, trained.history)


def search_kernel(
    dataset: Dataset,
    Cs: int | list[float],
    gammas: int | list[float],
    folds: int,
    choices: Choices,
    kernel: KernelName,
    memory: str | None,
    messages: Messages,
) -> TrainedKernel:
    """Every C and gamma in every fold, and the best on all rows."""
    from maxmargin.models.kernel_training import search, stratified_folds

    def show(progress: GridProgress) -> None:
        messages.now(
            f"{progress.done} of {progress.total} folds of widths  best error "
            f"{progress.best_error:.2%} at C {progress.best_C:.3g}, "
            f"gamma {progress.best_gamma:.3g}  {progress.seconds_left:.0f} s left"
        )

    assert dataset.y is not None
    trained = search(
        dataset.X,
        dataset.y,
        Cs,
        gammas,
        stratified_folds(dataset.y, folds, choices.seed),
        plan_of(choices, kernel, memory),
        weights_of(dataset, choices),
        show if messages.watched else None,
    )
    return with_columns(trained, dataset)


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


def plan_of(choices: Choices, kernel: KernelName, memory: str | None, **more) -> KernelPlan:
    """The options as training knows them."""
    from maxmargin.models.kernel_training import KernelPlan

    return KernelPlan(
        kernel=kernel.value,
        tol=choices.tol,
        memory=memory,
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


def with_columns(trained: TrainedKernel, dataset: Dataset) -> TrainedKernel:
    """The model with what the file says about its columns."""
    names = dataset.feature_names
    model = replace(
        trained.model,
        feature_names=None if names is None else tuple(names),
        index_base=dataset.index_base,
    )
    return replace(trained, model=model)
