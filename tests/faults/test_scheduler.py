"""A scheduler that is killed in mid-fit: a sentence, and the best model so far."""

import subprocess
import sys
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from maxmargin import data
from maxmargin.cli import cluster as command
from maxmargin.cli.options import Choices
from maxmargin.models import load_model
from maxmargin.problem import Status
from maxmargin.solvers.common.run import RowsLost

distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")


@pytest.fixture
def scheduler(tmp_path):
    """The address of a scheduler with one worker, and its process."""
    known = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(known), "--no-dashboard"]
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    join = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [
        subprocess.Popen([*start, "--port", "0", *common], **quiet),
        subprocess.Popen([*join, "--death-timeout", "60", *common], **quiet),
    ]
    try:
        with distributed.Client(scheduler_file=str(known), timeout=300) as client:
            client.wait_for_workers(1, timeout=300)
            address = client.scheduler.address
        yield address, processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_killed_scheduler_is_a_sentence_with_the_best_model(
    scheduler, svm, tmp_path, monkeypatch
):
    from maxmargin.distributed import cluster

    monkeypatch.setattr(cluster, "LOST_AFTER", 0.2)
    address, process = scheduler
    X, y = svm.blobs(400, 10, noise=1.5, sparse=True)
    rows, model = tmp_path / "rows.svm", tmp_path / "rows.model"
    data.save(data.Dataset(X, y), rows)

    def kill(step):
        if step.iteration == 3 and process.poll() is None:
            process.kill()
            process.wait()

    unsaid = ("max_iter", "max_time", "threads", "bias", "class_weight", "format")
    unsaid += ("text", "features", "seed")
    choices = Choices(
        intercept="regularised",
        **dict.fromkeys(unsaid),
        kind="linear",
        loss="hinge",
        solver="auto",
        C=0.1,
        tol=1e-9,
    )
    choices.scheduler = address
    with pytest.raises(
        ValueError, match=r"the connection to the Dask scheduler at .* was lost"
    ) as e:
        command.fit([str(rows)], choices, kill, str(model))
    assert f"of the best possible, is in {model}" in str(e.value)
    assert load_model(model).certificate.status is Status.ROWS_LOST


@pytest.mark.parametrize("error", [CancelledError("all futures"), OSError("connection closed")])
def test_a_scheduler_that_does_not_answer_is_lost(error):
    from maxmargin.distributed.cluster import Cluster

    class Client:
        scheduler = SimpleNamespace(address="tcp://127.0.0.1:1")

        def who_has(self, futures):
            raise error

    cluster = Cluster(Client(), [])
    with pytest.raises(RowsLost, match=r"the connection to the Dask scheduler at .* was lost"):
        cluster._find_homes()
