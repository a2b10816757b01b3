"""python -m benchmarks.distributed_rows WHAT: fits on a Dask cluster beside fits in one process.

agreement: the objective with 1, 2, 4 and 7 partitions, sparse and dense, weighted, by iteration.
speed: a set repeated to many rows; two workers of one thread against one process of two threads.
start: iterations and seconds from zero and from the averaged answers of the partitions.
latency: seconds of one round of tasks, by the number of partitions and the width of a plane.

The cluster is a LocalCluster of processes: its network is the loopback of this machine.
"""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from benchmarks import machine, options
from maxmargin import LinearSVC
from maxmargin import distributed as ours
from maxmargin.data import Dataset

PARTITIONS = (1, 2, 4, 7)


def main() -> None:
    p = options.parser(__doc__ or "", sets="")
    p.add_argument("what", choices=["agreement", "speed", "start", "latency"])
    p.add_argument("--C", type=float, default=1.0)
    p.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    p.add_argument("--repeat-to", type=int, default=5_000_000, help="speed: rows")
    p.add_argument("--partitions", type=int, default=2, help="speed, start: of the cluster")
    p.add_argument("--max-iter", type=int, help="end every fit after so many iterations")
    given = p.parse_args()
    print(machine.describe(given.threads))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        {"agreement": agreement, "speed": speed, "start": start, "latency": latency}[given.what](
            given, client
        )


def parts_of(X: Any, y: np.ndarray, parts: int, weight: np.ndarray | None = None) -> list[Any]:
    """Rows cut into so many delayed data sets."""
    pieces = np.array_split(np.arange(len(y)), parts)
    return [
        dask.delayed(Dataset)(X[piece], y[piece], weight=None if weight is None else weight[piece])
        for piece in pieces
    ]


def agreement(given: Namespace, client: Client) -> None:
    for name in options.set_names(given):
        X, y = options.load(name, given)
        weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
        cases: list[tuple[str, Any, dict, np.ndarray | None]] = [("CSR", X, {}, None)]
        cases += [("CSR, weights", X, {"class_weight": {1.0: 2.0}}, weight)]
        if X.shape[1] < 1000:
            cases += [("dense", X.toarray(), {}, None)]
        for kind, rows, more, weights in cases:
            shared = {"C": given.C, "tol": given.tol, "solver": "ocas", "max_iter": given.max_iter}
            local = LinearSVC(**shared, **more).fit(rows, y, weights)
            for parts in PARTITIONS:
                model = ours.LinearSVC(**shared, **more, client=client)
                model.fit(parts_of(rows, y, parts, weights))
                P, P_local = model.certificate_.primal, local.certificate_.primal
                print(
                    f"{name}, {kind}, {parts} partitions: P = {P:.12g}, "
                    f"relative to local {P / P_local - 1:+.1e}, "
                    f"along the path {apart(model, local):.1e}, iterations {model.n_iter_} and "
                    f"{local.n_iter_}, {model.certificate_.status}",
                    flush=True,
                )


def apart(model: Any, local: Any) -> float:
    """The largest relative difference of the primal bounds of two runs, iteration by iteration."""
    return max(abs(a.primal / b.primal - 1) for a, b in zip(model.history_, local.history_))


def repeated(X: sp.csr_matrix, y: np.ndarray, rows: int, first: int) -> Dataset:
    """`rows` rows of the set over and over, from row `first` on; made where they will be."""
    take = (first + np.arange(rows)) % len(y)
    return Dataset(X[take], y[take])


def speed(given: Namespace, client: Client) -> None:
    for name in options.set_names(given):
        X, y = options.load(name, given)
        X = X.astype(np.float32)
        n = max(given.repeat_to, len(y))
        C = given.C * len(y) / n  # the whole loss weighs as that of the set itself
        shared = {"C": C, "tol": given.tol, "solver": "ocas", "max_iter": given.max_iter}
        share = n // given.partitions
        sent = client.scatter([X, y], broadcast=True)
        parts = [
            dask.delayed(repeated)(
                *sent, share if k else n - share * (given.partitions - 1), k * share
            )
            for k in range(given.partitions)
        ]
        model = ours.LinearSVC(**shared, client=client).fit(parts)
        whole = repeated(X, y, n, 0)
        local = LinearSVC(**shared, n_jobs=2).fit(whole.X, whole.y)
        ours_s, theirs = seconds_per_iteration(model), seconds_per_iteration(local)
        print(
            f"{name} repeated to {n} rows, C = {C:.3g}, {given.partitions} partitions\n"
            f"  cluster  {model.certificate_}\n  local    {local.certificate_}\n"
            f"  seconds an iteration {ours_s:.4f} and {theirs:.4f}: {ours_s / theirs:.2f} times; "
            f"{1e3 * (ours_s - theirs):.1f} ms an iteration more"
        )


def seconds_per_iteration(model: Any) -> float:
    """The median, first iterations aside."""
    return float(np.median(np.diff([step.seconds for step in model.history_[2:]])))


def start(given: Namespace, client: Client) -> None:
    for name in options.set_names(given):
        X, y = options.load(name, given)
        parts = parts_of(X, y, given.partitions)
        for how in ("zero", "average"):
            began = time.perf_counter()
            model = ours.LinearSVC(C=given.C, tol=given.tol, start=how, client=client).fit(parts)
            first = model.history_[min(1, len(model.history_) - 1)]
            print(
                f"{name}, {given.partitions} partitions, start {how}: {model.n_iter_} iterations, "
                f"{time.perf_counter() - began:.2f} s in all, gap after one iteration "
                f"{first.relative_gap:.2e}, {model.certificate_}",
                flush=True,
            )


def latency(given: Namespace, client: Client) -> None:
    rng = np.random.default_rng(0)
    for parts in (1, 2, 4, 8, 16):
        for d in (10, 100_000):
            n = 500 * parts
            X = sp.random_array((n, d), density=min(1.0, 100 / d), rng=rng, format="csr")
            y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
            rounds, began = count_rounds(), time.perf_counter()
            model = ours.LinearSVC(C=1.0, tol=1e-9, max_iter=12, client=client)
            with rounds, np.errstate(all="ignore"):
                model.fit(parts_of(sp.csr_matrix(X), y, parts))
            steps = model.history_[1:]
            spent = (steps[-1].seconds - steps[0].seconds) if len(steps) > 1 else float("nan")
            iterations = max(len(steps) - 1, 1)
            print(
                f"{parts} partitions, d = {d}: {1e3 * spent / iterations:.1f} ms an iteration, "
                f"{rounds.count / model.n_iter_:.1f} rounds; {time.perf_counter() - began:.1f} s",
                flush=True,
            )


class count_rounds:
    """Counts the rounds of tasks while it is entered."""

    def __enter__(self) -> count_rounds:
        from maxmargin.distributed.cluster import Cluster

        self.count, self._run = 0, Cluster.run

        def run(cluster: Cluster, *arguments: Any) -> Any:
            self.count += 1
            return self._run(cluster, *arguments)

        Cluster.run = run  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: Any) -> None:
        from maxmargin.distributed.cluster import Cluster

        Cluster.run = self._run  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
