"""What can go wrong outside, tried on every command that writes or prints: a full disk, a folder
that is not to be written to, a kill, no threads, a reader that has left. One sentence and exit code
1, the old file as it was, nothing left behind."""

import ctypes
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import maxmargin
from maxmargin.cli.main import app
from maxmargin.data import atomic_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and files as on Linux")
MAIN = "from maxmargin.cli.main import main; main()"
# The last act of a writer: its file gets its name.
KILLED = f"import os, signal; os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL); {MAIN}"
WRITERS = {
    "train": ["train", "rows.svm", "out"],
    "kernel": ["train", "--kind", "kernel", "rows.svm", "out"],
    "sparse-kernel": ["train", "--kind", "sparse-kernel", "-k", "2", "rows.svm", "out"],
    "rank": ["train", "--kind", "rank", "rows.svm", "out"],
    "stream": ["train", "--kind", "stream", "rows.svm", "out"],
    "cv": ["cv", "rows.svm", "out", "--Cs", "1", "-v", "2"],
    "predict": ["predict", "rows.svm", "old.model", "out"],
    "scale": ["scale", "rows.svm", "out"],
    "csv": ["convert", "rows.svm", "out.csv"],
    "store": ["convert", "rows.svm", "out.arrow"],
    "liblinear": ["export", "old.model", "out.liblinear"],
    "c": ["export", "old.model", "out.c"],
    "report": ["report", "old.model", "rows.svm", "-o", "out.html"],
}
PRINTERS = {
    "predict": ["predict", "-q", "rows.svm", "old.model"],
    "scale": ["scale", "rows.svm"],
    "info": ["info", "rows.svm"],
    "evaluate": ["evaluate", "rows.svm", "old.model"],
    "cv": ["cv", "-q", "rows.svm", "--Cs", "1", "-v", "2"],
    "help": ["train", "--help"],
}
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with data of many features and a model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((8, 600)).round(3)
    rows = (" ".join(f"{j}:{value}" for j, value in enumerate(row, 1)) for row in X)
    (tmp_path / "rows.svm").write_text("".join(f"{(-1) ** i} {r}\n" for i, r in enumerate(rows)))
    maxmargin.LinearSVC().fit(X, [1, -1] * 4).save("old.model")
    return tmp_path


def program(arguments, before=None, code=MAIN):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=before)


def sentence(outcome):
    """The line a command failed with, after those about its work."""
    assert outcome.returncode == 1, outcome.stderr
    assert "Traceback" not in outcome.stderr
    line = outcome.stderr.splitlines()[-1]
    assert line.startswith("maxmargin: ")
    return line


def outputs(command):
    """What a command writes, with an older file there, and all that there is."""
    (out,) = (name for name in WRITERS[command] if name.startswith("out"))
    with open(out, "wb") as file:
        file.write(b"old")
    return out, sorted(os.listdir())


def assert_old(out, before):
    assert sorted(os.listdir()) == before
    with open(out, "rb") as file:
        assert file.read() == b"old"


@pytest.mark.parametrize("command", WRITERS)
def test_a_full_disk_keeps_the_old_file_and_leaves_nothing(folder, command):
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))

    out, before = outputs(command)
    said = sentence(program([*WRITERS[command], "--force"], full))
    assert f"{out}: cannot be written: File too large" in said
    assert_old(out, before)


def obey_permissions():
    """From now on, for root too."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        os._exit(77)


@pytest.mark.parametrize("command", WRITERS)
def test_a_folder_without_permission_is_named_and_left_alone(folder, command):
    out, before = outputs(command)
    folder.chmod(0o555)
    try:
        outcome = program([*WRITERS[command], "--force"], obey_permissions)
        if outcome.returncode == 77:
            pytest.skip("this process may not give up the right to write anywhere")
        assert f"{out}: " in (said := sentence(outcome))
        assert "cannot write to the folder" in said
        assert_old(out, before)
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("command", WRITERS)
def test_a_command_that_is_killed_leaves_the_old_file(folder, command):
    out, before = outputs(command)
    outcome = program([*WRITERS[command], "--force"], code=KILLED)
    assert outcome.returncode == -signal.SIGKILL, outcome.stderr
    with open(out, "rb") as file:
        assert file.read() == b"old"
    left = set(os.listdir()) - set(before)
    assert all(name.endswith(".part") for name in left) and len(left) <= 1
    # The next one cleans up.
    for path in left:
        atomic_files._remove_leftovers(folder / out)
        assert not os.path.exists(path)


@pytest.mark.parametrize("command", WRITERS)
def test_no_thread_is_a_sentence_or_no_matter(folder, command, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")  # as Python says it

    out, before = outputs(command)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    outcome = CliRunner().invoke(app, [*WRITERS[command], "--force"])
    if outcome.exit_code:
        assert outcome.exit_code == 1
        assert "maxmargin: the system lets this process start no more threads" in outcome.stderr
        assert_old(out, before)


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("command", PRINTERS)
def test_output_that_cannot_be_written_is_a_sentence(folder, command, where):
    text = shlex.join([sys.executable, "-c", MAIN, *PRINTERS[command]])
    said = sentence(program([f"{text} {where}"], code=RUN_BY_BASH))
    assert "standard output: cannot be written" in said


@pytest.mark.parametrize("command", PRINTERS)
def test_a_reader_that_has_left_ends_a_command_in_silence(folder, command):
    text = shlex.join([sys.executable, "-c", MAIN, *PRINTERS[command]])
    outcome = program([f"{text} | true; exit ${{PIPESTATUS[0]}}"], code=RUN_BY_BASH)
    assert (outcome.returncode, outcome.stderr) == (1, "")


RUN_BY_BASH = "import os, sys; os.execvp('bash', ['bash', '-c', sys.argv[1]])"
