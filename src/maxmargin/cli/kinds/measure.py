"""Linear classifiers trained for the measure they are judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maxmargin.cli.fitting import (
    DEFAULT_MEASURE,
    Choices,
    Evaluation,
    Fitted,
    Table,
    fitted,
    linear_plan,
)
from maxmargin.cli.kinds.linear import facts, predict

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.models import MeasureModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "facts", "fit", "predict"]


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    import numpy as np

    from maxmargin.cli.rows import labels_of
    from maxmargin.training.scores import Measure, train_measure

    y = labels_of(dataset)
    found = np.unique(y).tolist()
    measure = Measure(
        choices.measure or DEFAULT_MEASURE,
        1.0 if choices.beta is None else choices.beta,
        number_or_share(choices.k),
    )
    plan = linear_plan(choices, callback, found, loss="measures")
    trained = train_measure(dataset.X, y, plan, measure, dataset.weight)
    return fitted(trained, dataset, f"{len(found)} classes, for {measure.name}")


def number_or_share(k: float | None) -> int | float | None:
    """Whole numbers count rows; others are a share of them, or a mistake that fitting explains."""
    return int(k) if k is not None and k == int(k) else k


def evaluate(model: MeasureModel, dataset: Dataset, threads: int | None) -> Evaluation:
    import numpy as np

    from maxmargin.cli.classification import judged_by_score
    from maxmargin.cli.rows import label_names, labels_of
    from maxmargin.estimators.measure import MeasureSVC

    # By name: a file may write as 1 what the model knows as "1".
    named = replace(model, classes=np.array(label_names(model.classes)), feature_names=None)
    judge = MeasureSVC.from_model(named).set_params(n_jobs=threads)
    value = judge.score(dataset.X, np.array(label_names(labels_of(dataset))), dataset.weight)
    whole = judged_by_score(model, dataset, threads)
    name = model.parameters.get("measure")
    table = Table("trained for", ["measure", "value"], [[str(name), f"{value:.6f}"]])
    return Evaluation({"measure": name, "value": value} | whole.facts, [table, *whole.tables])
