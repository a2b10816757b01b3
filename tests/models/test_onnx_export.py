import dataclasses
import sys

import numpy as np
import pytest

from maxmargin.models.onnx_export import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def run(path, X):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["binary", "multiclass"])
def test_onnxruntime_gives_the_same_labels_and_scores(name, dtype, request, X, tmp_path):
    model = request.getfixturevalue(name)
    X = X.astype(dtype)
    to_onnx(model, tmp_path / "m.onnx", input_type=dtype)
    labels, scores = run(tmp_path / "m.onnx", X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [["no", "yes"], [0.5, 1.5]])
def test_labels_keep_their_kind(binary, classes, X, tmp_path):
    model = dataclasses.replace(binary, classes=np.array(classes))
    to_onnx(model, tmp_path / "m.onnx")
    labels, _ = run(tmp_path / "m.onnx", X.astype(np.float32))
    np.testing.assert_array_equal(labels, model.predict(X.astype(np.float32)))


def test_a_missing_onnx_package_is_named(binary, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"maxmargin\[onnx\]"):
        to_onnx(binary, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_an_unknown_input_type_is_refused(binary, tmp_path):
    with pytest.raises(ValueError, match="'int8'"):
        to_onnx(binary, tmp_path / "m.onnx", input_type="int8")


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", ["LinearSVC", "SparseKernelSVC"])
def test_probabilities_are_those_of_the_model(machine, classes, method, X, tmp_path):
    import maxmargin

    y = (X[:, 0] * 3).round().astype(int) % classes
    model = getattr(maxmargin, machine)(probability=method).fit(X, y)
    to_onnx(model, tmp_path / "m.onnx", input_type="float64")
    labels, scores = run(tmp_path / "m.onnx", X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-8, atol=1e-8)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (P,) = session.run(["probabilities"], {"X": X})
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=1e-7, atol=1e-9)
