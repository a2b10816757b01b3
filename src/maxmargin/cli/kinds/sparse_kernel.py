"""Kernel classifiers on few basis vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Found, Grid, classes_of
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.linear import evaluate, predict
from maxmargin.cli.kinds.measure import check_measure, measure_of
from maxmargin.cli.options import spelled
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models.basis_expansion import BasisExpansion
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.subspace import SparseKernelPlan

    check_kernel(choices)
    wanted = getattr(choices, "probabilities", False)
    return choices.plan(SparseKernelPlan, callback, probability=wanted, **for_measure(choices))


def for_measure(choices: Choices) -> dict[str, Any]:
    """The loss of a measure and its parameters, if one was asked for."""
    if choices.measure is None:
        alone = [name for name in ("k", "beta", "pos_label") if name in choices.typed]
        if alone:
            raise typer.BadParameter(f"{spelled(alone[0])} is for measures: name one by --measure")
        return {}
    if choices.loss is not None:
        raise typer.BadParameter(
            f"--loss is a sum over rows and --measure {choices.measure} looks at all of them: "
            "give one"
        )
    check_measure(choices)
    measure = measure_of(choices)
    return {"loss": measure.name, "beta": measure.beta, "k": measure.k}


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.subspace import train

    trained = train(dataset.X, classes_of(dataset), plan, dataset.weight)
    model = trained.model
    return trained, f"{len(model.classes)} classes, {basis_of(model)}"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import OfBasis

    task = OfBasis(classes_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch, gammas_of(grid, choices))


def gammas_of(grid: Grid, choices: Choices) -> tuple[str, list[float]] | None:
    """The values of gamma to try each C with, if there are several."""
    if grid.gammas == "auto":
        return None
    if not isinstance(grid.gammas, list):
        raise typer.BadParameter(f"--gammas: --kind {choices.kind} needs the values, as 0.1,1")
    return "gamma", grid.gammas


def basis_of(model: BasisExpansion) -> str:
    """How many basis vectors there are, and how far the exact machine may be below this one, where
    that is known."""
    count = f"{model.n_basis} basis vector{'' if model.n_basis == 1 else 's'}"
    return count + _distance(model)


def _distance(model: BasisExpansion) -> str:
    from maxmargin.problem import Certificate

    certificate = model.certificate
    if certificate is None or not certificate.has_bound or model.exact_gap != model.exact_gap:
        return ""
    lowest = certificate.primal - model.exact_gap
    exact = Certificate(certificate.primal, lowest, certificate.status, 0, 0.0)
    confidence = ", with 99.9 % confidence" if model.bounds_are_estimates else ""
    return f" ({exact.quality} with any vectors{confidence})" if exact.has_bound else ""
