"""Weights and repeated rows brought to one form, so that both mean the same to the last digit.

A row of weight 2 and the same row twice are one problem, but rounding and the order of rows would
lead a solver to two answers, each within the tolerance. So equal rows of one class become one row
with the sum of their weights, rows of weight 0 are left out, and the rows are put into an order
that depends on what they hold and not on where they stood. Data without weights and without equal
rows stay where they are: nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import view

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class NormalForm:
    """The rows of a problem, each once.

    `kept` are the places they had, `place` is where each original row went (-1: left out), `counts`
    are the sums of whatever else was to be added up.
    """

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    folds: list[tuple[np.ndarray, np.ndarray]]
    kept: np.ndarray
    place: np.ndarray

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One number a kept row as one number an original row, 0 where a row was merged."""
        out = np.zeros(len(self.place))
        out[self.kept] = values
        return out


def normal_form(
    X: Any, codes: np.ndarray, weights: np.ndarray, counts: np.ndarray, folds: Folds = ()
) -> NormalForm:
    """Merges equal rows of one class that lie in the same folds."""
    n = len(codes)
    parts = _parts(n, folds)
    key = keys_of(X)
    order = np.lexsort((parts, codes, key))
    order = order[weights[order] > 0]
    same = _equal_neighbours(X, order, key, codes, parts)
    if not same.any() and len(order) == n and np.all(weights == weights[0]):
        everything = np.arange(n)
        return NormalForm(X, codes, weights, counts, list(folds), everything, everything)
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    kept = order[first]
    place = np.full(n, -1)
    place[order] = np.cumsum(np.concatenate([[True], ~same])) - 1
    return NormalForm(
        X[kept],
        codes[kept],
        np.add.reduceat(weights[order], first),
        np.add.reduceat(counts[order], first),
        [(_placed(train, place), _placed(test, place)) for train, test in folds],
        kept,
        place,
    )


def _placed(rows: np.ndarray, place: np.ndarray) -> np.ndarray:
    found = np.unique(place[rows])
    return found[found >= 0]


def _parts(n: int, folds: Folds) -> np.ndarray:
    """Rows with equal numbers train in the same folds and validate in the same folds."""
    parts = np.zeros(n, dtype=np.intp)
    for rows in (rows for fold in folds for rows in fold):
        inside = np.zeros(n, dtype=np.intp)
        inside[rows] = 1
        parts = np.unique(2 * parts + inside, return_inverse=True)[1]
    return parts


def keys_of(X: Any) -> np.ndarray:
    """A number a row, the same for equal rows and almost surely another for others."""
    key = np.empty(X.shape[0])
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    _core.matvec(view(X, 0.0), direction, key, _core.Pool(1))
    return key


def _equal_neighbours(X: Any, order: Any, key: Any, codes: Any, parts: Any) -> np.ndarray:
    """Whether each row but the first equals the one before it in this order."""
    left, right = order[:-1], order[1:]
    same = (key[left] == key[right]) & (codes[left] == codes[right]) & (parts[left] == parts[right])
    at = np.flatnonzero(same)  # few, unless the data repeat themselves
    if at.size:
        a, b = X[left[at]], X[right[at]]
        if sp.issparse(X):
            same[at] = np.asarray(abs(a - b).sum(axis=1)).ravel() == 0
        else:
            same[at] = np.all(np.asarray(a) == np.asarray(b), axis=1)
    return same
