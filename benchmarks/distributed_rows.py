"""python -m benchmarks.distributed_rows WHAT: fits on a Dask cluster beside fits in one process.

agreement: the objective with 1, 2, 4 and 7 partitions, sparse and dense, weighted, by iteration.
speed: a set repeated to many rows; two workers of one thread against one process of two threads.
start: iterations and seconds from zero and from the averaged answers of the partitions.
latency: what an iteration costs where rows are few, by the number of partitions and features.

The cluster is a LocalCluster of processes: its network is the loopback of this machine. What was
measured goes to results/distributed.md, in the place of older figures.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from itertools import pairwise
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from benchmarks import options
from benchmarks.reports import measured_on, put, table
from maxmargin import LinearSVC, RankSVM
from maxmargin import distributed as ours
from maxmargin.data import Dataset

PARTITIONS = (1, 2, 4, 7)
QUERY = 100  # rows of a made-up query
MOST_DENSE = 1000  # columns of wide data that are tried dense


def main() -> None:
    p = options.parser(__doc__ or "", sets="")
    p.add_argument("what", choices=list(SECTIONS))
    p.add_argument("--C", type=float, default=1.0)
    p.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    p.add_argument("--repeat-to", type=int, default=5_000_000, help="speed: rows")
    p.add_argument("--partitions", type=int, default=2, help="speed, start: of the cluster")
    p.add_argument("--max-iter", type=int, help="end every fit after so many iterations")
    given = p.parse_args()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        title, measure = SECTIONS[given.what]
        text = measure(given, client)
    head = [
        "# The same fits on a Dask cluster",
        "`python -m benchmarks.distributed_rows`. The cluster is a `LocalCluster` of two worker "
        "processes of one thread each; its network is the loopback of one machine.",
    ]
    text += "\n\n" + measured_on("scipy", "dask", "distributed")
    titles = [title for title, _ in SECTIONS.values()]
    put(given.out / "distributed.md", head, titles, {title: text})
    print(text)


def parts_of(X: Any, y: np.ndarray, parts: int, **more: np.ndarray) -> list[Any]:
    """Rows cut into so many delayed data sets, between queries of `QUERY` rows."""
    cuts = [round(k * len(y) / parts / QUERY) * QUERY for k in range(parts)] + [len(y)]
    pieces = [slice(*ends) for ends in pairwise(cuts)]
    return [
        dask.delayed(Dataset)(X[p], y[p], **{key: column[p] for key, column in more.items()})
        for p in pieces
    ]


def agreement(given: Namespace, client: Client) -> str:
    table_rows = []
    for name in options.set_names(given):
        X, y = options.load(name, given)
        for kind, make, make_local, columns in agreement_cases(X, y, given):
            local = make_local()
            local.fit(columns["X"], columns["y"], **named(columns))
            for parts in PARTITIONS:
                model = make(client)
                model.fit(parts_of(**columns, parts=parts))
                ours_P, local_P = model.certificate_.primal, local.certificate_.primal
                gap = f"{model.certificate_.relative_gap:.1e}"
                table_rows.append([name, kind, parts, f"{ours_P:.10g}"])
                table_rows[-1] += [f"{ours_P / local_P - 1:+.1e}", f"{apart(model, local):.1e}"]
                table_rows[-1] += [model.n_iter_, local.n_iter_, gap]
                print(*table_rows[-1], flush=True)
    header = ["set", "rows and loss", "partitions", "objective", "relative to local"]
    header += ["along the path", "iterations", "local iterations", "relative gap"]
    return (
        f"C = {given.C:g}, tol = {given.tol:g}, OCAS. Along the path: the largest relative "
        "difference of the objective at any iteration that both made. One partition adds up in the "
        "local order and takes the local path, but for rankings of many rows, whose local line "
        "search looks at a sample first; more partitions add up in another order, and rounding may "
        "part the ways. All end within the tolerance.\n\n" + table(header, table_rows)
    )


def agreement_cases(X: Any, y: np.ndarray, given: Namespace):
    """What is fitted: its name, the estimator there and here, and the rows with their columns."""
    shared = {"C": given.C, "tol": given.tol, "max_iter": given.max_iter}
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    per_class = {"class_weight": {1.0: 2.0}}

    def hinge(**more: Any):
        more = shared | {"solver": "ocas"} | more
        return lambda client: ours.LinearSVC(**more, client=client), lambda: LinearSVC(**more)

    yield "hinge, CSR", *hinge(), {"X": X, "y": y}
    yield "hinge, CSR, both weights", *hinge(**per_class), {"X": X, "y": y, "weight": weight}
    if X.shape[1] < 1000:
        dense = X.toarray()
        yield "hinge, dense", *hinge(), {"X": dense, "y": y}
        yield (
            "hinge, dense, both weights",
            *hinge(**per_class),
            {"X": dense, "y": y, "weight": weight},
        )
    else:  # all columns of text, dense, would take more memory than there is
        used = np.argsort(-X.getnnz(axis=0), kind="stable")[:MOST_DENSE]
        few = X[:, np.sort(used)].toarray()
        yield f"hinge, dense, the {MOST_DENSE} commonest features", *hinge(), {"X": few, "y": y}
    order = np.random.default_rng(1).permutation(len(y))  # files may be sorted by label
    yield (
        "ranks in queries of 100 rows, CSR",
        lambda client: ours.RankSVM(**shared, client=client),
        lambda: RankSVM(**shared),
        {"X": X[order], "y": y[order], "qid": np.arange(len(y)) // QUERY},
    )


def named(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns beside X and y under the names a local fit gives them."""
    names = {"weight": "sample_weight", "qid": "qid"}
    return {names[key]: column for key, column in columns.items() if key in names}


