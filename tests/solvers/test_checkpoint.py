"""Checkpoints: a killed run goes on where it was; nothing is lost where one cannot be written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from maxmargin import LinearSVC, StreamSVC
from maxmargin.data.errors import DataError
from maxmargin.solvers import checkpoint
from maxmargin.solvers.checkpoint import CheckpointWarning

RUN = """
import sys
import numpy as np
from maxmargin import StreamSVC
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
StreamSVC(C=1.0, tol=1e-15, memory=400_000, checkpoint=sys.argv[3], checkpoint_every=0).fit(X, y)
"""


@pytest.fixture(scope="module")
def rows(svm):
    return svm.blobs(2000, 20, noise=0.5)


def test_a_killed_run_resumes_and_ends_at_the_optimum(rows, tmp_path):
    X, y = rows
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    path = tmp_path / "run.checkpoint"
    arguments = [tmp_path / "X.npy", tmp_path / "y.npy", path]
    process = subprocess.Popen([sys.executable, "-c", RUN, *map(str, arguments)])
    try:
        for _ in range(600):
            if path.exists():
                break
            time.sleep(0.05)
        time.sleep(0.3)
        assert process.poll() is None, "it should still be training"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    resumed = StreamSVC(C=1.0, tol=1e-4, memory=400_000, checkpoint=path).fit(X, y)
    anew = StreamSVC(C=1.0, tol=1e-4, memory=400_000).fit(X, y)
    exact = LinearSVC(C=1.0, tol=1e-7).fit(X, y)
    assert resumed.n_iter_ > 1
    assert resumed.history_[0].dual > anew.history_[0].dual
    for model in (resumed, anew):
        assert model.certificate_.relative_gap <= 1e-4
        assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-4)


def test_a_finished_run_is_found_finished(rows, tmp_path):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    first = StreamSVC(checkpoint=path, memory="500KB").fit(X, y)
    again = StreamSVC(checkpoint=path, memory="500KB").fit(X, y)
    assert again.certificate_.relative_gap <= 1e-3
    assert again.certificate_.primal <= first.certificate_.primal * (1 + 1e-12)
    assert len(again.history_) < len(first.history_)


@pytest.mark.parametrize("what", ["C", "rows", "labels", "intercept"])
def test_a_checkpoint_of_another_run_is_refused(rows, tmp_path, what):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(checkpoint=path).fit(X, y)
    other = StreamSVC(checkpoint=path)
    if what == "C":
        other.set_params(C=2.0)
    elif what == "intercept":
        other.set_params(fit_intercept=False)
    elif what == "rows":
        X = X + 1e-3
    else:
        y = -y
    with pytest.raises(DataError, match="belongs to another run"):
        other.fit(X, y)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_damaged_checkpoint_is_refused(rows, tmp_path, damage):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(checkpoint=path).fit(X, y)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[:-9]
    elif damage == "flipped":
        content[-100] ^= 1
    else:
        content[:3] = b"abc"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged|no checkpoint"):
        StreamSVC(checkpoint=path).fit(X, y)


def test_a_full_disk_does_not_end_training(rows, tmp_path, monkeypatch):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(C=1.0, checkpoint=path, max_iter=1, tol=0.5).fit(X, y)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_pieces", full)
    monkeypatch.setattr(checkpoint, "_checksum", lambda array: 0)
    monkeypatch.setattr("maxmargin.models.stream_training.resume", lambda *_: False)
    with pytest.warns(CheckpointWarning, match="No space left"):
        model = StreamSVC(C=1.0, checkpoint=path, checkpoint_every=0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.checkpoint"]


def test_dual_variables_in_a_file_are_resumed(rows, tmp_path):
    X, y = rows
    options = {"checkpoint": tmp_path / "c", "alpha_file": tmp_path / "a", "memory": "500KB"}
    first = StreamSVC(**options).fit(X, y)
    again = StreamSVC(**options).fit(X, y)
    assert again.certificate_.dual >= first.certificate_.dual * (1 - 1e-12)
