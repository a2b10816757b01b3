"""Linear classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Evaluation, Found, Grid, Predictions, Table, classes_of

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.losses.pointwise import losses_for
    from maxmargin.parameters import one_of
    from maxmargin.training.fit import LinearPlan

    wanted = getattr(choices, "probabilities", False)
    plan = choices.plan(LinearPlan, callback, probability=wanted)
    one_of("loss", plan.loss, losses_for("classification"))
    return plan


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.linear import train

    trained = train(dataset.X, classes_of(dataset), plan, dataset.weight)
    return trained, f"{len(trained.model.classes)} classes"


def search(
    dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
) -> Found:
    from maxmargin.training.search import search_C

    y, weight = classes_of(dataset), dataset.weight
    found = search_C(dataset.X, y, plan, grid.Cs, grid.folds, weight, watch)
    return found_along_C(found, f"accuracy over {grid.folds} folds")


def found_along_C(found: Any, title: str, digits: int = 4) -> Found:
    """What a search for C tells."""
    Cs = found.Cs.tolist()
    mean, std = found.scores.mean(axis=0).tolist(), found.scores.std(axis=0).tolist()
    told = {"best_C": found.C, "Cs": Cs, "mean": mean, "std": std, "scores": found.scores.tolist()}
    lines = [
        [f"{C:g}", f"{m:.{digits}f}", f"{s:.{digits}f}", "best" if found.C == C else ""]
        for C, m, s in zip(Cs, mean, std)
    ]
    report = Table(title, ["C", "mean", "std", ""], lines)
    return Found(found.trained.model, f"C = {found.C:g}", told, report)


def predict(model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
    values = model.decision_function(X, threads)
    return Predictions(model.labels(values), values if scores else None)


def evaluate(model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
    from maxmargin.cli.classification import judged_by_score

    return judged_by_score(model, dataset, threads)
