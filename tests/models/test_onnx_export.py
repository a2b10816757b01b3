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


def of_three(X):
    return np.digitize(X[:, 0], [-0.4, 0.4])


OTHERS = {
    "ranking": lambda X, mm: mm.RankSVM().fit(X, of_three(X)),
    "ranking on a basis": lambda X, mm: mm.SparseKernelRankSVM(n_basis=4).fit(X, of_three(X)),
    "three in order": lambda X, mm: mm.OrdinalSVC().fit(X, of_three(X)),
    "two in order": lambda X, mm: mm.OrdinalSVC().fit(X, X[:, 0] > 0),
    "words in order": lambda X, mm: mm.OrdinalSVC(order=["low", "fair", "best"]).fit(
        X, np.array(["low", "fair", "best"])[of_three(X)]
    ),
    "order on a basis": lambda X, mm: mm.SparseKernelOrdinalSVC(n_basis=4).fit(X, of_three(X)),
    "several labels": lambda X, mm: mm.LinearSVC().fit(X, (X[:, :2] > 0).astype(int)),
    "probable labels": lambda X, mm: mm.LinearSVC(loss="logistic").fit(X, (X[:, :2] > 0) * 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_rankings_orders_and_several_labels_are_the_same_there(name, X, tmp_path):
    import maxmargin

    model = OTHERS[name](X, maxmargin)
    to_onnx(model, tmp_path / "m.onnx", input_type="float64")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, {"X": X})))
    np.testing.assert_allclose(found["scores"], model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert ("label" in found) == ("ranking" not in name)
    if "label" in found:
        np.testing.assert_array_equal(found["label"], model.predict(X))
    if name == "probable labels":
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9)
