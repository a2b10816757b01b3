"""LinearSVCCV: the C that a plain search would find, by warm starts."""

import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

import maxmargin
from maxmargin import LinearSVC, LinearSVCCV
from maxmargin.problem import Status
from maxmargin.solvers.table import SOLVERS

CS = [0.001, 0.01, 0.1, 1.0, 10.0]


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    scores = X[:, :3] + rng.normal(size=(150, 3))
    return X, np.array(["ant", "bee", "cat"])[scores.argmax(axis=1)]


@pytest.mark.parametrize("solver", ["newton", "dual", "ocas", "cpa"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_scores_are_those_of_a_grid_search(three, solver, sparse):
    X, y = three
    X = sp.csr_matrix(X) if sparse else X
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    ours = LinearSVCCV(CS, cv=folds, solver=solver, tol=1e-7, n_jobs=1).fit(X, y)
    search = GridSearchCV(LinearSVC(solver=solver, tol=1e-7, n_jobs=1), {"C": CS}, cv=folds)
    search.fit(X, y)
    theirs = [[search.cv_results_[f"split{k}_test_score"][j] for j in range(5)] for k in range(3)]
    np.testing.assert_allclose(ours.scores_, theirs, atol=1e-12)
    assert search.best_params_["C"] == ours.C_
    np.testing.assert_allclose(ours.coef_, search.best_estimator_.coef_, atol=5e-3)
    np.testing.assert_array_equal(ours.predict(X), search.predict(X))


def test_the_refitted_model_is_certified(three):
    X, y = three
    model = LinearSVCCV(CS, cv=3, tol=1e-5).fit(X, y)
    alone = LinearSVC(C=model.C_, tol=1e-5).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    for ours, theirs in zip(model.certificates_, alone.certificates_):
        assert ours.primal == pytest.approx(theirs.primal, rel=2e-5)


@pytest.mark.parametrize(
    "cv",
    [3, KFold(3), [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]],
)
def test_folds_of_any_kind(three, cv):
    model = LinearSVCCV(CS, cv=cv).fit(*three)
    assert model.scores_.shape == (2 if isinstance(cv, list) else 3, 5)
    assert model.C_ in CS


def test_the_default_grid(three):
    model = LinearSVCCV(Cs=4, cv=2).fit(*three)
    np.testing.assert_allclose(model.Cs_, np.geomspace(1e-4, 1e4, 4))
    assert model.Cs_[np.argmax(model.scores_.mean(axis=0))] == model.C_


def test_weights_of_rows_count_in_training_and_scores(three):
    X, y = three
    weight = np.random.default_rng(1).integers(0, 3, size=150).astype(float)
    folds = [(np.arange(75), np.arange(75, 150)), (np.arange(75, 150), np.arange(75))]
    model = LinearSVCCV([0.1, 1.0], cv=folds, tol=1e-7).fit(X, y, sample_weight=weight)
    for k, (train, test) in enumerate(folds):
        for j, C in enumerate([0.1, 1.0]):
            alone = LinearSVC(C=C, tol=1e-7).fit(X[train], y[train], sample_weight=weight[train])
            expected = alone.score(X[test], y[test], sample_weight=weight[test])
            assert model.scores_[k, j] == pytest.approx(expected, abs=1e-12)


def test_clones_pickles_and_files(three, tmp_path):
    X, y = three
    model = LinearSVCCV(CS, cv=3)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.save(tmp_path / "model")
    loaded = maxmargin.load(tmp_path / "model")
    assert loaded.C == model.C_
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("Cs", [0, -1, [], [0.0, 1.0], [-1.0], [np.nan], [np.inf]])
def test_impossible_grids_are_refused(three, Cs):
    with pytest.raises(ValueError, match="Cs must be"):
        LinearSVCCV(Cs, cv=2).fit(*three)


def test_too_many_folds_are_refused(three):
    with pytest.raises(ValueError, match="cannot make 1000 folds"):
        LinearSVCCV(cv=1000).fit(*three)


def test_one_class_is_refused(three):
    with pytest.raises(ValueError, match="class"):
        LinearSVCCV(cv=2).fit(three[0], np.ones(150))


def test_a_limit_applies_to_every_fit(three):
    with pytest.warns(ConvergenceWarning):
        model = LinearSVCCV([1.0], cv=2, solver="cpa", tol=1e-10, max_iter=2).fit(*three)
    assert model.certificate_.status is Status.MAX_ITER


def test_an_interrupt_as_a_fit_ends_is_not_lost(three, monkeypatch):
    newton, fits = SOLVERS["newton"], []

    def solve_then_interrupt(*problem):
        solution = newton.solve(*problem)
        fits.append(solution.certificate.status)
        signal.raise_signal(signal.SIGINT)
        return solution

    monkeypatch.setitem(SOLVERS, "newton", replace(newton, solve=solve_then_interrupt))
    with pytest.raises(KeyboardInterrupt, match=r"C = 0\.1"):
        LinearSVCCV([0.1, 1.0], cv=2, solver="newton", n_jobs=1).fit(*three)
    assert fits[0] is Status.OPTIMAL  # it had its answer when the interrupt came
    assert len(fits) <= 3  # the problems of one fit
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_callback_that_says_stop_is_no_interrupt(three):
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = LinearSVCCV([0.1, 1.0], cv=2, callback=lambda progress: True).fit(*three)
    assert model.certificate_.status is Status.CALLBACK
