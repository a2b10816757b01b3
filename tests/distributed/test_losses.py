"""Every pointwise loss on a cluster: the optimum of the local estimator."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import maxmargin
from maxmargin.distributed import LinearSVC, LinearSVR


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    return X, X @ rng.normal(size=5) + rng.standard_t(3, size=900)


def cut(array):
    return da.from_array(array, chunks=(250, *array.shape[1:]))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("start", ["zero", "average"])
def test_classifiers(client, rows, loss, start):
    X, y = rows[0], (rows[1] > 0).astype(int)
    local = maxmargin.LinearSVC(C=0.1, loss=loss, tol=1e-5).fit(X, y)
    remote = LinearSVC(C=0.1, loss=loss, tol=1e-5, start=start, client=client)
    remote.fit(cut(X), cut(y))
    assert remote.certificate_.relative_gap <= 1e-5
    assert remote.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "expectile"])
def test_regressions(client, rows, loss):
    X, y = rows
    local = maxmargin.LinearSVR(C=0.1, loss=loss, tol=1e-5).fit(X, y)
    remote = LinearSVR(C=0.1, loss=loss, tol=1e-5, client=client).fit(cut(X), cut(y))
    assert remote.certificate_.relative_gap <= 1e-5
    assert remote.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-5)
    assert remote.score(cut(X), cut(y)) == pytest.approx(local.score(X, y), abs=1e-3)


def test_several_quantiles(client, rows):
    X, y = rows
    levels = [0.2, 0.8]
    remote = LinearSVR(C=1.0, loss="quantile", quantile=levels, client=client)
    remote.fit(cut(X), cut(y))
    lazy = remote.predict(cut(X)).compute()
    assert lazy.shape == (900, 2)
    np.testing.assert_allclose((y[:, None] < lazy).mean(axis=0), levels, atol=0.02)
