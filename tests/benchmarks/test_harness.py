"""The harness itself, on made-up data: it must score rightly, stop in time, say what it saw."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measure import Measurement, Plan
from benchmarks.objective import Problem, Reference
from benchmarks.peers import PEERS
from benchmarks.peers.base import Peer
from benchmarks.run import Budget
from benchmarks.worker import Failed, TooSlow, Worker

from benchmarks import datasets, pictures, tables


class Sleeper(Peer):
    name = "sleeper"

    def ladder(self):
        return [{}]

    def run(self, C, setting):
        time.sleep(60)


class Raiser(Sleeper):
    name = "raiser"

    def run(self, C, setting):
        raise ValueError("no such thing")


@pytest.fixture(scope="module")
def data() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.6)
    y = np.where(X @ rng.normal(size=5) + 0.5 * rng.normal(size=200) > 0, 1.0, -1.0)
    return sp.csr_matrix(X), y


def test_primal_is_the_objective_written_out(data):
    X, y = data
    w = np.arange(5.0)
    expected = 0.5 * 30.0 + 2.0 * sum(
        max(0.0, 1 - y[i] * float(X[[i]].toarray()[0] @ w)) for i in range(200)
    )
    assert Problem(X, y, 2.0).primal(w) == pytest.approx(expected, rel=1e-12)


def test_an_answer_that_is_no_number_or_of_the_wrong_length_never_wins(data):
    problem = Problem(*data, 1.0)
    assert problem.primal(np.full(5, np.nan)) == np.inf
    assert problem.primal(np.zeros(4)) == np.inf


def test_dual_value_of_anything_is_a_lower_bound(data):
    problem = Problem(*data, 1.0)
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, w = rng.normal(size=200), rng.normal(size=5)
        assert problem.dual(a) <= problem.primal(w)


def test_a_primal_value_below_the_bound_is_reported():
    reference = Reference(upper=2.0, lower=1.0)
    reference.observe(1.5)
    assert not reference.refuted
    reference.observe(0.9)
    assert reference.refuted


@pytest.fixture(scope="module")
def measured(data) -> Measurement:
    plan = Plan(repeats=1, threads=1, cap=10.0)
    names = [name for name in ("maxmargin", "sklearn-LinearSVC") if PEERS[name]().available()]
    workers = {name: Worker(PEERS[name], *data, 1) for name in names}
    measurement = Measurement("made-up", *data, 1.0, plan)
    measurement.run(workers, None, say=lambda text: None)
    for worker in workers.values():
        worker.close()
    return measurement


def test_peers_reach_the_optimum_and_agree(measured):
    for outcome in measured.outcomes.values():
        trial = outcome.fastest(measured.reference, 1e-3)
        assert trial is not None, outcome
        assert measured.reference.excess(trial.primal) <= 1e-3


def test_tables_and_picture_come_out_of_a_results_file(measured, tmp_path):
    kept = json.loads(json.dumps(measured.as_dict(), default=str))
    again = Measurement.from_dict(kept, measured.plan)
    assert tables.peers_table([again]) == tables.peers_table([measured])
    for text in (
        tables.solvers_table([again]),
        tables.reference_table([again]),
        tables.settings_table([again]),
        tables.verdict([again]),
    ):
        assert text
    pictures.curves([again], tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 0


def test_losses_are_shown_as_losses():
    assert "SLOWER" in tables.speedup(2.0, ("peer", 1.0))
    assert "faster" in tables.speedup(1.0, ("peer", 2.0))
    assert "we did not" in tables.speedup(None, ("peer", 2.0))


def test_a_peer_is_stopped_at_its_time_limit(data):
    worker = Worker(Sleeper, *data, 1)
    with pytest.raises(TooSlow):
        worker.run(1.0, {}, time_limit=0.2)
    worker.close()


def test_nothing_begins_that_may_outlast_the_minutes():
    budget = Budget(10)
    budget.took(400)
    assert not budget.is_spent()
    budget.took(601)
    budget.took(1)
    assert budget.is_spent()
    unlimited = Budget(None)
    unlimited.took(1e9)
    assert not unlimited.is_spent()


def test_a_peer_that_raises_is_told_with_its_message(data):
    worker = Worker(Raiser, *data, 1)
    with pytest.raises(Failed, match="no such thing"):
        worker.run(1.0, {}, time_limit=20)
    worker.close()


def test_a_set_is_read_from_text_and_kept(tmp_path):
    (tmp_path / "a9a.svm").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    for _ in range(2):
        X, y = datasets.load("a9a", tmp_path, tmp_path / "cache")
        assert X.toarray().tolist() == [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
        assert y.tolist() == [1.0, -1.0]
        (tmp_path / "a9a.svm").write_text("")  # the second time it comes from the cache


def test_made_up_sets_stand_in_for_missing_ones(tmp_path):
    assert all(name.startswith("synthetic") for name in datasets.default_names(tmp_path))
    with pytest.raises(SystemExit, match=r"needs covtype\.svm"):
        datasets.load("covtype", tmp_path, tmp_path)
