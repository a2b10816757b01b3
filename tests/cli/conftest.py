import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from maxmargin.cli.main import app


def write_svmlight(path, X, y):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value:.6g}" for j, value in enumerate(row) if value)
        for label, row in zip(y, X)
    )
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with training and test data of two classes and of three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.7)
    X[0] = 1.0  # names every feature
    w = rng.normal(size=(3, 6))
    two = np.where(X @ w[0] + 0.3 * rng.normal(size=400) > 0, "+1", "-1")
    three = np.argmax(X @ w.T, axis=1) + 3
    write_svmlight(tmp_path / "two.svm", X[:300], two[:300])
    write_svmlight(tmp_path / "two.t.svm", X[300:], two[300:])
    write_svmlight(tmp_path / "three.svm", X[:300], three[:300])
    write_svmlight(tmp_path / "three.t.svm", X[300:], three[300:])
    words = np.where(two == "+1", "spam", "ham")
    header = "label," + ",".join(f"f{j}" for j in range(6))
    rows = [f"{word}," + ",".join(f"{v:.6g}" for v in row) for word, row in zip(words, X)]
    (tmp_path / "words.csv").write_text("\n".join([header, *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run():
    """Runs a command in this process; the outcome has exit_code, stdout and stderr."""

    def run(*args, input=None):
        return CliRunner().invoke(app, [str(arg) for arg in args], input=input)

    return run


@pytest.fixture
def run_json(run):
    """Runs a command with --json and gives what it printed."""

    def run_json(*args):
        outcome = run(*args, "--json")
        assert outcome.exit_code == 0, outcome.stderr
        return json.loads(outcome.stdout)

    return run_json


def command(*args):
    """The real program, for subprocess."""
    code = "from maxmargin.cli.main import main; main()"
    return [sys.executable, "-c", code, *map(str, args)]


@pytest.fixture
def program():
    """Runs the real program in a process of its own."""

    def program(*args, **options):
        return subprocess.run(
            command(*args), capture_output=True, timeout=300, env=os.environ, **options
        )

    program.command = command
    return program
