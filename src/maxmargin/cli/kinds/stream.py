"""Linear classifiers of data larger than memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.kinds.linear import evaluate, predict

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "train"]


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
