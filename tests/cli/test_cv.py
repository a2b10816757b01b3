import os

import pytest

from maxmargin.models import load_model


def test_cv_shows_every_C_and_marks_the_best(run, folder):
    outcome = run("cv", "two.svm", "--Cs", "0.001,1,10", "-v", "3")
    assert outcome.exit_code == 0, outcome.stderr
    for C in ("0.001", "1", "10"):
        assert any(line.split()[:1] == [C] for line in outcome.stdout.splitlines())
    assert outcome.stdout.count("best") == 1


def test_json_has_the_scores_of_every_fold(run_json, folder):
    told = run_json("cv", "three.svm", "--Cs", "4", "-v", "3")
    assert len(told["Cs"]) == len(told["mean"]) == len(told["std"]) == 4
    assert len(told["scores"]) == 3
    assert max(told["mean"]) == told["mean"][told["Cs"].index(told["best_C"])]


def test_the_model_of_the_best_C_is_saved_if_asked_for(run_json, folder):
    told = run_json("cv", "words.csv", "m", "--Cs", "0.1,1")
    model = load_model("m")
    assert model.parameters["C"] == told["best_C"]
    assert model.classes.tolist() == ["ham", "spam"]
    assert model.feature_names == tuple(f"f{j}" for j in range(6))
    assert model.certificate.relative_gap <= 1e-3


def test_the_same_seed_gives_the_same_scores(run_json, folder):
    args = ("cv", "two.svm", "--Cs", "0.1,1", "--seed", "5", "--threads", "1")
    assert run_json(*args) == run_json(*args)


@pytest.mark.parametrize("Cs", ["a", "1,,2", "", "1,x"])
def test_values_that_are_no_numbers_are_wrong_usage(run, folder, Cs):
    assert run("cv", "two.svm", "--Cs", Cs).exit_code == 2


@pytest.mark.parametrize("args", [["--Cs", "0"], ["--Cs", "1,-1"], ["-v", "1000"]])
def test_impossible_searches_fail_with_a_sentence(run, folder, args):
    before = sorted(os.listdir())
    outcome = run("cv", "two.svm", "m", *args)
    assert outcome.exit_code == 1
    assert len(outcome.stderr.splitlines()) == 1
    assert sorted(os.listdir()) == before
