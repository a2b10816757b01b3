"""Guesses that would cost: said before the fit, or right after it."""

import os

import numpy as np
import pytest

from maxmargin.models import load_model


def write_rows(path, y, X, header=None):
    lines = [] if header is None else [header]
    lines += [",".join(map(str, (label, *row))) for label, row in zip(y, X)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def X(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return np.round(np.random.default_rng(0).normal(size=(300, 3)), 3)


def test_without_names_the_column_of_labels_is_said(run, X, tmp_path):
    write_rows(tmp_path / "numbers.csv", (X[:, 0] > 0).astype(int), X)
    words = np.where(X[:, 0] > 0, "yes", "no")
    write_rows(tmp_path / "words.csv", X[:, 0], np.column_stack([X.astype(str), words]))
    outcome = run("train", "numbers.csv")
    assert outcome.exit_code == 0, outcome.stderr
    assert "labels were taken from the first column" in outcome.stderr
    assert "--target -1 the last" in outcome.stderr
    assert "the only column of words" in run("train", "words.csv").stderr
    assert "taken from" not in run("train", "--target", "0", "numbers.csv", "m").stderr
    assert "taken from" not in run("train", "-q", "numbers.csv", "m2").stderr


def test_real_labels_are_refused(run, X, tmp_path):
    write_rows(tmp_path / "real.csv", X[:, 0], X, "y,a,b,c")
    for args in (["train"], ["cv"], ["train", "--kind", "kernel"]):
        before = sorted(os.listdir())
        outcome = run(*args, "real.csv", "m")
        assert outcome.exit_code == 1
        assert "the labels are real numbers, such as" in outcome.stderr
        assert "--target" in outcome.stderr
        assert sorted(os.listdir()) == before


def test_many_labels_are_refused_unless_the_kind_is_named(run, X, tmp_path):
    write_rows(tmp_path / "many.csv", np.arange(300) % 30, X, "y,a,b,c")
    outcome = run("train", "many.csv", "m")
    assert outcome.exit_code == 1
    assert "found 30 different labels in 300 rows" in outcome.stderr
    assert "--kind linear if they are classes" in outcome.stderr
    assert run("train", "-q", "--kind", "linear", "--max-iter", "1", "many.csv", "m").exit_code == 0
    assert len(load_model("m").classes) == 30


def test_few_rows_may_have_a_few_classes(run, X, tmp_path):
    write_rows(tmp_path / "few.csv", np.arange(30) % 10, X[:30], "y,a,b,c")
    assert run("train", "-q", "few.csv", "m").exit_code == 0


def test_features_of_unlike_scale_are_pointed_out(run, X, tmp_path):
    write_rows(tmp_path / "f.csv", (X[:, 0] > 0).astype(int), X * [1, 1e6, 1], "y,a,b,c")
    outcome = run("train", "--encode", "none", "f.csv", "m")
    if outcome.exit_code == 2:  # tables are not encoded by this version
        outcome = run("train", "f.csv", "m")
    assert outcome.exit_code == 0
    assert outcome.stderr.count("features differ widely in scale: 'b' reaches") == 1
    assert "maxmargin scale" in outcome.stderr


def test_svmlight_features_are_named_by_number(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.svm").write_text("1 1:1 3:1e6\n-1 1:-1 3:2e6\n1 1:2\n")
    assert "feature 3 reaches 2e+06, feature 1 only 2;" in run("train", "f.svm", "m").stderr


def test_one_label_for_all_rows_is_pointed_out(run, X, tmp_path):
    y = (np.arange(300) % 30 == 0).astype(int)
    write_rows(tmp_path / "rare.csv", y, X, "y,a,b,c")
    outcome = run("train", "-c", "0.001", "rare.csv", "m")
    assert outcome.exit_code == 0
    assert outcome.stderr.count("all rows are predicted as 0: try a larger -c") == 1


def test_numbers_that_hardly_differ_are_pointed_out(run, X, tmp_path):
    write_rows(tmp_path / "prices.csv", 1e5 * X[:, 0] + 3e5, X, "y,a,b,c")
    outcome = run("train", "--kind", "regression", "prices.csv", "m")
    assert "predictions hardly differ between rows" in outcome.stderr
    assert "-c is too small for targets this large" in outcome.stderr
    assert (
        "hardly" not in run("train", "--kind", "regression", "prices.csv", "m", "-c", "1e5").stderr
    )
    assert "all rows" not in run("train", "--class-weight", "balanced", "rare.csv", "m2").stderr


def test_a_best_value_at_the_edge_is_pointed_out(run, X, tmp_path):
    write_rows(tmp_path / "f.csv", (X[:, 0] + X[:, 1] > 0).astype(int), X, "y,a,b,c")
    outcome = run("cv", "--Cs", "1e-6,1e-5,1e-4", "f.csv")
    assert outcome.exit_code == 0
    assert "the best C" in outcome.stderr and "that was tried: go on with --Cs" in outcome.stderr
    outcome = run("cv", "--kind", "kernel", "--Cs", "1,", "--gammas", "1e-7,1e-6", "f.csv")
    assert "the best gamma" in outcome.stderr and "the best C" not in outcome.stderr


def test_a_run_without_time_is_not_told_to_take_a_larger_C(run, X, tmp_path):
    write_rows(tmp_path / "f.csv", (X[:, 0] > 0).astype(int), X, "y,a,b,c")
    said = run("train", "--max-time", "1e-9", "f.csv", "m").stderr
    assert "nothing known yet" in said and "all rows are predicted" not in said


def test_a_column_that_looks_like_queries_is_named(run, X, tmp_path):
    write_rows(tmp_path / "clicks.csv", np.arange(300) % 3, X, "y,Query_ID,b,c")
    outcome = run("train", "--kind", "rank", "clicks.csv", "m")
    assert "a column (--qid Query_ID)" in outcome.stderr


def test_a_class_that_is_never_predicted_has_no_precision(run, X, tmp_path):
    write_rows(tmp_path / "rare.csv", np.where(np.arange(300) == 7, "a", "b"), X, "y,a,b,c")
    run("train", "-q", "rare.csv", "m")
    said = run("evaluate", "rare.csv", "m").stdout
    assert "nan" not in said and ["a", "-", "0.0000", "0.0000", "1"] in map(
        str.split, said.split("\n")
    )


@pytest.mark.parametrize(
    "options, told",
    [
        (["--Cs", "0.1,1"], "accuracy over 5 folds"),
        (["--kind", "kernel"], "no point of the grid was tried in every fold"),
        (["--kind", "kernel", "--cells", "100"], "in a cell no point of the grid"),
        (["--kind", "kernel-regression"], "no point of the grid was tried in every fold"),
        (["--kind", "kernel-regression", "--cells", "100"], "in a cell no point of the grid"),
    ],
)
def test_a_search_without_time_says_so_and_keeps_its_model(run, X, tmp_path, options, told):
    """It named a best C and advised where to go on, had no word for errors that nobody knew, or
    lost the model because there was nothing to draw."""
    write_rows(tmp_path / "f.csv", (X[:, 0] > 0).astype(int), X, "y,a,b,c")
    outcome = run("cv", *options, "--max-time", "1e-6", "f.csv", "m")
    assert outcome.exit_code == 0, outcome.stderr
    assert "time limit: the best model so far is saved, nothing known yet" in outcome.stderr
    assert "go on with" not in outcome.stderr and "nan" not in outcome.stdout
    assert told in outcome.stdout
    assert load_model("m").certificate.status == "max_time"
