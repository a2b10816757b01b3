"""Writers that are killed or many at once, and programs without memory or threads: one sentence and
exit code 1, the old file as it was, and nothing left behind."""

import os
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import maxmargin
from maxmargin.data import atomic_files, write_atomically
from maxmargin.models import load_model, save

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and files as on Linux")
MAIN = "from maxmargin.cli.main import main; main()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with data of many features and a model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(rng.random(600)))
        for label in (1, -1) * 4
    )
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    maxmargin.LinearSVC().fit(rng.random((8, 600)), [0, 1] * 4).save("old.model")
    return tmp_path


def program(*args, limit=None, amount=0):
    """The real program, under a limit on a resource."""

    def limited():
        if limit is not None:
            resource.setrlimit(limit, (amount, amount))

    return subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=limited,
    )


def sentence(outcome):
    """The one line a command failed with."""
    assert outcome.returncode == 1, outcome.stderr
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("maxmargin: ")
    return line


COMMANDS = {
    "train": ["train", "rows.svm"],
    "predict": ["predict", "rows.svm", "old.model"],
    "convert": ["convert", "rows.svm"],
    "store": ["convert", "rows.svm"],
    "export": ["export", "old.model"],
}
OUT = {"convert": "out.csv", "store": "out.arrow", "export": "out.liblinear"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_below_a_file_is_no_folder(folder, command):
    out = f"rows.svm/{OUT.get(command, 'out')}"
    assert "rows.svm" in sentence(program(*COMMANDS[command], out))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_killed_writer_leaves_the_old_file_alone(folder, how):
    code = (
        "import signal, time; from maxmargin.data import write_atomically\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # which nohup has children ignore
        "with write_atomically('old.model') as file:\n"
        "    file.write(b'half'); file.flush(); print('halfway', flush=True); time.sleep(60)"
    )
    whole, before = (folder / "old.model").read_bytes(), sorted(os.listdir())
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "halfway\n"
    process.send_signal(how)
    process.communicate(timeout=300)
    assert (folder / "old.model").read_bytes() == whole
    if atomic_files._open_unnamed(folder) is not None:
        assert sorted(os.listdir()) == before


def test_the_next_write_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_files, "_open_unnamed", lambda folder: None)
    left = tmp_path / f".out.{'0' * 12}.part"
    others = [tmp_path / f".out.x.{'0' * 12}.part", tmp_path / ".out.part", tmp_path / "mine.part"]
    for path in (left, *others):
        path.write_bytes(b"half")
    with write_atomically(tmp_path / "out") as file:
        file.write(b"whole")
        # A writer that lives keeps its file, whoever comes first.
        with write_atomically(tmp_path / "out") as other:
            other.write(b"other")
    assert not left.exists()
    assert all(path.exists() for path in others)
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert len(os.listdir(tmp_path)) == 1 + len(others)


def test_of_two_writers_the_last_whole_file_stays(folder):
    """A reader sees one model or the other, and never half of one."""
    code = (
        "import sys, numpy as np; from maxmargin.models import LinearModel, save\n"
        "value = float(sys.argv[1])\n"
        "model = LinearModel(coef=np.full((1, 5000), value), intercept=np.array([value]),"
        " classes=np.array([0, 1]))\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for _ in range(100): save(model, 'old.model')"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, value],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for value in ("1", "2")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    save(load_model("old.model"), "old.model")
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    seen = set()
    while any(writer.poll() is None for writer in writers):
        model = load_model("old.model")
        seen.add((model.n_features, float(model.intercept[0])))
        if model.n_features == 5000:
            assert (model.coef == model.intercept[0]).all()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert {features for features, _ in seen} <= {600, 5000}
    assert sorted(os.listdir()) == ["old.model", "rows.svm"]


def test_too_little_memory_is_one_sentence(folder):
    """A model larger than memory; its file has holes, so it costs nothing."""
    length = 1 << 31
    header = f'{{"__metadata__":{{"maxmargin":"{{}}"}},"x":{{"dtype":"U8","shape":[{length}],'
    header += f'"data_offsets":[0,{length}]}}}}'
    with open("huge.model", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header.encode())
        file.truncate(8 + len(header) + length)
    said = sentence(program("info", "huge.model", limit=resource.RLIMIT_AS, amount=1 << 30))
    assert "there is not enough memory for this" in said


@pytest.mark.parametrize("options", [["--from-disk", "--solver", "ocas"], ["--kind", "stream"]])
def test_a_thread_that_cannot_start_is_one_sentence(folder, options, monkeypatch):
    from typer.testing import CliRunner

    from maxmargin.cli.main import app

    def refuse(thread):
        raise RuntimeError("can't start new thread")  # as Python says it

    monkeypatch.setattr(threading.Thread, "start", refuse)
    whole = (folder / "old.model").read_bytes()
    outcome = CliRunner().invoke(app, ["train", "rows.svm", "old.model", *options])
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("maxmargin: the system lets this process start no more thread")
    assert (folder / "old.model").read_bytes() == whole


def test_a_blas_that_interrupts_for_want_of_threads_is_no_ctrl_c(folder, monkeypatch):
    from typer.testing import CliRunner

    from maxmargin.cli import main

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("maxmargin.cli.rows.read_labelled", interrupt)
    for start, said in (
        (threading.Thread.start, "interrupted; nothing"),
        (refuse, "no more thread"),
    ):
        monkeypatch.setattr(threading.Thread, "start", start)
        outcome = CliRunner().invoke(main.app, ["train", "rows.svm", "new.model"])
        assert outcome.exit_code == 1
        assert said in outcome.stderr


# ---------------------------------------------------------------- before there are commands


@pytest.mark.parametrize(
    ("raised", "said"),
    [("KeyboardInterrupt", "no more threads"), ("MemoryError", "no more memory")],
)
def test_a_program_that_cannot_start_says_why(raised, said, tmp_path, monkeypatch):
    """BLAS interrupts the process that imports numpy where it cannot start its threads."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(f"raise {raised}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert said in sentence(program("--version"))


@pytest.mark.parametrize(
    "raised", ["MemoryError", "ImportError('x.so: failed to map segment from shared object')"]
)
def test_no_memory_for_the_commands_themselves_is_a_sentence(raised):
    code = (
        f"from maxmargin.cli import main\ndef app(**_): raise {raised}\nmain.app = app\nmain.main()"
    )
    assert "not enough memory" in sentence(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    )