def apart(model: Any, local: Any) -> float:
    """The largest relative difference of the primal bounds of two runs, iteration by iteration."""
    return max(abs(a.primal / b.primal - 1) for a, b in zip(model.history_, local.history_))


def repeated(X: sp.csr_matrix, y: np.ndarray, rows: int, first: int) -> Dataset:
    """`rows` rows of the set over and over, from row `first` on; made where they will be."""
    take = (first + np.arange(rows)) % len(y)
    return Dataset(X[take], y[take])


def speed(given: Namespace, client: Client) -> str:
    rows = []
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
        del sent, parts
        whole = repeated(X, y, n, 0)
        local = LinearSVC(**shared, n_jobs=2).fit(whole.X, whole.y)
        there, here = seconds_per_iteration(model), seconds_per_iteration(local)
        for who, one, each in (("two workers", model, there), ("one process", local, here)):
            proof = one.certificate_
            rows.append([f"{name} to {n} rows", who, f"{proof.primal:.8g}", proof.n_iter])
            rows[-1] += [f"{proof.relative_gap:.1e}", proof.seconds, 1e3 * each]
        ratio = model.certificate_.seconds / local.certificate_.seconds
        rows.append(["", "ratio", "", "", "", f"{ratio:.2f}", f"{there / here:.2f}"])
        rows.append(["", "difference", "", "", "", "", f"{1e3 * (there - here):.1f}"])
    header = ["rows", "by", "objective", "iterations", "relative gap", "seconds"]
    return table([*header, "ms an iteration"], rows)


def seconds_per_iteration(model: Any) -> float:
    """The median, first iterations aside."""
    return float(np.median(np.diff([step.seconds for step in model.history_[2:]])))


def start(given: Namespace, client: Client) -> str:
    rows = []
    for name in options.set_names(given):
        X, y = options.load(name, given)
        parts = parts_of(X, y, given.partitions)
        for how in ("zero", "average"):
            began = time.perf_counter()
            model = ours.LinearSVC(C=given.C, tol=given.tol, start=how, client=client).fit(parts)
            first = model.history_[min(1, len(model.history_) - 1)]
            seconds = time.perf_counter() - began
            rows.append([name, given.partitions, how, model.n_iter_, seconds])
            rows[-1] += [f"{first.relative_gap:.1e}", f"{model.certificate_.relative_gap:.1e}"]
    header = ["set", "partitions", "start", "iterations", "seconds in all"]
    return table([*header, "gap after one iteration", "gap"], rows)


def latency(given: Namespace, client: Client) -> str:
    rng = np.random.default_rng(0)
    rows = []
    for solver, d in (("newton", 10), ("newton", 300), ("ocas", 10), ("ocas", 100_000)):
        for parts in (1, 16, 64, 256):
            n = 100 * parts
            X = sp.random_array((n, d), density=min(1.0, 100 / d), rng=rng, format="csr")
            y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
            model = ours.LinearSVC(C=1.0, tol=1e-12, max_iter=25, solver=solver, client=client)
            began = time.perf_counter()
            with count_rounds() as rounds, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(parts_of(sp.csr_matrix(X), y, parts))
            seconds = time.perf_counter() - began
            each = 1e3 * seconds_per_iteration(model)
            count = f"{rounds.count / model.n_iter_:.1f}"
            rows.append([solver, d, parts, each, count, model.n_iter_, seconds])
            print(*rows[-1], flush=True)
    header = ["solver", "features", "partitions", "ms an iteration", "rounds an iteration"]
    return (
        "100 rows a partition: nearly all of it is scheduling. The median iteration; the whole fit "
        "reads the partitions too, a task each.\n\n"
        + table([*header, "iterations", "seconds of the whole fit"], rows)
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


SECTIONS = {
    "agreement": ("The same objective", agreement),
    "speed": ("Two workers of one thread, and one process of two threads", speed),
    "start": ("From zero, and from averaged answers of the partitions", start),
    "latency": ("What rounds cost, by the number of partitions", latency),
}


if __name__ == "__main__":
    main()
