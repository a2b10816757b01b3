"""Kernel regressions on few basis vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.regression import evaluate, predict, values_of
from maxmargin.cli.kinds.sparse_kernel import basis_of, gammas_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.span_scores import SpanRegressionPlan

    check_kernel(choices)
    return choices.plan(SpanRegressionPlan, callback)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.span_scores import train_regression

    y = values_of(dataset)
    trained = train_regression(dataset.X, y, plan, dataset.weight)
    model = trained.model
    about = f"targets from {y.min():g} to {y.max():g}, {basis_of(model)}"
    return trained, about


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import ValuesInSpan

    task = ValuesInSpan(values_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch, gammas_of(grid, choices))
