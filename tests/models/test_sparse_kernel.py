"""Sparse kernel models: files, exports, and files from strangers."""

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin.models import SparseKernelModel, load_model, save
from maxmargin.models.onnx_export import to_onnx
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.training.subspace import train

from ..plans import sparse_kernel_plan


def rings(classes=2, n=240, seed=0):
    rng = np.random.default_rng(seed)
    radius, angle = rng.integers(classes, size=n), 2 * np.pi * rng.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + radius[:, None])
    return X + 0.1 * rng.normal(size=X.shape), radius


def trained(classes=2, names=None, sparse=False, dtype=np.float64, **plan):
    X, y = rings(classes)
    X = X.astype(dtype)
    X = sp.csr_matrix(X) if sparse else X
    y = y if names is None else np.array(names)[y]
    plan = {"n_basis": 12, "C": 10.0, "gamma": 1.0} | plan
    return X, y, train(X, y, sparse_kernel_plan(**plan)).model


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_comes_back_from_its_file(tmp_path, classes, dtype):
    X, _, model = trained(classes, names=["a", "b", "c"], dtype=dtype)
    save(model, tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert np.array_equal(back.vectors, model.vectors)
    assert back.vectors.dtype == dtype
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.certificates == model.certificates
    assert back.bounds == model.bounds
    assert maxmargin.load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()


def test_sparse_basis_vectors_come_back_sparse(tmp_path):
    _, _, model = trained()
    vectors = sp.csr_matrix(np.eye(12, 40))
    model = SparseKernelModel(model.kernel, vectors, model.coefficients, model.classes)
    save(model, tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert sp.issparse(back.vectors)
    assert (back.vectors != vectors).nnz == 0
    X = sp.random(30, 40, density=0.1, format="csr", random_state=0)
    assert np.allclose(back.decision_function(X), model.decision_function(X.toarray()), atol=1e-6)


def test_equal_models_give_equal_files(tmp_path):
    for name in "ab":
        save(
            SparseKernelModel(Kernel(), np.eye(2), np.ones((2, 1)), np.array([0, 1])),
            tmp_path / name,
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def rewritten(path, change):
    """The file with its metadata changed."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    meta = json.loads(header["__metadata__"]["maxmargin"])
    change(meta["content"])
    header["__metadata__"]["maxmargin"] = json.dumps(meta)
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + raw[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(n_features=3),
        lambda c: c.update(n_features=-1),
        lambda c: c.update(kernel={"name": "precomputed"}),
        lambda c: c.update(kernel={"name": "rbf", "gamma": -1, "degree": 3, "coef0": 0}),
        lambda c: c.update(kernel=None),
        lambda c: c.update(bounds=[[1, 2]]),
        lambda c: c.update(bounds=[["1", 2, 3]]),
        lambda c: c.update(bounds=[[-1, 2, 3]]),
        lambda c: c.update(certificates=[{}]),
        lambda c: c.update(certificates=None),
        lambda c: c.update(classes=None),
        lambda c: c.update(feature_names=["x"]),
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path, change):
    _, _, model = trained()
    save(model, tmp_path / "m")
    rewritten(tmp_path / "m", change)
    with pytest.raises(ValueError, match="cannot load"):
        load_model(tmp_path / "m")


def test_rows_of_another_width_are_refused():
    _, _, model = trained()
    with pytest.raises(ValueError, match=r"shape \(1, 3\).* 2 features"):
        model.predict(np.ones((1, 3)))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "laplacian"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("input_type", ["float32", "float64"])
def test_onnx_gives_the_same_labels_and_scores(tmp_path, kernel, classes, input_type):
    runtime = pytest.importorskip("onnxruntime")
    basis = "training" if kernel == "laplacian" else "free"
    X, _, model = trained(classes, kernel=kernel, basis=basis, coef0=1.0, n_basis=6)
    X = X.astype(input_type)
    to_onnx(model, tmp_path / "m.onnx", input_type)
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    label, scores = session.run(None, {"X": X})
    wanted = model.decision_function(X)
    assert np.allclose(scores, wanted, atol=1e-4 * max(1.0, np.abs(wanted).max()))
    sure = np.abs(wanted) > 1e-3 if classes == 2 else np.ones(len(X), dtype=bool)
    assert np.array_equal(label[sure], model.predict(X)[sure])
