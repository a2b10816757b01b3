"""The best C by cross-validation, each solution the start of the next along growing C.

A fold is a vector of weights, 0 for the rows held out: no row is copied, and the predictions of
held-out rows come with those of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.models.training import Plan, Start, Trained, check_classes, train
from maxmargin.problem import Status

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
    plan: Plan,
    Cs: int | Sequence[float] = 10,
    folds: int | Iterable[tuple[np.ndarray, np.ndarray]] = 5,
    sample_weight: np.ndarray | None = None,
) -> Search:
    """Try all `Cs` on all `folds` (a number of stratified ones, or pairs of train and test rows).

    The least C among those of best mean accuracy is refitted on all rows. Interrupting ends the
    search with an error: half a search has no winner.
    """
    grid = grid_of(Cs)
    check_classes(y)
    splits = stratified(y, folds, plan.seed) if isinstance(folds, int) else list(folds)
    scores = np.empty((len(splits), len(grid)))
    for fold, (_, test) in enumerate(splits):
        weight = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, dtype=float)
        held_out = weight[test]
        weight[test] = 0.0
        for k, trained in enumerate(path(X, y, plan, grid, weight)):
            right = trained.model.predict(X, plan.threads)[test] == y[test]
            scores[fold, k] = np.average(right, weights=held_out if held_out.any() else None)
    best = int(np.argmax(scores.mean(axis=0)))
    final = list(path(X, y, plan, grid[: best + 1], sample_weight))[-1]
    return Search(float(grid[best]), grid, scores, final)


def path(
    X, y: np.ndarray, plan: Plan, grid: np.ndarray, sample_weight: np.ndarray | None = None
) -> Iterator[Trained]:
    """The solution for every C of an increasing grid, each starting from the one before."""
    starts: list[Start] | None = None
    for C in grid:
        trained = train(X, y, replace(plan, C=float(C)), sample_weight, starts)
        if any(s.certificate.status is Status.INTERRUPTED for s in trained.solutions):
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
