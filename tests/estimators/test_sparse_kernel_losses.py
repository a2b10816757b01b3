"""Sparse kernel machines for every loss of labels: the linear optimum where the basis spans all
rows, and bounds that hold."""

import numpy as np
import pytest

from maxmargin import LinearSVC, MeasureSVC, SparseKernelSVC, load

MEASURES = {
    "f1": {},
    "fbeta": {"beta": 2.0},
    "prbep": {},
    "precision_at_k": {"k": 30},
    "recall_at_k": {"k": 0.3},
    "roc_auc": {},
    "error": {},
}


def rows(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0.5).astype(int)


def spanning(X, **parameters):
    """On basis vectors that span all that a linear kernel can do."""
    return SparseKernelSVC(
        X.shape[1], kernel="linear", basis="cholesky", bounds="exact", tol=1e-5, **parameters
    )


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_in_a_full_span_has_the_optimum_of_the_linear_machine(measure):
    X, y = rows()
    more = MEASURES[measure]
    linear = MeasureSVC(measure, C=0.3, tol=1e-5, fit_intercept=False, **more).fit(X, y)
    model = spanning(X, C=0.3, loss=measure, **more).fit(X, y)
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-5)
    assert model.certificate_.status == "optimal"
    assert model.exact_gap_ <= 1e-4 * model.certificate_.primal
    assert model.score(X, y) == pytest.approx(linear.score(X, y), abs=0.02)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_sum_over_rows_in_a_full_span_is_what_numpy_finds(loss, classes):
    X, y = rows()
    y = y + (X[:, 1] > 1) * (classes == 3)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = spanning(X, C=0.5, loss=loss).fit(X, y, sample_weight=weight)
    for k, certificate in enumerate(model.certificates_):
        signs = np.where(y == (k if classes > 2 else 1), 1.0, -1.0)
        margin = signs * model.to_model().problems(X)[:, k]
        values = {
            "hinge": np.maximum(0, 1 - margin),
            "squared_hinge": np.maximum(0, 1 - margin) ** 2,
            "logistic": np.logaddexp(0, -margin),
        }[loss]
        w = model.basis_vectors_.T @ model.dual_coef_[k]
        assert certificate.primal == pytest.approx(0.5 * w @ w + 0.5 * weight @ values, rel=1e-8)
        assert 0 <= certificate.dual <= certificate.primal
        assert certificate.relative_gap <= 1e-5
    assert model.exact_gap_ <= 1e-4 * sum(c.primal for c in model.certificates_)


def test_the_hinge_in_a_full_span_is_the_linear_svm():
    X, y = rows()
    linear = LinearSVC(C=0.5, tol=1e-6, fit_intercept=False).fit(X, y)
    model = spanning(X, C=0.5).fit(X, y)
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("loss", ["f1", "roc_auc", "logistic"])
def test_free_vectors_learn_what_no_line_can(loss, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (np.hypot(*X.T) < 0.5).astype(int)
    model = SparseKernelSVC(20, C=10.0, gamma=3.0, loss=loss, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.93
    assert 0 <= model.certificate_.dual <= model.certificate_.primal
    assert model.exact_gap_ >= model.certificate_.gap
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.loss == loss
    assert again.score(X, y) == model.score(X, y)


def test_scores_of_an_order_are_cut_where_as_many_rows_are_positive():
    X, y = rows()
    model = spanning(X, C=0.3, loss="prbep").fit(X, y)
    assert (model.predict(X) == 1).sum() == (y == 1).sum()
    assert model.intercept_.shape == (1,)


@pytest.mark.parametrize("loss", ["roc_auc", "hinge"])
def test_onnx_gives_the_same_scores(loss, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = rows()
    model = SparseKernelSVC(5, loss=loss, gamma=0.5).fit(X, y)
    model.export_onnx(tmp_path / "m.onnx", input_type="float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    label, scores = session.run(None, {"X": X})
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(X))


def test_an_unknown_loss_is_refused_with_those_there_are():
    X, y = rows()
    with pytest.raises(ValueError, match=r"loss must be one of hinge, .*roc_auc"):
        SparseKernelSVC(3, loss="squared").fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "roc_auc"])
@pytest.mark.parametrize("classes", [2, 3])
def test_vectors_are_added_until_planes_are_within_delta(loss, classes):
    X, y = rows(200, 2)
    y = y + (X[:, 1] > 1) * (classes == 3)
    sizes = []
    for delta in (8.0, 1.0):
        model = SparseKernelSVC(150, C=0.3, gamma=0.5, loss=loss, delta=delta, bounds="exact")
        model.fit(X, y)
        assert model.certificate_.status == "optimal"
        assert 0 < model.delta_ <= delta * 1.001
        sizes.append(model.n_basis_)
    assert sizes[0] < sizes[1] < 150
    few = SparseKernelSVC(3, C=0.3, gamma=0.5, loss=loss, delta=1.0).fit(X, y)
    assert few.n_basis_ == 3  # never more than asked for
    with pytest.raises(ValueError, match="delta"):
        SparseKernelSVC(delta=0.0).fit(X, y)


def test_free_vectors_leave_zero_where_the_labellings_of_f1_tie():
    """All labellings without a right positive cost the same at 0: each plane alone leads nowhere,
    and vectors that served one of them over and over were of no use."""
    rng = np.random.default_rng(0)
    X, centres = rng.uniform(-1, 1, (1000, 2)), rng.uniform(-1, 1, (20, 2))
    y = np.min(np.sum((X[:, None] - centres) ** 2, axis=2), axis=1) < 0.01
    model = SparseKernelSVC(20, C=1.0, gamma=8.0, loss="f1", random_state=0).fit(X, y)
    assert model.certificate_.primal < 0.99 * 1000
    assert model.score(X, y) > 0.5
