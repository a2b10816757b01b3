"""Kernel regressions in cells: what `maxmargin.training.cells` does for classes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.models.kernel import combined
from maxmargin.models.regression_cells import RegressionCell, RegressionCellModel
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.training.cell_rows import CutRows, cut_rows
from maxmargin.training.cells import cutting_of
from maxmargin.training.each_cell import TrainedCell, TrainedCells, Tuning, Watch, train_each
from maxmargin.training.folds import folds_of
from maxmargin.training.kernel import TrainedKernel
from maxmargin.training.kernel_regression import KernelRegressionPlan, search_on, train_on
from maxmargin.training.targets import Targets, targets_of


def train_regression_cells(
    X: Any,
    y: Any,
    plan: KernelRegressionPlan,
    sample_weight: Any = None,
    tuning: Tuning | None = None,
    callback: Watch | None = None,
) -> TrainedCells:
    """Cuts rows (arrays, or a source) into cells of at most `plan.cells` and trains each, or
    tunes it."""
    targets = targets_of(y, sample_weight)
    with interruptible(plan.options.max_time) as stop:
        began = time.perf_counter()
        with cut_rows(X, cutting_of(plan.machine, targets.n), stop) as cut:
            trained = _train_cut(cut, targets, plan, tuning, stop, callback)
        seconds = time.perf_counter() - began
    loss = None
    if tuning is not None:
        total = sum(one.weight for one in trained)
        known = [one for one in trained if one.weight > 0]
        loss = sum(one.weight * float(one.error or 0.0) for one in known) / total
    return TrainedCells(_model_of(cut, trained, plan), loss, seconds)


def _train_cut(
    cut: CutRows,
    targets: Targets,
    plan: KernelRegressionPlan,
    tuning: Tuning | None,
    stop: _core.Stop,
    callback: Watch | None,
) -> list[TrainedCell]:
    weights = targets.weights()

    def train_one(k: int, of_one: KernelRegressionPlan, flag: _core.Stop) -> TrainedCell:
        rows = cut.members[k]
        own = Targets(targets.values[rows], weights[rows])
        return train_cell(cut.rows_of(k), own, of_one, tuning, flag)

    return train_each(train_one, cut.sizes, plan, stop, callback)


def train_cell(
    X: Any,
    targets: Targets,
    plan: KernelRegressionPlan,
    tuning: Tuning | None,
    stop: _core.Stop,
) -> TrainedCell:
    """The regression of one cell, from its rows alone. Rows that weigh nothing are left out."""
    weight = targets.weights()
    total, kept = float(weight.sum()), weight > 0
    if not kept.any():
        kept = np.ones_like(kept)  # f = 0, whatever is there
        targets = Targets(np.zeros(targets.n))
    X, targets = X[kept], Targets(targets.values[kept], targets.weights()[kept])
    if tuning is None or targets.n < 2:
        found = train_on(X, targets, plan, stop)
    else:
        folds = folds_of(min(tuning.folds, targets.n), targets.n, plan.options.seed)
        found = search_on(X, targets, tuning.Cs, tuning.gammas, folds, plan, stop)
    return _trained(found, total)


def _trained(found: TrainedKernel, weight: float) -> TrainedCell:
    model, grid = found.model, found.grid
    C = float(model.parameters["C"])
    cell = RegressionCell(C, found.gamma, model.vectors, model.coefficients)
    loss = None if grid is None else float(grid.loss[grid.best].mean())
    return TrainedCell(cell, combined(model.certificates), loss, weight)


def _model_of(
    cut: CutRows, trained: list[TrainedCell], plan: KernelRegressionPlan
) -> RegressionCellModel:
    parameters = plan.parameters() | {"cells": plan.cells, "cell_overlap": plan.cell_overlap}
    return RegressionCellModel(
        cut.tree,
        tuple(one.cell for one in trained),
        Kernel(str(plan.kernel), 1.0, plan.degree, plan.coef0),
        cut.d,
        certificates=tuple(one.certificate for one in trained),
        parameters=parameters,
    )
