from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import f1_score, fbeta_score, roc_auc_score
from tests.refute.arithmetic import Measure as Loss

import maxmargin
from maxmargin import MeasureSVC, SparseKernelSVC
from maxmargin.losses import MEASURES
from maxmargin.training.scores import best_cut


def problem(n=500, d=5, seed=0, positives=0.25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, (score > np.quantile(score, 1 - positives)).astype(int)


def parameters_of(measure, k=0.1, beta=2.0):
    """Those that it has."""
    return {"k": k} if measure.endswith("_at_k") else {"beta": beta} if measure == "fbeta" else {}


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_trains_and_scores_itself(measure):
    X, y = problem()
    model = MeasureSVC(measure, C=1.0, **parameters_of(measure)).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert 0 <= model.score(X, y) <= 1
    p, scores = model.predict(X), model.decision_function(X)
    if measure == "f1":
        assert model.score(X, y) == f1_score(y, p)
    if measure == "fbeta":
        assert model.score(X, y) == fbeta_score(y, p, beta=2.0)
    if measure == "roc_auc":
        assert model.score(X, y) == roc_auc_score(y, scores)
    if measure == "error":
        assert model.score(X, y) == np.mean(p == y)
    top = np.argsort(-scores)
    if measure == "prbep":
        assert model.score(X, y) == pytest.approx(y[top[: y.sum()]].mean())
        assert p.sum() == y.sum()
    if measure == "precision_at_k":
        assert model.score(X, y) == pytest.approx(y[top[:50]].mean())
        assert p.sum() == 50
    if measure == "recall_at_k":
        assert model.score(X, y) == pytest.approx(y[top[:50]].sum() / y.sum())


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"measure": "f1", "k": 10}, "k is for 'precision_at_k' and 'recall_at_k'; this is 'f1'"),
        ({"measure": "roc_auc", "k": 0.5}, "k is for .*; this is 'roc_auc'"),
        ({"measure": "f1", "beta": 2.0}, "beta is for 'fbeta'; this is 'f1'"),
        ({"measure": "recall_at_k", "k": 5, "beta": 0.5}, "beta is for 'fbeta'"),
    ],
)
def test_parameters_of_another_measure_are_refused(parameters, sentence):
    """``measure="f1", beta=2`` would train for F1."""
    X, y = problem(60)
    with pytest.raises(ValueError, match=sentence):
        MeasureSVC(**parameters).fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        parameters["loss"] = parameters.pop("measure")
        SparseKernelSVC(n_basis=5, **parameters).fit(X, y)


def test_training_for_f1_beats_training_for_errors_on_f1():
    X, y = problem(2000, positives=0.08)
    f1 = MeasureSVC("f1", C=0.1).fit(X, y).score(X, y)
    error = f1_score(y, MeasureSVC("error", C=0.1).fit(X, y).predict(X))
    assert f1 > error


@pytest.mark.parametrize("measure", ["precision_at_k", "recall_at_k", "f1", "prbep"])
def test_the_objective_can_be_computed_from_the_attributes(measure, tmp_path):
    """At k `intercept_` is the cut; the constant that was learned is told as well."""
    X, y = problem(60, 3)
    fitted = MeasureSVC(measure, **parameters_of(measure, 0.2), intercept_scaling=2.0).fit(X, y)
    fitted.save(tmp_path / "m")
    for model in (fitted, maxmargin.load(tmp_path / "m")):
        scores = X @ model.coef_[0] + model.learned_intercept_[0]
        squares = np.sum(model.coef_**2) + np.sum((model.learned_intercept_ / 2.0) ** 2)
        loss = Loss(measure, 2 * y - 1, 1.0, k=0.2).worst(scores)[0]
        assert model.certificate_.primal == pytest.approx(float(squares / 2 + loss))


def test_the_cut_is_as_near_to_the_number_taken_as_ties_allow():
    scores, weight = np.array([0.0, 1, 1, 1, 2]), np.ones(5)
    for taken, above in ((1, 1), (2, 1), (3, 4), (4, 4), (5, 5)):
        assert np.sum(scores > best_cut(scores, weight, taken)) == above
    assert np.sum(scores > best_cut(scores, weight, 0.2)) == 0
    assert np.sum(np.zeros(9) > best_cut(np.zeros(9), np.ones(9), 2.0)) == 0


