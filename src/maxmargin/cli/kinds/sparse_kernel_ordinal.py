"""Ordered labels by a kernel score on few basis vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid, labels_of
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.ordinal import evaluate, order_of, predict
from maxmargin.cli.kinds.sparse_kernel import basis_of, gammas_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.span_scores import SpanOrdinalPlan

    check_kernel(choices)
    return choices.plan(SpanOrdinalPlan, callback, order=None)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.span_scores import train_ordinal

    y = labels_of(dataset)
    trained = train_ordinal(dataset.X, y, _ordered(plan, dataset, choices), dataset.weight)
    model = trained.model
    about = f"{len(model.classes)} ordered classes, {basis_of(model)}"
    return trained, about


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import OrderInSpan

    plan = _ordered(plan, dataset, choices)
    task = OrderInSpan(labels_of(dataset), plan, dataset.weight, dataset.qid, order=plan.order)
    return search_along_C(dataset, task, grid, choices, watch, gammas_of(grid, choices))


def _ordered(plan: Any, dataset: Dataset, choices: Choices) -> Any:
    """The plan with the order of the labels, once these are known."""
    import numpy as np

    found = np.unique(labels_of(dataset)).tolist()
    return replace(plan, order=order_of(choices.order, dataset, found))
