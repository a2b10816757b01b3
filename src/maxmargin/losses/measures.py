"""Measures of a whole labelling, optimised directly (Joachims 2005).

    R(p) = C max over labellings ybar of [ n Delta(ybar, y) - sum_{i : ybar_i != y_i} s_i y_i p_i ]

    a   positives labelled positive        n+  positives
    b   negatives labelled positive        n   rows

============== ============================================ ===================================
measure        Delta(a, b), between 0 and 1                 labellings
============== ============================================ ===================================
error          (n+ - a + b) / n                             all
fbeta, f1      1 - (1 + beta^2) a / (a + b + beta^2 n+)     all
prbep          1 - a / n+                                   a + b = n+
at k <= n+     1 - a / (a + b), the precision               a + b >= k
at k >= n+     1 - a / n+, the recall                       a + b <= k
roc_auc        share of pairs in the wrong order            see `maxmargin.losses.ranks`
============== ============================================ ===================================

With the error rate, R is exactly the hinge sum. y itself is among the labellings of every measure,
with Delta = 0, so R >= 0 and perfect scores cost nothing. That is why measures at k are bounded in
two ways: the positives among the k first are what both precision and recall at k count, but with
k < n+ no labelling of at most k rows, and with k > n+ none of at least k, is right.

A weight is the number of times a row is there: a, b, n+ and n are weights of rows. Where weights
are whole numbers a labelling labels every copy; elsewhere it may label any part of a row.
"""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.line_search import SearchedLoss
from maxmargin.losses.pointwise import Hinge
from maxmargin.losses.ranks import SAMPLE, Ranks

MEASURES = ("f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error")
MOST_REPEATED = 100  # copies a row, on average; where weights are larger, parts are labelled
ROUNDING = 1e-12  # relative: what it may do to sums of weights
WHOLE = 1e-14  # relative: the rounding of a row's weight times that of its class


class _Tables(SearchedLoss):
    """What the measures over contingency tables share: both classes, and weights."""

    def __init__(
        self, y: np.ndarray, C: float, pool: _core.Pool, weight: np.ndarray | None = None
    ) -> None:
        super().__init__()
        self.n, self.C, self.pool = y.shape[0], float(C), pool
        if weight is not None and np.all(weight == 1):
            weight = None
        repeats = None if weight is None else _repeats(weight)
        # Where rows repeat: the row each repetition comes from.
        self.source = None if repeats is None else np.repeat(np.arange(self.n), repeats)
        positive = (y > 0).astype(np.uint8)
        if self.source is not None:
            positive, weight = positive[self.source], None
        self.core = _core.TableLoss(positive, weight)
        self.positives, self.negatives = self.core.positives, self.core.negatives
        self.total = self.C * (self.positives + self.negatives)  # C n

    def evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        subgrad = np.empty(self.core.n)
        if self.source is None:
            return self._evaluate(p, subgrad), subgrad
        R = self._evaluate(p[self.source], subgrad)
        return R, np.bincount(self.source, weights=subgrad, minlength=self.n)

    @abstractmethod
    def _evaluate(self, p: np.ndarray, subgrad: np.ndarray) -> float:
        """R, where rows that repeat have a prediction each; writes the subgradient."""


class FBeta(_Tables):
    """``Delta = 1 - F_beta``, maximised over all tables in O(n log n)."""

    def __init__(
        self, y: Any, C: float, pool: _core.Pool, weight: Any = None, *, beta: float = 1.0
    ) -> None:
        super().__init__(y, C, pool, weight)
        self.beta = float(beta)
        self.at_zero = self.total  # no positive kept: F = 0

    def _evaluate(self, p: np.ndarray, subgrad: np.ndarray) -> float:
        return self.core.evaluate_fbeta(p, self.beta, self.C, subgrad, self.pool)


class BreakEven(_Tables):
    """``Delta = 1 - a / n+`` over the labellings with as many positives as there are."""

    def __init__(self, y: Any, C: float, pool: _core.Pool, weight: Any = None) -> None:
        super().__init__(y, C, pool, weight)
        self.at_zero = self.total * min(1.0, self.negatives / self.positives)

    def _evaluate(self, p: np.ndarray, subgrad: np.ndarray) -> float:
        return self.core.evaluate_break_even(p, self.C, subgrad, self.pool)


