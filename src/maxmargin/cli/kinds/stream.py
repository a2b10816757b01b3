"""Linear classifiers of data larger than memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid, classes_of
from maxmargin.cli.kinds.linear import evaluate, predict
from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "search", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.data.features import feature_map
    from maxmargin.training.stream import StreamPlan

    return choices.plan(StreamPlan, callback, features=feature_map(choices.features))


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.models.labels import whole_numbers
    from maxmargin.training.stream import train_stream

    source: Any = dataset.X
    trained = train_stream(source, plan)
    found: Any = trained.model
    model = replace(found, classes=whole_numbers(found.classes))
    return replace(trained, model=model), f"{len(model.classes)} classes"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.cli.rows import with_metadata
    from maxmargin.training.stream_search import ClassesOnStream

    with_metadata(dataset)
    task = ClassesOnStream(classes_of(dataset), plan, dataset.weight, dataset.qid)
    return search_along_C(dataset, task, grid, choices, watch)
