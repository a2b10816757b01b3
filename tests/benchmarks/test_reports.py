"""Reports of benchmarks, and a peer that is a program of its own."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
from benchmarks.reports import put, table

from benchmarks import svm_perf


def test_sections_measured_later_leave_the_others_alone(tmp_path):
    path, head, titles = tmp_path / "report.md", ["# Title", "About."], ["First", "Second"]
    put(path, head, titles, {"Second": "| one |"})
    put(path, head, titles, {"First": "| two |\n\nA note."})
    put(path, head, titles, {"Second": "| three |"})
    text = path.read_text()
    assert text.startswith("# Title\n\nAbout.\n\n## First\n\n| two |")
    assert "| one |" not in text
    assert text.index("| two |\n\nA note.") < text.index("| three |")
    assert text.count("\n## ") == 2


def test_numbers_in_tables_are_short():
    assert table(["a", "b"], [[1.23456, 7], ["x", 0.5], [1234.5, 2e7]]).splitlines()[2:] == [
        "| 1.23 | 7 |",
        "| x | 0.5 |",
        "| 1234 | 2e+07 |",
    ]


def test_a_bar_in_a_text_ends_no_cell():
    assert table(["a", "b"], [["|x|", 1]]).splitlines()[2] == r"| \|x\| | 1 |"


LEARN = """#!/bin/sh
echo "Number of iterations: 7"
echo "Norm of weight vector: |w|=2.00000"
echo "Value of slack variable (on working set): xi=1.00000"
echo "Value of slack variable (global): xi=3.00000"
echo "Runtime in cpu-seconds: 0.25"
for last; do :; done
echo model > "$last"
"""
CLASSIFY = """#!/bin/sh
printf '0.5\\n-1.5\\n' > "$3"
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    for name, text in (("svm_perf_learn", LEARN), ("svm_perf_classify", CLASSIFY)):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def test_what_svm_perf_prints_is_understood(programs):
    assert svm_perf.is_there()
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    answer = svm_perf.learn(X, np.array([1, 0]), 10.0, ["-l", "10"], [X])
    assert (answer.seconds, answer.iterations, answer.objective) == (0.25, 7, 32.0)
    np.testing.assert_array_equal(answer.scores[0], [0.5, -1.5])


def test_other_words_of_a_program_are_an_error():
    with pytest.raises(ValueError, match="said nothing like"):
        svm_perf.number("all is well", "Runtime: ")
