"""Losses that must see every prediction at once: these come to the driver, n numbers a product.

What a fit gathers, it says: the docstrings of the estimators, `gathers_predictions_`, and for
rankings whose queries cross partitions a warning, since cutting the data at queries avoids it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.data.cpus import granted_cpus, new_pool
from maxmargin.distributed import describe
from maxmargin.distributed.rows import GatheredRows
from maxmargin.distributed.training import Fit, blaming, solve
from maxmargin.models.training import Plan
from maxmargin.problem import Solution


class RemoteRows:
    """Rows on workers that stand for a matrix: a shape, and products with vectors."""

    ndim = 2

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.shape = (fit.shape.n, fit.shape.d)

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        with blaming(self.fit.cluster):
            return self.rows(0.0, 1, None).predict(w)  # one pass, even after an interrupt

    def rows(self, bias: float, threads: int, stop: Any) -> GatheredRows:
        layout = self.fit.shape.layout(bias, threads)
        return GatheredRows(self.fit.cluster, layout, self.fit.sizes, stop)

    def column(self, name: str) -> np.ndarray | None:
        """Labels, weights or queries of all rows."""
        with blaming(self.fit.cluster):
            found = self.fit.cluster.ask(describe.column_of, name)
        if any(column is None for column in found):
            return None
        return np.concatenate(found)


def solve_gathered(
    X: RemoteRows,
    make_loss: Callable[[Any], Any],
    plan: Plan,
    w0: np.ndarray | None,
) -> Solution:
    """The bundle loop with the loss evaluated here, on all threads granted."""
    stop = X.fit.new_stop()
    rows = X.rows(plan.bias, plan.threads or 1, stop)
    solution = solve(rows, make_loss(new_pool(granted_cpus())), plan, stop, w0)
    if X.fit.failure is None:
        X.fit.cluster.end(rows.key)
    return solution
