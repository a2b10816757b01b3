import os
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, data
from maxmargin.cli.rows import pieces_of
from maxmargin.data import DataError, Dataset
from maxmargin.data.stream.blocks import BLOCK_BYTES
from maxmargin.models import load_model


@pytest.fixture
def trained(run, folder):
    for name in ("two", "three"):
        assert run("train", "-q", f"{name}.svm").exit_code == 0
    assert run("train", "-q", "words.csv").exit_code == 0


@pytest.mark.parametrize("name", ["two", "three"])
def test_labels_go_to_stdout_one_a_line_as_the_file_wrote_them(run, trained, name):
    outcome = run("predict", f"{name}.t.svm", f"{name}.svm.model")
    assert outcome.exit_code == 0
    expected = load_model(f"{name}.svm.model").predict(data.open(f"{name}.t.svm").X)
    assert outcome.stdout.splitlines() == [str(label) for label in expected.tolist()]
    assert "." not in outcome.stdout
    assert "accuracy" in outcome.stderr


def test_words_come_back_as_words(run, trained):
    outcome = run("predict", "words.csv", "words.csv.model")
    assert set(outcome.stdout.split()) == {"ham", "spam"}


def test_scores_follow_the_label(run, trained):
    lines = run("predict", "--scores", "three.t.svm", "three.svm.model").stdout.splitlines()
    scores = np.array([line.split()[1:] for line in lines], dtype=float)
    expected = load_model("three.svm.model").decision_function(data.open("three.t.svm").X)
    np.testing.assert_array_equal(scores, expected)


def test_output_to_a_file_is_what_stdout_gets(run, trained):
    shown = run("predict", "two.t.svm", "two.svm.model").stdout
    outcome = run("predict", "-q", "two.t.svm", "two.svm.model", "out")
    assert (outcome.stdout, outcome.stderr) == ("", "")
    with open("out") as file:
        assert file.read() == shown


def test_json_labels_and_scores(run_json, trained):
    told = run_json("predict", "--scores", "two.t.svm", "two.svm.model")
    assert set(told["labels"]) == {-1, 1}
    assert [1 if score > 0 else -1 for score in told["scores"]] == told["labels"]


def test_stdin_works(program, trained):
    with open("two.t.svm", "rb") as stdin:
        piped = program("predict", "-", "two.svm.model", stdin=stdin)
    assert piped.stdout == program("predict", "two.t.svm", "two.svm.model").stdout


def test_rows_may_lack_features_or_have_new_ones(run, trained, folder):
    (folder / "few.svm").write_text("1 1:1\n-1 2:1\n")
    (folder / "many.svm").write_text("1 1:1 900:5\n-1 2:1\n")
    few = run("predict", "few.svm", "two.svm.model")
    many = run("predict", "many.svm", "two.svm.model")
    assert few.exit_code == many.exit_code == 0
    assert few.stdout == many.stdout


def test_the_index_base_of_the_training_data_is_remembered(run, folder):
    (folder / "zero.svm").write_text("1 0:1 1:3\n-1 0:1 1:-3\n1 1:2\n-1 1:-2\n")
    (folder / "zero.t.svm").write_text("1 1:4\n-1 1:-4\n")  # passes for one-based
    assert run("train", "-q", "zero.svm").exit_code == 0
    assert run("predict", "zero.t.svm", "zero.svm.model").stdout.split() == ["1", "-1"]


def test_a_feature_0_for_a_one_based_model_is_refused(run, trained, folder):
    (folder / "zero.svm").write_text("1 0:1 1:3\n")
    outcome = run("predict", "zero.svm", "two.svm.model")
    assert outcome.exit_code == 1
    assert "number 0" in outcome.stderr


def test_columns_are_matched_by_name_and_all_that_lack_are_named(run, trained, folder):
    assert run("train", "-q", "--encode", "none", "words.csv").exit_code == 0
    (folder / "same.csv").write_text("label,f0,f1,f2,f3,f4,f5\nspam,1,2,3,4,5,6\n")
    (folder / "other.csv").write_text("label,f1,f0,more,f2,f3,f4,f5\nspam,2,1,9,3,4,5,6\n")
    args = ("words.csv.model", "--scores", "-q")
    assert run("predict", "other.csv", *args).stdout == run("predict", "same.csv", *args).stdout
    (folder / "less.csv").write_text("label,f1,f3,f4,f5\nspam,2,4,5,6\n")
    outcome = run("predict", "less.csv", "words.csv.model")
    assert outcome.exit_code == 1
    assert "less.csv: has no column 'f0', 'f2'; " in outcome.stderr


