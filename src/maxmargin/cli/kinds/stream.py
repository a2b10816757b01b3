"""Linear classifiers of data larger than memory. Trained without scikit-learn, as linear ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Choices, Fitted
from maxmargin.cli.kinds.linear import evaluate, predict
from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.data import BlockSource, Dataset
    from maxmargin.models import StreamModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "facts", "fit", "predict"]


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    from maxmargin.data.features import feature_map
    from maxmargin.models.labels import whole_numbers
    from maxmargin.training.stream import StreamPlan, train_stream

    source: Any = dataset.X
    plan = StreamPlan(
        C=choices.C,
        memory=choices.memory or "1GB",
        features=feature_map(choices.features),
        bias=choices.constant,
        class_weight=weights_of(source, choices),
        options=choices.options(callback),
        checkpoint=choices.checkpoint,
        checkpoint_every=choices.checkpoint_every,
    )
    trained = train_stream(source, plan)
    model = replace(trained.model, classes=whole_numbers(trained.model.classes))
    return Fitted(model, trained.history, f"{len(model.classes)} classes")


def weights_of(source: BlockSource, choices: Choices) -> Any:
    """Class weights by the labels as they are in the source; one pass finds them, if needed."""
    if not choices.class_weight:
        return None
    if choices.class_weight == ["balanced"]:
        return "balanced"
    import numpy as np

    from maxmargin.models.labels import whole_numbers

    labels: set = set()
    for block in source.blocks():
        labels |= set(np.unique(np.asarray(block.y)).tolist())
    return class_weights(choices.class_weight, whole_numbers(np.array(sorted(labels))).tolist())


def facts(model: StreamModel) -> dict:
    return {
        "classes": model.classes.tolist(),
        "nonzero weights": int((model.coef != 0).any(axis=0).sum()),
        "intercept": model.intercept.tolist(),
        "features made": None if model.features is None else model.features.packed()[0],
    }
