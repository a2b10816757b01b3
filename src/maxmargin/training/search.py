"""The best C by cross-validation, each solution the start of the next along growing C.

A fold is a vector of weights, 0 for the rows held out: no row is copied, and the predictions of
held-out rows come with those of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.solvers.common.run import Interrupts, catch_interrupts
from maxmargin.training.choice import Start
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.linear import train_on
from maxmargin.training.targets import Labels, labels_of

C_LEAST, C_MOST = 1e-4, 1e4  # ends of the default grid, as scikit-learn's


@dataclass(frozen=True)
class Search:
    """What was tried, the accuracy by (fold, C), and the model of the best C on all rows."""

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
) -> Search:
    """Try all `Cs` on all `folds` (a number of stratified ones, or pairs of train and test rows).

    The least C among those of best mean accuracy is refitted on all rows. Interrupting ends the
    search with an error: half a search has no winner.
    """
    labels = labels_of(y, sample_weight, plan.class_weight)
    options, grid = plan.options, grid_of(Cs)
    splits = stratified(y, folds, options.seed) if isinstance(folds, int) else list(folds)
    scores = np.empty((len(splits), len(grid)))
    with catch_interrupts() as interrupts:
        for fold, (_, test) in enumerate(splits):
            held_out = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
            counts = held_out[test] if held_out[test].any() else None
            for k, trained in enumerate(path(X, labels.without(test), plan, grid, interrupts)):
                right = trained.model.predict(X, options.threads)[test] == y[test]
                scores[fold, k] = np.average(right, weights=counts)
        best = int(np.argmax(scores.mean(axis=0)))
        final = list(path(X, labels, plan, grid[: best + 1], interrupts))[-1]
    return Search(float(grid[best]), grid, scores, final)


def path(
    X, labels: Labels, plan: LinearPlan, grid: np.ndarray, interrupts: Interrupts
) -> Iterator[Trained]:
    """The solution for every C of an increasing grid, each starting from the one before."""
    starts: list[Start] | None = None
    for C in grid:
        trained = train_on(X, labels, replace(plan, C=float(C)), starts)
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
