"""The same optimum as LIBLINEAR and scikit-learn find."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import LinearSVC as TheirLinearSVC

import maxmargin
from maxmargin.solvers.table import SOLVERS

REPOSITORY = Path(__file__).parents[2]


def liblinear_w(X, y, C, bias):
    """w of LIBLINEAR's L2-regularised L1-loss dual solver, the bias feature's weight last."""
    liblinear = pytest.importorskip("liblinear.liblinearutil", reason="no liblinear-official")
    options = f"-s 3 -c {C!r} -B {bias or -1!r} -e 1e-9 -q"
    model = liblinear.train(y, X, options)
    w = np.array(model.w[: X.shape[1] + (1 if bias else 0)])
    return w if model.get_labels()[0] == 1 else -w


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_optimum_is_that_of_liblinear(solver, bias, C, sparse, svm):
    X, y = svm.blobs(200, 12, sparse=sparse)
    theirs = svm.primal(X, y, liblinear_w(X, y, C, bias), C, bias)
    ours = svm.solve(solver, X, y, C, bias=bias, tol=1e-7).certificate
    assert ours.dual <= theirs * (1 + 1e-12)  # nobody gets below our bound
    # LIBLINEAR ends after 300 epochs, which are few for a large C; scikit-learn's copy can go on.
    assert ours.primal == pytest.approx(theirs, rel=1e-4 if C <= 0.1 else 5e-2)
    assert ours.primal <= theirs * (1 + 1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0])
def test_the_optimum_is_that_of_scikit_learn_without_intercept(solver, C, svm):
    X, y = svm.blobs(120, 8)
    weight = np.random.default_rng(0).integers(1, 4, size=120).astype(float)
    theirs = TheirLinearSVC(
        loss="hinge", fit_intercept=False, C=C, tol=1e-9, max_iter=1_000_000, random_state=0
    )
    theirs.fit(X, y, sample_weight=weight)
    ours = maxmargin.LinearSVC(C=C, fit_intercept=False, tol=1e-7, solver=solver)
    ours.fit(X, y, sample_weight=weight)
    P = svm.primal(X, y, theirs.coef_[0], C * weight)
    assert ours.certificate_.primal == pytest.approx(P, rel=2e-6)
    assert ours.certificate_.dual <= P * (1 + 1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)


def test_the_optimum_is_that_of_scikit_learn_with_intercept(svm):
    X, y = svm.blobs(200, 12)
    settings = {"C": 0.5, "intercept_scaling": 2.0}
    theirs = TheirLinearSVC(loss="hinge", tol=1e-9, max_iter=1_000_000, **settings).fit(X, y)
    ours = maxmargin.LinearSVC(tol=1e-7, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-3)


def test_three_classes_agree_with_scikit_learn(svm):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6))
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(200, 3)), axis=1)
    theirs = TheirLinearSVC(loss="hinge", C=0.2, tol=1e-9, max_iter=1_000_000).fit(X, y)
    ours = maxmargin.LinearSVC(C=0.2, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)


# ---------------------------------------------------------------- bundled and real data


@pytest.fixture(scope="module")
def adult():
    train, _ = maxmargin.data.load_demo()
    return train.X, np.where(train.y > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_all_solvers_agree_on_the_bundled_data(adult, C, svm):
    X, y = adult
    tols = {"newton": 1e-6, "dual": 1e-4, "ocas": 1e-3, "cpa": 1e-2}
    found = {s: svm.solve(s, X, y, C, bias=1.0, tol=t, threads=2) for s, t in tols.items()}
    best = found["newton"].certificate.primal
    for solver, solution in found.items():
        certificate = solution.certificate
        assert certificate.relative_gap <= tols[solver], solver
        assert certificate.dual <= best * (1 + 1e-12), solver
        assert best <= certificate.primal * (1 + 1e-6), solver


def real_data(name):
    folder = Path(os.environ.get("MAXMARGIN_DATA", REPOSITORY.parent / "shared" / "data"))
    for path in (folder / f"{name}.svm.xz", folder / f"{name}.svm"):
        if path.exists():
            return path
    pytest.skip(f"no {name}.svm here: set MAXMARGIN_DATA to a folder that has it")


@pytest.fixture(scope="module", params=["a9a", "ijcnn1"])
def real(request, tmp_path_factory):
    path = real_data(request.param)
    if path.suffix == ".xz":
        text = tmp_path_factory.mktemp("data") / path.stem
        text.write_bytes(lzma.decompress(path.read_bytes()))
        path = text
    read = maxmargin.data.open(path)
    return read.X, np.where(read.y > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_real_data_agrees_with_liblinear(real, C, svm):
    liblinear = pytest.importorskip("liblinear.liblinearutil", reason="no liblinear-official")
    X, y = real
    model = liblinear.train(y, X.astype(np.float64), f"-s 3 -c {C!r} -e 1e-3 -q")
    w = np.array(model.w[: X.shape[1]]) * (1 if model.get_labels()[0] == 1 else -1)
    theirs = w @ w / 2 + C * np.maximum(0, 1 - y * (X.astype(np.float64) @ w)).sum()
    for solver, tol in (("newton", 1e-6), ("dual", 1e-4 if C < 1 else 1e-3), ("ocas", 1e-3)):
        ours = svm.solve(solver, X, y, C, tol=tol, threads=2).certificate
        assert ours.relative_gap <= tol
        assert ours.dual <= theirs * (1 + 1e-12)
        assert ours.primal == pytest.approx(theirs, rel=2e-3)
