"""Kernel machines as ONNX: labels and scores are those of the model."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from maxmargin import KernelSVC, KernelSVCCV, LinearSVR, StreamSVR
from maxmargin.models.onnx_export import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
MOONS = make_moons(300, noise=0.2, random_state=0)
IRIS = load_iris(return_X_y=True)


def run(model, path, X):
    to_onnx(model, path, input_type="float64")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": np.asarray(X, dtype=np.float64)})


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_kernel_machines(tmp_path, kernel):
    X, y = MOONS
    model = KernelSVC(kernel=kernel, gamma=1.0).fit(X, y)
    label, scores = run(model, tmp_path / "m.onnx", X)
    assert np.allclose(scores, model.decision_function(X), atol=1e-6)
    assert np.mean(label == model.predict(X)) > 0.99


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes(tmp_path, multi_class):
    X, y = IRIS
    model = KernelSVC(multi_class=multi_class).fit(X, y)
    label, scores = run(model, tmp_path / "m.onnx", X)
    assert np.allclose(scores, model.decision_function(X), atol=1e-7)
    assert np.array_equal(label, model.predict(X))


@pytest.mark.parametrize("rows", [MOONS, IRIS], ids=["two", "three"])
@pytest.mark.parametrize("size", [60, 1000])
def test_cells(tmp_path, rows, size):
    X, y = rows
    model = KernelSVCCV(Cs=[1.0], gammas=[0.5, 2.0], cv=2, cells=size).fit(X, y)
    far = np.vstack([X, 3 * X])
    label, scores = run(model, tmp_path / "m.onnx", far)
    assert np.allclose(scores, model.decision_function(far), atol=1e-7)
    assert np.array_equal(label[: len(X)], model.predict(X))  # far away all scores are about 0


@pytest.mark.parametrize("quantile", [0.5, [0.1, 0.9]])
def test_linear_regressions(tmp_path, quantile):
    X = MOONS[0]
    model = LinearSVR(loss="quantile", quantile=quantile, non_crossing=True).fit(X, X[:, 0])
    (values,) = run(model, tmp_path / "m.onnx", X)
    assert values.shape == model.predict(X).shape and np.allclose(values, model.predict(X))


def test_features_made_on_the_fly_are_not_left_out(tmp_path):
    X = MOONS[0]
    model = StreamSVR(features="pairs").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="features on the fly"):
        to_onnx(model, tmp_path / "m.onnx")


def test_what_onnx_cannot_hold(tmp_path):
    X, y = IRIS
    model = KernelSVC(multi_class="ovo", cells=1000).fit(X, y)
    with pytest.raises(ValueError, match="one-vs-one machines cannot be written"):
        to_onnx(model, tmp_path / "m.onnx")
    given = KernelSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="needs a kernel by name"):
        to_onnx(given, tmp_path / "m.onnx")
