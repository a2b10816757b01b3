"""Ctrl-C while a sparse kernel machine grows: the best model so far, certified."""

import json
import subprocess
import sys

SCRIPT = """
import json, os, signal, sys, threading, warnings
import numpy as np
from maxmargin import SparseKernelSVC

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(50_000, 10))
y = (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int)

def under_way(progress):
    if progress.iteration == 3:
        os.kill(os.getpid(), signal.SIGINT)

model = SparseKernelSVC(2000, C=10.0, gamma=0.5, n_jobs=2, callback=under_way).fit(X, y)
values = 1 - (2 * y - 1) * model.decision_function(X)
print(json.dumps({
    "status": str(model.certificate_.status),
    "k": model.n_basis_,
    "loss": 10.0 * float(np.maximum(0, values).sum()),
    "primal": model.certificate_.primal,
    "dual": model.certificate_.dual,
}))
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def test_interrupt_returns_best_model_so_far():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == "interrupted"
    assert 3 <= found["k"] <= 5
    assert found["dual"] <= found["primal"]
    assert found["loss"] <= found["primal"] * (1 + 1e-4)  # the rest is the norm
