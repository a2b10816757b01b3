"""Probabilities of classifiers: where they come from, and that labels are the most probable."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import KernelSVC, LinearSVC, SparseKernelSVC

MACHINES = {
    "newton": LinearSVC(C=0.1, solver="newton"),
    "dual": LinearSVC(C=0.1, solver="dual"),
    "ocas": LinearSVC(C=0.1, solver="ocas"),
    "kernel": KernelSVC(),
    "kernel-ovo": KernelSVC(multi_class="ovo"),
    "kernel-cached": KernelSVC(memory=100_000),
    "sparse-kernel": SparseKernelSVC(n_basis=20),
}


def rows(classes=2, n=400):
    X, y = make_classification(n, 8, n_informative=5, n_classes=classes, flip_y=0.1, random_state=0)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


def calibrated(name, probability=True, **parameters):
    return clone(MACHINES[name]).set_params(probability=probability, **parameters)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", MACHINES)
def test_labels_are_the_most_probable_and_about_as_good_as_cross_validation(machine, classes):
    X, y, X_test, y_test = rows(classes)
    model = calibrated(machine).fit(X, y)
    P = model.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X_test))
    peer = CalibratedClassifierCV(clone(MACHINES[machine]), cv=5).fit(X, y)
    assert log_loss(y_test, P) < log_loss(y_test, peer.predict_proba(X_test)) + 0.03


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("machine", ["newton", "kernel", "sparse-kernel"])
def test_probabilities_are_kept(machine, method, tmp_path):
    X, y, X_test, _ = rows(3)
    model = calibrated(machine, method).fit(X, y)
    assert model.model_.calibration.method == method
    model.save(tmp_path / "kept.model")
    for again in (maxmargin.load(tmp_path / "kept.model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
        assert again.probability == method


def test_without_them_the_error_says_how_to_get_them():
    X, y, *_ = rows()
    model = LinearSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="fit it with probability=True"):
        model.predict_proba(X)
    assert hasattr(LinearSVC(probability=True), "predict_proba")


def test_the_machine_itself_is_the_same_with_probabilities():
    X, y, *_ = rows()
    plain, model = LinearSVC().fit(X, y), LinearSVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.model_.margins(X), plain.decision_function(X))


@pytest.mark.parametrize("machine", ["newton", "kernel"])
def test_a_weight_of_two_is_the_row_twice(machine):
    X, y, X_test, _ = rows()
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = calibrated(machine).fit(X, y, sample_weight=weight)
    repeated = calibrated(machine).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.predict_proba(X_test), repeated.predict_proba(X_test), rtol=2e-2, atol=2e-3
    )


def test_class_weights_move_the_probabilities_with_the_machine():
    X, y, X_test, _ = rows()
    plain = LinearSVC(probability=True).fit(X, y)
    heavy = LinearSVC(probability=True, class_weight={1: 20}).fit(X, y)
    assert heavy.predict_proba(X_test)[:, 1].mean() > plain.predict_proba(X_test)[:, 1].mean() + 0.1


def test_a_file_is_calibrated_and_predicted(tmp_path):
    X, y, X_test, y_test = rows(n=200)
    maxmargin.data.save(maxmargin.data.Dataset(X, y.astype(float)), tmp_path / "rows.svm")
    model = LinearSVC(probability=True).fit(tmp_path / "rows.svm")
    in_memory = LinearSVC(probability=True).fit(X, y)
    ours = log_loss(y_test, model.predict_proba(X_test))
    assert ours == pytest.approx(log_loss(y_test, in_memory.predict_proba(X_test)), abs=0.05)
    np.testing.assert_allclose(
        model.predict_proba(tmp_path / "rows.svm"), model.predict_proba(X), atol=1e-6
    )


@pytest.mark.parametrize("machine", ["newton", "kernel", "sparse-kernel"])
def test_a_fit_that_was_stopped_is_calibrated_on_its_own_scores_and_says_so(machine):
    X, y, *_ = rows()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = calibrated(machine, max_time=1e-9).fit(X, y)
    assert any("the fit was stopped" in str(warning.message) for warning in said)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_class_of_one_row_is_calibrated_on_its_own_score_and_that_is_said():
    X, y, *_ = rows()
    y = y.copy()
    y[0] = 2
    with pytest.warns(UserWarning, match="no row of class 2 was held out"):
        model = LinearSVC(probability=True).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 3)


def test_a_map_that_is_none_is_refused():
    X, y, *_ = rows()
    with pytest.raises(ValueError, match="probability must be"):
        LinearSVC(probability="platt").fit(X, y)


@pytest.mark.filterwarnings("ignore:no row of class:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVC(probability=True), KernelSVC(probability=True, n_jobs=1)])
def test_scikit_learn_convention(estimator, check):
    check(estimator)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_row_a_class_leaves_none_to_hold_out(machine, classes):
    """Whose probabilities come from the machine's own scores."""
    X = np.random.default_rng(0).normal(size=(classes, 2))
    model = clone(machine).set_params(probability=True).fit(X, np.arange(classes))
    p = model.predict_proba(X)
    assert p.shape == (classes, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
