"""Least squares by the Lanczos process: all C and all folds from the same products."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import KernelSVR, KernelSVRCV, _core
from maxmargin.solvers.kernel import regression
from maxmargin.solvers.kernel.gram import Kernel, kernel_matrix
from maxmargin.solvers.kernel.least_squares import least_squares, times

POOL = _core.Pool(1)
RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1, 1, size=(300, 3))
T = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RANDOM.normal(size=300)
CS = np.geomspace(0.01, 1e3, 5)


def loss_and_bound(K, beta, s, C):
    r = T - K @ beta
    norm2 = beta @ K @ beta
    used = s > 0
    conjugate = 0.5 * (beta[used] ** 2 / (C * s[used])).sum()
    return 0.5 * norm2 + 0.5 * C * s @ r**2, T @ beta - conjugate - 0.5 * norm2


@pytest.mark.parametrize("of_zero", [False, True])
def test_every_gap_is_as_small_as_asked(of_zero):
    K = kernel_matrix(X, Kernel("rbf", 1.0), POOL)
    s = RANDOM.integers(0, 3, size=(2, 300)).astype(float)
    beta, steps = least_squares(K, T, s, np.tile(CS, (2, 1)), 1e-4, POOL, of_zero=of_zero)
    assert 0 < steps <= 300
    for p in range(2):
        assert not beta[p][:, s[p] == 0].any()
        for at, C in enumerate(CS):
            P, D = loss_and_bound(K.astype(float), beta[p, at], s[p], C)
            beside = 0.5 * C * s[p] @ T**2 if of_zero else P
            gap = P - D
            assert gap <= 1.5e-4 * beside


def test_products_do_not_depend_on_the_number_of_threads():
    K = kernel_matrix(X, Kernel("rbf", 1.0), POOL)
    V = RANDOM.normal(size=(300, 4))
    assert np.array_equal(times(K, V, POOL), times(K, V, _core.Pool(3)))
    assert np.allclose(times(K, V, POOL), K @ V, rtol=1e-4, atol=1e-4)


def test_targets_of_zero_need_no_coefficient():
    K = kernel_matrix(X, Kernel("rbf", 1.0), POOL)
    beta, _ = least_squares(K, np.zeros(300), np.ones((1, 300)), CS[None], 1e-3, POOL)
    assert not beta.any()


def test_more_rows_than_newton_takes_reach_a_small_gap(monkeypatch):
    monkeypatch.setattr(regression, "NEWTON_ROWS", 100)
    model = KernelSVR(C=100.0, loss="squared", gamma=1.0, tol=1e-8).fit(X, T)
    assert model.certificate_.status == "optimal" and model.certificate_.relative_gap <= 1e-8
    exact = np.linalg.solve(
        np.exp(-1.0 * ((X[:, None] - X) ** 2).sum(axis=2)) + np.eye(300) / 100.0, T
    )
    found = np.zeros(300)
    found[model.support_] = model.dual_coef_[0]
    assert np.allclose(found, exact, atol=1e-2 * np.abs(exact).max())


def test_an_iteration_limit_ends_it(monkeypatch):
    monkeypatch.setattr(regression, "NEWTON_ROWS", 100)
    with pytest.warns(UserWarning, match="max_iter|iterations"):
        model = KernelSVR(C=100.0, loss="squared", gamma=1.0, tol=1e-10, max_iter=5).fit(X, T)
    assert model.n_iter_ <= 5 and model.certificate_.primal >= model.certificate_.dual


def test_a_search_finds_the_losses_of_exact_solutions():
    gammas, folds = [0.3, 3.0], [(np.arange(100, 300), np.arange(100))]
    model = KernelSVRCV(Cs=CS, gammas=gammas, loss="squared", cv=folds, tol=1e-6).fit(X, T)
    train, test = folds[0]
    for g, gamma in enumerate(gammas):
        K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
        for at, C in enumerate(CS):
            beta = np.linalg.solve(K[np.ix_(train, train)] + np.eye(200) / (C * 1.5), T[train])
            r = T[test] - K[np.ix_(test, train)] @ beta
            assert -model.scores_[g, at, 0] == pytest.approx(0.5 * (r**2).mean(), rel=1e-2)


def test_rounding_that_leaves_no_definite_matrix_ends_the_process():
    """T + I / C had eigenvalues below 0 by rounding, and the search ended in a LinAlgError."""
    X = np.array([[2e13], [5e12], [1e10]], dtype=np.float32)
    search = KernelSVRCV(kernel="linear", loss="squared", Cs=[0.1, 0.2, 210.0], gammas=[1.0], cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, np.array([-1.3, -1.2, -0.6]))
    assert np.isfinite(search.predict(X)).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_products_of_huge_kernel_values_do_not_overflow():
    x = np.array([2e13, 9e16, 5e12, 4e6, 8e13])
    K, t = (5e3 * np.outer(x, x)).astype(np.float32), np.arange(5.0)
    beta, _ = least_squares(K, t, np.ones((1, 5)), CS[None], 1e-6, POOL)
    assert np.isfinite(beta).all()


def test_one_step_of_the_process_is_enough_for_one_row():
    beta, steps = least_squares(
        np.full((1, 1), 2.0, dtype=np.float32),
        np.ones(1),
        np.ones((1, 1)),
        CS[None],
        1e-6,
        POOL,
        most=1,
    )
    assert steps == 1
    assert beta[0, :, 0] == pytest.approx(1 / (2 + 1 / CS))
