"""Fits that run at the same time do not know of each other."""

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from maxmargin import LinearSVC

SOLVERS = ["newton", "dual", "ocas", "cpa"]


def test_forty_fits_at_once_are_bit_identical_to_serial_ones(svm):
    kinds = list(itertools.product(SOLVERS, [0.01, 1.0], [False, True], range(3)))[:40]
    assert len(kinds) == 40 and {kind[0] for kind in kinds} == set(SOLVERS)

    def fit(kind):
        solver, C, sparse, seed = kind
        X, y = svm.blobs(600, 12, seed=seed, sparse=sparse)
        return LinearSVC(C=C, solver=solver, n_jobs=1, random_state=seed, tol=1e-4).fit(X, y)

    serial = [fit(kind) for kind in kinds]
    with ThreadPoolExecutor(40) as executor:
        parallel = list(executor.map(fit, kinds))
    for one, other in zip(serial, parallel):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        assert one.certificate_.primal == other.certificate_.primal
        assert one.certificate_.dual == other.certificate_.dual
        assert one.n_iter_ == other.n_iter_


def test_the_same_rows_may_be_fitted_by_many_threads(svm):
    X, y = svm.blobs(2000, 20)
    alone = LinearSVC(n_jobs=2).fit(X, y)
    with ThreadPoolExecutor(8) as executor:
        models = list(executor.map(lambda _: LinearSVC(n_jobs=2).fit(X, y), range(8)))
    for model in models:
        np.testing.assert_array_equal(alone.coef_, model.coef_)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork")
def test_a_fit_works_after_a_fork(svm):
    X, y = svm.blobs(2000, 20)
    wanted = LinearSVC(solver="ocas", n_jobs=2).fit(X, y).coef_
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        same = np.array_equal(LinearSVC(solver="ocas", n_jobs=2).fit(X, y).coef_, wanted)
        os.write(writer, b"1" if same else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"1"
    os.close(reader)
    os.close(writer)
