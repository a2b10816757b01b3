import json

import numpy as np
import pytest

from maxmargin import data
from maxmargin.models import load_model


def test_convert_makes_a_row_store(run, run_json, folder):
    outcome = run("convert", "two.svm", "two.t.svm", "o.arrow", "--compression", "lz4")
    assert outcome.exit_code == 0, outcome.stderr
    source = data.open_source("o.arrow")
    assert (source.n, source.d, source.description.compression) == (400, 6, "lz4")
    assert next(source.blocks()).X.dtype == np.float32
    told = run_json("info", "o.arrow")
    assert told["kind"] == "row store of sparse rows"
    assert (told["rows"], told["features"], told["order"]) == (400, 6, "as read")
    assert sum(count for _, count in told["labels"]) == 400
    assert "sparse rows" in run("info", "o.arrow").stdout


@pytest.mark.parametrize("where", [[], ["--from-disk"]])
def test_a_row_store_has_no_columns_to_guess_labels_from(run, folder, where):
    assert run("convert", "two.svm", "o.arrow").exit_code == 0
    outcome = run("train", *where, "o.arrow", "m.model")
    assert outcome.exit_code == 0, outcome.stderr
    assert "no line of names" not in outcome.stderr


def test_convert_takes_globs_types_and_shuffles(run, run_json, folder):
    for seed in (1, 1, 2):
        line = ["convert", "two*.svm", f"o{seed}.arrow", "--dtype", "float64"]
        outcome = run(*line, "--shuffle", "--seed", seed)
        assert outcome.exit_code == 0, outcome.stderr
    one, two = data.open("o1.arrow", dtype="float64"), data.open("o2.arrow", dtype="float64")
    assert not np.array_equal(one.y, two.y)
    assert one.X.sum() == pytest.approx(two.X.sum())
    assert run_json("info", "o2.arrow")["order"] == "shuffled, seed 2"
    assert run_json("info", "o2.arrow")["columns"]["values"] == "float64[]"


def test_convert_reads_fasta(run, run_json, folder):
    (folder / "a.fa").write_text(">a label=1\nACGT\nAC\n>b label=-1\nGG\n")
    assert run("convert", "a.fa", "a.arrow").exit_code == 0
    told = run_json("info", "a.arrow")
    assert (told["kind"], told["rows"], told["letters"]) == ("row store of strings", 2, 8)
    assert told["labels"] == [[-1, 1], [1, 1]]


def test_a_store_can_be_converted_back(run, folder):
    assert run("convert", "words.csv", "o.arrow").exit_code == 0
    assert run("convert", "o.arrow", "o.csv").exit_code == 0
    ours, theirs = data.open("words.csv"), data.open("o.csv")
    np.testing.assert_allclose(theirs.X, ours.X)
    assert theirs.y.tolist() == ours.y.tolist()
    assert theirs.feature_names == ours.feature_names


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("convert two.svm", "IN... OUT"),
        ("convert two.svm o.svm --shuffle", "--shuffle is for a row store"),
        ("convert two.svm o.csv --compression lz4", "--compression is for a row store"),
        ("convert two.svm two.t.svm o.csv", "found 2 files to read"),
        ("train two.svm m --from-disk --kind sparse-kernel", "--from-disk is for --kind linear"),
        ("train two.svm m --from-disk --kind kernel", "give --cells 2000"),
    ],
)
def test_wrong_usage_is_explained(run, folder, line, message):
    outcome = run(*line.split())
    assert outcome.exit_code == 2
    words = " ".join(outcome.stderr.replace("│", " ").split())
    assert message in words


def test_failures_are_a_sentence_and_leave_no_file(run, folder):
    (folder / "bad.svm").write_text("1 1:1\n-1 1:x\n")
    outcome = run("convert", "bad.svm", "o.arrow")
    assert outcome.exit_code == 1
    assert "bad.svm:2: found '1:x'" in outcome.stderr
    assert not (folder / "o.arrow").exists()
    assert run("convert", "two.svm", "nowhere/o.arrow").exit_code == 1


@pytest.mark.parametrize("name", ["two.svm", "three.svm", "words.csv"])
def test_training_from_disk_gives_what_training_in_memory_gives(run, run_json, folder, name):
    there = run_json("train", name, "there", "--from-disk", "-e", "1e-4")
    here = run_json("train", name, "here", "--solver", "ocas", "-e", "1e-4")
    assert there["solver"] == "newton"
    for key in ("rows", "features", "classes", "kind"):
        assert there[key] == here[key]
    for ours, theirs in zip(there["certificates"], here["certificates"]):
        assert ours["primal"] == pytest.approx(theirs["primal"], rel=1e-4)
    models = load_model("there"), load_model("here")
    assert models[0].feature_names == models[1].feature_names
    assert models[0].index_base == models[1].index_base
    assert run("evaluate", name, "there").exit_code == 0


def test_training_from_disk_does_without_single_rows(run, folder):
    assert run("train", "two.svm", "m", "--from-disk", "--solver", "newton").exit_code == 0
    outcome = run("train", "two.svm", "m", "--from-disk", "--solver", "dual")
    assert outcome.exit_code == 1
    assert "solver 'dual' needs single rows in memory" in outcome.stderr


def test_a_damaged_store_is_reported(run, folder):
    assert run("convert", "two.svm", "o.arrow").exit_code == 0
    bad = bytearray((folder / "o.arrow").read_bytes())
    bad[len(bad) // 2] ^= 255
    (folder / "o.arrow").write_bytes(bad)
    for command in ("train o.arrow m --from-disk", "train o.arrow m"):
        outcome = run(*command.split())
        assert outcome.exit_code == 1
        assert "o.arrow: block 1 of 1" in outcome.stderr
        assert "is damaged" in outcome.stderr
    (folder / "o.arrow").write_bytes(bad[:1000])
    outcome = run("info", "o.arrow")
    assert outcome.exit_code == 1
    assert "damaged or incomplete" in outcome.stderr
    assert json.dumps(outcome.stderr).count("\\n") == 1
