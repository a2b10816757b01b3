"""One against one: each pair of classes is a problem on its own rows.

Rows of other classes take no part in a pair, so it has a kernel source of its rows alone: of k
classes the matrices of all pairs hold at most twice the values of the one of all rows, a step
sweeps over 2 / k of them, and where there are few support vectors most values are never asked for.
Matrices of one pair after another are made in the same memory: fresh pages cost more than values.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.gram import Kernel, matrix_bytes
from maxmargin.solvers.kernel.path import BinaryProblem, Method
from maxmargin.solvers.kernel.sources import source_of
from maxmargin.solvers.kernel.two_variable import KernelSolution, solve, zero_solution

POLL = 0.02  # seconds between two looks at the stop flag


def solve_pairs(
    X: Any,
    kernel: Kernel,
    labels: list[np.ndarray],
    weights: np.ndarray,
    C: float,
    settings: Settings,
    pool: _core.Pool,
    method: Method,
    budget: int,
) -> list[KernelSolution]:
    """The solution of every pair, as many at a time as there are threads, each on one."""
    at_a_time = min(pool.threads, len(labels))
    of_each = budget // at_a_time
    sizes = [matrix_bytes(int(np.count_nonzero(signs))) for signs in labels]
    largest = max((size for size in sizes if size <= of_each), default=0)
    memories: SimpleQueue[np.ndarray] = SimpleQueue()
    for _ in range(at_a_time):
        memories.put(np.empty(largest // 4, dtype=np.float32))

    def solve_pair(signs: np.ndarray) -> KernelSolution:
        rows, memory = np.flatnonzero(signs), memories.get()
        y, s, alone = signs[rows], weights[rows], _core.Pool(1)
        try:
            source = source_of(X[rows], kernel, of_each, alone, memory)
            problem = BinaryProblem(source, y, s)
            found = solve(problem, C, settings, alone, method, owns_stop=False)
        except _core.Stopped:  # before there were kernel rows
            found = zero_solution(y, s, C, settings)
        finally:
            memories.put(memory)
        return spread_over(len(signs), rows, found)

    with ThreadPoolExecutor(at_a_time) as executor:
        futures = [executor.submit(solve_pair, signs) for signs in labels]
        while wait(futures, timeout=POLL).not_done:
            if settings.stop is not None:
                settings.stop.poll()
    return [future.result() for future in futures]


def spread_over(n: int, rows: np.ndarray, found: KernelSolution) -> KernelSolution:
    """A solution on some of n rows; f of the others was not computed."""
    beta, f = np.zeros(n), np.full(n, np.nan)
    beta[rows], f[rows] = found.beta, found.f
    return replace(found, beta=beta, f=f)
