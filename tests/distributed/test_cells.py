"""Cells on a cluster: the machines of the cells, whatever happens to workers."""

from __future__ import annotations

import os
import signal

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin import KernelSVC as Local
from maxmargin import data, load
from maxmargin.distributed import KernelSVC, KernelSVCCV, PartitionError
from tests.distributed.conftest import distributed, start_cluster

X, Y = make_classification(2400, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=3)


def blocks(array, size=500):
    return da.from_array(array, chunks=(size, *array.shape[1:]))


@pytest.fixture
def own_client():
    """Workers that a test may kill."""
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_each_cell_is_the_machine_of_its_rows(client, form):
    weight = np.where(np.arange(len(Y)) % 3 == 0, 2.0, 1.0)
    rows = blocks(X).map_blocks(form, dtype=X.dtype)
    model = KernelSVC(C=3.0, gamma=0.3, cells=200, class_weight={1: 2.0}, client=client)
    model.fit(rows, blocks(Y), blocks(weight))
    assert model.n_cells_ >= 12 and model.certificate_.status == "optimal"
    cell_of = model.to_model().tree.route(X)
    primal = 0.0
    for number in range(model.n_cells_):
        here = cell_of == number
        assert here.sum() <= 200
        local = Local(C=3.0, gamma=0.3).fit(X[here], Y[here], (weight * (1 + (Y == 1)))[here])
        assert model.certificates_[number].primal == pytest.approx(local.certificate_.primal, 1e-3)
        primal += model.certificates_[number].primal
        assert np.mean(local.predict(X[here]) == model.predict(X[here])) > 0.99
    assert model.certificate_.primal == pytest.approx(primal)
    assert (model.n_samples_, model.n_partitions_) == (2400, 5)


def test_tuned_cells_are_saved_and_score_where_rows_are(client, tmp_path):
    model = KernelSVCCV(cells=600, cv=3, client=client).fit(blocks(X), blocks(Y))
    assert len(model.C_) == model.n_cells_ and 0.6 < model.best_score_ <= 1
    assert model.score(blocks(X), blocks(Y)) == pytest.approx(model.score(X, Y))
    lazy = model.predict(blocks(X))
    assert np.array_equal(lazy.compute(), model.predict(X))
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_killed_worker_costs_its_regions_and_changes_no_machine(client, own_client, tmp_path):
    paths = [tmp_path / f"{k}.svm" for k in range(4)]
    for k, path in enumerate(paths):
        here = slice(600 * k, 600 * (k + 1))
        data.save(data.Dataset(X[here], Y[here]), path)
    plain = KernelSVC(C=3.0, gamma=0.3, cells=100, client=client)
    whole = plain.fit(paths).decision_function(X)
    seen = []

    def kill(progress):
        seen.append(progress)
        if len(seen) == 3:
            pids = own_client.run(os.getpid)
            os.kill(next(iter(pids.values())), signal.SIGKILL)

    model = KernelSVC(C=3.0, gamma=0.3, cells=100, client=own_client, callback=kill).fit(paths)
    assert model.certificate_.status == "optimal"
    assert seen[-1].done == seen[-1].total == model.n_cells_ and seen[-1].rows == 2400
    assert np.array_equal(model.decision_function(X), whole)


def test_a_callback_ends_the_fit_and_the_rest_has_no_function(client):
    model = KernelSVC(C=3.0, gamma=0.3, cells=100, client=client, callback=lambda p: True)
    with pytest.warns(UserWarning):
        model.fit(blocks(X), blocks(Y))
    assert model.certificate_.status == "callback"
    cell_of, left_out = model.to_model().tree.route(X), 0
    for number, certificate in enumerate(model.certificates_):
        rows = Y[cell_of == number]
        classes = len(np.unique(rows))
        if certificate.status == "callback":
            left_out += 1
            assert certificate.dual == 0
            assert certificate.primal == 3.0 * len(rows) * (1 if classes == 2 else classes)
    assert 0 < left_out < model.n_cells_


def test_rows_that_cannot_be_read_name_their_partition(client, tmp_path):
    path = tmp_path / "rows.svm"
    data.save(data.Dataset(X[:300], Y[:300]), path)
    with pytest.raises(PartitionError, match="gone"):
        KernelSVC(cells=100, client=client).fit([path, tmp_path / "gone.svm"])


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "cells must be a number of rows"), ({"cells": 9, "cell_overlap": 0.1}, "cell_overlap")],
)
def test_what_a_cluster_refuses(client, options, message):
    with pytest.raises(ValueError, match=message):
        KernelSVC(client=client, **options).fit(blocks(X), blocks(Y))
