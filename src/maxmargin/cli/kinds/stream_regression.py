"""Linear regressions of data larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid
from maxmargin.cli.kinds.regression import evaluate, predict, values_of
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.data.features import feature_map
    from maxmargin.training.stream import StreamRegressionPlan

    return choices.plan(StreamRegressionPlan, callback, features=feature_map(choices.features))


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.stream import train_stream

    source: Any = dataset.X
    count = len(plan.specs())
    told = "real targets" if count == 1 else f"{count} functions of real targets"
    return train_stream(source, plan), told


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.cli.rows import with_metadata
    from maxmargin.training.stream_search import ValuesOnStream

    with_metadata(dataset)
    task = ValuesOnStream(values_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch)
