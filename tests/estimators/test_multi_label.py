"""Several labels a row: an indicator matrix as y."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import LinearSVC
from maxmargin.models import liblinear_text


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6))
    Y = (X @ rng.normal(size=(6, 4)) + 0.4 * rng.normal(size=(80, 4)) > 0.5).astype(np.int64)
    return X, Y


@pytest.mark.parametrize("solver", ["auto", "newton", "dual", "ocas"])
def test_each_label_is_the_machine_of_its_column(rows, solver):
    X, Y = rows
    both = LinearSVC(solver=solver, tol=1e-8).fit(X, Y)
    assert len(both.certificates_) == 4
    for j in range(4):
        alone = LinearSVC(solver=solver, tol=1e-8).fit(X, Y[:, j])
        assert both.certificates_[j].primal == pytest.approx(alone.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(
            both.decision_function(X)[:, j], alone.decision_function(X), atol=1e-3
        )
    np.testing.assert_array_equal(both.predict(X), both.decision_function(X) > 0)
    assert both.predict(X).dtype == Y.dtype
    assert both.score(X, Y) == np.mean((both.predict(X) == Y).all(axis=1))


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist])
def test_pairs_of_other_numbers_are_no_indicators(rows, form):
    """scikit-learn takes any two whole numbers for indicators: -1 would be a label too."""
    X, Y = rows
    with pytest.raises(ValueError, match=r"y holds -1.*; expected an indicator matrix"):
        LinearSVC().fit(X, form(2 * Y - 1))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_indicators_are_the_same_labels(rows, form):
    X, Y = rows
    dense, thin = LinearSVC().fit(X, Y), LinearSVC().fit(X, form(Y))
    np.testing.assert_array_equal(dense.coef_, thin.coef_)


def test_class_weights_are_those_of_absent_and_present(rows):
    X, Y = rows
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    for chosen in ({1: 3.0}, "balanced"):
        both = LinearSVC(class_weight=chosen, tol=1e-6).fit(X, Y, weight)
        alone = LinearSVC(class_weight=chosen, tol=1e-6).fit(X, Y[:, 2], weight)
        assert both.certificates_[2].primal == pytest.approx(alone.certificate_.primal, rel=1e-5)


def test_a_label_that_no_row_or_every_row_has_is_always_told(rows):
    X, Y = rows
    Y[:, 1], Y[:, 2] = 0, 1
    for loss in ("hinge", "squared_hinge", "logistic"):
        machine = LinearSVC(loss=loss).fit(X, Y)
        assert machine.certificate_.status == "optimal"
        assert not machine.predict(X)[:, 1].any()
        assert machine.predict(X)[:, 2].all()


def test_probabilities_of_each_label(rows):
    X, Y = rows
    machine = LinearSVC(loss="logistic").fit(X, Y)
    p = machine.predict_proba(X)
    assert p.shape == Y.shape
    np.testing.assert_array_equal(p > 0.5, machine.predict(X) == 1)
    assert not hasattr(LinearSVC().fit(X, Y), "predict_proba")
    with pytest.raises(ValueError, match="one label a row"):
        LinearSVC(probability=True).fit(X, Y)


def test_saved_and_loaded(rows, tmp_path):
    X, Y = rows
    machine = LinearSVC().fit(X, Y.astype(bool))
    machine.save(tmp_path / "labels.model")
    again = maxmargin.load(tmp_path / "labels.model")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.predict(X).dtype == bool
    assert again.certificates_ == machine.certificates_


def test_warm_starts_and_threads_change_nothing(rows):
    X, Y = rows
    one, two = LinearSVC(n_jobs=1).fit(X, Y), LinearSVC(n_jobs=2, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    two.set_params(C=1.1).fit(X, Y)
    cold = LinearSVC(C=1.1).fit(X, Y)
    for warm, new in zip(two.certificates_, cold.certificates_, strict=True):
        assert warm.primal == pytest.approx(new.primal, rel=2e-3)


def test_what_is_for_one_label_says_so(rows, tmp_path):
    X, Y = rows
    machine = LinearSVC().fit(X, Y)
    with pytest.raises(ValueError, match="multi-label models cannot be written as LIBLINEAR"):
        liblinear_text.write(machine.to_model(), tmp_path / "labels.liblinear")
    with pytest.raises(ValueError, match="1d array"):
        maxmargin.KernelSVC(gamma=1.0).fit(X, Y)


def test_rows_elsewhere_and_features_on_the_fly_are_refused(rows, tmp_path):
    X, Y = rows
    path = tmp_path / "rows.svm"
    maxmargin.data.save(maxmargin.data.Dataset(X, Y[:, 0]), path)
    for machine, given in ((LinearSVC(), path), (LinearSVC(features="hashing:8"), X)):
        with pytest.raises(ValueError, match="several labels a row are learned from numbers in"):
            machine.fit(given, Y)
