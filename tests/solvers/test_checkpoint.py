"""Checkpoints: a killed run goes on where it was; nothing is lost where one cannot be written."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import LinearSVC, StreamSVC, _core
from maxmargin.data.arrays import view
from maxmargin.data.errors import DataError
from maxmargin.solvers.streaming import checkpoint
from maxmargin.solvers.streaming.checkpoint import CheckpointWarning
from maxmargin.solvers.streaming.state import State

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


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "other", "emptied", "header", "lengthened", "folder", "old"]
)
def test_a_damaged_checkpoint_is_refused(rows, tmp_path, damage):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(checkpoint=path).fit(X, y)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[:-9]
    elif damage == "flipped":
        content[-100] ^= 1
    elif damage == "emptied":
        content = b""
    elif damage == "header":
        at = content.index(b'"passes": ') + 10
        content[at : at + 1] = b"7"
    elif damage == "lengthened":
        content += b"\0"
    elif damage == "old":
        content = content.replace(b"checkpoint 3", b"checkpoint 2", 1)
    else:
        content[:3] = b"abc"
    path.unlink()
    path.mkdir() if damage == "folder" else path.write_bytes(content)
    with pytest.raises(DataError, match=r"run.checkpoint: .*(delete it|name another file)"):
        StreamSVC(checkpoint=path).fit(X, y)


def test_no_bound_is_taken_from_a_checkpoint(rows, tmp_path, svm):
    """False content with right checksums: dual variables beyond their bounds, a foolish point."""
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(checkpoint=path, max_iter=3, tol=0.5).fit(X, y)

    def forged(state):
        state.shares[0][:] = np.where(np.arange(len(y)) % 2, 1e6, -5.0)
        state.best[0][:] = 1e200
        state.passes = 10**9

    forge(path, forged)
    model = StreamSVC(checkpoint=path, max_iter=10**9, tol=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    w = np.append(model.coef_[0], model.intercept_)
    P = svm.primal(X, y, w, np.ones(len(y)), bias=1.0)
    assert model.certificate_.primal == pytest.approx(P, rel=1e-9)
    assert model.certificate_.dual <= LinearSVC(C=1.0, tol=1e-6).fit(X, y).certificate_.primal


def forge(path, change):
    """Writes a checkpoint again, with its checksums, after a change to what it holds."""
    lines = path.read_bytes().split(b"\n", 3)
    header = json.loads(lines[2])
    sizes = [size for _, size, _ in header["arrays"]]
    parts = np.split(np.frombuffer(lines[3]), np.cumsum(sizes)[:-1])
    state = State.start(sizes[1], [1.0], [parts[0].copy()])
    state.best = [parts[1].copy()]
    change(state)
    checkpoint.write(path, state, header["identity"], checkpoint.RowsSeen(*header["seen"]))


def svmlight_file(path, X, y):
    lines = (
        f"{label:+.0f} " + " ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row))
        for label, row in zip(y, X)
    )
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("what", ["labels", "values"])
def test_a_change_between_samples_of_a_file_is_noticed(rows, tmp_path, monkeypatch, what):
    """The file keeps its size and the parts that a quick fingerprint samples."""
    monkeypatch.setattr("maxmargin.data.stream.fingerprints._SAMPLES", 2)
    monkeypatch.setattr("maxmargin.data.stream.fingerprints._SAMPLE_BYTES", 64)
    X, y = np.abs(rows[0]), rows[1].copy()
    path, data = tmp_path / "run.checkpoint", tmp_path / "rows.svm"
    svmlight_file(data, X, y)
    StreamSVC(checkpoint=path, tol=1e-2).fit(data)
    if what == "labels":
        y[100:-100] *= -1
    else:
        X[1000] = X[1000, ::-1]
    size = data.stat().st_size
    svmlight_file(data, X, y)
    assert data.stat().st_size == size
    with pytest.raises(DataError, match=r"not those that the checkpoint .*run.checkpoint was made"):
        StreamSVC(checkpoint=path, tol=1e-2).fit(data)
    path.unlink()
    StreamSVC(checkpoint=path, tol=1e-2).fit(data)


def test_a_resumed_run_that_is_stopped_at_once_claims_and_loses_nothing(rows, tmp_path):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    first = StreamSVC(checkpoint=path, memory="500KB").fit(X, y)
    with pytest.warns(ConvergenceWarning):
        stopped = StreamSVC(checkpoint=path, memory="500KB", max_time=1e-9).fit(X, y)
    assert (stopped.certificate_.primal, stopped.certificate_.dual) == (len(y), 0.0)
    assert not stopped.coef_.any()
    again = StreamSVC(checkpoint=path, memory="500KB", max_iter=1).fit(X, y)
    assert again.certificate_.status == "optimal"
    np.testing.assert_array_equal(again.coef_, first.coef_)


KILLED = """
import os, signal, sys
import numpy as np
from maxmargin import StreamSVC
from maxmargin.solvers.streaming import checkpoint

pieces = checkpoint._pieces

def killed(array):
    for piece in pieces(array):
        yield piece[: len(piece) // 2]
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint._checksum = lambda array: 0
checkpoint._pieces = killed
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
from maxmargin.training import stream
stream.resume = lambda *_: None
StreamSVC(checkpoint=sys.argv[3], max_iter=1).fit(X, y)
"""


def test_a_run_killed_while_it_writes_leaves_the_last_checkpoint_whole(rows, tmp_path):
    X, y = rows
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    path = folder / "run.checkpoint"
    StreamSVC(checkpoint=path).fit(X, y)
    before = path.read_bytes()
    arguments = [str(tmp_path / "X.npy"), str(tmp_path / "y.npy"), str(path)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before


def test_rows_have_one_checksum_however_they_are_cut():
    rng = np.random.default_rng(0)
    X = sp.random(40, 9, 0.4, "csr", dtype=np.float32, random_state=rng)
    codes, costs = rng.integers(0, 2, 40).astype(np.int32), rng.random(40)
    format_ = _core.row_format(view(X, 1.0), 1.0, None)

    def checksum(cuts, last):
        value = 0
        for a, b in itertools.pairwise([0, *cuts, 40]):
            block = _core.pack_rows(view(X[a:b], 0.0), a, codes[a:b], costs[a:b], format_)
            value = block.checksum(value, max(0, min(b, last) - a))
        return value

    for last in (1, 7, 39, 40):
        assert len({checksum(cuts, last) for cuts in ([], [1], [7, 8, 30], [20])}) == 1
    whole = checksum([], 40)
    codes[39] ^= 1
    assert checksum([], 39) != checksum([], 40) != whole


def test_a_file_that_holds_no_dual_variables_is_not_written_over(rows, tmp_path):
    X, y = rows
    path = tmp_path / "precious"
    path.write_text("precious")
    with pytest.raises(DataError, match="precious: has 8 bytes"):
        StreamSVC(alpha_file=path).fit(X, y)
    assert path.read_text() == "precious"


def test_a_full_disk_does_not_end_training(rows, tmp_path, monkeypatch):
    X, y = rows
    path = tmp_path / "run.checkpoint"
    StreamSVC(C=1.0, checkpoint=path, max_iter=1, tol=0.5).fit(X, y)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_pieces", full)
    monkeypatch.setattr(checkpoint, "_checksum", lambda array: 0)
    monkeypatch.setattr("maxmargin.training.stream.resume", lambda *_: None)
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
