"""Workers die, come and go; the answer stays."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import threading
import time

import numpy as np
import pytest

from maxmargin import data
from maxmargin.distributed import LinearSVC, PartitionError, cluster
from maxmargin.problem import Status
from tests.distributed.conftest import distributed, start_cluster


@pytest.fixture
def own_client():
    """Workers that a test may kill."""
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def files(svm, tmp_path):
    X, y = svm.blobs(4000, 10, noise=1.5, sparse=True)
    paths = [tmp_path / f"{k}.svm" for k in range(4)]
    for k, path in enumerate(paths):
        data.save(data.Dataset(X[1000 * k : 1000 * (k + 1)], y[1000 * k : 1000 * (k + 1)]), path)
    return paths


def holder(client):
    """The process of a worker that holds parts."""
    for address, keys in client.has_what().items():
        if any(str(key).startswith("maxmargin-part") for key in keys):
            return address, client.run(os.getpid, workers=[address])[address]
    raise AssertionError("no worker holds a part")


class Killer:
    """A callback that kills a worker with SIGKILL at some iterations."""

    def __init__(self, client, iterations):
        self.client, self.iterations, self.killed = client, set(iterations), []

    def __call__(self, step):
        if step.iteration in self.iterations:
            self.iterations.discard(step.iteration)
            address, process = holder(self.client)
            os.kill(process, signal.SIGKILL)
            self.killed.append(address)


def test_two_workers_killed_in_mid_fit_change_no_certificate(own_client, files):
    whole = LinearSVC(C=0.1, tol=1e-5, solver="ocas", client=own_client).fit(files)
    killer = Killer(own_client, (4, 12))
    model = LinearSVC(C=0.1, tol=1e-5, solver="ocas", client=own_client, callback=killer).fit(files)
    assert len(set(killer.killed)) == 2
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.n_iter == whole.certificate_.n_iter
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-9)


def test_a_partition_that_fails_again_and_again_ends_with_its_error_and_the_best_model(
    own_client, files
):
    steps = []

    def spoil(step):
        steps.append(step)
        if step.iteration == 5:
            for path in files:
                path.unlink()
            os.kill(holder(own_client)[1], signal.SIGKILL)

    model = LinearSVC(C=0.1, tol=1e-5, solver="ocas", client=own_client, callback=spoil)
    with pytest.raises(PartitionError, match=r"partition \d \(.*svm\) failed again and again") as e:
        model.fit(files)
    error = e.value
    assert str(files[error.partition]) == error.source
    assert isinstance(error.__cause__, FileNotFoundError | OSError | data.DataError)
    assert error.model.certificate.status is Status.ROWS_LOST
    assert error.model.certificate.primal == pytest.approx(steps[5].primal)
    assert error.model.certificate.dual >= steps[5].dual
    np.testing.assert_array_equal(model.coef_, error.model.coef)


def test_a_new_worker_takes_its_share_of_the_partitions(own_client, files, monkeypatch):
    from maxmargin.distributed import cluster

    monkeypatch.setattr(cluster, "LOOK_AROUND", 0.0)
    own_client.cluster.scale(1)
    while len(own_client.nthreads()) > 1:
        time.sleep(0.05)
    seen = {}

    def grow(step):
        if step.iteration == 1:
            own_client.cluster.scale(2)
            while len(own_client.nthreads()) < 2:
                time.sleep(0.05)
        seen[step.iteration] = [
            sum(str(key).startswith("maxmargin-part") for key in keys)
            for keys in own_client.has_what().values()
        ]

    model = LinearSVC(C=0.1, tol=1e-5, solver="ocas", client=own_client, callback=grow).fit(files)
    assert seen[0] == [4]
    assert sorted(seen[model.n_iter_ - 1]) == [2, 2]
    assert model.certificate_.status is Status.OPTIMAL


def test_interrupt_ends_a_distributed_fit_with_the_best_model(client, files):
    """Ctrl-C while the driver waits for workers."""

    def interrupt(step):
        if step.iteration == 3:
            threading.Timer(0.01, signal.raise_signal, [signal.SIGINT]).start()
            time.sleep(0.05)

    with pytest.warns(UserWarning, match="interrupted"):
        model = LinearSVC(C=0.1, tol=1e-9, client=client, callback=interrupt).fit(files)
    assert model.certificate_.status is Status.INTERRUPTED
    assert model.certificate_.n_iter >= 3


def test_a_round_that_ends_while_its_waiting_times_out_is_no_failure(client, files, monkeypatch):
    """A result that comes just after the wait gave up, and before anyone looked whether it came."""

    class Late(concurrent.futures.Future):
        def result(self, timeout=None):
            if timeout is None:
                return super().result()
            time.sleep(0.3)
            raise TimeoutError

    def run_late(coroutine, loop):
        late, soon = Late(), asyncio_run(coroutine, loop)
        soon.add_done_callback(lambda done: late.set_result(done.result()))
        return late

    asyncio_run = asyncio.run_coroutine_threadsafe
    monkeypatch.setattr(cluster.asyncio, "run_coroutine_threadsafe", run_late)
    model = LinearSVC(C=0.1, tol=0.5, client=client).fit(files)
    assert model.certificate_.status is Status.OPTIMAL
