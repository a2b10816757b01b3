"""python -m benchmarks.cluster_model: a fit on a large cluster on paper, from constants measured.

Newton's method on n rows of d features, dense float32, on W workers. Measured here: what a row
costs in each phase of a step (one thread), a call and a task of a worker, and how fast numbers
come through a scheduler. Assumed: the network (--gigabits) and the rounds of a fit (--steps). What
follows for --workers, --rows and --features is arithmetic, written out in the report.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from benchmarks import options
from benchmarks.reports import measured_on, put, table
from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.distributed.calls import MOST_BYTES
from maxmargin.distributed.newton import PLACES, rows_for_gram
from maxmargin.distributed.sums import FAN_IN
from maxmargin.losses.pointwise import LossSpec

TITLE = "Newton's method on many workers, on paper"
CURVED = 0.3  # of the rows have a Hessian of their own: those at the kink


@dataclass
class Constants:
    """What one thread, a scheduler and a network need."""

    product: float  # seconds an entry of X w or X^T v
    terms: float  # seconds a row of the loss with its slope and curvature
    place: float  # seconds a row and place of a line
    gram: float  # seconds a row of the Gram matrix and pair of features
    factor: float  # seconds of a d x d factor over d^3
    call: float  # seconds of a round of calls, and of each worker in it
    call_each: float
    task: float  # seconds of a task that a scheduler hands out
    byte: float  # seconds a byte takes from a worker to the driver through the scheduler


def main() -> None:
    p = options.parser(__doc__ or "", sets="")
    p.add_argument("--workers", default="8,64,512")
    p.add_argument("--n", type=float, default=1e8, help="rows of all workers")
    p.add_argument("--features", default="100,1000,3000")
    p.add_argument("--steps", type=int, default=20, help="Newton steps of a fit")
    p.add_argument("--gigabits", type=float, default=10.0, help="of a worker's network a second")
    given = p.parse_args()
    found = measured()
    text = report(given, found) + "\n\n" + measured_on("dask", "distributed")
    head = ["# A large cluster on paper", "`python -m benchmarks.cluster_model`."]
    put(given.out / "cluster_model.md", head, [TITLE], {TITLE: text})
    print(text)


# ---------------------------------------------------------------------------------- measuring


def best(run: Callable[[], Any], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def measured(n: int = 100_000, d: int = 1000) -> Constants:
    """On one thread, and on a cluster of two processes."""
    rng, pool = np.random.default_rng(0), _core.Pool(1)
    rows = ArrayRows(rng.normal(size=(n, d)).astype(np.float32), 0.0, pool)
    w, p, dp = rng.normal(size=d), rng.normal(size=n), rng.normal(size=n)
    loss = LossSpec("hinge").on_margins(np.where(p > 0, 1.0, -1.0), np.ones(n), pool)
    nu, b, h = np.full(n, loss.core.middle), np.empty(n), np.empty(n)
    some = np.where(np.arange(n) % (n // 10_000) == 0, 1.0, 0.0)
    identity, right = rng.normal(size=(d, d)), w.copy()
    matrix = identity @ identity.T + d * np.eye(d)
    call, call_each, task, byte = rounds()
    return Constants(
        product=0.5 * best(lambda: (rows.matvec(w), rows.rmatvec(p))) / (n * d),
        terms=best(lambda: loss.core.proximal(nu, 1.0, p, b, h, pool)) / n,
        place=best(lambda: loss.core.along(nu, 1.0, p, dp, 0.5, pool)) / n,
        gram=best(lambda: rows.gram(some, 1, for_direction=True), 3) / (10_000 * d * d),
        factor=best(lambda: _core.cholesky_solve(matrix.copy(), right.copy(), pool), 3) / d**3,
        call=call,
        call_each=call_each,
        task=task,
        byte=byte,
    )


async def answer(size: int, dask_worker: Any) -> np.ndarray:
    return np.ones(size)


def rounds() -> tuple[float, float, float, float]:
    """Seconds of a round of calls, of each worker in it, of a task, and of a byte."""
    calls = {}
    local = {"threads_per_worker": 1, "dashboard_address": ":0"}
    for workers in (2, 16):  # in one process: what the scheduler does is the same
        with (
            LocalCluster(
                workers, threads_per_worker=1, processes=False, dashboard_address=":0"
            ) as c,
            Client(c) as client,
        ):
            calls[workers] = best(lambda client=client: client.run(answer, 1), 20)
    with (
        LocalCluster(2, **local) as cluster,
        Client(cluster) as client,
    ):
        both = best(lambda: client.run(answer, 1), 30)
        large = best(lambda: client.run(answer, 1_000_000))
        many = best(lambda: client.gather(client.map(float, range(200), pure=False)), 3)
    each = (calls[16] - calls[2]) / 14
    return both - 2 * each, each, many / 200, (large - both) / 16e6


# ------------------------------------------------------------------------------------ on paper


def report(given: Namespace, c: Constants) -> str:
    found = [
        ["product of an entry, ns", 1e9 * c.product],
        ["loss, slope and curvature of a row, ns", 1e9 * c.terms],
        ["one place of the line of a row, ns", 1e9 * c.place],
        ["Gram matrix, ns a row and pair of features", 1e9 * c.gram],
        ["factor of d x d, ns over d^3", 1e9 * c.factor],
        ["a round of calls, ms", 1e3 * c.call],
        ["each worker in it, ms", 1e3 * c.call_each],
        ["a task, ms", 1e3 * c.task],
        ["a byte through the scheduler, ns", 1e9 * c.byte],
    ]
    rows = [
        fit(c, int(workers), given.n, int(d), given)
        for d in given.features.split(",")
        for workers in given.workers.split(",")
    ]
    header = ["features", "workers", "GB a worker", "products", "Gram", "line", "network", "rounds"]
    header += ["factor", "seconds a step", f"a fit of {given.steps} steps", "most of it"]
    return (
        "Measured, one thread:\n\n"
        + table(["constant", "value"], found)
        + f"\n\n{given.n:.0e} rows, dense float32, one thread a worker, {given.gigabits:g} Gbit/s; "
        "seconds of a step by phase:\n\n" + table(header, rows)
    )


def fit(c: Constants, W: int, n: float, d: int, given: Namespace) -> list[Any]:
    """A step of Newton by phase: two products a step, a Gram matrix of the rows at the kink that
    suffice, PLACES along the line, H by calls or up a tree of tasks, and its factor."""
    mine = n / W
    network = given.gigabits * 1e9 / 8
    curved = min(CURVED * mine, rows_for_gram(Shape(int(mine), d), int(n)))  # type: ignore[arg-type]
    H = 8.0 * d * d
    if H * W <= MOST_BYTES:
        sums = c.call + W * c.call_each + H * W * c.byte
    else:
        levels = int(np.ceil(np.log(W) / np.log(FAN_IN)))
        sums = (W + W / (FAN_IN - 1)) * c.task + levels * FAN_IN * H / network + H * c.byte
    phases = {
        "products": 2 * mine * d * c.product,
        "Gram": curved * d * d * c.gram,
        "line": mine * (c.terms + len(PLACES) * c.place),
        "network": sums,
        "rounds": c.call + W * c.call_each,
        "factor": d**3 * c.factor,
    }
    step = sum(phases.values())
    gigabytes = 4 * mine * d / 1e9
    longest = max(phases, key=lambda name: phases[name])
    return [d, W, gigabytes, *phases.values(), step, given.steps * step, longest]


@dataclass
class Shape:
    """Rows of which only the shape is known."""

    n: int
    width: int

    @property
    def nnz(self) -> int:
        return self.n * self.width

    @property
    def gram_steps_per_row(self) -> float:
        some = np.zeros((2, self.width), dtype=np.float32)
        return ArrayRows(some, 0.0, _core.Pool(1)).gram_steps_per_row


if __name__ == "__main__":
    main()
