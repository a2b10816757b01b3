"""uint8, int8 and bool arrays are read where they lie, and mean what the same floats mean."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.data.arrays import ArrayRows

TYPES = [np.uint8, np.int8, np.bool_]


def rows_of(dtype, order, n=300, d=7):
    rng = np.random.default_rng(0)
    least, most = {np.uint8: (0, 256), np.int8: (-128, 128), np.bool_: (0, 2)}[dtype]
    return rng.integers(least, most, size=(n, d)).astype(dtype, order=order)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_floats(dtype, order):
    X, rng = rows_of(dtype, order), np.random.default_rng(1)
    ours, floats = ArrayRows(X, 0.5), ArrayRows(X.astype(float, order="C"), 0.5)
    w, v = rng.normal(size=ours.width), rng.normal(size=ours.n)
    np.testing.assert_allclose(ours.matvec(w), floats.matvec(w), rtol=1e-12)
    np.testing.assert_allclose(ours.rmatvec(v), floats.rmatvec(v), rtol=1e-12)
    np.testing.assert_array_equal(ours.squared_norms(), floats.squared_norms())
    np.testing.assert_allclose(ours.gram(v**2), floats.gram(v**2), rtol=1e-12)
    np.testing.assert_array_equal(
        ours.subsample(3).squared_norms(), floats.subsample(3).squared_norms()
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "make",
    [
        lambda: maxmargin.LinearSVC(C=1e-4, solver="newton"),
        lambda: maxmargin.LinearSVC(C=1e-4, solver="dual"),
        lambda: maxmargin.LinearSVC(C=1e-4, solver="ocas"),
        lambda: maxmargin.KernelSVC(),
        lambda: maxmargin.KernelSVC(kernel="poly", degree=2, memory=200_000),
        lambda: maxmargin.KernelSVC(kernel=lambda a, b: (a @ b.T + 1) ** 2, C=1e-6),
        lambda: maxmargin.SparseKernelSVC(n_basis=5, basis="cholesky"),
        lambda: maxmargin.StreamSVC(C=1e-4),
        lambda: maxmargin.MeasureSVC(measure="roc_auc", C=1e-4),
    ],
)
def test_a_fit_is_that_of_floats(dtype, make):
    X = rows_of(dtype, "C")
    y = X.astype(float) @ np.arange(1, 8) > np.median(X.astype(float) @ np.arange(1, 8))
    ours, floats = make().fit(X, y), make().fit(X.astype(float), y)
    assert ours.certificate_.primal == pytest.approx(floats.certificate_.primal, rel=2e-3)
    np.testing.assert_allclose(
        ours.decision_function(X), ours.decision_function(X.astype(float)), rtol=1e-6, atol=1e-9
    )
    assert np.mean(ours.predict(X) == floats.predict(X)) > 0.97


def test_a_model_of_small_integers_is_kept(tmp_path):
    X = rows_of(np.uint8, "C")
    model = maxmargin.KernelSVC().fit(X, X[:, 0] > 100)
    model.save(tmp_path / "kept.model")
    again = maxmargin.load(tmp_path / "kept.model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


SCRIPT = """
import json, sys, warnings
import numpy as np
from maxmargin import LinearSVC
warnings.simplefilter("ignore")

def peak():
    with open("/proc/self/status") as status:
        return 1024 * int(next(s for s in status if s.startswith("VmHWM")).split()[1])

n, d = 40_000, 784
rng = np.random.default_rng(0)
X = np.empty((n, d), np.uint8)
for begin in range(0, n, 1000):
    X[begin:begin + 1000] = rng.integers(0, 256, size=(1000, d), dtype=np.uint8)
y = X[:, :392].sum(axis=1, dtype=np.int64) > X[:, 392:].sum(axis=1, dtype=np.int64)
machine = LinearSVC(C=1e-7, solver="dual", n_jobs=1, max_iter=2)
warm = np.zeros((4, 2), np.uint8); warm[:2] = 1
machine.fit(warm, [0, 0, 1, 1]).predict(warm)  # imports are not the fit's
model = machine.fit(X, y) if sys.argv[1] == "predict" else None
before = peak()
if model is None:
    machine.fit(X, y)
else:
    model.predict(X)
print(json.dumps({"size": X.nbytes, "added": peak() - before}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is in /proc")
@pytest.mark.parametrize("what, most", [("dual", 0.2), ("predict", 0.1)])
def test_no_float_copy_is_made(what, most):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["added"] < most * found["size"]
