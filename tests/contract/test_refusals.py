"""The same bad value gets the same refusal, in the same words, from every estimator and command."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import maxmargin.distributed
from maxmargin.cli.main import app

from .machines import CLASSIFIERS, KINDS, MACHINES, ON_CLUSTERS, Rows, taking, write_svmlight

NAN, INF = float("nan"), float("inf")
POSITIVE = "{name} must be a positive number; got {value!r}"
WHOLE = "{name} must be a positive whole number, or None for no limit; got {value!r}"
SECONDS = "{name} must be a positive number of seconds, or None for no limit; got {value!r}"
JOBS = "{name} must be a whole number other than 0, or None for all available CPUs; got {value!r}"
SEED = "{name} must be None, a whole number or a numpy generator; got {value!r}"

BAD = {
    "C": (POSITIVE, [0, -1.0, NAN, INF, "1", None, True]),
    "tol": (POSITIVE, [0, -1e-3, NAN, INF, "small", None, True]),
    "max_iter": (WHOLE, [0, -1, 2.5, NAN, "ten", True]),
    "max_time": (SECONDS, [0, -1, NAN, "soon", True]),
    "n_jobs": (JOBS, [0, 1.5, "all", True]),
    "random_state": (SEED, [1.5, "seed"]),
}
CASES = [(machine, name) for name in BAD for machine in taking(name)]


def check_refusals(fit, name):
    """Every bad value of a parameter is refused by `fit`, in the words of the table."""
    sentence, values = BAD[name]
    for value in values:
        expected = re.escape(sentence.format(name=name, value=value))
        with pytest.raises(ValueError, match=f"^{expected}$"):
            fit(**{name: value})


@pytest.mark.parametrize(("machine", "name"), CASES)
def test_bad_values_are_refused_in_the_same_words(machine, name):
    check_refusals(MACHINES[machine].fit, name)


@pytest.mark.parametrize(("machine", "name"), [case for case in CASES if case[0] in ON_CLUSTERS])
def test_a_cluster_class_refuses_them_in_the_same_words(machine, name):
    cluster_class = getattr(maxmargin.distributed, machine)
    check_refusals(lambda **bad: cluster_class(**bad).fit(["rows.svm"]), name)


@pytest.mark.parametrize("machine", CLASSIFIERS)
@pytest.mark.parametrize(
    ("class_weight", "sentence"),
    [
        ({99: 5}, r"class_weight names 99, which is not a label in y \(labels: "),
        ("even", r"class_weight must be a dict, 'balanced' or None; got 'even'"),
        ({1: -2.0}, r"class_weight of label 1 must be a number >= 0; got -2\.0"),
        ({1: NAN}, r"class_weight of label 1 must be a number >= 0; got nan"),
        (5, r"class_weight must be a dict, 'balanced' or None; got 5"),
    ],
)
def test_a_bad_class_weight_is_refused_in_the_same_words(machine, class_weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        MACHINES[machine].fit(class_weight=class_weight)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda w: w[:-1],
            r"sample_weight has shape \(59,\); expected \(60,\), one weight per row",
        ),
        (lambda w: np.append(w[:-1], -1.0), r"sample_weight\[59\] is -1\.0; expected finite"),
        (lambda w: np.append(w[:-1], NAN), r"sample_weight\[59\] is nan; expected finite"),
        (lambda w: 0 * w, r"every sample_weight is zero; expected rows of positive weight"),
    ],
    ids=["short", "negative", "nan", "zero"],
)
def test_bad_sample_weights_are_refused_in_the_same_words(machine, change, sentence):
    rows = MACHINES[machine].rows()
    given = Rows(rows.X, rows.y, rows.more | {"sample_weight": change(np.ones(len(rows.y)))})
    with pytest.raises(ValueError, match=sentence):
        MACHINES[machine].fit(given)


@pytest.mark.parametrize("machine", CLASSIFIERS)
def test_one_class_is_refused_in_the_same_words(machine):
    rows = MACHINES[machine].rows()
    given = Rows(rows.X, np.zeros(len(rows.y), dtype=int), rows.more)
    with pytest.raises(ValueError, match="y has one class only, 0; training needs at least two"):
        MACHINES[machine].fit(given)


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_several_labels_a_row_are_refused_with_what_to_use(machine):
    rows = MACHINES[machine].rows()
    two = np.column_stack([rows.y, rows.y])
    if machine.startswith("LinearSVC"):  # which takes zeros and ones, but no other pairs
        two = np.column_stack([rows.y, rows.y + 0.5])
    name = machine.split("-")[0]
    expected = rf"y should be a 1d array.*{name} learns one target.*LinearSVC.*sklearn\.multioutput"
    with pytest.raises(ValueError, match=expected):
        MACHINES[machine].fit(Rows(rows.X, two, rows.more))


def test_a_cluster_refuses_several_labels_a_row():
    da = pytest.importorskip("dask.array")
    X, Y = da.zeros((60, 3), chunks=(20, 3)), da.ones((60, 2), chunks=(20, 1))
    with pytest.raises(ValueError, match=r"y should be a 1d array.*a cluster learns one target"):
        maxmargin.distributed.LinearSVC().fit(X, Y)


@pytest.mark.parametrize("machine", taking("solver"))
def test_an_unknown_solver_is_refused_with_those_there_are(machine):
    with pytest.raises(ValueError, match=r"^solver must be one of auto, .*; got 'simplex'$"):
        MACHINES[machine].fit(solver="simplex")


def run(tmp_path, kind, *options):
    rows = KINDS[kind].rows()
    write_svmlight(tmp_path / "train.svm", rows)
    args = ["train", "train.svm", "out.model", "--kind", kind, *KINDS[kind].options, *options]
    outcome = CliRunner().invoke(app, args)
    assert not (tmp_path / "out.model").exists()
    return outcome


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--C", "0"], "--C must be a positive number; got 0"),
        (["--C", "nan"], "--C must be a positive number; got nan"),
        (["--tol", "0"], "--tol must be a positive number; got 0"),
        (["--max-iter", "0"], "--max-iter must be a positive whole number"),
        (["--max-time", "-1"], "--max-time must be a positive number of seconds"),
        (["--threads", "0"], "--threads must be a positive whole number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands_refuse_bad_values_in_the_same_words(
    tmp_path, monkeypatch, kind, options, sentence
):
    monkeypatch.chdir(tmp_path)
    outcome = run(tmp_path, kind, *options)
    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("linear", "--gamma", "1"),
        ("linear", "--kernel", "rbf"),
        ("linear", "--measure", "f1"),
        ("rank", "--class-weight", "1=2"),
        ("rank", "--bias", "1"),
        ("kernel", "--solver", "ocas"),
        ("kernel", "--features", "pairs"),
        ("sparse-kernel", "--checkpoint", "a"),
        ("ordinal", "--k", "3"),
        ("measure", "--order", "0,1"),
        ("stream", "--gamma", "1"),
    ],
)
def test_commands_refuse_options_of_another_kind(tmp_path, monkeypatch, kind, option, value):
    monkeypatch.chdir(tmp_path)
    outcome = run(tmp_path, kind, option, value)
    assert outcome.exit_code == 2
    assert f"{option} is for --kind" in " ".join(outcome.stderr.replace("│", " ").split())
