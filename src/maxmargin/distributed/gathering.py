"""Losses that must see every prediction at once: these come to the driver, n numbers a product.

What a fit gathers, it says: the docstrings of the estimators, `gathers_predictions_`, and for
rankings whose queries cross partitions a warning, since cutting the data at queries avoids it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.cpus import granted_cpus, new_pool
from maxmargin.distributed import describe
from maxmargin.distributed.rows import GatheredRows
from maxmargin.distributed.training import Fit, blaming
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.run import Interrupts
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.table import CLUSTER, SOLVERS
from maxmargin.training.fit import LinearPlan, MakeLoss


class RemoteRows:
    """Rows on workers that stand for a matrix: a shape, and products with vectors."""

    ndim = 2

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.shape = (fit.shape.n, fit.shape.d)

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        with blaming(self.fit.cluster):
            return self.rows(0.0, 1, None).matvec(w)  # one pass, even after an interrupt

    def rows(self, bias: float, threads: int, stop: Any) -> GatheredRows:
        layout = self.fit.shape.layout(bias, threads)
        return GatheredRows(self.fit.cluster, layout, self.fit.sizes, stop)

    @property
    def failed(self) -> bool:
        """Whether some of the rows can no longer be read."""
        return self.fit.failure is not None

    def place(self, plan: LinearPlan, interrupts: Interrupts) -> RemotePlace:
        """Where `maxmargin.training.fit` solves problems on these rows."""
        return RemotePlace(self, plan)

    def column(self, name: str) -> np.ndarray | None:
        """Labels, weights or queries of all rows."""
        with blaming(self.fit.cluster):
            found = self.fit.cluster.ask(describe.column_of, name)
        if any(column is None for column in found):
            return None
        return np.concatenate(found)


class RemotePlace:
    """Problems whose losses are evaluated here, on all available CPUs, one after the other."""

    kind = CLUSTER

    def __init__(self, X: RemoteRows, plan: LinearPlan) -> None:
        self.X, self.plan = X, plan
        self.n, self.d = X.shape
        self.width = self.d + (plan.bias != 0)

    def side_by_side(self, problems: int) -> int:
        return 1

    def pick(self, loss: MakeLoss, name: str) -> str:
        return "ocas"

    def solve(
        self, loss: MakeLoss, solver: str, settings: Settings, start: Start | None, alone: bool
    ) -> Solution:
        rows = self.X.rows(self.plan.bias, self.plan.options.threads or 1, settings.stop)
        pool = new_pool(granted_cpus())
        solution = SOLVERS[solver].solve(rows, loss(pool), settings, start)
        if self.X.fit.failure is None:
            self.X.fit.cluster.end(rows.key)
        return solution

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self.X @ w
