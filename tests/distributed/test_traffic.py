"""What crosses the network, by the counters of workers and scheduler."""

from __future__ import annotations

import dask
import numpy as np
import pytest

from maxmargin import data
from maxmargin.distributed import LinearSVC, RankSVM, calls, cluster, parts
from maxmargin.distributed.cluster import Cluster
from maxmargin.losses.kink_parts import edges_of_each

ROWS, PARTS, WIDTH = 400_000, 4, 11
SUMMARY = 16 * edges_of_each(PARTS) + 1000  # bytes: edges and rises


def block(number, ranked=False, n=ROWS // PARTS):
    """Rows made on the worker: none of them is in the graph."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n, WIDTH - 1))
    y = np.where(X @ np.arange(1, WIDTH) + 20 * rng.normal(size=n) > 0, 1.0, -1.0)
    return data.Dataset(X, y, qid=number * n + np.arange(n) // 20 if ranked else None)


@pytest.fixture
def by_tasks(monkeypatch):
    """Rounds of tasks, which Dask counts the bytes of; calls send the same."""
    monkeypatch.setattr(calls, "UNSEEN", -1.0)


def sent_by(dask_worker):
    """Bytes of results that a worker sent, to whomever."""
    return dask_worker.transfer_outgoing_bytes_total


def known_sizes(dask_scheduler):
    """Bytes of every result the scheduler knows of, by the kind of task."""
    ours = [ts for ts in dask_scheduler.tasks.values() if str(ts.key).startswith("maxmargin-")]
    return [(ts.key.split("-")[1], ts.nbytes) for ts in ours if ts.nbytes > 0]


def traffic(client, model, **options):
    """Bytes sent by all workers during a fit, and the largest result of each kind of task."""
    largest: dict[str, int] = {}

    def watch(step):
        for kind, size in client.run_on_scheduler(known_sizes):
            largest[kind] = max(size, largest.get(kind, 0))

    before = sum(client.run(sent_by).values())
    model.set_params(callback=watch)
    model.fit([dask.delayed(block, name=f"rows-block-{k}")(k, **options) for k in range(PARTS)])
    return sum(client.run(sent_by).values()) - before, largest


def test_an_iteration_of_the_hinge_moves_numbers_of_size_d_only(client, by_tasks):
    model = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client)
    sent, largest = traffic(client, model)
    assert model.n_iter_ >= 8
    # A plane and a few summaries, whatever the number of rows.
    each = sent / model.n_iter_ / PARTS
    assert each < 8 * WIDTH + 4 * SUMMARY < 8 * ROWS / PARTS / 4
    assert largest.pop("part") > 8 * ROWS / PARTS * WIDTH * 0.9
    assert max(largest.values()) < SUMMARY, largest


def test_local_queries_move_a_few_numbers_a_round(client, by_tasks):
    model = RankSVM(C=0.1, tol=1e-2, client=client)
    sent, largest = traffic(client, model, ranked=True)
    assert sent / model.n_iter_ / PARTS < 20_000
    # Query ids travel once, each once.
    assert max(size for kind, size in largest.items() if kind not in ("part", "queries")) < 8000


@pytest.mark.parametrize("by", ["calls", "tasks"])
@pytest.mark.parametrize("solver", ["newton", "ocas"])
def test_a_round_asks_each_worker_once_whatever_the_number_of_partitions(
    client, monkeypatch, solver, by
):
    rounds, asked = [], []
    run, call, send = Cluster.run, Cluster._call, Cluster._send_task

    def counted_run(self, *arguments, **options):
        rounds.append(1)
        return run(self, *arguments, **options)

    def counted_call(self, function, numbers, *arguments):
        if function is parts.work:
            assert by == "calls"
            asked.extend(len(group) for group in self._groups(numbers))
        return call(self, function, numbers, *arguments)

    def counted_send(self, function, held, *arguments):
        if function is parts.work_in_task:
            assert by == "tasks"
            asked.append(len(held))
        return send(self, function, held, *arguments)

    monkeypatch.setattr(cluster, "LOOK_AROUND", 1e9)  # no part moves, however slow the machine
    monkeypatch.setattr(calls, "SHORT", 1e9)
    monkeypatch.setattr(calls, "UNSEEN", 1e9 if by == "calls" else -1.0)
    monkeypatch.setattr(Cluster, "run", counted_run)
    monkeypatch.setattr(Cluster, "_call", counted_call)
    monkeypatch.setattr(Cluster, "_send_task", counted_send)
    pieces = [dask.delayed(block, name=f"rows-{solver}-{k}")(k, n=100) for k in range(24)]
    model = LinearSVC(C=0.1, tol=1e-3, solver=solver, client=client).fit(pieces)
    assert model.n_partitions_ == 24
    assert sum(asked) == 24 * len(rounds)
    assert len(asked) <= len(client.nthreads()) * len(rounds)
    if solver == "newton":  # two rounds a step, one for multipliers or a sample now and then
        assert len(rounds) <= 2 * model.n_iter_ + 12 < 40
