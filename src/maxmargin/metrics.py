"""How good a ranking is: pairwise accuracy, NDCG and average precision, query by query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from maxmargin.losses.ranks import share_in_order

__all__ = ["mean_average_precision", "ndcg", "pairwise_accuracy"]


def pairwise_accuracy(y_true, y_score, *, qid=None, sample_weight=None) -> float:
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
    y, score, qid = _checked(y_true, y_score, qid)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    check_consistent_length(y, weight)
    return share_in_order(y, score, qid, weight)


def ndcg(
    y_true,
    y_score,
    *,
    qid=None,
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
    if k is not None and k < 1:
        raise ValueError(f"k is {k!r}; expected None or a number of places, 1 or more")

    def one(grades: np.ndarray, scores: np.ndarray) -> float | None:
        if np.any(grades < 0):
            raise ValueError(f"y_true has the grade {grades.min():g}; expected none below 0")
        if not np.any(grades > 0):
            return no_relevant
        if grades.size == 1:
            return 1.0  # scikit-learn refuses a single row; there is only one order
        gains = np.exp2(grades) - 1 if gain == "exponential" else grades
        return float(ndcg_score(gains[None, :], scores[None, :], k=k))

    return _mean_over_queries(one, y_true, y_score, qid)


def mean_average_precision(
    y_true, y_score, *, qid=None, relevant: float = 1, no_relevant: float | None = 0.0
) -> float:
    """Mean over queries of the average precision; rows of grade `relevant` or more are relevant.

    `no_relevant` is what a query without a relevant row counts; None leaves such queries out.
    """

    def one(grades: np.ndarray, scores: np.ndarray) -> float | None:
        positive = grades >= relevant
        if not np.any(positive):
            return no_relevant
        return float(average_precision_score(positive, scores))

    return _mean_over_queries(one, y_true, y_score, qid)


def _mean_over_queries(one, y_true, y_score, qid) -> float:
    y, score, qid = _checked(y_true, y_score, qid)
    values = [one(y[rows], score[rows]) for rows in _queries(qid, y.size)]
    counted = [value for value in values if value is not None]
    if not counted:
        raise ValueError("no query has a relevant row; expected at least one")
    return float(np.mean(counted))


def _queries(qid: np.ndarray | None, n: int) -> Iterator[np.ndarray]:
    """The rows of each query."""
    if qid is None:
        yield np.arange(n)
        return
    query = np.unique(qid, return_inverse=True)[1]
    order = np.argsort(query, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(query[order])) + 1)


def _checked(y_true, y_score, qid):
    y = column_or_1d(y_true).astype(np.float64)
    score = column_or_1d(y_score).astype(np.float64)
    qid = None if qid is None else column_or_1d(qid)
    check_consistent_length(y, score, qid)
    for name, values in (("y_true", y), ("y_score", score)):
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} has a value that is infinite or not a number")
    return y, score, qid
