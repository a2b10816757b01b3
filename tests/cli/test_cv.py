import os
import signal
from dataclasses import replace

import pytest

from maxmargin.models import load_model
from maxmargin.solvers.table import SOLVERS


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


def contract_file(name, path):
    from tests.contract.machines import MACHINES, write_svmlight

    rows = MACHINES[name].rows()
    write_svmlight(path, rows)
    return rows


@pytest.mark.parametrize(
    "kind, name, more",
    [
        ("linear", "LinearSVCCV", {}),
        ("regression", "LinearSVRCV", {}),
        ("rank", "RankSVMCV", {}),
        ("ordinal", "OrdinalSVCCV", {}),
        ("measure", "MeasureSVCCV", {}),
        ("sparse-kernel", "SparseKernelSVCCV", {"n_basis": 4}),
    ],
)
@pytest.mark.parametrize("seed", [0, 3])
def test_python_and_the_command_choose_the_same_C(run_json, tmp_path, kind, name, more, seed):
    import maxmargin

    path = tmp_path / "rows.svm"
    contract_file(name, path)
    Cs = 3 if kind == "sparse-kernel" else 6
    estimator = getattr(maxmargin, name)(Cs=Cs, cv=3, random_state=seed, **more)
    model = estimator.fit(str(path))
    options = ("--n-basis", "4") if more else ()
    seeded = ("--seed", str(seed))
    told = run_json("cv", str(path), "--kind", kind, "--Cs", str(Cs), "-v", "3", *seeded, *options)
    assert told["best_C"] == model.C_
    assert told["Cs"] == pytest.approx(model.Cs_.tolist())
    assert told["mean"] == pytest.approx(model.scores_.mean(axis=0).tolist(), abs=1e-3)
    assert told["scoring"] == model.scoring_


@pytest.mark.parametrize(
    "kind, name", [("stream", "StreamSVCCV"), ("stream-regression", "StreamSVRCV")]
)
def test_streams_are_searched_where_they_lie(run, run_json, tmp_path, kind, name):
    import maxmargin

    path, Cs = tmp_path / "rows.svm", [0.01, 0.1, 1.0]
    contract_file(name, path)
    model = getattr(maxmargin, name)(Cs=Cs, cv=3, widen=False, tol=1e-5).fit(str(path))
    args = ("cv", str(path), "--kind", kind, "--Cs", "0.01,0.1,1", "-v", "3", "--memory", "1MB")
    told = run_json(*args, "--tol", "1e-5", str(tmp_path / "m"))
    assert told["best_C"] == model.C_
    assert told["mean"] == pytest.approx(model.scores_.mean(axis=0).tolist(), abs=2e-2)
    assert load_model(tmp_path / "m").kind == kind
    outcome = run(*args, "--checkpoint", str(tmp_path / "state"))
    assert outcome.exit_code == 2 and "No such option" in outcome.stderr


@pytest.mark.parametrize("kind, name", [("rank", "RankSVM"), ("measure", "MeasureSVC")])
def test_rows_may_stay_on_disk(run_json, tmp_path, kind, name):
    path = tmp_path / "rows.svm"
    contract_file(name, path)
    args = ("cv", str(path), "--kind", kind, "--Cs", "0.1,1", "-v", "3")
    here, there = run_json(*args), run_json(*args, "--from-disk")
    assert here["best_C"] == there["best_C"]
    assert here["mean"] == pytest.approx(there["mean"], abs=1e-2)


@pytest.mark.parametrize("kind", ["linear", "measure", "ordinal", "stream"])
def test_features_are_made_of_strings(run_json, tmp_path, kind):
    rows = "".join(f">{i} label={i % 2}\n{'ACGT'[i % 4] * 3}{'GA'[i % 2]}CA\n" for i in range(40))
    path = tmp_path / "rows.fa"
    path.write_text(rows)
    args = ("cv", str(path), "--kind", kind, "--features", "spectrum:2", "--Cs", "1,10", "-v", "3")
    told = run_json(*args, str(tmp_path / "m"))
    assert max(told["mean"]) == (0.0 if kind == "ordinal" else 1.0)  # no place off, or all right
    assert load_model(tmp_path / "m").features.k == 2


