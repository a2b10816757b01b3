"""Progress: what the line says of each stage, that it rewrites itself, and where it is silent."""

import io
import re
import threading

import numpy as np
import pytest

from maxmargin.cli import stages
from maxmargin.cli.progress import Messages
from maxmargin.cli.stages import Counting, Fitting, Reading, Stage, Tried
from maxmargin.problem import Progress
from maxmargin.training.search import Grid, SearchProgress, search
from maxmargin.training.tasks import OfClasses


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are told to."""
    now = [100.0]
    monkeypatch.setattr(stages.time, "monotonic", lambda: now[0])
    return now


def test_counted_work_has_a_share_a_rate_and_the_time_left(clock):
    stage = Counting("predicting", 2000, "rows")
    clock[0] += 2
    stage.done = 500
    assert re.fullmatch(r"predicting   25% \S{16}  250 rows/s  6 s left", stage.text())


def test_rates_and_gaps_are_written_out(clock):
    stage = Counting("converting", 10**6, "rows")
    clock[0] += 2
    stage.done = 99_660
    assert "  49,800 rows/s  " in stage.text()
    fitting = Fitting(1e-3)
    fitting.see(Progress(1, 0.0, 1.0, 0.0))
    assert "gap 100 %" in fitting.text()


def test_no_time_is_foretold_from_next_to_nothing(clock):
    stage = Counting("predicting", 100_000, "rows")
    clock[0] += 4
    stage.done = 1
    assert "left" not in stage.text()  # it would be 111 h
    stage.done = 1000
    assert stage.text().endswith("6 min 36 s left")


def test_a_fit_is_as_far_as_the_logarithm_of_its_gap(clock):
    stage = Fitting(1e-4)
    assert stage.text() == "fitting  0 s"
    clock[0] += 10
    stage.see(Progress(7, 10.0, 100.0, 99.0))
    text = stage.text()
    assert " 50% " in text and "iteration 7  gap 1 %" in text and text.endswith("10 s left")


def test_a_time_limit_that_ends_a_fit_first_is_what_counts(clock):
    stage = Fitting(1e-4, max_time=20)
    stage.see(Progress(1, 0.0, 1.0, 0.0))
    clock[0] += 15
    assert " 75% " in stage.text() and stage.text().endswith("5 s left")


def test_a_fit_of_several_classes_counts_those_that_are_done():
    stage = Fitting(1e-3)
    stage.see(Progress(3, 0.0, 1.0, 1.0, problem=0, problems=4))
    stage.see(Progress(1, 0.0, 1.0, 0.0, problem=1, problems=4))
    assert " 25% " in stage.text() and "1 of 4 classes" in stage.text()


def test_a_search_tells_its_fold_and_C():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    from maxmargin.training.fit import LinearPlan

    seen: list[SearchProgress] = []
    search(X, OfClasses(y, LinearPlan()), Grid([0.1, 1.0]), 2, watch=seen.append)
    assert [str(s) for s in seen[:4]] == [
        "fold 1 of 2, C = 0.1",
        "fold 2 of 2, C = 0.1",
        "fold 1 of 2, C = 1",
        "fold 2 of 2, C = 1",
    ]
    assert str(seen[-1]).startswith("all rows, C = ")
    assert [(s.done, s.total) for s in seen] == [(k, 5) for k in range(5)]
    stage = Fitting(1e-3)
    stage.tried(seen[3])
    assert " 60% " in stage.text() and "fold 2 of 2, C = 1" in stage.text()


def test_cells_and_grids_tell_how_many_are_done(clock):
    from maxmargin.solvers.kernel.grid_problem import GridProgress

    stage = Tried("searching", "folds")
    stage.see(Progress(1, 0.0, 1.0, 0.0))  # of a single fit
    clock[0] += 4
    stage.see(GridProgress(2, 8, 4.0, 0.125, 1.0, 0.5))
    text = stage.text()
    assert " 25% " in text and text.endswith("12 s left")
    assert "2 of 8 folds  best 12.50% (C 1, gamma 0.5)" in text


def test_reading_goes_by_bytes_and_then_by_encoded_rows(tmp_path, monkeypatch, clock):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"x" * 1_000_000)
    read = [5_000]
    monkeypatch.setattr(stages, "bytes_read", lambda: read[0])
    stage = Reading(str(path))
    stage.begin()
    read[0] += 250_000
    clock[0] += 1
    assert re.fullmatch(r"reading rows.csv   25% \S{16}  0 MB/s  3 s left", stage.text())
    read[0] += 750_000
    assert stage.text() == "parsing rows.csv  1 s"
    stage.see("encoding", 0.5)
    assert re.fullmatch(r"encoding rows.csv   50% \S{16}", stage.text())
    monkeypatch.setattr(stages, "bytes_read", lambda: None)  # a system that does not count
    assert Reading(str(path)).text() == "reading rows.csv  0 s"


def test_long_times_are_told_in_minutes_and_hours():
    assert [stages.duration(s) for s in (3.4, 75, 3725)] == ["3 s", "1 min 15 s", "1 h 02 min"]


def test_nothing_is_shown_where_nobody_watches(capsys):
    messages = Messages()
    with messages.showing(Stage("working")):
        pass
    assert not messages.watched and capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """Someone who watches, and says when a line was shown."""

    def __init__(self):
        super().__init__()
        self.shown = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        if "working" in text:
            self.shown.set()
        return super().write(text)


def test_the_line_rewrites_itself_and_is_gone_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    messages = Messages()
    with messages.showing(Counting("working", 10, "rows")):
        assert terminal.shown.wait(30)
    messages.say("done")
    text = terminal.getvalue()
    assert text.startswith("\r\x1b[Kworking    0% ") and text.endswith("\r\x1b[Kdone\n")
    assert text.count("\n") == 1
    assert all(len(line) < 80 for line in text.split("\r\x1b[K"))  # no terminal: 80 columns


def test_a_resumed_checkpoint_is_announced(run, folder):
    command = ("train", "two.svm", "--kind", "stream", "--checkpoint", "run.state")
    assert "going on" not in run(*command, "a.model").stderr
    again = run(*command, "b.model").stderr
    assert re.search(r"going on from run.state, where \d+ passes are done", again)