def test_dense_rows_of_another_width_are_refused(run, trained, folder):
    (folder / "narrow.csv").write_text("1,2\n1,3\n")
    outcome = run("predict", "narrow.csv", "two.svm.model")
    assert outcome.exit_code == 1
    assert "1 feature columns" in outcome.stderr


def test_a_liblinear_model_predicts_too(run, trained):
    assert run("export", "two.svm.model", "m.liblinear").exit_code == 0
    ours = run("predict", "two.t.svm", "two.svm.model")
    theirs = run("predict", "two.t.svm", "m.liblinear")
    assert ours.stdout == theirs.stdout


@pytest.mark.parametrize("test, model", [("none", "two.svm.model"), ("two.t.svm", "two.svm")])
def test_failures_leave_no_output(run, trained, test, model):
    outcome = run("predict", test, model, "out")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("maxmargin: ")
    assert len(outcome.stderr.splitlines()) == 1
    assert not os.path.exists("out")


def test_a_reader_that_leaves_early_is_no_error_message(program, trained):
    command = program.command("predict", "-q", "two.t.svm", "two.svm.model")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.wait(timeout=300)


def test_evaluate_counts_what_predict_says(run_json, trained):
    told = run_json("evaluate", "two.t.svm", "two.svm.model")
    dataset = data.open("two.t.svm")
    predicted = load_model("two.svm.model").predict(dataset.X)
    assert told["rows"] == 100
    assert told["accuracy"] == pytest.approx(np.mean(predicted == dataset.y))
    for told_class, label in zip(told["classes"], [-1, 1]):
        hit = np.sum((predicted == label) & (dataset.y == label))
        assert told_class["label"] == label
        assert told_class["precision"] == pytest.approx(hit / np.sum(predicted == label))
        assert told_class["recall"] == pytest.approx(hit / np.sum(dataset.y == label))


def test_evaluate_agrees_with_scikit_learn(run_json, trained):
    metrics = pytest.importorskip("sklearn.metrics")
    told = run_json("evaluate", "two.t.svm", "two.svm.model")
    dataset, model = data.open("two.t.svm"), load_model("two.svm.model")
    scores = model.decision_function(dataset.X)
    assert told["roc_area"] == pytest.approx(metrics.roc_auc_score(dataset.y, scores))
    f1 = metrics.f1_score(dataset.y, model.predict(dataset.X), average=None)
    np.testing.assert_allclose([c["f1"] for c in told["classes"]], f1)
    confusion = metrics.confusion_matrix(dataset.y, model.predict(dataset.X))
    np.testing.assert_array_equal(told["confusion"], confusion)


def test_evaluate_shows_tables_to_people(run, trained):
    for name in ("two", "three"):
        outcome = run("evaluate", f"{name}.t.svm", f"{name}.svm.model")
        assert outcome.exit_code == 0
        assert "accuracy" in outcome.stdout
        assert "confusion" in outcome.stdout
        assert ("ROC area" in outcome.stdout) == (name == "two")


def test_labels_never_seen_in_training_count_as_errors(run_json, trained, folder):
    (folder / "new.svm").write_text("7 1:1\n1 2:1\n")
    told = run_json("evaluate", "new.svm", "two.svm.model")
    assert [c["label"] for c in told["classes"]] == [-1, 1, 7]
    assert told["accuracy"] <= 0.5
    assert told["roc_area"] is None


