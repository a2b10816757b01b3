"""Ranking: hinge over pairs of rows that should be ordered.

    R(p) = sum_q c_q sum_{(i, j) in query q, y_i > y_j} s_i s_j max(0, 1 - (p_i - p_j))
    c_q  = C N / (Q m_q)

    m_q   weight of the pairs of query q: the sum of s_i s_j over them
    Q     number of queries that have pairs
    N     sum of s_i over the rows of those queries

With one query and unit weights this is ``C n / m`` times the sum over all pairs (ordinal
regression, OP 4 of Joachims 2006). Every query counts the same however many pairs it has, and no
pair crosses queries. A row of weight 2 counts as the row twice. With two ranks R is the convex
bound on one minus the area under the ROC curve.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.line_search import SearchedLoss

MANY_PAIRS = 1_000_000  # where kinks of single pairs no longer show
SAMPLE = 8192  # rows of the first look along a line, where there are many more


class Ranks(SearchedLoss):
    """Pairwise hinge loss of predictions, O(n log n) for any number of ranks.

    Parameters
    ----------
    y : array of shape (n,)
        Targets: grades, ranks or real values; only their order counts.
    C : float
        Multiplies the loss as in the formula above.
    pool : _core.Pool
        The threads that sort and count.
    qid : array of shape (n,), optional
        Which query each row belongs to, in any order. Without it all rows are one query.
    sample_weight : array of shape (n,), optional

    Attributes
    ----------
    pairs : float
        Weight of all pairs, the sum of m_q.
    queries : int
        Q, the number of queries that have pairs.
    total : float
        C N, the loss if every pair missed its margin by exactly 1.
    """

    def __init__(
        self,
        y: np.ndarray,
        C: float,
        pool: _core.Pool,
        qid: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.pool = pool
        y = np.ascontiguousarray(y, dtype=np.float64)
        self.n = y.shape[0]
        query, count = _numbered(qid, self.n)
        weight, unit = _near_one(sample_weight)
        self.core = _core.PairLoss(y, query, count, weight, pool)
        m = self.core.pairs()
        self.pairs = float(m.sum()) * unit * unit
        self.queries = int(np.sum(m > 0))
        if self.queries == 0:
            raise ValueError(_no_pairs(y, qid, weight))
        self.rescale(C * unit * float(self.core.rows()[m > 0].sum()))
        if self.n >= 8 * SAMPLE:
            self._look_at_sample(y, query, weight)

    def rescale(self, total: float) -> None:
        """Sets c_q so that ``sum_q c_q m_q`` is `total` = C N, each query with an equal part."""
        m = self.core.pairs()
        self.total = self.at_zero = total
        c = np.divide(total / self.queries, m, out=np.zeros_like(m), where=m > 0)
        self.core.set_scales(c)

    def _look_at_sample(self, y: Any, query: Any, weight: Any) -> None:
        """Samples every so-manieth row, or query where there are many."""
        step = self.n // SAMPLE
        rows: np.ndarray | slice = slice(None, None, step)
        if query is not None and self.queries >= 64 * step:
            rows = np.flatnonzero(query % step == 0)
        y, query, weight = (None if v is None else v[rows] for v in (y, query, weight))
        try:
            loss = Ranks(y, 1.0, self.pool, query, weight)
        except ValueError:
            return  # no pair among the sampled rows
        loss.rescale(self.total)
        self.use_sample(rows, loss)

    def known_subgradient(self) -> np.ndarray | None:
        """The subgradient where the last search ended, which came with the value there.

        Sums over very many pairs are all but smooth: a plane at the best point serves them better
        than one beyond it, and an evaluation is saved.
        """
        return self._end[2] if self._end is not None and self.pairs >= MANY_PAIRS else None

    def value(self, p: np.ndarray) -> float:
        """``R(p)``, pair by pair where they are few.

        An evaluation multiplies differences of counts by predictions. Where the loss is small
        beside C N, or weights differ by many orders of magnitude, that leaves few digits.
        """
        return self.core.value(p) if self.core.has_few_pairs else super().value(p)

    def evaluate(self, p: np.ndarray, out: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        subgrad = np.empty(self.n) if out is None else out
        return self.core.evaluate(p, subgrad, self.pool), subgrad


def _near_one(weight: Any) -> tuple[np.ndarray | None, float]:
    """Weights in a unit, a power of two, in which products of huge or tiny ones are exact."""
    if weight is None:
        return None, 1.0
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    most = float(weight.max(initial=0.0))
    if most == 0:
        return weight, 1.0
    exponent = math.frexp(most)[1]
    return np.ldexp(weight, -exponent), math.ldexp(1.0, exponent)


def _numbered(qid: np.ndarray | None, n: int) -> tuple[np.ndarray | None, int]:
    """Queries numbered from 0, and how many there are."""
    if qid is None:
        return None, 1
    values, query = np.unique(qid, return_inverse=True)
    return query.reshape(n).astype(np.uint32), len(values)


def _no_pairs(y: np.ndarray, qid: np.ndarray | None, weight: np.ndarray | None) -> str:
    if weight is not None and not np.any(weight > 0):
        return f"there is nothing to rank: all {y.size} rows have weight zero"
    if y.size == 1:
        return "there is nothing to rank: there is 1 sample; expected at least two"
    if y.size and np.all(y == y[0]):
        return (
            f"there is nothing to rank: all {y.size} rows have the target {y[0]:g}; expected at "
            "least two different targets"
        )
    if qid is None:
        return (
            f"there is nothing to rank: no two of the {y.size} rows have different targets and "
            "positive weights; expected at least one such pair"
        )
    return (
        f"there is nothing to rank: no two of the {y.size} rows have different targets and "
        f"positive weights within any one of the {len(np.unique(qid))} queries; expected at least "
        "one such pair. Check that qid groups the rows that are to be compared"
    )


def share_in_order(
    y: np.ndarray,
    p: np.ndarray,
    qid: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
) -> float:
    """Share of pairs ``y_i > y_j`` with ``p_i > p_j``, ties one half, averaged over queries.

    On whole numbers a pair misses the margin of 1 exactly if it is not in order, and
    ``R - <subgrad, p>`` is the weight of the pairs that miss it.
    """
    places = np.unique(p, return_inverse=True)[1].astype(np.float64)
    pool = _core.Pool(1)

    def missed(targets: np.ndarray) -> float:
        loss = Ranks(targets, 1.0, pool, qid, sample_weight)
        R, subgrad = loss.evaluate(places)
        return (R - float(subgrad @ places)) / loss.total

    not_above, not_below = missed(y), missed(-y)
    return float(np.clip(0.5 * (not_below + 1.0 - not_above), 0.0, 1.0))