def test_several_classes_one_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.array(["ant", "bee", "cat"])[rng.integers(0, 3, 300)]
    X = rng.normal(size=(300, 3)) + 2.0 * (y[:, None] == np.array(["ant", "bee", "cat"]))
    for measure in ("f1", "roc_auc"):
        model = MeasureSVC(measure, C=0.1).fit(X, y)
        assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
        assert len(model.certificates_) == 3
        assert np.mean(model.predict(X) == y) > 0.8
    macro = MeasureSVC("f1", C=0.1).fit(X, y)
    assert macro.score(X, y) == pytest.approx(f1_score(y, macro.predict(X), average="macro"))


@pytest.mark.parametrize("measure", ["precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("k", [0.05, 0.1, 0.25, 0.5])
def test_measures_at_any_k_find_the_order(measure, k):
    """Once they did so only for k near the number of positives."""
    X, y = problem(2000)
    at_k = MeasureSVC(measure, k=k, C=0.1).fit(X, y)
    error = MeasureSVC("error", C=0.1).fit(X, y)
    error.measure, error.k = measure, k
    assert at_k.score(X, y) >= error.score(X, y) - 0.02


def test_fractional_weights_count():
    X, y = problem()
    for measure in ("f1", "prbep", "precision_at_k"):
        more = parameters_of(measure)
        plain = MeasureSVC(measure, **more, C=0.1, tol=1e-5).fit(X, y)
        half = MeasureSVC(measure, **more, C=0.2, tol=1e-5)
        half.fit(X, y, sample_weight=np.full(500, 0.5))
        assert half.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-3)
        np.testing.assert_allclose(half.coef_, plain.coef_, atol=0.05)
        heavy = MeasureSVC(measure, **more, C=0.1, class_weight={1: 3.5}).fit(X, y)
        assert heavy.certificate_.relative_gap <= 1e-3


def test_learning_nothing_is_said():
    """With rare positives the bound on F1 is least at w = 0, and a certificate alone hides it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + 2 * rng.normal(size=2000) > 4).astype(int)
    assert 0 < y.sum() < 200
    with pytest.warns(UserWarning, match=r"nothing was learned.*'f1'.*measure='roc_auc'"):
        model = MeasureSVC("f1", C=0.1).fit(X, y)
    assert model.score(X, y) == 0
    with pytest.warns(UserWarning, match="nothing was learned.*larger C"):
        MeasureSVC("roc_auc", C=1e-9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MeasureSVC("roc_auc", C=0.1).fit(X, y).score(X, y) > 0.7


@pytest.mark.filterwarnings("ignore:nothing was learned")
def test_ties_share_their_places():
    X = np.zeros((4, 1))
    y = [0, 0, 0, 1]
    model = MeasureSVC("precision_at_k", k=2).fit(X, y)
    assert model.score(X, y) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measure": "auc"}, "measure must be one of f1, .*; got 'auc'"),
        ({"measure": "recall_at_k"}, "needs k"),
        ({"measure": "recall_at_k", "k": 1000}, "more than the 100 rows"),
        ({"measure": "fbeta", "beta": 0}, "beta must be a positive number; got 0"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be a positive number; got 0.0"),
    ],
)
def test_unusable_parameters_are_refused(parameters, message):
    X, y = problem(100)
    with pytest.raises(ValueError, match=message):
        MeasureSVC(**parameters).fit(X, y)


def test_measures_of_positives_need_some():
    X, y = problem(100)
    with pytest.raises(ValueError, match="one class only"):
        MeasureSVC().fit(X, np.zeros(100))
    model = MeasureSVC("prbep").fit(X, y)
    with pytest.raises(ValueError, match="needs positives"):
        model.score(X, np.zeros(100))


def test_no_intercept_when_none_is_wanted():
    X, y = problem()
    assert MeasureSVC(fit_intercept=False).fit(X, y).intercept_ == 0
    assert MeasureSVC(intercept_scaling=3.0).fit(X, y).intercept_ != 0
