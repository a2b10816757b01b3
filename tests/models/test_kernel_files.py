"""Kernel models in files of ours and of LIBSVM."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_iris, make_moons

from maxmargin.models import KernelModel, load_model, save
from maxmargin.models.libsvm_text import write
from maxmargin.training.folds import stratified_folds
from maxmargin.training.kernel import train

from ..plans import kernel_plan

MOONS = make_moons(120, noise=0.2, random_state=0)
IRIS = load_iris(return_X_y=True)


def trained(X, y, **plan):
    return train(X, y, kernel_plan(C=2.0, **plan)).model


# ---------------------------------------------------------------- our files


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_models_come_back_equal(tmp_path, kernel):
    X, y = MOONS
    X = X @ X.T if kernel == "precomputed" else X
    model = trained(X, y, kernel=kernel, gamma=0.5)
    save(model, tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert isinstance(back, KernelModel)
    assert back.kernel == model.kernel and back.certificates == model.certificates
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert np.array_equal(back.predict(X), model.predict(X))


def damaged(path, change):
    tensors = load_file(path)
    length = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + length])["__metadata__"]["maxmargin"]
    content = json.loads(header)
    change(tensors, content["content"])
    save_file(tensors, path, metadata={"maxmargin": json.dumps(content)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, c: t.pop("coefficients"), "coefficients is missing"),
        (lambda t, c: t.update(support=t["support"][1:]), "do not fit"),
        (lambda t, c: t.update(coefficients=t["coefficients"] * np.nan), "NaN"),
        (lambda t, c: c.update(n_features="2"), "its n_features is"),
        (lambda t, c: c.update(multi_class="all"), "one of ovr, ovo"),
        (lambda t, c: c["kernel"].update(gamma=-1), "gamma must be"),
        (lambda t, c: c["kernel"].update(name="os.system"), "kernel must be one of"),
        (lambda t, c: c.update(kernel=None), "kernel is missing"),
        (lambda t, c: c.update(certificates=[{}]), "certificate is damaged"),
        (lambda t, c: t.update({"vectors.indices": t["vectors.indices"] + 5}), "contradict"),
        (lambda t, c: t.update({"vectors.starts": t["vectors.starts"][::-1].copy()}), "contradict"),
        (lambda t, c: c["classes"].update(values=[0, 1, 2]), "do not fit"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    X, y = MOONS
    save(trained(sp.csr_matrix(X), y), tmp_path / "m")
    damaged(tmp_path / "m", change)
    with pytest.raises(ValueError, match=f"cannot load .*{message}"):
        load_model(tmp_path / "m")


# ---------------------------------------------------------------- LIBSVM's


def libsvm_predict(path, X):
    """What svm-predict does with a model file, from LIBSVM's documentation of the format."""
    header, vectors = path.read_text().split("SV\n")
    facts = dict(line.split(" ", 1) for line in header.splitlines())
    labels = [int(v) for v in facts["label"].split()]
    counts = [int(v) for v in facts["nr_sv"].split()]
    k, lines = len(labels), vectors.splitlines()
    assert len(lines) == int(facts["total_sv"]) == sum(counts)
    coefficients = np.array([[float(v) for v in line.split()[: k - 1]] for line in lines])
    Z = np.zeros((len(lines), X.shape[1]))
    for row, line in zip(Z, lines):
        for word in line.split()[k - 1 :]:
            i, v = word.split(":")
            row[int(i) - 1] = float(v)
    G = X @ Z.T
    gamma = float(facts.get("gamma", 1))
    K = {
        "linear": lambda: G,
        "polynomial": lambda: (gamma * G + float(facts["coef0"])) ** int(facts["degree"]),
        "rbf": lambda: np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(-1)),
    }[facts["kernel_type"]]()
    starts = np.concatenate([[0], np.cumsum(counts)])
    votes = np.zeros((len(X), k))
    for a in range(k):
        for b in range(a + 1, k):
            first, second = slice(*starts[a : a + 2]), slice(*starts[b : b + 2])
            f = K[:, first] @ coefficients[first, b - 1] + K[:, second] @ coefficients[second, a]
            votes[:, a] += f > 0
            votes[:, b] += f <= 0
    return np.array(labels)[np.argmax(votes, axis=1)]


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_libsvm_text_predicts_the_same(tmp_path, kernel):
    X, y = MOONS
    model = trained(X, y, kernel=kernel, coef0=1.0)
    write(model, tmp_path / "m")
    assert np.array_equal(libsvm_predict(tmp_path / "m", X), model.predict(X))
    assert "rho 0\n" in (tmp_path / "m").read_text()


@pytest.mark.parametrize("sparse", [False, True])
def test_libsvm_text_holds_one_vs_one(tmp_path, sparse):
    X, y = IRIS
    rows = sp.csr_matrix(X) if sparse else X
    model = trained(rows, y, multi_class="ovo", gamma=0.2)
    write(model, tmp_path / "m")
    same = libsvm_predict(tmp_path / "m", X) == model.predict(rows)
    assert same.mean() > 0.99  # LIBSVM breaks ties of votes by order, we by the predictions


@pytest.mark.parametrize(
    ("labels", "plan", "message"),
    [
        (lambda y: y, {"multi_class": "ovr"}, "one-vs-one models only"),
        (lambda y: y == 1, {"kernel": "laplacian"}, "no kernel 'laplacian'"),
        (lambda y: np.array(["a", "b"])[(y > 0).astype(int)], {}, "labels are integers"),
        (lambda y: np.where(y > 0, 0.5, 1.5), {}, "labels are integers"),
    ],
)
def test_what_libsvm_cannot_hold_is_refused(tmp_path, labels, plan, message):
    X, y = IRIS
    with pytest.raises(ValueError, match=message):
        write(trained(X, labels(y), **plan), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_random_folds_are_stratified_partitions():
    y = np.repeat(["a", "b"], [30, 12])
    folds = stratified_folds(y, 3, seed=1)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(42))
    assert all(np.sum(y[test] == "b") == 4 for _, test in folds)
    assert all(len(np.intersect1d(*fold)) == 0 for fold in folds)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_few_rows_and_many_get_the_same_scores(kernel, sparse):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5)) * (random.random((120, 5)) < 0.6)
    y = random.integers(0, 3, 120)
    rows = sp.csr_matrix(X) if sparse else X
    model = trained(rows, y, kernel=kernel, gamma=0.4)
    many = model.decision_function(rows)
    few = np.vstack([model.decision_function(rows[i : i + 2]) for i in range(0, 120, 2)])
    assert np.allclose(few, many, rtol=1e-6, atol=1e-6)  # the root of a tiny distance
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(rows[:2]), few[:2])
