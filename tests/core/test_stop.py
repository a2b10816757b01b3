"""The stop flag and the pool: who asked to stop, and that nothing outlives a computation."""

import threading
import time

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows


def test_a_stop_is_raised_by_whoever_comes_first():
    stop = _core.Stop()
    assert not stop.poll() and stop.reason == _core.StopReason.none
    stop.interrupt()
    stop.set_deadline(0.0)
    assert stop.poll() and stop.reason == _core.StopReason.interrupted


def test_the_clock_raises_the_flag():
    stop = _core.Stop()
    stop.set_deadline(0.01)
    assert not stop.poll()
    time.sleep(0.02)
    assert stop.poll() and stop.reason == _core.StopReason.time


@pytest.mark.parametrize("threads", [1, 3])
def test_a_raised_flag_ends_products(threads):
    stop = _core.Stop()
    rows = ArrayRows(np.ones((100, 3)), pool=_core.Pool(threads, stop))
    rows.matvec(np.ones(3))
    stop.interrupt()
    with pytest.raises(_core.Stopped):
        rows.matvec(np.ones(3))


def test_a_pool_without_a_flag_runs_to_the_end():
    assert _core.Pool(3).threads == 3
    assert ArrayRows(np.ones((5, 2)), pool=_core.Pool(3)).matvec(np.ones(2)).tolist() == [2] * 5


def test_threads_start_with_the_first_work_for_several_and_end_with_their_pool():
    def count():
        with open("/proc/self/status") as status:
            return int(next(s for s in status if s.startswith("Threads")).split()[1])

    try:
        before = count()
    except OSError:
        pytest.skip("no /proc to count threads in")
    pool, x = _core.Pool(5), np.ones(100_000)
    assert pool.threads == 5 and count() == before
    _core.inner(x[:100], x[:100], pool)
    assert count() == before  # too little to share
    _core.inner(x, x, pool)
    assert count() == before + 4
    del pool
    assert count() == before


def test_pools_of_different_threads_do_not_meet():
    X = np.random.default_rng(0).normal(size=(5000, 20))
    expected = ArrayRows(X).matvec(np.ones(20))
    wrong = []

    def work():
        rows = ArrayRows(X, pool=_core.Pool(2))
        for _ in range(20):
            if not np.array_equal(rows.matvec(np.ones(20)), expected):
                wrong.append(True)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_at_least_one_cpu_is_granted():
    assert _core.available_cpus() >= 1


@pytest.mark.parametrize("seconds", [1e9, 1e10, 1e100, float("inf")])
def test_a_deadline_far_away_is_not_now(seconds):
    stop = _core.Stop()
    stop.set_deadline(seconds)
    assert not stop.poll()
