"""Fitting adds vectors, never a second copy of the data: peak memory of a fresh process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

if not Path("/proc/self/status").exists():
    pytest.skip("peak memory is read from /proc", allow_module_level=True)

SCRIPT = """
import json, sys
import numpy as np
import scipy.sparse as sp
from maxmargin import LinearSVC

def memory(field):
    with open("/proc/self/status") as status:
        return 1024 * int(next(s for s in status if s.startswith(field)).split()[1])

kind, solver = sys.argv[1:]
rng = np.random.default_rng(0)

def fill(array):
    for begin in range(0, len(array), 1 << 16):  # nothing larger than the array is ever made
        part = array[begin:begin + (1 << 16)]
        part[:] = rng.random(part.shape, dtype=np.float32)

n = 150_000
if kind == "csr":
    d, z = 400, 40
    data, indices = np.empty(n * z, np.float32), np.empty(n * z, np.int32)
    fill(data)
    base = np.arange(z, dtype=np.int32) * (d // z)
    for i in range(0, n, 1000):
        indices[i * z:(i + 1000) * z] = np.tile(base + i // 1000 % (d // z), 1000)
    X = sp.csr_matrix((data, indices, np.arange(0, n * z + 1, z, dtype=np.int32)), shape=(n, d))
    size = data.nbytes + indices.nbytes + X.indptr.nbytes
else:
    d = 100
    X = np.empty((n, d), np.float32, order=kind)
    fill((X if kind == "C" else X.T).reshape(-1))
    size = X.nbytes
y = rng.integers(0, 2, size=n).astype(float)
warm = np.zeros((4, 2)); warm[:2] = 1
LinearSVC(solver=solver).fit(warm, [0, 0, 1, 1])  # imports and thread stacks are not the fit's
before = memory("VmHWM")
hidden = before - memory("VmRSS")  # an earlier peak would hide the fit's
import warnings
warnings.simplefilter("ignore")
model = LinearSVC(solver=solver, max_iter=3, C=1e-5, tol=1e-9, n_jobs=2).fit(X, y)
added = memory("VmHWM") - before
print(json.dumps({"size": size, "added": added, "hidden": hidden, "n": n, "d": d}))
"""


@pytest.mark.parametrize(
    "kind, solver",
    [("csr", "dual"), ("csr", "ocas"), ("csr", "newton"), ("C", "newton"), ("F", "dual")],
)
def test_a_fit_adds_only_vectors(kind, solver):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, solver], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["hidden"] < 5e6
    print(
        f"{found['size'] / 1e6:.0f} MB of rows: {found['added'] / 1e6:.0f} MB more, "
        f"{found['added'] / (8 * found['n']):.1f} vectors of length n"
    )
    assert 0 < found["added"] < 20 * 8 * (found["n"] + found["d"]) < 0.6 * found["size"]
