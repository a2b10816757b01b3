"""Flags of LIBLINEAR, LIBSVM and svm-scale."""

import numpy as np
import pytest

from maxmargin import data
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.liblinear import LIBLINEAR, LIBSVM, understood
from maxmargin.models import load_model

EVERYTHING = {"probabilities", "epsilon"}


def spoken(*args):
    return understood(list(args), lambda command: EVERYTHING)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["-s", "3", "-c", "2"], ["train", "-c", "2", "f"]),
        (["-s3", "-c", "2"], ["train", "-c", "2", "f"]),
        (["-B", "1", "-s", "3"], ["train", "-B", "1", "f"]),
        (["-v", "5", "-c", "4"], ["cv", "-v", "5", "--Cs", "4,", "f"]),
        (["-C"], ["cv", "f"]),
        (["-C", "-v", "3"], ["cv", "-v", "3", "f"]),
        (["-s", "0", "-t", "0"], ["train", "f"]),
        (
            ["-t", "2", "-g", "0.5"],
            ["train", "--kind", "kernel", "--kernel", "rbf", "--gamma", "0.5", "f"],
        ),
        (
            ["-t", "1", "-d", "2", "-r", "1", "-h", "0"],
            [
                *("train", "--kind", "kernel", "--kernel", "poly", "--gamma", "auto"),
                *("--degree", "2", "--coef0", "1", "f"),
            ],
        ),
        (["-t", "2", "-m", "100"], None),
        (["-b", "1"], ["train", "--probabilities", "f"]),
        (["-b", "0"], ["train", "f"]),
    ],
)  # fmt: skip
def test_flags_in_the_words_of_this_program(typed, meant, capsys):
    found = spoken("train", *typed, "f")
    assert meant is None or found == meant
    assert capsys.readouterr().err.startswith("maxmargin: understood as: maxmargin ")
    if meant is None:
        assert found[-3:] == ["--memory", "100MB", "f"]


def test_what_is_said_as_here_passes_without_a_word(capsys):
    for args in (
        ["train", "-c", "2", "-e", "0.1", "-B", "1", "-q", "f"],
        ["cv", "-v", "3", "f"],
        ["scale", "-s", "r", "f"],
        ["train", "-h"],
        ["predict", "-q", "a", "b", "c"],
        ["train", "--", "-s"],
        [],
    ):
        assert spoken(*args) == args
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [*LIBLINEAR, "99"])
def test_every_problem_of_liblinear_is_trained_or_answered_in_one_line(run, folder, number):
    outcome = run("train", "-s", number, "two.svm", "m")
    problem = LIBLINEAR.get(number)
    solved = problem is not None and problem.arguments is not None
    if solved and "--loss" in problem.arguments:
        kind = "regression" if "regression" in problem.arguments else "linear"
        solved = kind in KINDS and KINDS[kind].takes("loss")
    assert outcome.exit_code == (0 if solved else 1), outcome.stderr
    if not solved:
        assert len(outcome.stderr.splitlines()) == 1
        assert outcome.stderr.startswith(f"maxmargin: -s {number}")


@pytest.mark.parametrize("number", [*LIBSVM, "9"])
def test_every_problem_of_libsvm_is_trained_or_answered_in_one_line(run, folder, number):
    outcome = run("train", "-s", number, "-t", "2", "-g", "0.1", "two.svm", "m")
    assert outcome.exit_code == (0 if number == "0" else 1), outcome.stderr
    if number != "0":
        assert len(outcome.stderr.splitlines()) == 1


@pytest.mark.parametrize("flags", [["-n", "0.5"], ["-M", "1"], ["-t", "3"], ["-t", "4"]])
def test_what_is_not_here_is_answered_in_one_line(run, folder, flags):
    outcome = run("train", *flags, "two.svm", "m")
    assert outcome.exit_code == 1
    assert len(outcome.stderr.splitlines()) == 1
    assert outcome.stderr.startswith(f"maxmargin: {flags[0]}")


