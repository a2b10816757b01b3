"""Kernel machines on few basis vectors: classes, numbers, rankings, ordered labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import classes_of, labels_of
from maxmargin.cli.kinds.base import Machine
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.linear import Linear, probability_of
from maxmargin.cli.kinds.measure import check_measure, measure_of
from maxmargin.cli.kinds.ordinal import Ordinal, order_of
from maxmargin.cli.kinds.rank import Rank, targets_of
from maxmargin.cli.kinds.regression import Regression, values_of
from maxmargin.cli.options import spelled

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Grid
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models.basis_expansion import BasisExpansion
    from maxmargin.problem import Callback


class OnBasis(Machine):
    """What they share; comes before the linear machine of the same task."""

    def about(self, dataset: Dataset, model: Any) -> str:
        return f"{super().about(dataset, model)}, {basis_of(model)}"

    def axis(self, grid: Grid, choices: Choices) -> tuple[str, Any] | None:
        return gammas_of(grid, choices)


class SparseKernel(OnBasis, Linear):
    """Classes, by a loss of each row or for a measure of all."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.subspace import SparseKernelPlan

        check_kernel(choices)
        wanted = probability_of(choices)
        return choices.plan(SparseKernelPlan, callback, probability=wanted, **for_measure(choices))

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.span_tasks import OfBasis

        return OfBasis(classes_of(dataset), plan, dataset.weight, dataset.qid)


class SparseKernelRegression(OnBasis, Regression):
    """Numbers."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.span_scores import SpanRegressionPlan

        check_kernel(choices)
        return choices.plan(SpanRegressionPlan, callback)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.span_tasks import ValuesInSpan

        return ValuesInSpan(values_of(dataset), plan, dataset.weight, dataset.qid)


class SparseKernelRank(OnBasis, Rank):
    """Rankings."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.span_scores import SpanRankPlan

        check_kernel(choices)
        return choices.plan(SpanRankPlan, callback)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.span_tasks import RanksInSpan

        return RanksInSpan(targets_of(dataset), plan, dataset.weight, dataset.qid)


class SparseKernelOrdinal(OnBasis, Ordinal):
    """Labels that have an order, which is part of the plan once the labels are known."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.span_scores import SpanOrdinalPlan

        check_kernel(choices)
        return choices.plan(SpanOrdinalPlan, callback, order=None)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.span_tasks import OrderInSpan

        plan = replace(plan, order=order_of(choices.order, dataset))
        return OrderInSpan(labels_of(dataset), plan, dataset.weight, dataset.qid)


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
