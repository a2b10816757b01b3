"""What the charts of a report are made of: curves and counts of scores, in plain numpy.

Rows count by their weights. `positive` is a boolean array, `score` is larger for positive rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Curve:
    """Rates at every threshold, from the highest score down to the lowest."""

    threshold: np.ndarray
    true_positive: np.ndarray  # weight of positives with a score of at least the threshold
    false_positive: np.ndarray
    positives: float
    negatives: float

    @property
    def recall(self) -> np.ndarray:
        return self.true_positive / self.positives

    @property
    def false_positive_rate(self) -> np.ndarray:
        return self.false_positive / self.negatives

    @property
    def precision(self) -> np.ndarray:
        """Of nothing predicted, what the highest scores have."""
        predicted = self.true_positive + self.false_positive
        found = np.divide(
            self.true_positive, predicted, out=np.zeros_like(predicted), where=predicted > 0
        )
        if found.size > 1:
            found[0] = found[1]
        return found

    @property
    def roc_area(self) -> float:
        x, y = self.false_positive_rate, self.recall
        return float(np.diff(x) @ (y[1:] + y[:-1])) / 2

    @property
    def average_precision(self) -> float:
        return float(np.sum(np.diff(self.recall) * self.precision[1:]))

    def at(self, threshold: float) -> int:
        """The place of the rows that score above a threshold: the operating point."""
        return int(np.searchsorted(-self.threshold, -threshold, side="left")) - 1


def curve(
    positive: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None
) -> Curve | None:
    """The curve of a score; None where all rows are of one class."""
    weight = np.ones(score.size) if weight is None else np.asarray(weight, dtype=np.float64)
    order = np.argsort(-score, kind="stable")
    score, positive, weight = score[order], positive[order], weight[order]
    last = np.append(np.flatnonzero(np.diff(score)), score.size - 1)
    true = np.concatenate([[0.0], np.cumsum(weight * positive)[last]])
    false = np.concatenate([[0.0], np.cumsum(weight * ~positive)[last]])
    if true[-1] <= 0 or false[-1] <= 0:
        return None
    return Curve(
        np.concatenate([[np.inf], score[last]]), true, false, float(true[-1]), float(false[-1])
    )


def reliability(
    positive: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None, bins: int = 10
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean score, share of positives and weight in bins of equally many rows, by score."""
    weight = np.ones(score.size) if weight is None else np.asarray(weight, dtype=np.float64)
    order = np.argsort(score, kind="stable")
    cuts = np.linspace(0, score.size, bins + 1).round().astype(int)
    means, shares, weights = [], [], []
    for low, high in pairwise(cuts.tolist()):
        rows = order[low:high]
        total = float(weight[rows].sum())
        if total > 0:
            means.append(float(weight[rows] @ score[rows]) / total)
            shares.append(float(weight[rows] @ positive[rows]) / total)
            weights.append(total)
    return np.array(means), np.array(shares), np.array(weights)


def confusion(
    true: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All labels, and the weight of rows by true label (down) and predicted one (across)."""
    labels, place = np.unique(np.concatenate([true, predicted]), return_inverse=True)
    down, across = place[: true.size], place[true.size :]
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    counts = np.bincount(down * labels.size + across, weights, minlength=labels.size**2)
    return labels, counts.reshape(labels.size, labels.size).astype(np.float64)


def histogram_edges(values: np.ndarray, bins: int = 30) -> np.ndarray:
    """Bins over all but the outermost thousandths, which the end bins take in."""
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, [0.001, 0.999]) if values.size else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def shares(values: np.ndarray, edges: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The share of the weight in each bin; what lies beyond counts in the first or last."""
    inside = np.clip(values, edges[0], edges[-1])
    counts = np.histogram(inside, edges, weights=weight)[0].astype(np.float64)
    return counts / (counts.sum() or 1.0)


def ndcg_of_queries(
    grades: np.ndarray, score: np.ndarray, qid: np.ndarray | None, k: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Query ids with a relevant row, and the NDCG@k of each; gains ``2^grade - 1``.

    Rows with equal scores share the mean of their gains, as in scikit-learn's `ndcg_score`.
    """
    qid = np.zeros(score.size, dtype=np.int64) if qid is None else np.asarray(qid)
    queries, place = np.unique(qid, return_inverse=True)
    order = np.argsort(place, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
    kept, values = [], []
    for query, rows in zip(queries.tolist(), parts):
        gains = np.exp2(grades[rows].astype(np.float64)) - 1
        if gains.max() > 0:
            kept.append(query)
            values.append(_ndcg(gains, score[rows], k))
    return np.array(kept), np.array(values)


def _ndcg(gains: np.ndarray, score: np.ndarray, k: int) -> float:
    discount = 1 / np.log2(np.arange(2, gains.size + 2))
    discount[k:] = 0.0
    _, level, count = np.unique(-score, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(level, gains) / count
    ends = np.cumsum(count)
    summed = np.concatenate([[0.0], np.cumsum(discount)])
    got = float(mean_gain @ (summed[ends] - summed[ends - count]))
    return got / float(np.sort(gains)[::-1] @ discount)
