"""What is kept of an ordinal machine: a linear score and thresholds that cut it into labels.

    label(x) = classes[k],     k = the number of thresholds below <w, x>

The score ranks rows by label; thresholds are chosen after it, each by itself the best there is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Model
from maxmargin.models.contents import Classes, Floats, stored
from maxmargin.models.linear import LinearScores
from maxmargin.models.ranking import check_one_score


class CutScore(Model):
    """One score, and thresholds between labels that have an order.

    A subclass has the fields `thresholds` and `classes`, and says what the score is.
    """

    task = "order"

    thresholds: np.ndarray
    classes: np.ndarray

    @abstractmethod
    def one_score(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The score of each row."""

    def check_cut(self) -> None:
        """Refuses thresholds that do not fit the classes."""
        if len(self.classes) < 2 or self.thresholds.shape != (len(self.classes) - 1,):
            raise ValueError(
                f"{len(self.classes)} classes do not fit thresholds of shape "
                f"{self.thresholds.shape}: expected one between each two neighbours"
            )
        if np.any(np.diff(self.thresholds) < 0):
            raise ValueError("the thresholds are not in increasing order")

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """How far the score lies inside the interval of each label; with two labels, above the cut.

        Returns
        -------
        ndarray of shape (n, k), or (n,) with two labels
        """
        score = self.one_score(X, threads)
        if len(self.classes) == 2:
            return score - self.thresholds[0]
        edges = np.concatenate(([-np.inf], self.thresholds, [np.inf]))
        return np.minimum(score[:, None] - edges[:-1], edges[1:] - score[:, None])

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The class each row of `decision_function` speaks for."""
        if scores.ndim == 1:
            return self.classes[(scores > 0).astype(np.intp)]
        return self.classes[np.argmax(scores, axis=1)]

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The label in whose interval the score lies."""
        return self.classes[self.places(X, threads)]

    def places(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The position of each row's label in `classes`."""
        return np.searchsorted(self.thresholds, self.one_score(X, threads), side="left")


@dataclass(frozen=True)
class OrdinalModel(LinearScores, CutScore):
    """A linear score cut by thresholds.

    Parameters
    ----------
    coef : ndarray of shape (1, d), float64
    thresholds : ndarray of shape (k - 1,), float64
        None falls below the one before it. A score above ``thresholds[k]`` is labelled
        ``classes[k + 1]`` or higher.
    classes : ndarray of shape (k,)
        Labels from the lowest to the highest.
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "ordinal"

    thresholds: np.ndarray = stored(Floats(1))
    classes: np.ndarray = stored(Classes(any_order=True))

    def __post_init__(self) -> None:
        check_one_score(self.coef)
        self.check_cut()
        self._check_problems(1)

    def one_score(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X w``."""
        return self.scores(X, threads)[:, 0]


# ---------------------------------------------------------------- labels and thresholds


def best_thresholds(
    score: np.ndarray, place: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Thresholds of least ``sum_i s_i |predicted place - place|``.

    The places between two labels are a sum over thresholds of 0-1 errors, so each threshold k is
    the best cut between places <= k and > k by itself. First best cuts never fall with k: once the
    middle threshold is known, lower ones look below it and higher ones above, O(n log n_classes).
    """
    weight = np.ones(score.size) if weight is None else weight
    order = np.argsort(score, kind="stable")
    order = order[weight[order] > 0]
    score, place, weight = score[order], place[order], weight[order]
    # A cut before row r of the order; only between different scores.
    possible = np.concatenate(([True], score[1:] > score[:-1], [True]))
    middle = np.empty(score.size + 1)
    middle[1:-1] = score[:-1] + 0.5 * (score[1:] - score[:-1])
    middle[0], middle[-1] = score[0] - 1.0, score[-1] + 1.0
    # Scores a rounding apart have no middle between them.
    middle[1:-1] = np.where(middle[1:-1] < score[1:], middle[1:-1], score[:-1])
    thresholds = np.empty(n_classes - 1)
    open_ranges = [(0, n_classes - 1, 0, score.size)]  # thresholds [k0, k1), cuts [r0, r1]
    while open_ranges:
        k0, k1, r0, r1 = open_ranges.pop()
        if k0 == k1:
            continue
        k = (k0 + k1) // 2
        # Moving the cut past a row: one error more if it belongs above, one less if below.
        errors = np.zeros(r1 - r0 + 1)
        np.cumsum(np.where(place[r0:r1] > k, weight[r0:r1], -weight[r0:r1]), out=errors[1:])
        r = r0 + int(np.argmin(np.where(possible[r0 : r1 + 1], errors, np.inf)))
        thresholds[k] = middle[r]
        open_ranges += [(k0, k, r0, r), (k + 1, k1, r, r1)]
    return thresholds


def places_of(
    y: np.ndarray, order: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels from lowest to highest, and the place of each row's label among them."""
    if order is None:
        classes, place = np.unique(y, return_inverse=True)
        return classes, place.astype(np.float64)
    classes = np.asarray(order)
    index = {label: k for k, label in enumerate(classes.tolist())}
    if len(index) != classes.size:
        raise ValueError(f"order has a label twice: {classes.tolist()}")
    unknown = [label for label in np.unique(y).tolist() if label not in index]
    if unknown:
        raise ValueError(f"y has the label {unknown[0]!r}; expected one of {classes.tolist()}")
    return classes, np.array([index[label] for label in y.tolist()], dtype=np.float64)
