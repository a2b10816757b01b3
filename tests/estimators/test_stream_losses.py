"""Streams of every pointwise loss: the optimum of the solvers in memory, whatever the memory."""

import numpy as np
import pytest

import maxmargin
from maxmargin import LinearSVC, LinearSVR, StreamSVC, StreamSVR, _core
from maxmargin.data import ArraySource
from maxmargin.data.errors import DataError
from maxmargin.losses.pointwise import LossSpec
from maxmargin.losses.table import losses_for

N, D, C = 400, 6, 0.5
PARAMETERS = {"epsilon": 0.1, "quantile": 0.3, "delta": 0.5}


@pytest.fixture(scope="module")
def labelled(svm):
    return svm.blobs(N, D, noise=0.5)


@pytest.fixture(scope="module")
def targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=D) + rng.normal(size=N) + 1.0


def blocks_of(X, y, share):
    """The rows in small blocks, and memory for this share of them in the cache."""
    source = ArraySource(X, y, block_bytes=1 << 10)
    return source, int(share * N * (8 * D + 64)) + 6 * source.largest_block + 4 * N + 1000


def agree(ours, theirs, tol):
    for own, exact in zip(ours.certificates_, theirs.certificates_, strict=True):
        assert own.status == "optimal"
        assert own.relative_gap <= tol
        assert exact.dual * (1 - 1e-9) <= own.primal <= exact.primal * (1 + 1.1 * tol)
        assert own.dual <= exact.primal * (1 + 1e-12)


def objective(model, loss, p):
    w = np.append(np.ravel(model.coef_), model.intercept_)
    return 0.5 * w @ w + loss.value(p)


@pytest.mark.parametrize("share", [0.1, 2.0])
@pytest.mark.parametrize("loss", losses_for("classification"))
def test_classes(labelled, loss, share):
    X, y = labelled
    source, memory = blocks_of(X, y, share)
    model = StreamSVC(C, loss=loss, tol=1e-4, memory=memory, deterministic=True).fit(source)
    agree(model, LinearSVC(C, loss=loss, tol=1e-8).fit(X, y), 1e-4)
    known = LossSpec(loss).on_margins(y, C, _core.Pool(1))
    P = objective(model, known, model.decision_function(X))
    assert model.certificate_.primal == pytest.approx(P, rel=1e-9)
    assert (model.history_[-1].cached < N) == (share < 1)


@pytest.mark.parametrize("share", [0.1, 2.0])
@pytest.mark.parametrize("loss", losses_for("regression"))
def test_real_values(targets, loss, share):
    X, t = targets
    source, memory = blocks_of(X, t, share)
    chosen = {"loss": loss, **PARAMETERS}
    model = StreamSVR(C, tol=1e-4, memory=memory, deterministic=True, **chosen).fit(source)
    agree(model, LinearSVR(C, tol=1e-8, **chosen).fit(X, t), 1e-4)
    known = LossSpec.of(loss, "regression", **PARAMETERS).on_targets(t, C, _core.Pool(1))
    P = objective(model, known, model.predict(X))
    assert model.certificate_.primal == pytest.approx(P, rel=1e-9)
    assert (model.history_[-1].cached < N) == (share < 1)


def test_several_quantiles_in_the_same_passes(targets):
    X, t = targets
    source, memory = blocks_of(X, t, 0.5)
    chosen = {"loss": "quantile", "quantile": [0.1, 0.5, 0.9], "non_crossing": True}
    model = StreamSVR(C, tol=1e-3, memory=memory + 10_000, **chosen).fit(source)
    agree(model, LinearSVR(C, tol=1e-7, **chosen).fit(X, t), 1e-3)
    assert model.coef_.shape == (3, D)
    assert (np.diff(model.predict(X), axis=1) >= 0).all()


def test_weights_equal_repetition(targets):
    X, t = targets
    weight = np.random.default_rng(1).integers(0, 3, N)
    weighted = StreamSVR(C, loss="huber", tol=1e-6).fit(X, t, sample_weight=weight.astype(float))
    repeated = StreamSVR(C, loss="huber", tol=1e-6).fit(
        np.repeat(X, weight, axis=0), np.repeat(t, weight)
    )
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_the_logistic_loss(labelled, classes, tmp_path):
    X, _ = labelled
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5][: classes - 1])
    model = StreamSVC(loss="logistic", tol=1e-6).fit(X, y)
    exact = LinearSVC(loss="logistic", tol=1e-8).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p, exact.predict_proba(X), atol=0.01)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(maxmargin.load(tmp_path / "model").predict_proba(X), p)


def test_other_losses_have_no_probabilities(labelled):
    model = StreamSVC().fit(*labelled)
    with pytest.raises(AttributeError, match="loss='logistic'"):
        model.predict_proba(labelled[0])


def test_a_regression_saves_and_loads(targets, tmp_path):
    X, t = targets
    model = StreamSVR(C, loss="expectile", quantile=[0.2, 0.8], features="pairs:bits=6").fit(X, t)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert isinstance(again, StreamSVR)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificates_ == model.certificates_
    assert (again.loss, again.quantile) == ("expectile", [0.2, 0.8])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["squared", "quantile"])
def test_a_regression_goes_on_from_its_checkpoint(targets, tmp_path, loss):
    X, t = targets
    path = tmp_path / "state"
    source, memory = blocks_of(X, t, 0.1)
    chosen = {"loss": loss, "memory": memory, "deterministic": True, "checkpoint": path}
    begun = StreamSVR(C, tol=1e-5, max_iter=6, **chosen).fit(source)
    assert begun.certificate_.status == "max_iter"
    ended = StreamSVR(C, tol=1e-4, **chosen).fit(source)
    agree(ended, LinearSVR(C, loss=loss, tol=1e-8).fit(X, t), 1e-4)
    assert ended.n_iter_ > 6
    with pytest.raises(DataError, match="another run"):
        StreamSVR(C, **(chosen | {"loss": "huber"})).fit(source)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "hinge"},
        {"loss": "quantile", "quantile": 1.0},
        {"epsilon": -1.0},
        {"loss": "huber", "delta": 0.0},
    ],
)
def test_parameters_that_make_no_regression_are_refused(targets, wrong):
    with pytest.raises(ValueError):
        StreamSVR(**wrong).fit(*targets)


def test_a_loss_of_residuals_is_none_of_classes(labelled):
    with pytest.raises(ValueError, match="loss"):
        StreamSVC(loss="huber").fit(*labelled)


def test_words_are_no_targets(targets, tmp_path):
    X, t = targets
    words = np.where(t > 0, "high", "low")
    with pytest.raises(ValueError):
        StreamSVR().fit(ArraySource(X, words))
