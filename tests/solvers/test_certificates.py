"""Certificates recomputed from scratch in numpy, to any tolerance."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import LinearSVC
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.line_search import bracketed_newton
from maxmargin.problem import Status
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.linear import newton, newton_system

SOLVERS = ["newton", "dual", "ocas", "cpa"]


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


@pytest.mark.parametrize("solver", ["newton", "dual"])
@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_both_bounds_are_those_of_the_points_returned(solver, tol, bias, sparse, svm):
    X, y = svm.blobs(200, 15, sparse=sparse)
    weight = np.random.default_rng(1).random(200)
    cost = 0.5 * weight
    solution = svm.solve(solver, X, y, 0.5, bias=bias, weight=weight, tol=tol)
    certificate, a = solution.certificate, solution.dual_variables
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= tol
    assert (a >= 0).all() and (a <= cost * (1 + 1e-12)).all()
    P, D = svm.primal(X, y, solution.w, cost, bias), svm.dual(X, y, a, bias)
    assert certificate.primal == pytest.approx(P, rel=1e-12)
    assert certificate.dual == pytest.approx(D, rel=1e-11)
    assert certificate.dual <= certificate.primal


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F", "csr"])
def test_every_kind_of_rows_reaches_the_same_optimum(solver, dtype, order, svm):
    X, y = svm.blobs(200, 15, sparse=True, dtype=dtype)
    wanted = svm.solve("newton", X.toarray().astype(np.float64), y, tol=1e-9).certificate.primal
    if order != "csr":
        X = np.array(X.toarray(), order=order)
    certificate = svm.solve(solver, X, y, tol=1e-6).certificate
    assert certificate.relative_gap <= 1e-6
    assert certificate.primal == pytest.approx(wanted, rel=2e-6)
    assert certificate.dual <= wanted * (1 + 1e-9)


@pytest.mark.parametrize("method", ["newton", "ocas", "cpa"])
@pytest.mark.parametrize("sparse", [False, True])
def test_answers_are_bit_identical_for_any_number_of_threads(method, sparse, svm):
    X, y = svm.blobs(5000, 20, sparse=sparse)

    def answer(threads):
        return svm.solve(method, X, y, 0.1, bias=1.0, threads=threads, tol=1e-5)

    alone = answer(1)
    for threads in (2, 5):
        many = answer(threads)
        np.testing.assert_array_equal(alone.w, many.w)
        assert alone.certificate.primal == many.certificate.primal
        assert alone.certificate.dual == many.certificate.dual
        assert alone.certificate.n_iter == many.certificate.n_iter


@pytest.mark.parametrize("threads", [1, 3])
def test_dual_descent_repeats_for_a_seed(threads, svm):
    X, y = svm.blobs(30_000, 30)

    def w(seed):
        return svm.solve("dual", X, y, 0.01, threads=threads, tol=1e-3, seed=seed).w

    np.testing.assert_array_equal(w(1), w(1))
    assert (w(1) != w(2)).any()


def test_dual_descent_reaches_the_optimum_with_any_number_of_threads(svm):
    X, y = svm.blobs(30_000, 30)
    wanted = svm.solve("newton", X, y, 0.01, tol=1e-7).certificate.primal
    for threads in (1, 2, 5):
        solution = svm.solve("dual", X, y, 0.01, threads=threads, tol=1e-5)
        assert solution.certificate.relative_gap <= 1e-5
        assert solution.certificate.dual <= wanted * (1 + 1e-9)
        D = svm.dual(X, y, solution.dual_variables)
        assert solution.certificate.dual == pytest.approx(D, rel=1e-10)


def test_warm_starts_along_C_reach_the_optimum_of_cold_ones(solver, svm):
    X, y = svm.blobs(200, 10)
    start = None
    for C in (0.01, 0.03, 0.1, 0.3, 1.0, 0.2):
        warm = svm.solve(solver, X, y, C, bias=1.0, tol=1e-6, start=start)
        cold = svm.solve(solver, X, y, C, bias=1.0, tol=1e-6)
        assert warm.certificate.relative_gap <= 1e-6
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-6)
        assert svm.primal(X, y, warm.w, C, 1.0) == pytest.approx(warm.certificate.primal, rel=1e-12)
        a = warm.dual_variables
        start = Start(warm.w, None if a is None else np.clip(a / C, 0.0, 1.0))


def test_newton_goes_on_by_conjugate_gradients_beyond_many_features(svm, monkeypatch):
    monkeypatch.setattr(newton_system, "DIRECT_WIDTH", 5)
    X, y = svm.blobs(300, 20)
    by_gradients = svm.solve("newton", X, y, tol=1e-6)
    monkeypatch.undo()
    direct = svm.solve("newton", X, y, tol=1e-6)
    assert by_gradients.certificate.relative_gap <= 1e-6
    assert by_gradients.certificate.primal == pytest.approx(direct.certificate.primal, rel=2e-6)


@pytest.mark.filterwarnings("error")
def test_conjugate_gradients_solve_systems_whose_squares_leave_float64():
    """<x, H x> overflowed, with a warning of numpy, though the solution is a plain number."""
    diagonal, right = np.array([1e250, 2e250]), np.array([1e120, -1e120])
    x, _ = newton_system.conjugate_gradients(lambda v: diagonal * v, right, 5, enough=1e119)
    assert x == pytest.approx(right / diagonal, rel=0.2, abs=0)


@pytest.mark.parametrize("rounded", [0.0, -1.0, np.nan])
def test_conjugate_gradients_end_where_rounding_takes_the_curvature(rounded):
    x, r = newton_system.conjugate_gradients(lambda v: rounded * v, np.ones(3), 5, enough=0.1)
    assert not x.any() and r.all()


def test_equal_rows_of_opposite_labels_and_huge_features_end_in_a_certificate(monkeypatch):
    monkeypatch.setattr(newton_system, "SMALL_SYSTEM", 0)
    X, y = np.array([[1e43, -1e43, 2e43, 5e43]] * 2), np.array([0, 1])
    model = LinearSVC(C=51600.0, loss="squared_hinge", solver="newton", max_iter=50)
    with warnings.catch_warnings():  # of an optimum not seen: how products are rounded decides that
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.certificate_.dual <= model.certificate_.primal <= 2 * 51600.0


@pytest.mark.parametrize("n", [1500, 5000, 50_000])
def test_newton_starts_from_samples_of_many_rows(n, svm):
    X, y = svm.blobs(n, 5)
    rows = ArrayRows(X)
    assert len(newton.sample_steps(rows.n, rows.width)) == {1500: 1, 5000: 2, 50_000: 2}[n]
    solution = svm.solve("newton", X, y, tol=1e-6)
    assert solution.certificate.relative_gap <= 1e-6
    assert svm.primal(X, y, solution.w, 1.0) == pytest.approx(solution.certificate.primal)


def test_a_sample_of_one_class_only_does_not_mislead_newton(svm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    step = newton.sample_steps(*X.shape)[0]
    X[::step] += 1.0
    y = np.where(np.arange(2000) % step == 0, 1.0, -1.0)  # exactly the rows the sample sees
    assert svm.solve("newton", X, y, bias=1.0, tol=1e-6).certificate.relative_gap <= 1e-6


def test_newtons_line_search_goes_on_where_the_curvature_underflows():
    k = bracketed_newton(lambda k: (k - 3.0, 0.0), 0.01)
    assert k == pytest.approx(3.0, abs=0.01)
