"""Kernel machines in cells on a Dask cluster."""

from __future__ import annotations

from typing import Any

from maxmargin.distributed import prediction
from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.cells import train_cells
from maxmargin.distributed.training import Fit, client_of
from maxmargin.estimators import kernel as local
from maxmargin.estimators.base import parameters
from maxmargin.parameters import ParameterError
from maxmargin.training.each_cell import TrainedCells, Tuning, cell_reporter
from maxmargin.training.kernel import KernelPlan


@parameters
class _InCells(OnCluster):
    """What both classes share."""

    def _plan(self) -> KernelPlan:
        plan = super()._plan()
        if plan.cells is None:
            raise ParameterError("cells", "a number of rows on a cluster (2000, say)", plan.cells)
        if plan.cell_overlap > 0:
            raise ParameterError("cell_overlap", "0 on a cluster", plan.cell_overlap)
        return plan

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows labelled rightly, by weight; only two numbers per partition travel."""
        if not prediction.is_distributed(X):
            return super().score(X, y, sample_weight)
        sources = self._sources(X, y, sample_weight)
        return prediction.accuracy(client_of(self.client), self.to_model(), sources)


@parameters
class KernelSVC(_InCells, local.KernelSVC):
    """`maxmargin.KernelSVC` with ``cells=N`` on rows that lie on the workers of a Dask cluster.

    Space is cut into regions by a sample of the rows; those of a region meet on one worker, which
    cuts them into cells of at most N rows and trains each. Regions are tasks: what a worker had
    when it died is done again, and no more.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, stopping, working_set, n_neighbors, cold_start
        As in `maxmargin.KernelSVC`.
    multi_class, class_weight, tol, max_iter, random_state
        As in `maxmargin.KernelSVC`.
    cells : int
        The most rows of a cell, 2000 say. There is no `cell_overlap`.
    memory : int, str or None
        Bytes of a task; None for seven tenths of what its worker has.
    max_time, callback
        Regions that are not done when the time is over, or when a callback returns True, have
        f = 0. The callback sees a `CellProgress` after every region.
    n_jobs : int, optional
        Threads of one task; None for one, since Dask runs a task on every thread of a worker.
    client, read_options
        As in `maxmargin.distributed.LinearSVC`.

    Attributes
    ----------
    classes_, n_cells_, gamma_, certificate_, certificates_, history_, n_features_in_
        As in `maxmargin.KernelSVC`.
    n_samples_, n_partitions_, index_base_
        As in `maxmargin.distributed.LinearSVC`.
    """

    def _train_on(self, fit: Fit, plan: KernelPlan) -> TrainedCells:  # type: ignore[override]
        return train_cells(fit, plan, None, cell_reporter(self.callback, self.verbose))


@parameters
class KernelSVCCV(_InCells, local.KernelSVCCV):
    """`maxmargin.KernelSVCCV` with ``cells=N`` on a Dask cluster: each cell tunes C and gamma.

    Parameters and attributes are those of `maxmargin.distributed.KernelSVC` and of
    `maxmargin.KernelSVCCV` with cells.
    """

    def _train_on(self, fit: Fit, plan: KernelPlan) -> TrainedCells:  # type: ignore[override]
        tuning = Tuning(self.Cs, self.gammas, self.cv)
        return self._keep_tuned(
            train_cells(fit, plan, tuning, cell_reporter(self.callback, self.verbose))
        )
