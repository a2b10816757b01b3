"""Losses that must see every prediction at once: these come to the driver, n numbers a product.

What a fit gathers, it says: the docstrings of the estimators, `gathers_predictions_`, and for
rankings whose queries cross partitions a warning, since cutting the data at queries avoids it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.cpus import granted_cpus, new_pool
from maxmargin.distributed import describe
from maxmargin.distributed.rows import GatheredRows
from maxmargin.distributed.training import Fit, blaming, solve
from maxmargin.problem import Settings, Solution
from maxmargin.training.choice import Start
from maxmargin.training.linear import LinearPlan


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

    def problems(
        self,
        losses: Sequence[Callable[[Any], Any]],
        plan: LinearPlan,
        starts: Sequence[Start] | None,
    ) -> RemoteProblems:
        """What `maxmargin.training.scores` solves on these rows."""
        return RemoteProblems(self, losses, plan, starts)

    def column(self, name: str) -> np.ndarray | None:
        """Labels, weights or queries of all rows."""
        with blaming(self.fit.cluster):
            found = self.fit.cluster.ask(describe.column_of, name)
        if any(column is None for column in found):
            return None
        return np.concatenate(found)


@dataclass(frozen=True)
class RemoteProblems:
    """Problems whose losses are evaluated here, on all available CPUs, one after the other."""

    X: RemoteRows
    losses: Sequence[Callable[[Any], Any]]
    plan: LinearPlan
    starts: Sequence[Start] | None
    side_by_side = 1

    @property
    def count(self) -> int:
        return len(self.losses)

    def solve(self, k: int, settings: Settings) -> Solution:
        """The bundle loop. The cluster's own flag ends it: it knows of workers that were lost."""
        stop = self.X.fit.new_stop(rounds=self.count - k)
        rows = self.X.rows(self.plan.bias, self.plan.options.threads or 1, stop)
        w0 = None
        if self.starts is not None and len(self.starts) == self.count:
            w0 = self.starts[k].w if len(self.starts[k].w) == rows.width else None
        solution = solve(rows, self.losses[k](new_pool(granted_cpus())), self.plan, stop, w0)
        if self.X.fit.failure is None:
            self.X.fit.cluster.end(rows.key)
        return solution
