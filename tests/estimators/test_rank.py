from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score

from maxmargin import RankSVM, RankSVMCV
from maxmargin.metrics import pairwise_accuracy


def queries(n=300, d=6, Q=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    qid = rng.integers(0, Q, n)
    # Scores are comparable within a query only.
    y = np.digitize(X @ rng.normal(size=d) + rng.normal(size=n), [-1, 1]) + 10 * qid
    return X, y.astype(float), qid


def test_score_is_the_share_of_ordered_pairs_within_queries():
    X, y, qid = queries()
    model = RankSVM(C=0.1).fit(X, y, qid=qid)
    assert model.score(X, y, qid=qid) == pairwise_accuracy(y, model.predict(X), qid=qid)
    assert model.score(X, y, qid=qid) > 0.8
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X))


def test_unsorted_query_ids_and_any_kind_of_id_give_the_same_ranking():
    X, y, qid = queries()
    names = np.array([f"query {q}" for q in qid])
    order = np.argsort(qid, kind="stable")
    shuffled = RankSVM(C=0.1, tol=1e-6).fit(X, y, qid=names)
    sorted_ = RankSVM(C=0.1, tol=1e-6).fit(X[order], y[order], qid=qid[order])
    assert shuffled.certificate_.primal == pytest.approx(sorted_.certificate_.primal, rel=1e-5)


def test_query_ids_reach_fit_and_score_in_cross_validation():
    X, y, qid = queries()
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            RankSVM(C=0.1), X, y, cv=GroupKFold(5), params={"qid": qid, "groups": qid}
        )
    assert scores.shape == (5,)
    # Across queries the targets differ by tens: had qid been lost, few pairs would be in order.
    assert scores.min() > 0.7


def test_a_real_valued_target_is_ranked():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.normal(size=400)
    assert RankSVM(C=1.0).fit(X, y).score(X, y) > 0.95


def test_queries_with_one_document_change_nothing():
    X, y, qid = queries()
    lonely = np.arange(1000, 1010)
    more = np.concatenate((qid, lonely))
    model = RankSVM(C=0.1).fit(X, y, qid=qid)
    again = RankSVM(C=0.1).fit(
        np.vstack((X, np.ones((10, X.shape[1])))), np.concatenate((y, lonely)), qid=more
    )
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "qid", "message"),
    [
        ([1, 1, 1, 1], None, "all 4 rows have the target 1"),
        ([1, 2, 3, 4], [1, 2, 3, 4], "within any one of the 4 queries"),
        ([1, 2, np.nan, 4], None, "NaN"),
        ([1, 2, np.inf, 4], None, "infinity"),
        ([1, 2, 3, 4], [1, 1, 2], r"qid has shape \(3,\); expected \(4,\)"),
        ([1, 2, 3, 4], [1, 1, np.nan, 2], "qid has a value that is not a number"),
        ([1, 2, 3, 4], ["a", "a", None, "b"], "qid has a value that is not a number"),
    ],
)
def test_targets_and_queries_that_cannot_be_ranked_are_refused(y, qid, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(np.eye(4), y, qid=qid)


def test_queries_and_weights_of_a_search_may_be_lists():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6)
    y, weight = (X[:, 0] > 0).astype(int), np.ones(60)
    search = RankSVMCV(Cs=[0.1, 1], cv=2).fit(X, y, qid=qid, sample_weight=weight)
    lists = RankSVMCV(Cs=[0.1, 1], cv=2)
    lists.fit(X.tolist(), y.tolist(), qid=qid.tolist(), sample_weight=weight.tolist())
    np.testing.assert_array_equal(lists.coef_, search.coef_)