def test_rows_count_by_their_weights(run_json, trained, folder):
    lines = (folder / "words.csv").read_text().splitlines()
    weights = ["sample_weight"] + ["2"] + ["1"] * (len(lines) - 2)
    weighted = [f"{line},{weight}" for line, weight in zip(lines, weights)]
    (folder / "weighted.csv").write_text("\n".join(weighted) + "\n")
    (folder / "doubled.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    ours = run_json("evaluate", "weighted.csv", "words.csv.model")
    assert ours == run_json("evaluate", "doubled.csv", "words.csv.model")


def test_evaluate_needs_labels(run, trained, folder):
    rows = (folder / "words.csv").read_text().splitlines()
    (folder / "bare.csv").write_text("\n".join(row.split(",", 1)[1] for row in rows) + "\n")
    outcome = run("evaluate", "--target", "none", "bare.csv", "words.csv.model")
    assert outcome.exit_code == 1
    assert "no labels" in outcome.stderr
    assert run("predict", "--target", "none", "bare.csv", "words.csv.model").exit_code == 0


def test_roc_area_counts_ties_half():
    from maxmargin.metrics.labelling import roc_area

    positive = np.array([True, False, True, False])
    assert roc_area(positive, np.zeros(4)) == 0.5
    assert roc_area(positive, np.array([2.0, 1.0, 2.0, 2.0])) == 0.75
    assert np.isnan(roc_area(np.array([True, True]), np.zeros(2)))


@pytest.mark.parametrize("name", ["two.t.svm", "three.t.svm", "words.csv"])
def test_rows_read_piece_by_piece_give_the_same_lines(run, trained, name):
    model = f"{name.replace('.t.svm', '.svm')}.model"
    if name == "two.t.svm":  # more than one piece
        with open(name) as few, open("many.svm", "w") as many:
            text = few.read()
            many.write(text * (2 * BLOCK_BYTES // len(text)))
        name = "many.svm"
    whole = run("predict", "--scores", name, model)
    pieces = run("predict", "--scores", "--from-disk", name, model)
    assert pieces.exit_code == 0, pieces.stderr
    assert (pieces.stdout, pieces.stderr) == (whole.stdout, whole.stderr)


def test_pieces_are_no_line_of_json(run, trained):
    outcome = run("predict", "--json", "--from-disk", "two.t.svm", "two.svm.model")
    assert outcome.exit_code == 2
    assert "--json is one line for all rows" in " ".join(outcome.stderr.split())


def test_pieces_that_break_off_leave_no_file(run, trained, monkeypatch):
    """The fault comes after a piece was scored."""
    from maxmargin.data.stream.text_sources import SvmlightSource

    def breaks_off(source):
        yield next(iter(whole(source)))
        raise DataError(f"{source.name}: cut short")

    whole = SvmlightSource.blocks
    monkeypatch.setattr(SvmlightSource, "blocks", breaks_off)
    outcome = run("predict", "--from-disk", "two.t.svm", "two.svm.model", "out")
    assert outcome.exit_code == 1 and "two.t.svm: cut short" in outcome.stderr
    assert not os.path.exists("out")


@pytest.mark.parametrize("kind", ["rank", "ordinal", "measure", "kernel", "sparse-kernel"])
def test_every_kind_predicts_piece_by_piece(run, folder, kind):
    extra = ["-k", "5"] if kind == "sparse-kernel" else []
    assert run("train", "-q", "two.svm", "m", "--kind", kind, *extra).exit_code == 0
    whole = run("predict", "two.t.svm", "m")
    pieces = run("predict", "--from-disk", "two.t.svm", "m")
    assert pieces.exit_code == 0, pieces.stderr
    assert pieces.stdout == whole.stdout


def test_labels_are_the_same_as_whole_or_decimal_numbers(run, folder):
    """A model made in Python may hold as 1.0 what a file has as 1."""
    rows = data.open("two.svm")
    LinearSVC().fit(rows.X, rows.y.astype(float)).save("m")
    for option in ([], ["--from-disk"]):
        assert "accuracy" in run("predict", "two.t.svm", "m", *option).stderr


def test_pieces_of_a_store_are_scored_as_the_option_says(run, trained):
    rows = data.open("two.t.svm", dtype="float64")
    data.write_store(data.ArraySource(rows.X, rows.y), "two.arrow")
    for dtype in ("float32", "float64"):
        arguments = ["predict", "--scores", "--dtype", dtype, "two.arrow", "two.svm.model"]
        assert run(*arguments, "--from-disk").stdout == run(*arguments).stdout


def test_strings_are_no_rows_of_numbers(run, trained, folder):
    with open("few.fasta", "w") as file:
        file.write(">1\nACGT\n>-1\nACGA\n")
    outcome = run("predict", "--from-disk", "few.fasta", "two.svm.model")
    assert outcome.exit_code == 1
    assert "its rows are strings, and the model is of numbers" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize("kind", ["linear", "kernel", "sparse-kernel"])
def test_probabilities_follow_the_label(run, run_json, folder, kind):
    more = ["-k", "5"] if kind == "sparse-kernel" else []
    trained = run("train", "-q", "--kind", kind, *more, "--probabilities", "three.svm", "p.model")
    assert trained.exit_code == 0
    lines = run("predict", "--probabilities", "three.t.svm", "p.model").stdout.splitlines()
    P = np.array([line.split()[1:] for line in lines], dtype=float)
    kept = load_model("p.model")
    np.testing.assert_array_equal(P, kept.probabilities(data.open("three.t.svm").X))
    assert [line.split()[0] for line in lines] == [str(kept.classes[j]) for j in P.argmax(axis=1)]
    told = run_json("predict", "--json", "--probabilities", "three.t.svm", "p.model")
    np.testing.assert_array_equal(told["probabilities"], P)


def test_probabilities_of_a_model_without_them_are_refused(run, trained):
    outcome = run("predict", "--probabilities", "two.t.svm", "two.svm.model")
    assert outcome.exit_code == 2
    assert "train --probabilities" in " ".join(outcome.stderr.split())
    outcome = run("predict", "--probabilities", "--scores", "two.t.svm", "two.svm.model")
    assert outcome.exit_code == 2


# ---------------------------------------------------------------- thresholds and tables


def test_a_threshold_moves_labels_from_one_class_to_the_other(run, trained):
    scores = load_model("two.svm.model").decision_function(data.open("two.t.svm").X)
    for threshold in (-0.5, 0.7):
        outcome = run("predict", "--threshold", threshold, "two.t.svm", "two.svm.model")
        assert outcome.stdout.split() == ["1" if s > threshold else "-1" for s in scores]
    outcome = run("predict", "--threshold", "1", "three.t.svm", "three.svm.model")
    assert outcome.exit_code == 2
    assert "--threshold is for models of two classes" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_as_a_table(run, trained, ending):
    import pyarrow.csv
    import pyarrow.parquet

    out = f"p.{ending}"
    outcome = run("predict", "--scores", "three.t.svm", "three.svm.model", "--out", out)
    assert outcome.exit_code == 0, outcome.stderr
    read = pyarrow.csv.read_csv if ending == "csv" else pyarrow.parquet.read_table
    table = read(out)
    assert table.column_names == ["id", "label", "score_3", "score_4", "score_5"]
    model, X = load_model("three.svm.model"), data.open("three.t.svm").X
    assert table.column("label").to_pylist() == model.predict(X).tolist()
    np.testing.assert_allclose(table.column("score_4"), model.decision_function(X)[:, 1])
    assert table.column("id").to_pylist() == list(range(100))


def test_a_column_of_the_data_names_the_rows_of_the_table(run, trained, folder):
    import pyarrow.csv

    lines = (folder / "words.csv").read_text().splitlines()
    args = ["predict", "words.csv", "words.csv.model", "--id", "name", "--out", "p.csv"]
    assert run(*args).exit_code == 1  # words.csv has no such column
    assert not os.path.exists("p.csv")
    assert run("predict", "words.csv", "words.csv.model", "--id", "name").exit_code == 2
    numbers = ["id2," + lines[0], *(f"{k + 7},{line}" for k, line in enumerate(lines[1:]))]
    (folder / "numbered.csv").write_text("\n".join(numbers) + "\n")
    args = ["predict", "numbered.csv", "words.csv.model", "--id", "id2", "--out", "p.csv"]
    outcome = run(*args)
    assert outcome.exit_code == 0, outcome.stderr
    table = pyarrow.csv.read_csv("p.csv")
    assert table.column_names == ["id2", "label"]
    assert table.column("id2").to_pylist()[:3] == [7, 8, 9]


def test_two_outputs_are_one_too_many(run, trained):
    outcome = run("predict", "two.t.svm", "two.svm.model", "a", "--out", "b")
    assert outcome.exit_code == 2
    assert not os.path.exists("a") and not os.path.exists("b")


class NeverSliced(sp.csr_matrix):
    """scipy's slices end the process where memory runs out."""

    def __getitem__(self, key):
        raise AssertionError("scipy would slice")


def test_pieces_of_sparse_rows_are_not_cut_by_scipy():
    X = NeverSliced(sp.random(40_000, 5, 0.5, "csr", random_state=0))
    pieces = list(pieces_of(Dataset(X=X, y=np.arange(40_000))))
    assert [piece.X.shape[0] for piece in pieces] == [len(piece.y) for piece in pieces]
    assert (sp.vstack([piece.X for piece in pieces]) != sp.csr_array(X)).nnz == 0
