"""Gram matrices of low rank: factors, systems with them, and fits at which steps would crawl."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import KernelSVC, _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.low_rank import LowRank, LowRankSolver, factor_low_rank
from maxmargin.solvers.kernel.newton import solve_box
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import source_of
from maxmargin.solvers.kernel.two_variable import Descent

POOL = _core.Pool(1)


def drawn(n, d=2, noise=0.05, seed=0):
    """Rows of a smooth boundary, of which some have the wrong label."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, d))
    positive = (np.sin(3 * X[:, 0]) > X[:, 1]) ^ (random.random(n) < noise)
    return X, np.where(positive, 1.0, -1.0)


def gram(X, gamma, constant=0.0):
    return np.exp(-gamma * np.square(X[:, None] - X[None]).sum(axis=2)) + constant


@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "matrix"])
def test_a_factor_of_few_columns_leaves_no_more_than_was_asked(form):
    X = drawn(400)[0].astype(np.float32).astype(np.float64)
    rows, K = np.arange(3, 400, 2), gram(X, 0.7, 4.0)
    kernel = "precomputed" if form == "matrix" else Kernel("rbf", 0.7, constant=4.0)
    forms = {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_matrix(X), "matrix": K}
    exact = source_of(forms[form], kernel, 10**9, POOL).exact
    L, rest = factor_low_rank(exact, rows, 1e-9, 200)
    left = K[np.ix_(rows, rows)] - L @ L.T
    assert L.shape[1] < 100 and rest.max() <= 1e-9
    np.testing.assert_allclose(np.diagonal(left), rest, atol=1e-13)
    assert np.abs(left).max() <= 1.1e-9
    assert factor_low_rank(exact, rows, 0.0, 5)[0].shape[1] == 5


def test_systems_of_a_factored_matrix_are_those_of_the_matrix():
    random = np.random.default_rng(3)
    L, rest, right = random.normal(size=(50, 6)), 0.1 * random.random(50), random.normal(size=50)
    Q, diagonal = LowRank(L, rest), 10 ** random.uniform(-6, 6, size=50)
    whole = L @ L.T + np.diag(rest)
    np.testing.assert_allclose(Q @ right, whole @ right)
    np.testing.assert_allclose(Q.diagonal(), np.diagonal(whole))
    expected = np.linalg.solve(whole + np.diag(diagonal), right)
    np.testing.assert_allclose(Q.solver(diagonal)(right), expected, rtol=1e-6, atol=1e-9)
    u, ones = np.full(50, 10.0), np.ones(50)
    a, b = (solve_box(matrix, ones, u, 1e-9, lambda: None)[0] for matrix in (Q, whole))
    assert ones @ a - 0.5 * a @ whole @ a == pytest.approx(ones @ b - 0.5 * b @ whole @ b, 1e-7)


@pytest.mark.parametrize("noise, C", [(0.05, 1e5), (0.01, 1e6)])
def test_large_C_and_wrong_labels_take_no_more_steps_than_few_points_would(noise, C):
    X, y = drawn(2100, noise=noise)
    model = KernelSVC(C=C, gamma=0.5, max_iter=300_000, tol=1e-4).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    f = gram(X, 0.5) @ beta
    P = 0.5 * beta @ f + C * np.maximum(0.0, 1.0 - y * f).sum()
    D = np.abs(beta).sum() - 0.5 * beta @ f
    assert model.certificate_.status == "optimal"
    assert P - D <= 1.01e-4 * P and model.certificate_.dual <= P
    assert np.all(y * beta >= 0) and np.abs(beta).max() <= C * (1 + 1e-12)
    assert len(model.support_) < 0.6 * len(y)


def test_a_matrix_of_full_rank_is_left_to_other_steps():
    X, y = drawn(300)
    source = source_of(X, Kernel("rbf", 1e4), 10**9, POOL)
    path = RegularisationPath(BinaryProblem(source, y, np.ones(300)), Method(), POOL)
    descent = Descent(path, Settings(tol=1e-3))
    descent.start(10.0)
    path.run(1e-1, 40)
    before = path.beta.copy()
    assert not LowRankSolver(descent).go_on()
    assert np.array_equal(path.beta, before)
