"""All of a large set tuned in cells: in memory, from disk, and on a cluster that loses a worker.

    python -m benchmarks.kernel_cells covtype.svm --cells 4000
    python -m benchmarks.kernel_cells covtype.svm --cells 4000 --where disk --memory 1GB
    python -m benchmarks.kernel_cells covtype.svm --cells 4000 --where dask --kill 0.5

Four fifths of the rows, drawn by `--seed`, are for training. Every cell chooses its C and gamma in
five folds of its rows, at the defaults. The fit runs in a process of its own, whose peak memory
holds the rows where they are in memory; on Dask, two worker processes of one thread each, of which
one is killed once that share of the cells is done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import kernel_tables, options
from benchmarks.machine import describe
from benchmarks.paths import RESULTS
from maxmargin import KernelSVCCV, data

PARTS = 16  # files of the rows on a cluster
SHARE = 0.8  # of the rows are for training


def split(path: str, seed: int, rows: int | None):
    """Dense float32 rows and labels for training and for testing."""
    found = data.open(path)
    order = np.random.default_rng(seed).permutation(len(found.y))[:rows]
    X, y = found.X.astype(np.float32).toarray()[order], np.asarray(found.y)[order]
    n = int(SHARE * len(y))
    return (X[:n], y[:n]), (X[n:], y[n:])


def peak() -> float:
    """The most memory this process has had so far, in GB."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e9


def in_memory(folder: Path, chosen: argparse.Namespace):
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    return model_of(chosen).fit(X, y)


def on_disk(folder: Path, chosen: argparse.Namespace):
    return model_of(chosen).fit(folder / "rows.store")


def on_dask(folder: Path, chosen: argparse.Namespace):
    from dask.distributed import Client, LocalCluster

    from maxmargin.distributed import KernelSVCCV as OnCluster

    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        client, killed = Client(cluster), []

        def kill(progress) -> None:
            if not killed and progress.done >= chosen.kill * progress.total:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        model = OnCluster(
            cells=chosen.cells, cv=chosen.cv, random_state=0, client=client, callback=kill
        )
        model.fit(sorted(folder.glob("part-*.svm")))
        print(f"killed: {killed}", flush=True)
        return model


WHERE = {"memory": in_memory, "disk": on_disk, "dask": on_dask}


def model_of(chosen: argparse.Namespace) -> KernelSVCCV:
    return KernelSVCCV(
        cells=chosen.cells,
        cv=chosen.cv,
        memory=chosen.memory,
        n_jobs=chosen.threads,
        random_state=0,
    )


def write(folder: Path, X: np.ndarray, y: np.ndarray, where: str) -> None:
    """The training rows in the form that the fit reads."""
    if where == "memory":
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
    elif where == "disk":
        data.write_store(data.ArraySource(X, y), folder / "rows.store")
    else:
        for k, part in enumerate(np.array_split(np.arange(len(y)), PARTS)):
            data.save(data.Dataset(X[part], y[part]), folder / f"part-{k:02}.svm")


def fit(folder: Path, chosen: argparse.Namespace, pipe) -> None:
    """What a process of its own does: one fit, saved, and what it took."""
    began, cpu = time.perf_counter(), time.process_time()
    model = WHERE[chosen.where](folder, chosen)
    told = {
        "seconds": time.perf_counter() - began,
        "CPU seconds": time.process_time() - cpu,
        "peak GB": peak(),
        "cells": model.n_cells_,
        "validation error": 100 * (1 - model.best_score_),
        "relative gap": model.certificate_.relative_gap,
    }
    model.save(folder / "model")
    pipe.send(told)


def measure(chosen: argparse.Namespace) -> dict:
    """One fit and its error on the test rows."""
    from maxmargin import load

    (X, y), (X_test, y_test) = split(chosen.file, chosen.seed, chosen.rows)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, X, y, chosen.where)
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=fit, args=(folder, chosen, there))
        child.start()
        there.close()
        told = here.recv()
        child.join()
        wrong = load(folder / "model").predict(X_test) != y_test
    return told | {"test error": 100 * float(wrong.mean())}


def main(arguments: list[str]) -> None:
    p = options.parser(__doc__.splitlines()[0])
    p.add_argument("file")
    p.add_argument("--cells", type=int, default=4000)
    p.add_argument("--cv", type=int, default=5)
    p.add_argument("--where", choices=list(WHERE), default="memory")
    p.add_argument("--memory", help="byte budget of the fit, as '1GB'")
    p.add_argument("--kill", type=float, default=0.5, help="share of the cells done before it")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", type=Path, default=RESULTS / "kernel.json")
    chosen = p.parse_args(arguments)
    told = measure(chosen)
    how = f"{chosen.where}{'' if chosen.memory is None else f', {chosen.memory}'}"
    name = Path(chosen.file).name.split(".")[0]
    rows = {f"{name}, at most {chosen.cells}, seed {chosen.seed}, {how}": {"": told}}
    kernel_tables.keep(chosen.json, "cells", rows, describe(chosen.threads))
    print(kernel_tables.table(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