def test_an_intercept_that_is_not_regularised(run, folder):
    assert run("train", "-q", "-R", "-B", "1", "two.svm", "a").exit_code == 0
    assert run("train", "-q", "--intercept", "free", "two.svm", "b").exit_code == 0
    np.testing.assert_array_equal(load_model("a").coef, load_model("b").coef)
    assert load_model("a").parameters["intercept"] == "free"
    outcome = run("train", "-q", "--intercept", "free", "-B", "0", "two.svm", "c")
    assert outcome.exit_code != 0 and "free" in outcome.stderr


def test_the_same_model_by_either_words(run, folder):
    assert run("train", "-q", "-s", "3", "-c", "2", "two.svm", "a").exit_code == 0
    assert run("train", "-q", "--C", "2", "two.svm", "b").exit_code == 0
    np.testing.assert_array_equal(load_model("a").coef, load_model("b").coef)


def test_cross_validation_by_train(run, folder):
    outcome = run("train", "-v", "3", "-c", "4", "two.svm")
    assert outcome.exit_code == 0, outcome.stderr
    assert "accuracy over 3 folds" in outcome.stdout
    assert any(line.split()[:1] == ["4"] for line in outcome.stdout.splitlines())


# ---------------------------------------------------------------- scale


@pytest.fixture
def ranged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:2 2:-3 4:7\n-1 1:4 2:1 4:7\n1 1:3 3:5 4:7\n")
    (tmp_path / "b.svm").write_text("1 1:5 3:10 5:1\n-1 2:-1\n")
    return tmp_path


def test_scale_gives_the_numbers_of_svm_scale(run, ranged):
    outcome = run("scale", "-l", "-1", "-u", "1", "-s", "ranges", "a.svm")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.splitlines() == [
        "1 1:-1 2:-1 3:-1",
        "-1 1:1 2:1 3:-1",
        "1 2:0.5 3:1",
    ]
    assert (ranged / "ranges").read_text() == "x\n-1 1\n1 2 4\n2 -3 1\n3 0 5\n"


def test_scale_restores_ranges_for_test_data(run, ranged):
    assert run("scale", "-l", "0", "-s", "ranges", "a.svm", "a.scaled").exit_code == 0
    outcome = run("scale", "-r", "ranges", "b.svm")
    assert outcome.exit_code == 0, outcome.stderr
    X = np.zeros((2, 5))
    lines = outcome.stdout.splitlines()
    for row, line in enumerate(lines):
        for word in line.split()[1:]:
            j, value = word.split(":")
            X[row, int(j) - 1] = float(value)
    np.testing.assert_allclose(X, [[1.5, 0.75, 2, 0, 0], [-1, 0.5, 0, 0, 0]])


def test_sparse_rows_stay_sparse_where_zero_remains_zero(run, ranged):
    (ranged / "c.svm").write_text("1 1:2\n-1 3:4\n1 2:1\n")
    assert run("scale", "-l", "0", "c.svm").stdout == "1 1:1\n-1 3:1\n1 2:1\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-l", "1", "-u", "0", "a.svm"], 2, "must be below"),
        (["-r", "a.svm", "-l", "0", "a.svm"], 2, "leave out"),
        (["-r", "a.svm", "a.svm"], 1, "a.svm: line 1: expected 'x'"),
        (["-r", "bad", "a.svm"], 1, "bad: line 3: found '1 2', expected 3 numbers"),
        (["-s", "a.svm", "a.svm"], 1, "a.svm"),
    ],
)
def test_scale_refuses_what_makes_no_sense(run, ranged, args, code, message):
    (ranged / "bad").write_text("x\n-1 1\n1 2\n")
    before = (ranged / "a.svm").read_text()
    outcome = run("scale", *args)
    assert outcome.exit_code == code
    assert message in " ".join(outcome.stderr.replace("│", " ").split())
    assert (ranged / "a.svm").read_text() == before


def test_a_scaled_file_is_read_again(run, folder):
    assert run("scale", "two.svm", "scaled.svm").exit_code == 0
    X = data.open("scaled.svm").X.toarray()
    np.testing.assert_allclose(X.min(axis=0), -1, atol=1e-6)
    np.testing.assert_allclose(X.max(axis=0), 1, atol=1e-6)
