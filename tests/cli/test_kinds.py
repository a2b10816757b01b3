"""The kinds of machines at the command line: rank, ordinal, measure, and what all share."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import maxmargin
from maxmargin import data, metrics
from maxmargin.cli import kernel_options, kinds
from maxmargin.cli.kinds import KINDS, machine
from maxmargin.losses.measures import MEASURES
from maxmargin.models import load_model
from maxmargin.solvers.kernel.gram import KERNELS

WORDS = np.array(["bad", "fair", "good"])


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Documents of 30 queries with grades 0, 1, 2: as svmlight text and as tables."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(240, 4)), 3)
    X[X == 0] = 1.0
    qid = np.repeat(np.arange(1, 31), 8)
    score = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=240)
    y = np.digitize(score, [-0.5, 0.8])
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{grade} qid:{q} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(row))
        for grade, q, row in zip(y, qid, X)
    ]
    (tmp_path / "rank.svm").write_text("\n".join(lines) + "\n")
    (tmp_path / "plain.svm").write_text(
        "\n".join(" ".join([line.split()[0], *line.split()[2:]]) for line in lines) + "\n"
    )
    table = ["label,query,a,b,c,d"]
    table += [f"{g},{q}," + ",".join(map(str, row)) for g, q, row in zip(y, qid, X)]
    (tmp_path / "rank.csv").write_text("\n".join(table) + "\n")
    words = ["label,a,b,c,d"]
    words += [f"{WORDS[g]}," + ",".join(map(str, row)) for g, row in zip(y, X)]
    (tmp_path / "words.csv").write_text("\n".join(words) + "\n")
    sides = ["label,a,b,c,d"]
    sides += [f"{'yes' if g == 2 else 'no'}," + ",".join(map(str, r)) for g, r in zip(y, X)]
    (tmp_path / "sides.csv").write_text("\n".join(sides) + "\n")
    return tmp_path


def train(run, *args):
    outcome = run("train", "-q", *args)
    assert outcome.exit_code == 0, outcome.stderr


# ---------------------------------------------------------------- rank


def test_rank_trains_what_the_estimator_trains(run, graded):
    train(run, "--kind", "rank", "-c", "0.1", "rank.svm", "m")
    rows = data.open("rank.svm")
    fitted = maxmargin.RankSVM(C=0.1).fit(rows.X, rows.y, qid=rows.qid)
    np.testing.assert_array_equal(load_model("m").coef, fitted.coef_)
    assert isinstance(maxmargin.load("m"), maxmargin.RankSVM)


def test_rank_says_how_many_queries_there_were(run, graded):
    assert "30 queries" in run("train", "--kind", "rank", "rank.svm", "m").stderr
    assert "1 query" in run("train", "--kind", "rank", "plain.svm", "m").stderr


def test_a_column_of_a_table_may_hold_the_queries(run, graded):
    train(run, "--kind", "rank", "rank.svm", "a")
    train(run, "--kind", "rank", "--encode", "none", "--qid", "query", "rank.csv", "b")
    np.testing.assert_allclose(load_model("a").coef, load_model("b").coef, rtol=1e-6)
    assert run("convert", "rank.csv", "rank.parquet").exit_code == 0
    train(run, "--kind", "rank", "--encode", "none", "--qid", "query", "rank.parquet", "c")
    np.testing.assert_allclose(load_model("b").coef, load_model("c").coef, rtol=1e-6)


def test_predict_writes_one_score_a_line(run, run_json, graded):
    train(run, "--kind", "rank", "rank.svm", "m")
    outcome = run("predict", "rank.svm", "m")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    expected = load_model("m").predict(data.open("rank.svm").X)
    np.testing.assert_array_equal(list(map(float, outcome.stdout.split("\n")[:-1])), expected)
    assert run_json("predict", "rank.svm", "m") == {"scores": expected.tolist()}


def test_evaluate_a_ranking(run, run_json, graded):
    train(run, "--kind", "rank", "rank.svm", "m")
    told = run_json("evaluate", "rank.svm", "m")
    rows = data.open("rank.svm")
    score = load_model("m").predict(rows.X)
    assert told == {
        "rows": 240,
        "queries": 30,
        "pairwise_accuracy": metrics.pairwise_accuracy(rows.y, score, qid=rows.qid),
        "ndcg_at_10": metrics.ndcg(rows.y, score, qid=rows.qid, k=10),
        "map": metrics.mean_average_precision(rows.y, score, qid=rows.qid),
    }
    assert told["pairwise_accuracy"] > 0.9
    shown = run("evaluate", "--qid", "query", "rank.csv", "m").stdout
    assert "30 queries" in shown
    for name in ("pairwise accuracy", "NDCG@10", "MAP"):
        assert name in shown


def test_targets_that_are_no_grades_have_no_ndcg(run, run_json, graded):
    (graded / "real.svm").write_text("-2.5 1:1\n3000.25 1:2\n0.1 1:1.5\n")
    train(run, "--kind", "rank", "real.svm", "m")
    told = run_json("evaluate", "real.svm", "m")
    assert told["pairwise_accuracy"] == 1.0
    assert told["ndcg_at_10"] is None
    assert told["map"] is None
    assert "needs grades" in run("evaluate", "real.svm", "m").stdout


# ---------------------------------------------------------------- ordinal


def test_ordinal_predicts_labels(run, run_json, graded):
    train(run, "--kind", "ordinal", "plain.svm", "m")
    rows = data.open("plain.svm")
    fitted = maxmargin.OrdinalSVC().fit(rows.X, rows.y)
    outcome = run("predict", "plain.svm", "m")
    assert outcome.stdout.split() == [str(int(label)) for label in fitted.predict(rows.X)]
    assert "accuracy" in outcome.stderr
    told = run_json("evaluate", "plain.svm", "m")
    assert told["accuracy"] == pytest.approx(fitted.score(rows.X, rows.y))
    assert told["mean_absolute_error"] == pytest.approx(fitted.mean_absolute_error(rows.X, rows.y))
    assert "mean absolute error" in run("evaluate", "plain.svm", "m").stdout


def test_words_are_in_the_order_that_is_typed(run, run_json, graded):
    train(run, "--kind", "ordinal", "plain.svm", "a")
    train(run, "--kind", "ordinal", "--order", "bad,fair,good", "words.csv", "b")
    numbers = run("predict", "-q", "plain.svm", "a").stdout.split()
    words = run("predict", "-q", "words.csv", "b").stdout.split()
    assert [WORDS[int(k)] for k in numbers] == words
    backwards = ("--order", "good,fair,bad")
    told = run_json("train", "-q", "--kind", "ordinal", *backwards, "words.csv", "c")
    assert told["classes"] == ["good", "fair", "bad"]
    assert told["parameters"]["order"] == ["good", "fair", "bad"]


def test_scores_of_ordinal_labels_are_one_a_class(run, graded):
    train(run, "--kind", "ordinal", "plain.svm", "m")
    lines = run("predict", "-q", "--scores", "plain.svm", "m").stdout.splitlines()
    scores = np.array([line.split()[1:] for line in lines], dtype=float)
    assert [line.split()[0] for line in lines] == [str(k) for k in scores.argmax(axis=1)]


# ---------------------------------------------------------------- measure


@pytest.mark.parametrize(
    "args, parameters",
    [
        ((), {}),
        (("--measure", "fbeta", "--beta", "2"), {"measure": "fbeta", "beta": 2.0}),
        (("--measure", "precision_at_k", "--k", "20"), {"measure": "precision_at_k", "k": 20}),
        (("--measure", "recall_at_k", "--k", "0.5"), {"measure": "recall_at_k", "k": 0.5}),
        (("--measure", "roc_auc"), {"measure": "roc_auc"}),
        (("--measure", "error", "-B", "2"), {"measure": "error", "intercept_scaling": 2.0}),
        (("--measure", "prbep", "-wyes", "2"), {"measure": "prbep", "class_weight": {"yes": 2}}),
    ],
)
def test_measures_are_trained_for_and_printed(run, run_json, graded, args, parameters):
    train(run, "--kind", "measure", "--encode", "none", *args, "sides.csv", "m")
    rows = data.open("sides.csv")
    fitted = maxmargin.MeasureSVC(**parameters).fit(rows.X, rows.y)
    np.testing.assert_array_equal(load_model("m").coef, fitted.coef_)
    told = run_json("evaluate", "sides.csv", "m")
    assert told["measure"] == fitted.measure
    assert told["value"] == pytest.approx(fitted.score(rows.X, rows.y))
    shown = run("predict", "-q", "sides.csv", "m").stdout.split()
    assert shown == fitted.predict(rows.X).tolist()
    assert fitted.measure in run("evaluate", "sides.csv", "m").stdout


# ---------------------------------------------------------------- all


@pytest.mark.parametrize("kind", KINDS)
def test_info_describes_every_kind(run, run_json, graded, kind):
    train(run, "--kind", kind, "plain.svm", "m")
    told = run_json("info", "m")
    assert told["kind"] == f"{kind} model"
    assert told["features"] == 4
    assert ("classes" in told) == (not kind.endswith(("rank", "regression")))
    assert ("thresholds" in told) == kind.endswith("ordinal")
    assert run("info", "m").exit_code == 0


def test_learning_nothing_is_said_as_a_message(run, graded):
    outcome = run(
        "train", "-q", "--kind", "measure", "--measure", "roc_auc", "-c", "1e-9", "sides.csv", "m"
    )
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith("maxmargin: warning: nothing was learned")
    assert "UserWarning" not in outcome.stderr


@pytest.mark.parametrize("kind", ["rank", "ordinal", "measure"])
def test_a_missed_tolerance_is_said_once(run, graded, kind):
    args = ("-e", "1e-12", "--max-iter", "1", "--solver", "cpa")
    outcome = run("train", "-q", "--kind", kind, *args, "plain.svm", "m")
    assert outcome.exit_code == 0
    assert outcome.stderr.count("iteration limit") == 1
    assert load_model("m").certificate.status == "max_iter"


@pytest.mark.parametrize(
    "args, message",
    [
        (["--measure", "f1"], "--measure is for --kind sparse-kernel or measure"),
        (["--kind", "rank", "--measure", "f1"], "--measure is for --kind sparse-kernel or measure"),
        (["--kind", "rank", "-B", "2"], "--bias is for --kind linear"),
        (["--kind", "rank", "-w1", "2"], "--class-weight"),
        (["--kind", "ordinal", "--seed", "1"], "--seed is for --kind linear"),
        (["--kind", "ordinal", "--qid", "a"], "--qid is for --kind rank"),
        (["--order", "1,2"], "--order is for --kind ordinal"),
        (["--kind", "rank", "--solver", "newton"], "auto, ocas, cpa"),
        (
            ["--gamma", "0.1"],
            "--gamma is for --kind kernel or kernel-regression or ",
        ),
        (["--kernel", "rbf"], "--kernel is for --kind kernel"),
        (["--kind", "rank", "--memory", "1GB"], "--memory is for --kind kernel"),
        (["--kind", "kernel", "--solver", "auto"], "--solver is for --kind linear"),
        (["--kind", "kernel", "-B", "2"], "--bias is for --kind linear"),
        (["--kind", "kernel", "--kernel", "linear", "--gamma", "1"], "has no gamma"),
        (["--kind", "measure", "--k", "3"], "precision_at_k or"),
        (["--kind", "measure", "--measure", "recall_at_k"], "needs --k"),
        (["--kind", "measure", "--measure", "f1", "--beta", "2"], "--beta is for"),
        (["--kind", "measure", "--measure", "magic"], "magic"),
        (["--kind", "measure", "--measure", "roc_auc", "-B", "2"], "a constant does not change"),
        (["--kind", "measure", "--measure", "prbep", "-B", "0"], "a constant does not change"),
    ],
)
def test_options_that_do_not_belong_are_wrong_usage(run, graded, args, message):
    before = sorted(os.listdir())
    outcome = run("train", *args, "plain.svm", "m")
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.replace("│", " ").split())
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "args, message",
    [
        (["--kind", "rank", "words.csv"], "needs numbers to order"),
        (["--kind", "rank", "--qid", "query", "rank.svm"], "svmlight"),
        (["--kind", "rank", "--qid", "nowhere", "rank.csv"], "nowhere"),
        (["--kind", "rank", "one.svm"], "nothing to rank"),
        (["--kind", "ordinal", "words.csv"], "--order"),
        (["--kind", "ordinal", "--order", "bad,good", "words.csv"], "'fair'"),
        (["--kind", "ordinal", "--order", "bad,fair,good,best", "words.csv"], "'best'"),
        (["--kind", "measure", "one.svm"], "one class"),
        (["--kind", "measure", "--measure", "recall_at_k", "--k", "1000", "sides.csv"], "240"),
        (["--kind", "measure", "--measure", "recall_at_k", "--k", "2.5", "sides.csv"], "2.5"),
    ],
)
def test_failures_are_one_sentence_and_leave_nothing(run, graded, args, message):
    (graded / "one.svm").write_text("1 1:2\n1 1:3\n")
    before = sorted(os.listdir())
    outcome = run("train", *args, "m")
    assert outcome.exit_code == 1, outcome.stderr
    failures = [line for line in outcome.stderr.splitlines() if ": warning: " not in line]
    assert len(failures) == 1
    assert message in failures[0]
    assert sorted(os.listdir()) == before


def test_failures_of_the_other_commands(run, graded):
    train(run, "--kind", "rank", "rank.svm", "r")
    train(run, "--kind", "ordinal", "plain.svm", "o")
    assert run("predict", "--scores", "rank.svm", "r").exit_code == 2
    (graded / "new.svm").write_text("7 1:1\n")
    outcome = run("evaluate", "new.svm", "o")
    assert outcome.exit_code == 1
    assert "'7'" in outcome.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_formats_that_cannot_hold_a_kind_say_so(run, graded, kind):
    train(run, "--kind", kind, "sides.csv" if kind in ("linear", "kernel") else "plain.svm", "m")
    assert run("export", "m", "m.safetensors").exit_code == 0
    if importlib.util.find_spec("onnx"):
        assert run("export", "m", "m.onnx").exit_code == 0
    formats = {
        "kernel": ("liblinear",),
        "linear": ("libsvm",),
        "stream": ("libsvm",),
        "measure": ("libsvm",),
    }
    for suffix in formats.get(kind, ("liblinear", "libsvm")):
        outcome = run("export", "m", f"m.{suffix}")
        assert outcome.exit_code == 1
        assert "cannot be written as" in outcome.stderr
        assert not os.path.exists(f"m.{suffix}")


@pytest.mark.parametrize(
    "args, message",
    [
        (
            ["--gammas", "3"],
            "--gammas is for --kind kernel or kernel-regression or sparse-kernel or sparse-kernel-",
        ),
        (["--kind", "kernel-regression", "--scoring", "r2"], "or take --kind regression"),
        (["--picture", "a.svg"], "--picture is for --kind kernel"),
        (["--kind", "kernel", "--solver", "dual"], "--solver is for --kind linear"),
        (["--kind", "kernel", "--bias", "2"], "--bias is for --kind linear"),
        (["--kind", "kernel", "--kernel", "linear", "--gammas", "3"], "has no gamma"),
        (["--kind", "stream", "--solver", "dual"], "--solver is for --kind linear"),
    ],
)
def test_options_of_cv_that_do_not_belong_are_wrong_usage(run, graded, args, message):
    before = sorted(os.listdir())
    outcome = run("cv", *args, "plain.svm", "m")
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.replace("│", " ").split())
    assert sorted(os.listdir()) == before


def test_the_table_of_kinds_is_whole():
    assert set(kinds.MEASURES) == set(MEASURES)
    assert set(kernel_options.KERNELS) == set(KERNELS)
    for kind in KINDS:
        for function in ("plan", "fit", "about", "search", "predict", "evaluate"):
            assert callable(getattr(machine(kind), function))


def test_every_kind_trains_without_scikit_learn(graded):
    """All in one process, which says after each command whose import it was."""
    code = "import sys; from maxmargin.cli.main import app\n"
    for kind in KINDS:
        commands = [["train", "--kind", kind]]
        commands += [["cv", "--kind", kind, "--Cs", "2", "-v", "2"], ["evaluate"]]
        for command in [*commands, ["predict"]]:
            code += f"app({[*command, 'plain.svm', f'{kind}.model']}, standalone_mode=False)\n"
            code += f"assert 'sklearn' not in sys.modules, {[kind, *command]}\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
