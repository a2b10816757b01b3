import doctest
import os
import sys
from itertools import pairwise

import pytest

import maxmargin
from maxmargin.problem import Progress, joined
from maxmargin.report import gap_chart, terminal, training_curve
from maxmargin.report.charts import Axis, ticks_of
from maxmargin.report.pictures import summary
from maxmargin.report.runs import runs


@pytest.fixture
def history():
    return [Progress(t, 0.01 * t, 100 + 900 / (1 + t), 100 - 100 / (1 + t) ** 2) for t in range(60)]


@pytest.mark.parametrize(
    "suffix, magic", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_suffix_chooses_the_format(history, suffix, magic, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"run.{suffix}"
    training_curve(history, path, tol=1e-3)
    assert path.read_bytes().startswith(magic)


def test_one_moment_is_enough_for_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    training_curve([Progress(0, 0.0, 0.0, 0.0)], tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 0


def test_several_problems_are_drawn_apart(history, tmp_path):
    pytest.importorskip("matplotlib")
    both = [*history, *history[:40]]
    assert [len(part) for part in runs(both)] == [60, 40]
    assert summary(runs(both)) == "2 problems, at most 59 iterations, 0.59 s, gap 1.8e-01"
    training_curve(both, tmp_path / "run.png", tol=1e-3)
    assert (tmp_path / "run.png").stat().st_size > 0
    assert "0.39 s" in gap_chart(both)  # the second ended further away


def test_problems_are_told_apart_however_their_times_follow_each_other():
    first = [Progress(k, 0.01 * k, 2.0, 1.0 + 0.1 * k) for k in range(4)]
    later = [Progress(k, 0.04 + 0.01 * k, 3.0, 1.0) for k in range(2)]
    history = joined([first, later])
    assert [(p.problem, p.problems) for p in history] == [(0, 2)] * 4 + [(1, 2)] * 2
    assert runs(history) == [first, later]
    in_order = sorted(joined([first, first]), key=lambda p: p.seconds)  # as streams keep them
    assert runs(in_order) == [first, first]


def test_an_unknown_format_is_refused_and_leaves_nothing(history, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=r"\.png, \.svg or \.pdf"):
        training_curve(history, tmp_path / "run.xyz")
    assert os.listdir(tmp_path) == []


def test_an_empty_history_is_refused(tmp_path):
    with pytest.raises(ValueError, match="fit the estimator"):
        training_curve([], tmp_path / "run.png")


def test_a_missing_matplotlib_is_named(history, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"maxmargin\[report\]"):
        training_curve(history, tmp_path / "run.png")


def test_importing_the_report_face_does_not_import_matplotlib():
    import subprocess

    code = "import maxmargin.report, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_chart_falls_from_left_to_right_and_names_the_gap(history):
    lines = gap_chart(history, tol=1e-1, width=40, height=6).splitlines()
    bars = [line.split("|")[1] for line in lines[:6]]
    assert all(len(a) <= len(b) for a, b in pairwise(bars))
    assert len(bars[-1]) == 40
    assert "0.59 s" in lines[6]
    assert "tolerance 0.1 missed" in lines[7]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_histories_make_a_chart(history, n):
    assert gap_chart(history[:n])


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(terminal).failed == 0


def test_what_a_search_chose_is_among_the_parameters():
    train, _ = maxmargin.data.load_demo()
    X, y = train.X[:100], train.y[:100]
    machine = maxmargin.KernelSVCCV(Cs=[1, 2000], gammas=[0.1], cv=2).fit(X, y)
    made = machine.report(X, y)
    facts = dict(made.sections["machine"].tables[0].rows)
    assert facts["C"] == f"{machine.best_params_['C']:g}" and facts["gamma"] == "0.1"
    assert made.sections["search"].charts[0].columns == ["1", "2,000"]
    assert made.sections["data"].text == ["The model was judged on 100 rows of 123 features."]


def test_axes_have_no_exponents_where_there_is_room():
    marks = ticks_of(Axis("objective"), 0, 1.2e6)
    assert [text for _, text in marks] == ["0", "250,000", "500,000", "750,000", "1,000,000"]
