"""What must not change the answer: the order of rows, weights or repetition, where data lies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SOLVERS = ["newton", "dual", "ocas", "cpa"]


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def repeated(X, y, counts):
    rows = np.repeat(np.arange(len(y)), counts)
    return X[rows], y[rows]


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_newton_takes_the_same_path_for_a_weight_of_two_and_the_row_twice(bias, svm):
    X, y = svm.blobs(150, 8)
    counts = np.random.default_rng(1).integers(0, 4, size=150)
    weighted = svm.solve("newton", X, y, weight=counts, bias=bias, tol=1e-6)
    twice = svm.solve("newton", *repeated(X, y, counts), bias=bias, tol=1e-6)
    # directions come from a Gram matrix whose sums may be of float32 numbers
    np.testing.assert_allclose(weighted.w, twice.w, rtol=1e-6, atol=1e-6)
    assert weighted.certificate.n_iter == twice.certificate.n_iter


def test_weights_equal_repetition(solver, svm):
    X, y = svm.blobs(100, 6)
    counts = np.random.default_rng(2).integers(0, 4, size=100)
    weighted = svm.solve(solver, X, y, weight=counts, tol=1e-7)
    twice = svm.solve(solver, *repeated(X, y, counts), tol=1e-7)
    assert weighted.certificate.primal == pytest.approx(twice.certificate.primal, rel=2e-7)
    np.testing.assert_allclose(weighted.w, twice.w, atol=1e-2)


def test_the_order_of_rows_does_not_matter(solver, svm):
    X, y = svm.blobs(150, 8)
    order = np.random.default_rng(3).permutation(150)
    one = svm.solve(solver, X, y, tol=1e-7)
    other = svm.solve(solver, X[order], y[order], tol=1e-7)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)
    np.testing.assert_allclose(one.w, other.w, atol=1e-2)


def test_rows_sorted_by_class_are_no_harder(solver, svm):
    X, y = svm.blobs(2000, 8)
    order = np.argsort(y, kind="stable")
    certificate = svm.solve(solver, X[order], y[order], 0.1, tol=1e-4, threads=2).certificate
    assert certificate.relative_gap <= 1e-4


def test_swapped_labels_turn_the_answer_around(solver, svm):
    X, y = svm.blobs(150, 8)
    one, other = svm.solve(solver, X, y, tol=1e-7), svm.solve(solver, X, -y, tol=1e-7)
    np.testing.assert_allclose(one.w, -other.w, atol=1e-2)


def test_a_bias_is_a_constant_feature(solver, svm):
    X, y = svm.blobs(150, 8)
    built_in = svm.solve(solver, X, y, bias=3.0, tol=1e-7)
    appended = svm.solve(solver, np.column_stack([X, np.full(150, 3.0)]), y, tol=1e-7)
    assert built_in.certificate.primal == pytest.approx(appended.certificate.primal, rel=2e-7)


@settings(max_examples=40)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 8),
    seed=st.integers(0, 10_000),
    C=st.sampled_from([1e-3, 0.1, 1.0, 20.0]),
    bias=st.sampled_from([0.0, 1.0]),
    whole=st.booleans(),
    solver=st.sampled_from(SOLVERS),
)
def test_any_small_problem_is_certified_and_agrees_with_newton(
    n, d, seed, C, bias, whole, solver, svm
):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)
    if whole:  # repeated rows, rows of zeros, kinks that fall together
        X = np.round(X)
    weight = rng.choice([0.0, 1.0, 2.0], size=n)
    cost = C * weight
    solution = svm.solve(solver, X, y, C, bias=bias, weight=weight, tol=1e-5)
    certificate = solution.certificate
    assert certificate.relative_gap <= 1e-5
    assert certificate.dual <= certificate.primal
    P = svm.primal(X, y, solution.w, cost, bias)
    assert certificate.primal == pytest.approx(P, rel=1e-10, abs=1e-12)
    if solution.dual_variables is not None:
        D = svm.dual(X, y, solution.dual_variables, bias)
        assert certificate.dual == pytest.approx(D, rel=1e-8, abs=1e-12)
    reference = svm.solve("newton", X, y, C, bias=bias, weight=weight, tol=1e-8).certificate
    assert certificate.dual <= reference.primal * (1 + 1e-10)
    assert certificate.primal >= reference.dual * (1 - 1e-10)
