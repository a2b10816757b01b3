"""Measures of a whole labelling, optimised directly (Joachims 2005).

    R(p) = C max over labellings ybar of [ n Delta(ybar, y) - sum_{i : ybar_i != y_i} y_i p_i ]

    a   positives labelled positive        n+  positives
    b   negatives labelled positive        n   rows

============== ============================================ ===================================
measure        Delta(a, b), between 0 and 1                 labellings
============== ============================================ ===================================
error          (n+ - a + b) / n                             all
fbeta, f1      1 - (1 + beta^2) a / (a + b + beta^2 n+)     all
prbep          1 - a / n+                                   a + b = n+, and y itself
precision_at_k 1 - a / k                                    a + b = k, and y itself (Delta = 0)
recall_at_k    1 - a / n+                                   a + b = k, and y itself (Delta = 0)
roc_auc        share of pairs in the wrong order            see `maxmargin.losses.ranks`
============== ============================================ ===================================

With the error rate, R is exactly the hinge sum. y itself is always among the labellings, so R >= 0.

Weights multiply what a row costs (error) or a pair (roc_auc). The other measures are not sums over
rows: there a weight is the number of times the row is there, and must be a whole number.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.line_search import SearchedLoss
from maxmargin.losses.ranks import SAMPLE, Ranks

MEASURES = ("f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error")


class _Tables(SearchedLoss):
    """What the measures over contingency tables share: both classes, and rows that repeat."""

    def __init__(
        self, y: np.ndarray, C: float, pool: _core.Pool, repeats: np.ndarray | None
    ) -> None:
        super().__init__()
        self.n, self.C, self.pool = y.shape[0], float(C), pool
        # Where rows repeat: the row each repetition comes from.
        self.source = None if repeats is None else np.repeat(np.arange(self.n), repeats)
        positive = y > 0 if self.source is None else (y > 0)[self.source]
        self.core = _core.TableLoss(positive.astype(np.uint8))
        self.positives = int(positive.sum())

    def evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        if self.source is None:
            return self._evaluate(p)
        R, each = self._evaluate(p[self.source])
        return R, np.bincount(self.source, weights=each, minlength=self.n)

    def _evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        raise NotImplementedError


class FBeta(_Tables):
    """``Delta = 1 - F_beta``, maximised over all tables in O(n log n)."""

    def __init__(self, y, C, pool, beta: float = 1.0, repeats=None) -> None:
        super().__init__(y, C, pool, repeats)
        self.beta = float(beta)
        self.at_zero = self.C * self.core.n  # no positive kept: F = 0

    def _evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        l = np.empty(self.core.n)  # noqa: E741
        return self.core.evaluate_fbeta(p, self.beta, self.C, l, self.pool), l


class Taken(_Tables):
    """``Delta = 1 - a / best`` over the labellings with exactly `taken` positives."""

    def __init__(self, y, C, pool, taken: int, best: float, repeats=None) -> None:
        super().__init__(y, C, pool, repeats)
        self.taken, self.best = int(taken), float(best)
        fewest = max(0, self.taken - (self.core.n - self.positives))
        self.at_zero = self.C * self.core.n * max(0.0, 1.0 - fewest / self.best)

    def _evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        l = np.empty(self.core.n)  # noqa: E741
        return self.core.evaluate_taken(p, self.taken, self.best, self.C, l, self.pool), l


def measure_loss(
    measure: str,
    y: np.ndarray,
    C: float,
    pool: _core.Pool,
    *,
    beta: float = 1.0,
    k: int | float | None = None,
    sample_weight: np.ndarray | None = None,
) -> Loss:
    """The loss whose minimisation optimises a measure.

    Parameters
    ----------
    measure : one of `MEASURES`
    y : array of -1 and +1
    C : float
        Multiplies the loss as in the formulas of this module.
    pool : _core.Pool
    beta : float
        For "fbeta".
    k : int or float
        For "precision_at_k" and "recall_at_k": a number of rows, or a share of them in (0, 1).
    sample_weight : array of shape (n,), optional
        Any weights for "error" and "roc_auc", whole numbers for the others.
    """
    _check_classes(measure, y, sample_weight)
    if measure == "error":
        return Hinge(y, C if sample_weight is None else C * sample_weight, pool)
    if measure == "roc_auc":
        return Ranks(y, C, pool, sample_weight=sample_weight)
    repeats = None if sample_weight is None else _whole(measure, sample_weight)
    loss = _table_loss(measure, y, C, pool, beta, k, repeats)
    if y.shape[0] >= 8 * SAMPLE and repeats is None:
        rows = slice(None, None, y.shape[0] // SAMPLE)
        some = y[rows]
        share = k if k is None or k < 1 else max(1, round(k * some.shape[0] / y.shape[0]))
        if 0 < np.sum(some > 0) < some.shape[0]:
            C_some = C * y.shape[0] / some.shape[0]
            loss.look_first_at(rows, _table_loss(measure, some, C_some, pool, beta, share, None))
    return loss


def _table_loss(measure, y, C, pool, beta, k, repeats) -> SearchedLoss:
    if measure in ("f1", "fbeta"):
        return FBeta(y, C, pool, 1.0 if measure == "f1" else beta, repeats)
    n = y.shape[0] if repeats is None else int(repeats.sum())
    positives = int(np.sum(y > 0) if repeats is None else np.sum(repeats[y > 0]))
    if measure == "prbep":
        return Taken(y, C, pool, positives, positives, repeats)
    taken = number_taken(measure, k, n)
    return Taken(y, C, pool, taken, taken if measure == "precision_at_k" else positives, repeats)


def number_taken(measure: str, k: int | float | None, n: int) -> int:
    """How many of n rows a measure at k takes: k itself, or the share k of them, at least one."""
    if k is None:
        raise ValueError(
            f"measure {measure!r} needs k: a number of rows, or a share of them between 0 and 1"
        )
    if isinstance(k, (float, np.floating)) and 0 < k < 1:
        return max(1, round(k * n))
    if not math.isfinite(k) or k != int(k) or k < 1:
        raise ValueError(
            f"k = {k!r}; expected a whole number of rows, 1 or more, or a share between 0 and 1"
        )
    if k > n:
        raise ValueError(
            f"k = {k} is more than the {n} rows there are; expected at most {n}, or a share of the "
            "rows between 0 and 1"
        )
    return int(k)


def _check_classes(measure: str, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
    if measure not in MEASURES:
        raise ValueError(f"measure {measure!r} is unknown; expected one of {', '.join(MEASURES)}")
    counted = y if sample_weight is None else y[sample_weight > 0]
    if measure == "error":
        return
    for sign, name in ((1, "positive"), (-1, "negative")):
        if not np.any(counted * sign > 0):
            raise ValueError(
                f"there is no {name} row of positive weight among {y.shape[0]}; measure "
                f"{measure!r} needs rows of both classes"
            )


def _whole(measure: str, sample_weight: np.ndarray) -> np.ndarray | None:
    """Weights as numbers of repetitions; None if all are 1."""
    repeats = np.rint(sample_weight).astype(np.int64)
    if not np.array_equal(repeats, sample_weight):
        wrong = sample_weight[repeats != sample_weight][0]
        raise ValueError(
            f"sample_weight has {wrong:g}; measure {measure!r} is not a sum over rows, so its "
            "weights must be whole numbers (how often a row is there). 'error' and 'roc_auc' take "
            "any weights"
        )
    return None if np.all(repeats == 1) else repeats
