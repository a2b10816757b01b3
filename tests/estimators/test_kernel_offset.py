"""Kernel machines with an offset: a constant in the kernel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_blobs
from sklearn.svm import SVC

import maxmargin
from maxmargin import KernelSVC, KernelSVCCV, KernelSVR, LinearSVC

RNG = np.random.default_rng(5)
X = RNG.normal((3.0, -2.0, 5.0, 1.0), 1.0, size=(150, 4))
SCORE = X @ [1.0, -1.0, 0.5, 0.2] - 9.0 + 0.5 * RNG.normal(size=150)
Y = np.where(np.median(SCORE) < SCORE, 1, -1)
B = 2.5


@pytest.mark.parametrize("memory", [None, 40_000], ids=["matrix", "cached rows"])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
def test_a_linear_kernel_with_an_offset_is_the_linear_machine(rows, memory):
    """LinearSVC's intercept is the weight of a constant feature B: the same problem."""
    ours = KernelSVC(C=0.3, kernel="linear", offset=B, tol=1e-7, memory=memory).fit(rows(X), Y)
    linear = LinearSVC(C=0.3, intercept_scaling=B, tol=1e-7).fit(X, Y)
    assert ours.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    assert ours.intercept_ == pytest.approx(linear.intercept_, abs=1e-3)
    np.testing.assert_allclose(
        ours.decision_function(rows(X)), linear.decision_function(X), atol=2e-3
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_the_offset_is_the_constant_of_a_precomputed_kernel(kernel):
    def values(A, Z):
        squares = ((A[:, None] - Z[None]) ** 2).sum(axis=2)
        if kernel == "poly":
            return (0.1 * A @ Z.T + 1) ** 2
        return np.exp(-0.1 * (squares if kernel == "rbf" else np.sqrt(squares)))

    named = KernelSVC(C=2.0, kernel=kernel, gamma=0.1, degree=2, coef0=1.0, offset=B, tol=1e-6).fit(
        X, Y
    )
    given = KernelSVC(C=2.0, kernel="precomputed", offset=B, tol=1e-6).fit(values(X, X), Y)
    called = KernelSVC(C=2.0, kernel=values, offset=B, tol=1e-6).fit(X, Y)
    plain = KernelSVC(C=2.0, kernel="precomputed", tol=1e-6).fit(values(X, X) + B**2, Y)
    f = named.decision_function(X)
    for other in (
        given.decision_function(values(X, X)),
        called.decision_function(X),
        plain.decision_function(values(X, X) + B**2),
    ):
        np.testing.assert_allclose(other, f, atol=5e-3)
    assert given.certificate_.primal == pytest.approx(named.certificate_.primal, rel=2e-6)


def test_a_large_offset_costs_nothing_and_agrees_with_libsvm():
    ours = KernelSVC(C=1.0, kernel="linear", offset=100.0, tol=1e-6, max_time=20).fit(X, Y)
    theirs = SVC(C=1.0, kernel="linear", tol=1e-6).fit(X, Y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-2)


def test_an_offset_helps_where_rows_are_far_from_the_origin():
    features, labels = make_blobs(300, centers=[[20.0, 20.0], [23.0, 20.0]], random_state=0)
    without = KernelSVC(C=1.0, kernel="linear").fit(features, labels).score(features, labels)
    with_one = KernelSVC(C=1.0, kernel="linear", offset=20.0).fit(features, labels)
    assert with_one.score(features, labels) > without + 0.02


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_every_problem_has_its_offset_and_files_keep_it(tmp_path, multi_class):
    features, labels = load_iris(return_X_y=True)
    model = KernelSVC(C=10, gamma=0.5, offset=1.0, multi_class=multi_class).fit(features, labels)
    assert model.intercept_.shape == (3,) and np.all(model.intercept_ != 0)
    path = tmp_path / "m.safetensors"
    model.save(path)
    loaded = maxmargin.load(path)
    np.testing.assert_array_equal(
        loaded.decision_function(features), model.decision_function(features)
    )
    assert loaded.offset == 1.0
    if multi_class == "ovo":
        model.export_libsvm(tmp_path / "m.libsvm")
        back = maxmargin.load(tmp_path / "m.libsvm")
        np.testing.assert_array_equal(back.predict(features), model.predict(features))


def test_a_search_uses_the_offset_in_every_fold():
    Cs, gammas = [1e-6], [1e-12]  # without an offset f is 0 but for rounding
    shares = np.where(np.arange(150) < 100, 1, -1)
    found = KernelSVCCV(Cs, gammas, offset=100.0, cv=3).fit(X, shares)
    assert found.best_score_ == pytest.approx(2 / 3, abs=0.01)
    assert found.intercept_[0] > 0


def test_regressions_have_offsets_for_targets_far_from_0():
    t = SCORE + 1000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelSVR(C=1.0, gamma=0.1, epsilon=0.1, offset=1000.0).fit(X, t)
    assert abs(np.median(model.predict(X) - t)) < 1.0
    assert abs(model.intercept_[0] - 1000.0) < 20.0
    two = KernelSVR(C=1.0, loss="quantile", quantile=[0.2, 0.8], offset=1000.0).fit(X, t)
    low, high = two.predict(X).T
    assert two.intercept_.shape == (2,) and np.mean(low < high) > 0.9


@pytest.mark.parametrize("offset", [-1.0, np.nan, np.inf, "auto", 1e9, True])
def test_bad_offsets_are_refused_by_name(offset):
    for machine in (KernelSVC(offset=offset), KernelSVR(offset=offset)):
        with pytest.raises(ValueError, match="offset must be a number"):
            machine.fit(X, Y)


def test_cells_have_no_offset():
    with pytest.raises(ValueError, match="cells have no offset"):
        KernelSVC(cells=50, offset=1.0).fit(X, Y)
