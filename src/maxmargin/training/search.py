"""The best C by cross-validation, each solution the start of the next along growing C.

A fold is a vector of weights, 0 for the rows held out: no row is copied, and the predictions of
held-out rows come with those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from maxmargin.solvers.common.run import Interrupts, catch_interrupts
from maxmargin.training import linear, regression
from maxmargin.training.choice import Start
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.targets import Labels, Targets, labels_of, targets_of

C_LEAST, C_MOST = 1e-4, 1e4  # ends of the default grid, as scikit-learn's


@dataclass(frozen=True)
class Search:
    """What was tried, the score by (fold, C), and the model of the best C on all rows."""

    C: float
    Cs: np.ndarray
    scores: np.ndarray
    trained: Trained


def search_C(
    X,
    y: np.ndarray,
    plan: LinearPlan,
    Cs: int | Sequence[float] = 10,
    folds: int | Iterable[tuple[np.ndarray, np.ndarray]] = 5,
    sample_weight: np.ndarray | None = None,
    watch: Callable[[SearchProgress], object] | None = None,
) -> Search:
    """Try all `Cs` on all `folds` (a number of them, or pairs of train and test rows).

    Classifiers are judged by their accuracy on held-out rows, in stratified folds; regressions by
    the loss that they minimise (its negative mean, so that more is better). The least C among those
    of best mean score is refitted on all rows. Interrupting ends the search with an error: half a
    search has no winner. `watch` is called when a fit begins.
    """
    task = task_of(y, plan, sample_weight)
    options, grid = plan.options, grid_of(Cs)
    splits = task.splits(folds, options.seed) if isinstance(folds, int) else list(folds)
    scores = np.empty((len(splits), len(grid)))
    with catch_interrupts() as interrupts:
        for fold, (_, test) in enumerate(splits):
            held_out = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
            counts = held_out[test] if held_out[test].any() else None
            begins = _announced(watch, grid, fold, len(splits), len(grid))
            some = task.without(test)
            for k, trained in enumerate(path(X, some, plan, begins, interrupts)):
                predicted = trained.model.predict(X, options.threads)[test]
                scores[fold, k] = task.score(predicted, y[test], counts)
        best = int(np.argmax(scores.mean(axis=0)))
        tries = grid[: best + 1]
        begins = _announced(watch, tries, len(splits), len(splits), len(grid))
        final = list(path(X, task, plan, begins, interrupts))[-1]
    return Search(float(grid[best]), grid, scores, final)


@dataclass(frozen=True)
class SearchProgress:
    """The fit that begins: of a fold (from 0; the last number: of all rows), for a C."""

    fold: int
    folds: int
    C: float
    done: int
    total: int

    def __str__(self) -> str:
        where = "all rows" if self.fold == self.folds else f"fold {self.fold + 1} of {self.folds}"
        return f"{where}, C = {self.C:.4g}"


def _announced(
    watch: Callable[[SearchProgress], object] | None, Cs: np.ndarray, fold: int, folds: int, m: int
) -> Iterator[float]:
    """The values of C, of m in the grid, each told before it is tried."""
    for k, C in enumerate(Cs):
        if watch is not None:
            watch(SearchProgress(fold, folds, float(C), fold * m + k, (folds + 1) * m))
        yield C


class Task(Protocol):
    """What is searched for: how it is trained on some of the rows, and judged on others."""

    def without(self, rows: np.ndarray) -> Task:
        """The same with these rows left out."""

    def train(self, X: Any, plan: Any, starts: list[Start] | None) -> Trained:
        """A model for one C."""

    def score(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """How good predictions are; more is better."""

    def splits(self, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Random folds: pairs of train and test rows."""


def task_of(y: np.ndarray, plan: LinearPlan, sample_weight: np.ndarray | None) -> Task:
    if isinstance(plan, RegressionPlan):
        return OfValues(targets_of(y, sample_weight), plan)
    return OfClasses(labels_of(y, sample_weight, plan.class_weight))


@dataclass(frozen=True)
class OfClasses:
    """Classifiers, by their accuracy."""

    labels: Labels

    def without(self, rows: np.ndarray) -> OfClasses:
        return OfClasses(self.labels.without(rows))

    def train(self, X: Any, plan: LinearPlan, starts: list[Start] | None) -> Trained:
        return linear.train_on(X, self.labels, plan, starts)

    def score(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return float(np.average(predicted == y, weights=weight))

    def splits(self, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return stratified(self.labels.classes[self.labels.codes], folds, seed)


@dataclass(frozen=True)
class OfValues:
    """Regressions, by the loss that they minimise."""

    targets: Targets
    plan: RegressionPlan

    def without(self, rows: np.ndarray) -> OfValues:
        return OfValues(self.targets.without(rows), self.plan)

    def train(self, X: Any, plan: RegressionPlan, starts: list[Start] | None) -> Trained:
        return regression.train_on(X, self.targets, plan, starts)

    def score(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        return -regression.mean_loss(self.plan, predicted, y, weight)

    def splits(self, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        n = self.targets.n
        if not 2 <= folds <= n:
            raise ValueError(f"cannot make {folds} folds of {n} rows: expected 2 to {n}")
        part = np.random.default_rng(seed).permutation(n) % folds
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(folds)]


def path(
    X: Any, task: Task, plan: LinearPlan, grid: Iterable[float], interrupts: Interrupts
) -> Iterator[Trained]:
    """The solution for every C of an increasing grid, each starting from the one before."""
    starts: list[Start] | None = None
    for C in grid:
        trained = task.train(X, replace(plan, C=float(C)), starts)
        if interrupts.requested:
            raise KeyboardInterrupt(f"interrupted while trying C = {C:g}")
        starts = trained.starts
        yield trained


def grid_of(Cs: int | Sequence[float]) -> np.ndarray:
    """Increasing values of C: `Cs` of them at even ratios, or those given."""
    if isinstance(Cs, int | np.integer):
        if Cs < 1:
            raise ValueError(f"Cs must be at least 1; got {Cs}")
        return np.geomspace(C_LEAST, C_MOST, Cs) if Cs > 1 else np.ones(1)
    grid = np.unique(np.asarray(Cs, dtype=np.float64))
    if grid.size == 0 or not (grid > 0).all() or not np.isfinite(grid).all():
        raise ValueError(f"Cs must be positive numbers; got {Cs!r}")
    return grid


def stratified(y: np.ndarray, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random folds that all have the classes in the same proportion."""
    classes, counts = np.unique(y, return_counts=True)
    if folds < 2 or counts.max() < folds:
        raise ValueError(
            f"cannot make {folds} folds: expected at least 2, and no more than the largest class "
            f"has rows ({counts.max()})"
        )
    rng = np.random.default_rng(seed)
    part = np.empty(len(y), dtype=np.intp)
    dealt = 0
    for c in classes:
        members = rng.permutation(np.flatnonzero(y == c))
        part[members] = (np.arange(len(members)) + dealt) % folds
        dealt += len(members)
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(folds)]
