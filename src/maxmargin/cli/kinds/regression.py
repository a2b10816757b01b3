"""Regressions: real values, quantiles and expectiles by linear functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Grid, Predictions, Table, numbers_of
from maxmargin.cli.kinds.base import Machine

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class Regression(Machine):
    """Numbers by linear functions; what all regressions share."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.regression import RegressionPlan

        return choices.plan(RegressionPlan, callback)

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.tasks import OfValues

        return OfValues(values_of(dataset), plan, dataset.weight, dataset.qid)

    def about(self, dataset: Dataset, model: Any) -> str:
        y = values_of(dataset)
        return f"targets from {y.min():g} to {y.max():g}"

    def axis(self, grid: Grid, choices: Choices) -> tuple[str, Any] | None:
        return None if choices.epsilons is None else ("epsilon", choices.epsilons)

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        if scores:
            raise typer.BadParameter("--scores: a regression predicts values, which are printed")
        return Predictions(None, model.predict(X, threads))

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        import numpy as np

        y, weight = values_of(dataset), dataset.weight
        columns = model.predict(dataset.X, threads).reshape(len(y), -1).T
        spread = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        told, lines = [], []
        for name, column in zip(names_of(model), columns):
            mse = float(np.average((y - column) ** 2, weights=weight))
            facts = {
                "name": name,
                "r2": 1 - mse / spread if spread > 0 else None,
                "rmse": mse**0.5,
                "mae": float(np.average(np.abs(y - column), weights=weight)),
                "below": float(np.average(y < column, weights=weight)),
            }
            told.append(facts)
            shown = [facts[key] for key in ("r2", "rmse", "mae", "below")]
            lines.append([name, *("-" if value is None else f"{value:.6g}" for value in shown)])
        headings = ["", "R^2", "RMSE", "MAE", "share below"]
        title = f"{len(y)} rows"
        return Evaluation({"rows": len(y), "functions": told}, [Table(title, headings, lines)])


def names_of(model: Any) -> list[str]:
    """What each function is: its loss, with the quantile."""
    from maxmargin.losses.table import losses_of_levels

    loss, level = str(model.parameters.get("loss", "function")), model.parameters.get("quantile")
    if loss not in losses_of_levels():
        return [loss]
    return [f"{loss} {q:g}" for q in (level if isinstance(level, list) else [level])]


def values_of(dataset: Dataset) -> np.ndarray:
    """Targets, which must be numbers."""
    advice = "--kind regression needs numbers: train classes with --kind linear"
    return numbers_of(dataset, advice)
