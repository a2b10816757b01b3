"""What `cv` shares between kinds: a search along C, and how it is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import Found, Grid, Table

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback
    from maxmargin.training.search import SearchResult
    from maxmargin.training.tasks import Task


PROBABILISTIC = ("linear", "sparse-kernel", "stream")  # with the right loss


def search_along_C(
    dataset: Dataset,
    task: Task,
    grid: Grid,
    choices: Choices,
    watch: Callback | None,
    axis: tuple[str, Any] | None = None,
) -> Found:
    """The best C, and value of one more parameter, in words and numbers."""
    from maxmargin.training.search import Axis, search
    from maxmargin.training.search import Grid as Points

    along = None if axis is None else Axis(axis[0], tuple(sorted(set(axis[1]))))
    found = search(
        dataset.X,
        task,
        Points(grid.Cs, along, choices.widen),
        grid.folds,
        scoring_of(choices),
        choices.tune_threshold,
        watch,
    )
    return summary(found, grid.folds, None if along is None else along.name)


def scoring_of(choices: Choices) -> Any:
    """A measure of ours, or a scorer of scikit-learn, which takes a while to import."""
    from maxmargin.metrics.named import measure_of

    name = choices.scoring
    if name is None or measure_of(name) is not None:
        return name
    from maxmargin import estimators  # noqa: F401  (they register themselves with the files)
    from maxmargin.estimators.scorers import scoring_of as scorer_of
    from maxmargin.models.files import wrapped

    return scorer_of(name, wrapped, "--loss logistic" if choices.kind in PROBABILISTIC else None)


def summary(found: SearchResult, folds: int, axis: str | None) -> Found:
    """Facts and a table."""
    scores = found.scores if axis is not None else found.scores.T[None]  # (value, C, fold)
    mean, std = scores.mean(axis=2), scores.std(axis=2)
    facts: dict[str, Any] = {
        "best_C": found.C,
        "scoring": found.title,
        "Cs": found.Cs.tolist(),
        "mean": (mean[0] if axis is None else mean).tolist(),
        "std": (std[0] if axis is None else std).tolist(),
        "scores": found.scores.tolist(),
        "widened": found.widened,
    }
    best = f"C = {found.C:g}"
    if axis is not None:
        facts |= {f"best_{axis}": found.best[axis], f"{axis}s": list(found.values)}
        best += f", {axis} = {found.best[axis]:g}"
    if found.threshold is not None:
        facts["threshold"] = found.threshold
        best += f", threshold {found.threshold:.4g}"
    lines = []
    for v, value in enumerate(found.values or (None,)):
        for j, C in enumerate(found.Cs.tolist()):
            is_best = found.C == C and (axis is None or found.best[axis] == value)
            shown = [f"{C:g}", f"{mean[v, j]:.6g}", f"{std[v, j]:.3g}", "best" if is_best else ""]
            lines.append(shown if value is None else [f"{value:g}", *shown])
    headings = ["C", "mean", "std", ""] if axis is None else [axis, "C", "mean", "std", ""]
    report = Table(f"{found.title} over {folds} folds", headings, lines)
    return Found(found.trained.model, best, facts, report)
