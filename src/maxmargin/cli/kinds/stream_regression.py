"""Linear regressions of data larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.kinds.regression import evaluate, predict

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.data.features import feature_map
    from maxmargin.training.stream import StreamRegressionPlan

    return choices.plan(StreamRegressionPlan, callback, features=feature_map(choices.features))


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.stream import train_stream

    source: Any = dataset.X
    return train_stream(source, plan), f"{len(plan.specs())} function(s) of real targets"
