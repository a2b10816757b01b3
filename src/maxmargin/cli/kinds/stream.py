"""Linear machines of data larger than memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import classes_of
from maxmargin.cli.kinds.linear import Linear
from maxmargin.cli.kinds.regression import Regression, values_of

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Grid
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class Stream(Linear):
    """Linear classifiers."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.data.features import feature_map
        from maxmargin.training.stream import StreamPlan

        return choices.plan(StreamPlan, callback, features=feature_map(choices.features))

    def fit(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.models.labels import whole_numbers

        trained = fit_blocks(dataset, plan)
        classes = whole_numbers(trained.model.classes)
        return replace(trained, model=replace(trained.model, classes=classes))

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.cli.rows import with_metadata
        from maxmargin.training.stream_search import ClassesOnStream

        with_metadata(dataset)
        return ClassesOnStream(classes_of(dataset), plan, dataset.weight, dataset.qid)


class StreamRegression(Regression):
    """Linear regressions."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.data.features import feature_map
        from maxmargin.training.stream import StreamRegressionPlan

        return choices.plan(StreamRegressionPlan, callback, features=feature_map(choices.features))

    def fit(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        return fit_blocks(dataset, plan)

    def about(self, dataset: Dataset, model: Any) -> str:
        count = len(model.coef)
        return "real targets" if count == 1 else f"{count} functions of real targets"

    def axis(self, grid: Grid, choices: Choices) -> tuple[str, Any] | None:
        return None

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.cli.rows import with_metadata
        from maxmargin.training.stream_search import ValuesOnStream

        with_metadata(dataset)
        return ValuesOnStream(values_of(dataset), plan, dataset.weight, dataset.qid)


def fit_blocks(dataset: Dataset, plan: Any) -> Any:
    """What training gives on a source, whose labels it finds in the passes that it makes anyway."""
    from maxmargin.training.stream import train_stream

    source: Any = dataset.X
    return train_stream(source, plan)
