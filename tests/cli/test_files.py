import os

import numpy as np
import pytest

from maxmargin import data
from maxmargin.models import load_model


@pytest.fixture
def trained(run, folder):
    assert run("train", "-q", "two.svm").exit_code == 0
    assert run("train", "-q", "words.csv").exit_code == 0


@pytest.mark.parametrize(
    "out", ["o.svm", "o.csv", "o.parquet", "o.svm.gz", "o.csv.xz", "o.svm.zst"]
)
def test_convert_keeps_rows_and_labels(run, folder, out):
    outcome = run("convert", "two.svm", out)
    assert outcome.exit_code == 0, outcome.stderr
    ours, theirs = data.open("two.svm"), data.open(out)
    X = theirs.X if isinstance(theirs.X, np.ndarray) else theirs.X.toarray()
    np.testing.assert_allclose(X, ours.X.toarray(), rtol=1e-6)
    np.testing.assert_array_equal(theirs.y, ours.y)


def test_convert_to_stdout_needs_a_format(program, folder):
    assert program("convert", "two.svm", "-").returncode == 1
    outcome = program("convert", "two.svm", "-", "--to", "csv")
    assert outcome.returncode == 0
    assert len(outcome.stdout.splitlines()) == 301


def test_convert_refuses_what_a_format_cannot_hold(run, folder):
    outcome = run("convert", "words.csv", "o.svm")
    assert outcome.exit_code == 1
    assert not os.path.exists("o.svm")


def test_convert_needs_an_ending_that_it_knows(run, folder):
    before = os.listdir()
    assert run("convert", "two.svm", "o.xyz").exit_code == 1
    assert os.listdir() == before


def test_export_and_import(run, trained):
    assert run("export", "two.svm.model", "m.liblinear").exit_code == 0
    assert run("export", "m.liblinear", "m.safetensors").exit_code == 0
    ours, theirs = load_model("two.svm.model"), load_model("m.safetensors")
    np.testing.assert_array_equal(ours.coef, theirs.coef)
    np.testing.assert_allclose(ours.intercept, theirs.intercept)


def test_export_to_onnx(run, trained):
    pytest.importorskip("onnx")
    assert run("export", "words.csv.model", "m.onnx").exit_code == 0
    assert os.path.getsize("m.onnx") > 0


def test_export_refuses_other_endings_and_unfit_labels(run, trained):
    assert run("export", "two.svm.model", "m.xyz").exit_code == 2
    outcome = run("export", "words.csv.model", "m.liblinear")
    assert outcome.exit_code == 1
    assert "a model of a table cannot be written as LIBLINEAR text" in outcome.stderr
    run("train", "words.csv", "plain.model", "--encode", "none")
    outcome = run("export", "plain.model", "m.liblinear")
    assert outcome.exit_code == 1
    assert "integer labels" in outcome.stderr
    assert not os.path.exists("m.liblinear")


def test_info_about_data(run, run_json, folder):
    told = run_json("info", "two.svm")
    assert (told["rows"], told["features"], told["first_feature_number"]) == (300, 6, 1)
    assert {label for label, _ in told["labels"]} == {-1, 1}
    assert sum(count for _, count in told["labels"]) == 300
    assert "300" in run("info", "two.svm").stdout
    assert run_json("info", "words.csv")["feature_names"] == [f"f{j}" for j in range(6)]


def test_info_about_models(run, run_json, trained):
    told = run_json("info", "two.svm.model")
    assert told["kind"] == "linear model"
    assert told["classes"] == [-1, 1]
    assert told["certificate"]["status"] == "optimal"
    assert "relative_gap" in run("info", "two.svm.model").stdout
    run("export", "two.svm.model", "m.liblinear")
    assert run_json("info", "m.liblinear")["certificate"] is None


def test_info_about_nothing(run, folder):
    outcome = run("info", "none")
    assert outcome.exit_code == 1
    assert outcome.stderr == "maxmargin: none: No such file or directory\n"


def test_demo_shows_the_certificate_the_accuracy_and_a_picture(run, folder):
    outcome = run("demo")
    assert outcome.exit_code == 0, outcome.stderr
    assert "of the best possible" in outcome.stdout
    assert "accuracy" in outcome.stdout
    assert "tolerance 0.0001 reached" in outcome.stdout
    assert load_model("maxmargin-demo/adult.model").certificate.relative_gap <= 1e-4
    pytest.importorskip("matplotlib")
    assert os.path.getsize("maxmargin-demo/training.png") > 10_000


def test_info_shows_the_largest_weights_by_feature(run, run_json, folder):
    assert run("train", "-q", "words.csv", "w").exit_code == 0
    assert run("train", "-q", "three.svm", "t").exit_code == 0
    told = run_json("info", "w", "--weights", "3")["weights"]
    assert len(told) == 3 and {entry["feature"] for entry in told} <= {f"f{j}" for j in range(6)}
    sizes = [abs(entry["weight"]) for entry in told]
    assert sizes == sorted(sizes, reverse=True)
    told = run_json("info", "t", "--weights", "100")["weights"]
    assert len(told) == 18
    assert {entry["class"] for entry in told} == {3, 4, 5}
    assert {entry["feature"] for entry in told} == set(range(1, 7))
    shown = run("info", "w", "--weights", "2").stdout
    assert "weights" in shown and "+" in shown
    assert run("train", "-q", "--kind", "kernel", "two.svm", "k").exit_code == 0
    assert run("info", "k", "--weights", "2").exit_code == 2


def test_a_linear_model_becomes_c_source(run, folder):
    assert run("train", "-q", "two.svm", "m").exit_code == 0
    for _ in range(2):  # and may be written over, being of our own
        assert run("export", "m", "m.c").exit_code == 0
    assert "maxmargin_predict" in (folder / "m.c").read_text()
    (folder / "mine.c").write_text("int main() {}\n")
    assert run("export", "m", "mine.c").exit_code == 1
