"""Problems that are awkward but legitimate simply work, with every solver."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.problem import Status

SOLVERS = ["newton", "dual", "ocas", "cpa"]


def collinear(X):
    return np.column_stack([X, X, X @ np.random.default_rng(1).normal(size=(X.shape[1], 3))])


def wide():
    rng = np.random.default_rng(2)
    return rng.normal(size=(40, 200)), np.where(rng.random(40) < 0.5, 1.0, -1.0)


def problems(blobs):
    X, y = blobs(200, 10)
    every_third = (np.arange(200) % 3 == 0)[:, None]
    separable = blobs(200, 10, noise=0.0)
    return {
        "some rows zero": (np.where(every_third, 0.0, X), y),
        "all rows zero": (0 * X, y),
        "duplicates of opposite labels": (np.r_[X, X], np.r_[y, -y]),
        "all rows duplicates of opposite labels": (np.r_[X[:1], X[:1]], np.array([1.0, -1.0])),
        "the same row many times": (np.repeat(X[:2], 100, axis=0), np.repeat([1.0, -1.0], 100)),
        "constant features": (np.column_stack([X, np.ones(200), np.zeros(200)]), y),
        "one feature": (X[:, :1], y),
        "two rows": (X[:2], y[:2]),
        "tiny C": (X, y, 1e-6),
        "features times 1e-6": (1e-6 * X, y),
        "features times 1e-6, tiny C": (1e-6 * X, y, 1e-6),
        "collinear features": (collinear(X), y),
        "more features than rows": wide(),
        "separable": separable,
        "one class": (X, np.ones(200)),
        "hardly any entries": (sp.random(200, 50, 0.01, format="csr", random_state=0), y),
    }


HARD = {  # dual descent needs epochs in proportion to C ||x||^2: it is held to a valid answer only
    "huge C": lambda X, y: (X, y, 1e6),
    "features times 1e6": lambda X, y: (1e6 * X, y),
    "scales of eight orders": lambda X, y: (X * np.geomspace(1e-4, 1e4, X.shape[1]), y),
    "collinear, huge C": lambda X, y: (collinear(X), y, 1e6),
}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def check(svm, solution, X, y, C, bias, weight=None):
    certificate = solution.certificate
    cost = C * (np.ones(len(y)) if weight is None else weight)
    assert np.isfinite(solution.w).all()
    assert certificate.dual <= certificate.primal
    assert certificate.dual >= -1e-12 * cost.sum()
    P = svm.primal(X, y, solution.w, cost, bias)
    assert certificate.primal == pytest.approx(P, rel=1e-9, abs=1e-300)
    if solution.dual_variables is not None:
        D = svm.dual(X, y, solution.dual_variables, bias)
        assert certificate.dual == pytest.approx(D, rel=1e-6, abs=1e-9 * cost.sum())


@pytest.mark.parametrize("bias", [0.0, 1.0], ids=["no bias", "bias"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("name", problems(lambda *a, **k: (np.zeros((200, 10)), np.ones(200))))
def test_awkward_problems_are_solved(name, tol, bias, solver, svm):
    X, y, C = (*problems(svm.blobs)[name], 1.0)[:3]
    solution = svm.solve(solver, X, y, C, bias=bias, tol=tol)
    check(svm, solution, X, y, C, bias)
    assert solution.certificate.status is Status.OPTIMAL
    assert solution.certificate.relative_gap <= tol


@pytest.mark.parametrize("bias", [0.0, 1.0], ids=["no bias", "bias"])
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_are_solved_by_newton(name, bias, svm):
    X, y, C = (*HARD[name](*svm.blobs(200, 10)), 1.0)[:3]
    solution = svm.solve("newton", X, y, C, bias=bias, tol=1e-6)
    check(svm, solution, X, y, C, bias)
    assert solution.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("bias", [0.0, 1.0], ids=["no bias", "bias"])
@pytest.mark.parametrize("name", ["huge C", "scales of eight orders", "collinear, huge C"])
def test_hard_problems_are_solved_by_ocas(name, bias, svm):
    X, y, C = (*HARD[name](*svm.blobs(200, 10)), 1.0)[:3]
    solution = svm.solve("ocas", X, y, C, bias=bias, tol=1e-3)
    check(svm, solution, X, y, C, bias)
    assert solution.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("name", HARD)
def test_a_hard_problem_never_gives_an_invalid_certificate(name, solver, svm):
    X, y, C = (*HARD[name](*svm.blobs(200, 10)), 1.0)[:3]
    solution = svm.solve(solver, X, y, C, bias=1.0, tol=1e-6, max_iter=200)
    check(svm, solution, X, y, C, 1.0)


def test_a_weight_of_zero_is_the_row_removed(solver, svm):
    X, y = svm.blobs(200, 10)
    weight = (np.arange(200) % 3 > 0).astype(float)
    kept = weight > 0
    weighted = svm.solve(solver, X, y, weight=weight, tol=1e-7)
    removed = svm.solve(solver, X[kept], y[kept], tol=1e-7)
    check(svm, weighted, X, y, 1.0, 0.0, weight)
    assert weighted.certificate.primal == pytest.approx(removed.certificate.primal, rel=2e-7)
    np.testing.assert_allclose(weighted.w, removed.w, atol=2e-2)


def test_all_weights_zero_give_zero(solver, svm):
    X, y = svm.blobs(50, 3)
    solution = svm.solve(solver, X, y, weight=np.zeros(50))
    assert not solution.w.any()
    assert solution.certificate.primal == solution.certificate.dual == 0.0
    assert solution.certificate.status is Status.OPTIMAL


def test_weights_over_sixteen_orders(svm):
    X, y = svm.blobs(200, 10)
    weight = np.geomspace(1e-8, 1e8, 200)
    for solver in ("newton", "ocas"):
        solution = svm.solve(solver, X, y, weight=weight, bias=1.0, tol=1e-3)
        check(svm, solution, X, y, 1.0, 1.0, weight)
        assert solution.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("factor", [1e-12, 1e-100])
def test_features_that_hardly_exist(factor, solver, svm):
    X, y = svm.blobs(200, 10)
    solution = svm.solve(solver, factor * X, y, tol=1e-6, max_iter=1000)
    assert solution.certificate.status is Status.OPTIMAL


@pytest.mark.parametrize("bias", [0.0, 1.0], ids=["no bias", "bias"])
@pytest.mark.parametrize("method", ["ocas", "cpa"])
@pytest.mark.parametrize("name", ["huge C", "features times 1e6"])
def test_cutting_planes_do_not_stall_on_hard_problems(name, method, bias, svm):
    X, y, C = (*HARD[name](*svm.blobs(200, 10)), 1.0)[:3]
    solution = svm.solve(method, X, y, C, bias=bias, tol=1e-3)
    check(svm, solution, X, y, C, bias)
    assert solution.certificate.relative_gap <= 1e-3


def test_ocas_does_not_stall_on_large_collinear_features(svm):
    X, y = svm.blobs(200, 10)
    solution = svm.solve("ocas", 1e6 * collinear(X), y, tol=1e-3)
    assert solution.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("method", ["ocas", "cpa"])
def test_features_too_large_to_square_are_refused(method, svm):
    """They once crashed the interpreter: products of planes were infinite."""
    X, y = svm.blobs(40, 3)
    with pytest.raises(ValueError, match="Scale the features or lower C"):
        svm.solve(method, 1e200 * X, y, 1.0)
