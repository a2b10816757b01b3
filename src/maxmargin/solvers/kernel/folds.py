"""Folds of a kernel matrix: which rows train, which validate, and how nothing is copied for them.

Points are put into the order of their folds. So the training points of a fold are the matrix
without one contiguous range of rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel.path import RegularisationPath

GAP = 256  # training points are one range unless more than this many others lie between


class Fold:
    """One fold in the common order of the points."""

    def __init__(self, train: np.ndarray, test: np.ndarray, place: np.ndarray) -> None:
        n = place.shape[0]
        self.train = np.zeros(n, dtype=bool)
        self.train[place[train]] = True
        self.test = np.sort(place[test])
        self.ranges = runs(self.train)
        tested = np.zeros(n, dtype=bool)
        tested[self.test] = True
        self.test_ranges = runs(tested)
        self.size = int(self.train.sum())


def runs(mask: np.ndarray) -> np.ndarray:
    """Ranges [begin, end) that cover the true entries; gaps up to GAP are bridged."""
    true = np.flatnonzero(mask)
    if true.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    cut = np.flatnonzero(np.diff(true) > GAP)
    begin = true[np.concatenate([[0], cut + 1])]
    end = true[np.concatenate([cut, [true.size - 1]])] + 1
    return np.ascontiguousarray(np.column_stack([begin, end]), dtype=np.int64)


def order_by_fold(n: int, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """An order in which each validation set is contiguous, if the folds are a partition."""
    fold_of = np.full(n, len(folds))
    for k, (_, test) in enumerate(folds):
        fold_of[test] = np.minimum(fold_of[test], k)
    return np.argsort(fold_of, kind="stable")


class Validation:
    """``f`` on the validation rows of a fold, for one C after another.

    From one C to the next most points stay at a bound: their part of f grows with C. So f is
    scaled, or kept, and only the other points are added, whichever is cheapest.
    """

    def __init__(self, path: RegularisationPath, fold: Fold) -> None:
        self.path, self.fold = path, fold
        self.f = np.zeros(path.rows.n)
        self.beta = np.zeros(path.rows.n)
        self.c = np.zeros(path.rows.n)
        self.C = 1.0

    def predict(self) -> np.ndarray:
        path = self.path
        C = path.C or 1.0
        ratio = C / self.C
        bounded = (path.beta == path.c) & (self.beta == self.c) & (self.c != 0)
        ways = [
            (0.0, path.beta),
            (1.0, path.beta - self.beta),
            (ratio, np.where(bounded, 0.0, path.beta - ratio * self.beta)),
        ]
        factor, change = min(ways, key=lambda way: np.count_nonzero(way[1]))
        self.f *= factor
        used = np.flatnonzero(change)
        _core.add_rows(path.rows, used, change[used], self.fold.test_ranges, self.f, path.pool)
        self.beta[:], self.c[:], self.C = path.beta, path.c, C
        return self.f[self.fold.test]
