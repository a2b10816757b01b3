"""Scores of rows by machines that were trained without them."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec
from maxmargin.solvers.kernel.sources import MatrixSource
from maxmargin.training.kernel_calibration import kernel_scores
from maxmargin.training.left_out import LeftOut, linear_scores

N, D = 60, 7


def repeated(seed=0):
    """Rows of which the first five are there twice, targets, costs, and groups of equal rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X[-5:] = X[:5]
    t, cost = X[:, 0] + rng.normal(size=N), rng.uniform(0.1, 3, size=N)
    group = np.concatenate([np.arange(N - 5), np.arange(5)])
    return X, t, cost, LeftOut(np.arange(N), group, np.arange(N - 5))


def ridge(Z, t, cost):
    return np.linalg.solve(np.eye(Z.shape[1]) + (Z.T * cost) @ Z, Z.T @ (cost * t))


def without_each(Z, t, cost, out):
    """Predictions by machines trained again without a group of equal rows."""
    found = np.empty(len(t))
    for group in range(len(out.first)):
        own = out.group == group
        found[own] = Z[own] @ ridge(Z[~own], t[~own], cost[~own])
    return found


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize("threads", [1, 3])
def test_of_squares_they_are_those_of_machines_trained_again(form, threads):
    X, t, cost, out = repeated()
    pool = _core.Pool(threads)
    Z = np.column_stack([X, np.ones(N)])
    loss = LossSpec("squared").on_targets(t, cost, pool)
    rows = ArrayRows(form(X), 1.0, pool)
    found = linear_scores(rows, loss, ridge(Z, t, cost), None, N, out)
    np.testing.assert_allclose(found, without_each(Z, t, cost, out), rtol=1e-8)


def test_of_squares_kernels_say_the_same():
    X, t, cost, out = repeated(1)
    loss, w = LossSpec("squared").on_targets(t, cost, _core.Pool(1)), ridge(X, t, cost)
    source = MatrixSource((X @ X.T).astype(np.float32))
    found = kernel_scores(source, loss, X @ w, cost * (t - X @ w), N, out)
    np.testing.assert_allclose(found, without_each(X, t, cost, out), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_of_hinges_they_are_near_those_of_machines_trained_again(loss):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 12))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=150) > 0, 1.0, -1.0)

    def machine(rows):
        return LinearSVC(C=0.5, loss=loss, tol=1e-6).fit(X[rows], y[rows])

    every = np.arange(150)
    full = machine(every)
    true = [machine(every != i).decision_function(X[[i]])[0] for i in every]
    pool = _core.Pool(1)
    w = np.append(full.coef_[0], full.intercept_)
    costs = LossSpec(loss).on_margins(y, 0.5, pool)
    out = LeftOut(every, every, every)
    found = linear_scores(ArrayRows(X, 1.0, pool), costs, w, full._ends[0].share, 150.0, out)
    own = full.decision_function(X)
    moved, foretold = y * (own - true), y * (own - found)
    assert np.corrcoef(moved, foretold)[0, 1] > 0.9
    assert foretold.mean() == pytest.approx(moved.mean(), rel=0.25)


def test_rows_that_matter_too_much_for_a_kernel_are_left_to_folds():
    n = 3000
    loss = LossSpec("squared").on_targets(np.ones(n), 1.0, _core.Pool(1))
    every = LeftOut(np.arange(n), np.arange(n), np.arange(n))
    source = MatrixSource(np.eye(n, dtype=np.float32))
    assert kernel_scores(source, loss, np.full(n, 0.5), np.full(n, 0.5), n, every) is None
