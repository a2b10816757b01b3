"""Kernel rankings on few basis vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.rank import evaluate, predict, targets_of
from maxmargin.cli.kinds.sparse_kernel import basis_of, gammas_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.span_scores import SpanRankPlan

    check_kernel(choices)
    return choices.plan(SpanRankPlan, callback)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    import numpy as np

    from maxmargin.training.span_scores import train_ranking

    queries = 1 if dataset.qid is None else len(np.unique(dataset.qid))
    y = targets_of(dataset)
    trained = train_ranking(dataset.X, y, plan, dataset.qid, dataset.weight)
    model = trained.model
    about = f"{queries} {'query' if queries == 1 else 'queries'}, {basis_of(model)}"
    return trained, about


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.tasks import RanksInSpan

    task = RanksInSpan(targets_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch, gammas_of(grid, choices))
