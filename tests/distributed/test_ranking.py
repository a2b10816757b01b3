"""Rankings stay on the workers where queries do; measures gather their predictions and say so."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

import maxmargin
from maxmargin import _core
from maxmargin.distributed import LinearSVR, MeasureSVC, PartitionError, RankSVM, cluster
from maxmargin.distributed.gathering import RemoteRows
from maxmargin.distributed.sources import sources_of
from maxmargin.distributed.training import fitting
from maxmargin.losses import Hinge
from maxmargin.solvers.linear import bundle


def queries(n=1200, d=6, size=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.digitize(X @ rng.normal(size=d) + rng.normal(size=n), [-1, 1]).astype(float)
    return X, y, np.arange(n) // size


def cut(*arrays, size):
    return [da.from_array(array, chunks=(size, *array.shape[1:])) for array in arrays]


def path_of(model):
    return [(step.primal, step.dual) for step in model.history_]


def test_queries_within_partitions_are_ranked_where_they_lie(client):
    X, y, qid = queries(600)
    y[:10] = 1.0  # a query without pairs
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for weights in (None, weight):
        local = maxmargin.RankSVM(C=0.1, tol=1e-3).fit(X, y, qid=qid, sample_weight=weights)
        blocks = cut(X, y, qid, size=200)
        parts = None if weights is None else cut(weights, size=200)[0]
        model = RankSVM(C=0.1, tol=1e-3, client=client).fit(*blocks, parts)
        assert not model.gathers_predictions_
        np.testing.assert_allclose(path_of(model), path_of(local), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(blocks[0]).compute(), model.predict(X))
    score = model.score(*blocks)
    assert score == pytest.approx(model.score(X, y, qid=qid))


def test_rows_without_queries_are_told(client, tmp_path):
    X, y, qid = queries(60)
    maxmargin.data.save(maxmargin.data.Dataset(X, y), tmp_path / "rows.svm")
    with pytest.warns(UserWarning, match="the file has no queries: all rows are one"):
        RankSVM(C=0.1, client=client).fit([str(tmp_path / "rows.svm")])
    model = RankSVM(C=0.1, client=client).fit(*cut(X, y, qid, size=30))
    for rows in ((X, y), cut(X, y, size=30)):
        with pytest.warns(UserWarning, match="scored without qid, though fitted with it"):
            model.score(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RankSVM(C=0.1, client=client).fit(*cut(X, y, size=60)).score(X, y) > 0.5


def test_targets_that_are_words_are_named(client):
    X, _, qid = queries(60)
    words = np.array(["low", "high"])[np.arange(60) % 2]
    for size in (30, 25):  # where queries lie, and gathered
        with pytest.raises((ValueError, PartitionError), match=r"y holds 'low'.*needs a number"):
            RankSVM(client=client).fit(*cut(X, words, qid, size=size))
    with pytest.raises(PartitionError, match="y holds 'low'; regression needs a number"):
        LinearSVR(client=client).fit(*cut(X, words, size=30))


def test_a_partition_without_pairs_changes_nothing(client):
    X, y, qid = queries(600)
    y[300:] = 2.0
    local = maxmargin.RankSVM(C=0.1).fit(X, y, qid=qid)
    model = RankSVM(C=0.1, client=client).fit(*cut(X, y, qid, size=300))
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-9)


def test_queries_across_partitions_gather_predictions_with_a_warning(client):
    X, y, qid = queries()
    with pytest.warns(UserWarning, match="2 queries have rows in more than one partition"):
        model = RankSVM(C=0.1, client=client).fit(*cut(X, y, qid, size=295)[:3])
    assert model.gathers_predictions_
    local = maxmargin.RankSVM(C=0.1).fit(X, y, qid=qid)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-9)


def test_without_queries_all_rows_are_one(client):
    X, y, _ = queries(400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVM(C=0.1, client=client).fit(*cut(X, y, size=100))
    assert model.gathers_predictions_
    local = maxmargin.RankSVM(C=0.1).fit(X, y)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "error"])
def test_measures_are_those_of_the_local_method(client, measure):
    X, y, _ = queries(800)
    y = (y > 1).astype(int)
    local = maxmargin.MeasureSVC(measure, C=1.0).fit(X, y)
    Xd, yd = cut(X, y, size=200)
    model = MeasureSVC(measure, C=1.0, client=client).fit(Xd, yd)
    assert model.gathers_predictions_
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(model.intercept_, local.intercept_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(Xd).compute(), local.predict(X))
    assert model.score(Xd, yd) == pytest.approx(local.score(X, y))


def test_saved_rankings_and_measures_load_as_local_estimators(client, tmp_path):
    X, y, qid = queries(200)
    RankSVM(C=0.1, client=client).fit(*cut(X, y, qid, size=100)).save(tmp_path / "rank")
    MeasureSVC(client=client).fit(*cut(X, y > 1, size=100)).save(tmp_path / "measure")
    assert type(maxmargin.load(tmp_path / "rank")) is maxmargin.RankSVM
    assert type(maxmargin.load(tmp_path / "measure")) is maxmargin.MeasureSVC


def test_nothing_to_rank_is_refused(client):
    X, _, qid = queries(100)
    with pytest.raises(ValueError, match="nothing to rank: no two of the 100 rows"):
        RankSVM(client=client).fit(*cut(X, np.ones(100), qid, size=50))


@pytest.mark.parametrize("size, is_fresh", [(1.0, False), (1e9, True)])
def test_after_a_stop_predictions_that_may_have_drifted_are_gathered_once_more(
    client, size, is_fresh, monkeypatch
):
    seen, wait = set(), cluster.wait

    def flag_first(futures, timeout):
        """Every answer takes two looks, so that the flag is seen before it."""
        known = futures[0] in seen
        seen.add(futures[0])
        return wait(futures, timeout) if known else SimpleNamespace(done=())

    monkeypatch.setattr(cluster, "wait", flag_first)
    X, y, _ = queries(60)
    stop, w = _core.Stop(), np.full(6, 0.01)
    with fitting(client, list(sources_of(*cut(size * X, y, size=30))), None) as fit:
        rows = RemoteRows(fit).rows(0.0, 1, stop)
        stop.interrupt()
        loss, p = Hinge(np.where(y > 1, 1.0, -1.0), 1.0, _core.Pool(1)), size * X @ w
        drifted = bundle.Point(w, 1.001 * p, 1.0, float(w @ w), steps=1000)
        P = bundle.exact_primal(rows, loss, drifted)
    fresh = 0.5 * drifted.w_squared + loss.value(p)
    assert np.isclose(P, fresh, rtol=1e-9, atol=0) == is_fresh