def test_a_search_is_judged_as_told(run, run_json, folder):
    told = run_json("cv", "two.svm", "m", "--Cs", "0.1,1", "--scoring", "f1", "--tune-threshold")
    assert told["scoring"] == "f1"
    assert load_model("m").parameters["threshold"] == told["threshold"]
    assert run_json("cv", "two.svm", "--Cs", "0.1,1", "--scoring", "balanced_accuracy")
    for args in (["--scoring", "ndcg@10"], ["--scoring", "nonsense"]):
        outcome = run("cv", "two.svm", "--Cs", "0.1,1", *args)
        assert outcome.exit_code == 1 and len(outcome.stderr.splitlines()) == 1
    for args, way in (
        ([], "it needs probabilities: fit with --loss logistic"),
        (["--kind", "measure"], "it needs probabilities, which this kind of machine does not have"),
    ):
        outcome = run("cv", "two.svm", "--Cs", "0.1,1", "--scoring", "neg_log_loss", *args)
        assert outcome.exit_code == 1 and way in " ".join(outcome.stderr.split())
    assert run("cv", "two.svm", "--kind", "kernel", "--scoring", "f1").exit_code == 2


def test_a_column_of_groups_is_never_split(run, run_json, tmp_path):
    lines = ["target,patient,a,b"]
    lines += [f"{i % 2},{i // 10},{(i * 7) % 5 + i % 2},{i % 3}" for i in range(60)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    args = ("cv", str(path), "--Cs", "0.1,1", "--group", "patient")
    assert len(run_json(*args, "-v", "6")["scores"]) == 6
    outcome = run(*args, "-v", "7")
    assert outcome.exit_code == 1 and "7 folds of 6 groups" in outcome.stderr


def test_evaluate_has_any_measure_at_any_k(run, run_json, tmp_path):
    from maxmargin import data, metrics

    path, model = tmp_path / "rows.svm", str(tmp_path / "m")
    contract_file("RankSVM", path)
    run("train", str(path), model, "--kind", "rank")
    args = ("evaluate", str(path), model, "--measures", "NDCG@1,3,map,precision@2")
    told = run_json(*args)
    rows = data.open(path)
    score = load_model(model).predict(rows.X)
    expected = {
        "ndcg@1": metrics.ndcg(rows.y, score, qid=rows.qid, k=1),
        "ndcg@3": metrics.ndcg(rows.y, score, qid=rows.qid, k=3),
        "map": metrics.mean_average_precision(rows.y, score, qid=rows.qid),
        "precision@2": metrics.precision_at(rows.y, score, qid=rows.qid, k=2),
    }
    assert told["measures"] == pytest.approx(expected)
    assert run_json(*args, "--from-disk") == told
    assert run("evaluate", str(path), model, "--measures", "f1").exit_code == 1
    assert run("evaluate", str(path), model, "--measures", "ndgc").exit_code == 1


@pytest.mark.parametrize("name", ["LinearSVC", "OrdinalSVC", "MeasureSVC", "LinearSVR"])
def test_evaluate_reads_block_by_block_what_it_reads_at_once(run, run_json, tmp_path, name):
    from tests.contract.machines import MACHINES

    path, model = tmp_path / "rows.svm", str(tmp_path / "m")
    contract_file(name, path)
    run("train", str(path), model, "--kind", MACHINES[name].kind, *MACHINES[name].options)
    args = ("evaluate", str(path), model)
    assert run_json(*args, "--from-disk") == run_json(*args)


def test_ctrl_c_as_a_fit_ends_is_not_lost(run, folder, monkeypatch):
    """The fit had its answer, and the search went on."""
    newton = SOLVERS["newton"]

    def solve_then_interrupt(*problem):
        solution = newton.solve(*problem)
        signal.raise_signal(signal.SIGINT)
        return solution

    monkeypatch.setitem(SOLVERS, "newton", replace(newton, solve=solve_then_interrupt))
    outcome = run("cv", "two.svm", "m", "--solver", "newton", "--Cs", "0.1,1", "-v", "2")
    assert outcome.exit_code == 1
    assert "maxmargin: interrupted; nothing was written" in outcome.stderr
    assert not (folder / "m").exists()