class AtK(_Tables):
    """One minus the precision of at least k rows, or one minus the recall of at most k."""

    def __init__(self, y: Any, C: float, pool: _core.Pool, weight: Any = None, *, k: float) -> None:
        super().__init__(y, C, pool, weight)
        few = k <= self.positives * (1 + ROUNDING)
        self.k = float(min(k, self.positives) if few else k)
        self.at_zero = self.total * (min(1.0, self.negatives / self.k) if few else 1.0)
        self._of_core = self.core.evaluate_precision if few else self.core.evaluate_recall

    def _evaluate(self, p: np.ndarray, subgrad: np.ndarray) -> float:
        return self._of_core(p, self.k, self.C, subgrad, self.pool)


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
        How often each row is there; any numbers that are not negative.
    """
    _check_classes(measure, y, sample_weight)
    if measure == "error":
        return Hinge(y, C if sample_weight is None else C * sample_weight, pool)
    if measure == "roc_auc":
        return Ranks(y, C, pool, sample_weight=sample_weight)
    loss = _table_loss(measure, y, C, pool, beta, k, sample_weight)
    if y.shape[0] >= 8 * SAMPLE and sample_weight is None:
        rows = slice(None, None, y.shape[0] // SAMPLE)
        some = y[rows]
        share = k if k is None or k < 1 else max(1, round(k * some.shape[0] / y.shape[0]))
        if 0 < np.sum(some > 0) < some.shape[0]:
            C_some = C * y.shape[0] / some.shape[0]
            loss.use_sample(rows, _table_loss(measure, some, C_some, pool, beta, share, None))
    return loss


def _table_loss(
    measure: str, y: Any, C: float, pool: _core.Pool, beta: float, k: Any, weight: Any
) -> SearchedLoss:
    if measure in ("f1", "fbeta"):
        return FBeta(y, C, pool, weight, beta=1.0 if measure == "f1" else beta)
    if measure == "prbep":
        return BreakEven(y, C, pool, weight)
    counted = np.ones(y.shape[0]) if weight is None else weight
    return AtK(y, C, pool, weight, k=number_taken(measure, k, counted))


def number_taken(measure: str, k: int | float | None, weight: np.ndarray) -> float:
    """How many rows of these weights a measure at k takes: k itself, or the share k of them.

    A share is at least one row, and rounded to rows, unless rows of fractional weight are counted.
    """
    n = float(weight.sum())
    if k is None:
        raise ValueError(
            f"measure {measure!r} needs k: a number of rows, or a share of them between 0 and 1"
        )
    if isinstance(k, bool) or not isinstance(k, numbers.Real):
        raise ValueError(f"k = {k!r}; expected a whole number of rows, or a share between 0 and 1")
    if isinstance(k, (float, np.floating)) and 0 < k < 1:
        return k * n if whole_weights(weight) is None else max(1, round(k * n))
    if not math.isfinite(k) or k != int(k) or k < 1:
        raise ValueError(
            f"k = {k!r}; expected a whole number of rows, 1 or more, or a share between 0 and 1"
        )
    if k > n:
        raise ValueError(
            f"k = {k} is more than the {n:g} rows there are; expected at most {n:g}, or a share of "
            "the rows between 0 and 1"
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


def _repeats(weight: np.ndarray) -> np.ndarray | None:
    """Weights as numbers of repetitions, where they are and memory has room; else None."""
    repeats = whole_weights(weight)
    if repeats is None or repeats.sum() > MOST_REPEATED * weight.size:
        return None
    return repeats.astype(np.int64)


def whole_weights(weight: np.ndarray) -> np.ndarray | None:
    """Weights that are whole numbers, but for what rounding did to a product; else None."""
    whole = np.rint(weight)
    return whole if np.all(np.abs(weight - whole) <= WHOLE * whole) else None
