"""Objectives beside an independent solver on the explicit pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from maxmargin import MeasureSVC, OrdinalSVC, RankSVM
from maxmargin.losses import measure_loss


def pair_dual_optimum(X, pairs, cost):
    """Optimal value of ``1/2 ||w||^2 + sum_pairs cost max(0, 1 - <w, x_i - x_j>)`` by its dual.

    The dual is a box-constrained QP over all pairs; L-BFGS-B solves it to high precision here.
    """
    Z = np.array([X[i] - X[j] for i, j in pairs])

    def negative(a):
        v = Z.T @ a
        return 0.5 * v @ v - a.sum(), Z @ v - 1

    with threadpool_limits(1):
        result = minimize(
            negative,
            np.full(len(pairs), 0.5) * cost,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, c) for c in cost],
            options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
        )
    w = Z.T @ result.x
    primal = 0.5 * w @ w + cost @ np.maximum(0, 1 - Z @ w)
    dual = -result.fun
    assert primal - dual <= 1e-4 * primal
    return dual, primal


def problem(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X @ rng.normal(size=d) + rng.normal(size=n), [-1, 1]).astype(float)


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_ranking_objective_equals_that_of_all_pairs(tol):
    X, y = problem()
    C = 0.05
    pairs = [(i, j) for i, j in itertools.permutations(range(200), 2) if y[i] > y[j]]
    cost = np.full(len(pairs), C * 200 / len(pairs))
    low, high = pair_dual_optimum(X, pairs, cost)
    for model in (RankSVM(C=C, tol=tol), OrdinalSVC(C=C, tol=tol)):
        certificate = model.fit(X, y).certificate_
        assert certificate.relative_gap <= tol
        assert certificate.dual <= high * (1 + 1e-9)
        assert certificate.primal >= low * (1 - 1e-9)
        assert certificate.primal <= high * (1 + tol) + 1e-9


def test_ranking_objective_with_queries_and_weights_equals_that_of_all_pairs():
    X, y = problem(seed=1)
    rng = np.random.default_rng(2)
    qid, s, C, tol = rng.integers(0, 8, 200), rng.random(200), 0.05, 1e-4
    pairs, shares = [], []
    for q in range(8):
        rows = np.flatnonzero(qid == q)
        mine = [(i, j) for i, j in itertools.permutations(rows, 2) if y[i] > y[j]]
        weight = np.array([s[i] * s[j] for i, j in mine])
        pairs += mine
        shares.append(weight / weight.sum())
    cost = C * s.sum() / 8 * np.concatenate(shares)
    low, high = pair_dual_optimum(X, pairs, cost)
    certificate = RankSVM(C=C, tol=tol).fit(X, y, qid=qid, sample_weight=s).certificate_
    assert low * (1 - 1e-9) <= certificate.primal <= high * (1 + tol)
    assert certificate.relative_gap <= tol


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_error_rate_gives_the_hinge_objective(tol):
    liblinear = pytest.importorskip("sklearn.svm")
    X, y = problem()
    y = np.where(y > 1, 1, 0)
    model = MeasureSVC("error", C=0.1, tol=tol, fit_intercept=False).fit(X, y)
    w = (
        liblinear.LinearSVC(
            C=0.1, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0
        )
        .fit(X, y)
        .coef_[0]
    )
    sign = np.where(y > 0, 1.0, -1.0)
    objective = 0.5 * w @ w + 0.1 * np.maximum(0, 1 - sign * (X @ w)).sum()
    assert model.certificate_.relative_gap <= tol
    assert model.certificate_.primal == pytest.approx(objective, rel=tol + 1e-6)


@pytest.mark.parametrize("measure", ["f1", "prbep", "precision_at_k", "recall_at_k"])
def test_measures_reach_the_optimum_of_a_general_optimiser(measure):
    """A derivative-free descent over w finds nothing better than the certificate allows."""
    X, y = problem(60, 2, seed=3)
    y = np.where(y > 1, 1, 0)
    k = 20 if measure.endswith("_at_k") else None
    model = MeasureSVC(measure, C=0.1, k=k, tol=1e-5, fit_intercept=False).fit(X, y)
    sign = np.where(y > 0, 1.0, -1.0)
    from maxmargin import _core

    loss = measure_loss(measure, sign, 0.1, _core.Pool(1), k=k)
    result = minimize(
        lambda w: 0.5 * w @ w + loss.evaluate(X @ w)[0],
        model.coef_[0] + 0.05,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000},
    )
    assert model.certificate_.relative_gap <= 1e-5
    assert result.fun >= model.certificate_.dual - 1e-9
    assert model.certificate_.primal <= result.fun * (1 + 1e-4)
