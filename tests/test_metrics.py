from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from maxmargin.metrics import (
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at,
    recall_at,
)

Y = np.array([2.0, 0, 1, 0, 0, 1])
SCORE = np.array([0.3, 0.3, 0.1, -0.2, 0.5, 0.9])
QID = np.array(["b", "a", "a", "b", "a", "c"])


@pytest.mark.parametrize("seed", range(5))
def test_pairwise_accuracy_counts_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 40
    y, score = rng.integers(0, 5, n), np.round(rng.normal(size=n), 1)
    qid, s = rng.integers(0, 4, n), rng.random(n)
    shares = []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        pairs = [(i, j) for i, j in itertools.permutations(rows, 2) if y[i] > y[j]]
        right = [0.5 * ((score[i] > score[j]) + 1.0 * (score[i] >= score[j])) for i, j in pairs]
        shares.append(np.average(right, weights=[s[i] * s[j] for i, j in pairs]))
    assert pairwise_accuracy(y, score, qid=qid, sample_weight=s) == pytest.approx(np.mean(shares))


def test_pairwise_accuracy_of_two_ranks_is_roc_area():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 500), np.round(rng.normal(size=500), 1)
    assert pairwise_accuracy(y, score) == pytest.approx(roc_auc_score(y, score), rel=1e-12)


def test_ndcg_is_the_mean_over_queries():
    a, b = QID == "a", QID == "b"
    expected = [
        ndcg_score([2 ** Y[a] - 1], [SCORE[a]], k=2),
        ndcg_score([2 ** Y[b] - 1], [SCORE[b]], k=2),
        1.0,
    ]
    assert ndcg(Y, SCORE, qid=QID, k=2) == pytest.approx(np.mean(expected))
    linear = ndcg_score([Y], [SCORE])
    assert ndcg(Y, SCORE, gain="linear") == pytest.approx(linear)


def test_average_precision_is_the_mean_over_queries():
    a, b = QID == "a", QID == "b"
    expected = [
        average_precision_score(Y[a] >= 1, SCORE[a]),
        average_precision_score(Y[b] >= 1, SCORE[b]),
        1.0,
    ]
    assert mean_average_precision(Y, SCORE, qid=QID) == pytest.approx(np.mean(expected))


def test_queries_without_relevant_rows_count_as_told():
    y, score, qid = [0, 0, 1, 0], [1, 2, 3, 4.0], [1, 1, 2, 2]
    for metric in (ndcg, mean_average_precision):
        zero = metric(y, score, qid=qid)
        one = metric(y, score, qid=qid, no_relevant=1.0)
        left_out = metric(y, score, qid=qid, no_relevant=None)
        assert zero == pytest.approx(left_out / 2)
        assert one == pytest.approx((1 + left_out) / 2)
        with pytest.raises(ValueError, match="no query has a relevant row"):
            metric([0, 0], [1, 2], no_relevant=None)


def test_unusable_values_are_refused():
    with pytest.raises(ValueError, match="y_score has a value that is infinite or not a number"):
        ndcg([1, 0], [np.nan, 1])
    with pytest.raises(ValueError, match="grade -1"):
        ndcg([1, -1], [0.0, 1])
    with pytest.raises(ValueError, match="gain is 'log'"):
        ndcg([1, 0], [0.0, 1], gain="log")
    with pytest.raises(ValueError, match="inconsistent"):
        pairwise_accuracy([1, 0], [0.0, 1, 2])


def test_what_is_found_at_k():
    y, score, qid = [1, 0, 1, 0, 1, 0], [3.0, 2, 1, 5, 5, 5], [1, 1, 1, 2, 2, 2]
    assert precision_at(y, score, qid=qid, k=1) == pytest.approx((1 + 1 / 3) / 2)
    assert recall_at(y, score, qid=qid, k=1) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert precision_at(y, score, qid=qid, k=10) == pytest.approx((2 / 10 + 1 / 10) / 2)


def test_many_queries_are_judged_as_scikit_learn_judges_each():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 4, 300), np.round(rng.normal(size=300), 1)
    qid = rng.permutation(np.arange(300) // 10)
    each = [qid == q for q in np.unique(qid)]
    gains = [ndcg_score([2.0 ** y[q] - 1], [score[q]], k=5) for q in each]
    assert ndcg(y, score, qid=qid, k=5) == pytest.approx(np.mean(gains))
    found = [average_precision_score(y[q] >= 1, score[q]) for q in each]
    assert mean_average_precision(y, score, qid=qid) == pytest.approx(np.mean(found))
