"""How good a ranking is: pairwise accuracy, NDCG, average precision and what is found at k.

Rows of equal score share their places: each counts by the mean of what the places give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from maxmargin.losses.ranks import share_in_order


def pairwise_accuracy(
    y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
) -> float:
    """Share of the pairs with different targets whose scores are in the right order.

    Ties in the score count one half. Queries are averaged, each with the same weight; those
    without a pair are left out. With two ranks and one query this is the area under the ROC curve.

    Parameters
    ----------
    y_true : array of shape (n,)
        Targets, numbers.
    y_score : array of shape (n,)
    qid : array of shape (n,), optional
    sample_weight : array of shape (n,), optional
        A pair weighs the product of its rows' weights.
    """
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    y, score, qid = _checked(y_true, y_score, qid, weight)
    return share_in_order(y, score, qid, weight)


def ndcg(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
    no_relevant: float | None = 0.0,
) -> float:
    """Mean over queries of the normalised discounted cumulative gain at k.

    Parameters
    ----------
    y_true : array of shape (n,)
        Grades, 0 for irrelevant.
    y_score : array of shape (n,)
    qid : array of shape (n,), optional
        Without it all rows are one query.
    k : int, optional
        Places that count; None for all.
    gain : {"exponential", "linear"}
        ``2^grade - 1``, as LETOR and LightGBM do, or the grade itself.
    no_relevant : float or None
        What a query without a relevant row counts (0 in LETOR's tables, 1 in LightGBM); None leaves
        such queries out.
    """
    if gain not in ("exponential", "linear"):
        raise ValueError(f"gain is {gain!r}; expected 'exponential' or 'linear'")
    _check_places(k)
    y, score, qid = _checked(y_true, y_score, qid)
    if np.any(y < 0):
        raise ValueError(f"y_true has the grade {y.min():g}; expected none below 0")
    gains = np.exp2(y) - 1 if gain == "exponential" else y
    found = _Ordered.of(score, qid).discounted(gains, k)
    ideal = _Ordered.of(gains, qid).discounted(gains, k)
    return _mean(found, ideal, no_relevant)


def mean_average_precision(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    relevant: float = 1,
    no_relevant: float | None = 0.0,
) -> float:
    """Mean over queries of the average precision; rows of grade `relevant` or more are relevant.

    `no_relevant` is what a query without a relevant row counts; None leaves such queries out.
    """
    y, score, qid = _checked(y_true, y_score, qid)
    order = _Ordered.of(score, qid)
    positive = (y >= relevant).astype(np.float64)[order.rows]
    ends = np.append(np.flatnonzero(np.diff(order.tie)), len(y) - 1)
    before = np.concatenate(([0.0], np.cumsum(positive)))[order.start]
    inside = np.bincount(order.tie, positive)
    precision = (np.cumsum(positive) - before)[ends] / (order.place[ends] + 1)
    found = np.bincount(order.query[ends], inside * precision)
    return _mean(found, np.bincount(order.query, positive), no_relevant)


def precision_at(
    y_true: Any,
    y_score: Any,
    *,
    k: int,
    qid: Any = None,
    relevant: float = 1,
    no_relevant: float | None = 0.0,
) -> float:
    """Mean over queries of the share of relevant rows among the k of highest score."""
    found, total = _found_at(y_true, y_score, qid, k, relevant)
    return _mean(found / k, total, no_relevant, normalise=False)


def recall_at(
    y_true: Any,
    y_score: Any,
    *,
    k: int,
    qid: Any = None,
    relevant: float = 1,
    no_relevant: float | None = 0.0,
) -> float:
    """Mean over queries of the share of its relevant rows that are among the k of highest score."""
    found, total = _found_at(y_true, y_score, qid, k, relevant)
    return _mean(found, total, no_relevant)


def _found_at(
    y_true: Any, y_score: Any, qid: Any, k: int, relevant: float
) -> tuple[np.ndarray, np.ndarray]:
    """Relevant rows of each query: among the first k places, and in all."""
    _check_places(k)
    y, score, qid = _checked(y_true, y_score, qid)
    order, positive = _Ordered.of(score, qid), (y >= relevant).astype(np.float64)
    return order.counted(positive, k), np.bincount(order.query, positive[order.rows])


@dataclass(frozen=True)
class _Ordered:
    """Rows of all queries, one query after the other, by falling score.

    For each row of the order: its `query`, its `place` in it from 0, the `start` of the query, and
    which `tie` of equal scores it belongs to.
    """

    rows: np.ndarray
    query: np.ndarray
    place: np.ndarray
    start: np.ndarray
    tie: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, qid: np.ndarray | None) -> _Ordered:
        n = len(score)
        query = np.zeros(n, np.intp) if qid is None else np.unique(qid, return_inverse=True)[1]
        query = query.reshape(n)
        rows = np.lexsort((-score, query))
        query, score = query[rows], score[rows]
        first = np.concatenate(([True], query[1:] != query[:-1]))
        start = np.maximum.accumulate(np.where(first, np.arange(n), 0))
        new = first | np.concatenate(([True], score[1:] != score[:-1]))
        return cls(rows, query, np.arange(n) - start, start, np.cumsum(new) - 1)

    def discounted(self, gains: np.ndarray, k: int | None) -> np.ndarray:
        """Gains by ``1 / log2(place + 2)``, summed over each query."""
        return self._summed(gains, 1.0 / np.log2(self.place + 2.0), k)

    def counted(self, gains: np.ndarray, k: int | None) -> np.ndarray:
        """Gains of the first k places, summed over each query."""
        return self._summed(gains, np.ones(len(gains)), k)

    def _summed(self, gains: np.ndarray, worth: np.ndarray, k: int | None) -> np.ndarray:
        worth = worth if k is None else np.where(self.place < k, worth, 0.0)
        shared = np.bincount(self.tie, worth) / np.bincount(self.tie)
        return np.bincount(self.query, gains[self.rows] * shared[self.tie])


def _mean(
    found: np.ndarray, total: np.ndarray, no_relevant: float | None, normalise: bool = True
) -> float:
    """Mean over queries of what was found of what there is."""
    known = total > 0
    values = found[known] / total[known] if normalise else found[known]
    if no_relevant is not None:
        values = np.append(values, np.full(int(np.sum(~known)), no_relevant))
    if not values.size:
        raise ValueError("no query has a relevant row; expected at least one")
    return float(np.mean(values))


def _check_places(k: int | None) -> None:
    if k is not None and k < 1:
        raise ValueError(f"k is {k!r}; expected None or a number of places, 1 or more")


def _checked(y_true: Any, y_score: Any, qid: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    y, score = np.asarray(y_true, np.float64), np.asarray(y_score, np.float64)
    given = {"y_true": y, "y_score": score}
    given |= {} if qid is None else {"qid": np.asarray(qid)}
    given |= {} if weight is None else {"sample_weight": np.asarray(weight)}
    lengths = {name: values.shape for name, values in given.items()}
    if len(set(lengths.values())) > 1 or y.ndim != 1:
        raise ValueError(f"inconsistent shapes: {lengths}; expected one number for each row of all")
    if y.size == 0:
        raise ValueError("there are no rows to judge; expected at least one")
    for name in ("y_true", "y_score"):
        if not np.all(np.isfinite(given[name])):
            raise ValueError(f"{name} has a value that is infinite or not a number")
    return y, score, given.get("qid")
