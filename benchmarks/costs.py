"""python -m benchmarks.costs: what the units of `solvers.linear.costs` take here, in ns.

CPU time of one thread, on random rows of several shapes. The choice of solvers is right where the
columns are about alike: then what it counts is proportional to time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.reports import table
from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.solvers.linear import costs

DENSE = [(30_000, 16), (40_000, 30), (3_000, 100), (16_000, 188), (10_000, 300), (5_000, 1000)]
SPARSE = [(20_000, 40, 2), (50_000, 300, 10), (30_000, 100, 30), (100_000, 900, 30), (3000, 900, 9)]


def main() -> None:
    header = ["rows", "visit", "pass", "Gram", "factor", "rows of a step"]
    print(table(header, [[name, *map("{:.2f}".format, units(rows))] for name, rows in shapes()]))


def shapes() -> Iterator[tuple[str, ArrayRows]]:
    rng = np.random.default_rng(0)
    for n, d in DENSE:
        yield f"dense {n} x {d}", ArrayRows(rng.normal(size=(n, d)))
    for n, d, z in SPARSE:
        yield f"{n} x {d}, {z} a row", ArrayRows(sp.random(n, d, z / d, "csr", random_state=0))


def units(rows: ArrayRows) -> list[float]:
    rng = np.random.default_rng(1)
    loss = Pointwise(
        LossSpec("hinge"), np.where(rng.random(rows.n) < 0.5, 1.0, -1.0), None, rows.pool
    )
    w, v, half = rng.normal(size=rows.width), rng.normal(size=rows.n), np.full(rows.n, 0.5)
    b, h = np.empty(rows.n), np.zeros(rows.n)
    h[:: rows.n // 500] = 1.0
    H = rows.gram(h) + np.eye(rows.width)

    def row_work() -> None:
        loss.core.proximal(half, 1.0, v, b, b.copy(), rows.pool)
        for _ in range(4):  # as many slopes as a line search takes, about
            loss.core.along(half, 1.0, v, v, 0.5, rows.pool)

    visit, visited, entries = a_visit(rows, loss)
    factor = seconds(lambda: _core.cholesky_solve(H.copy(), w.copy(), rows.pool))
    short_rows = costs.row_cost(rows) - costs.STEP_ROW * rows.n  # which passes account for too
    passes = seconds(lambda: rows.both_products(w, v))
    return [
        1e9 * visit / costs.visit_cost(rows, entries, visited),
        1e9 * passes / (2 * costs.pass_cost(rows) + short_rows),
        1e9 * seconds(lambda: rows.gram(h, for_direction=True)) / gram_cost(rows, h),
        1e9 * factor / costs.factor_cost(rows.width),
        1e9 * seconds(row_work) / (costs.STEP_ROW * rows.n),
    ]


def gram_cost(rows: ArrayRows, h: np.ndarray) -> float:
    return np.count_nonzero(h) * costs.gram_cost(rows) + 2 * rows.width**2


def a_visit(rows: ArrayRows, loss: Pointwise) -> tuple[float, int, int]:
    """Seconds, rows and entries of the fastest epoch of the first few."""
    w = np.zeros(rows.width)
    descent = _core.DualDescent(rows.core, loss.core, np.zeros(rows.n), w, 0)
    epochs: list[Any] = []
    for _ in range(4):
        start = time.process_time()
        _, _, visited, entries = descent.epoch(rows.pool)
        epochs.append((time.process_time() - start, visited, entries))
    return min(epochs[1:], key=lambda epoch: epoch[0] / max(epoch[1], 1))


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    main()
