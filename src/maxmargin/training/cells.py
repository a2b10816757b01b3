"""Kernel machines in cells: space is cut, and every cell is trained, or tuned, by itself.

The whole is one problem whose Gram matrix has a block for each cell and nothing between them: its
objective and its lower bound are the sums over cells. Cells are independent, so that threads take
them one by one; memory is that of as many cells as there are threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import as_floats
from maxmargin.models.cells import Cell, CellModel
from maxmargin.models.kernel import combined
from maxmargin.problem import Status
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.cells import CellTree
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.sources import budget_of
from maxmargin.training.cell_rows import CutRows, Cutting, cut_rows
from maxmargin.training.each_cell import TrainedCell, TrainedCells, Tuning, Watch, train_each
from maxmargin.training.folds import stratified_folds
from maxmargin.training.kernel import KernelPlan, TrainedKernel, kept_parameters, train_on
from maxmargin.training.kernel_search import search_on
from maxmargin.training.targets import Labels, labels_of


@dataclass(frozen=True)
class CellRows:
    """The rows of one cell, with their class numbers and weights."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    counts: np.ndarray


# ---------------------------------------------------------------- all cells


def train_cells(
    X: Any,
    y: np.ndarray,
    plan: KernelPlan,
    sample_weight: Any = None,
    tuning: Tuning | None = None,
    callback: Watch | None = None,
) -> TrainedCells:
    """Cuts rows (arrays, or a source) into cells of at most `plan.cells` and trains each, or
    tunes it."""
    labels = labels_of(y, sample_weight, plan.class_weight)
    counts = np.ones(labels.n) if sample_weight is None else np.asarray(sample_weight, float)
    with interruptible(plan.options.max_time) as stop:
        began = time.perf_counter()
        with cut_rows(X, cutting_of(plan, labels.n), stop) as cut:
            trained = train_cut(cut, labels, counts, plan, tuning, stop, callback)
        seconds = time.perf_counter() - began
    model = cell_model(cut.tree, trained, labels.classes, cut.d, plan)
    return TrainedCells(model, validation_error(trained), seconds)


def cutting_of(plan: KernelPlan, n: int) -> Cutting:
    """How the plan cuts n rows."""
    memory = budget_of(plan.memory)
    return Cutting(int(plan.cells or n), plan.options.seed, plan.cell_overlap, memory)


def train_cut(
    cut: CutRows,
    labels: Labels,
    counts: np.ndarray,
    plan: KernelPlan,
    tuning: Tuning | None,
    stop: _core.Stop,
    callback: Watch | None = None,
) -> list[TrainedCell]:
    """The machine of every cell."""
    weights = labels.weights()

    def train_one(k: int, of_one: KernelPlan, flag: _core.Stop) -> TrainedCell:
        rows = cut.members[k]
        known = CellRows(cut.rows_of(k), labels.codes[rows], weights[rows], counts[rows])
        return train_cell(known, of_one, tuning, flag)

    return train_each(train_one, cut.sizes, plan, stop, callback)


# ---------------------------------------------------------------- one cell


def train_cell(
    rows: CellRows, plan: KernelPlan, tuning: Tuning | None, stop: _core.Stop
) -> TrainedCell:
    """The machine of one cell, from its rows alone."""
    known = np.unique(rows.codes[rows.weight > 0])
    if len(known) < 2:
        return constant_cell(rows, known, plan)
    kept = np.isin(rows.codes, known)
    labels = Labels(known, np.searchsorted(known, rows.codes[kept]), rows.weight[kept])
    X, counts = rows.X[kept], rows.counts[kept]
    if tuning is None:
        return _trained(train_on(X, labels, plan, stop), known, rows)
    folds = stratified_folds(labels.codes, min(tuning.folds, labels.n), plan.options.seed)
    folds = [fold for fold in folds if counts[fold[1]].sum() > 0]  # others judge nothing
    found = search_on(X, labels, tuning.Cs, tuning.gammas, folds, plan, stop, counts=counts)
    return _trained(found, known, rows)


def _trained(found: TrainedKernel, known: np.ndarray, rows: CellRows) -> TrainedCell:
    model, grid = found.model, found.grid
    C = float(model.parameters["C"])
    cell = Cell(C, found.gamma, model.vectors, model.coefficients, known)
    error = None if grid is None else float(grid.error[grid.best].mean())
    return TrainedCell(cell, combined(model.certificates), error, float(rows.counts.sum()))


def constant_cell(rows: CellRows, known: np.ndarray, plan: KernelPlan) -> TrainedCell:
    """One class: no loss and no norm are left to be minimised."""
    codes = known if len(known) else np.unique(rows.codes)[:1]
    certificate = KernelCertificate(0.0, 0.0, Status.OPTIMAL, 0, 0.0, tol=plan.options.tol)
    cell = Cell(float(plan.C), 1.0, as_floats(rows.X[:0]), np.zeros((0, 0)), codes)
    return TrainedCell(cell, certificate, 0.0, float(rows.counts.sum()))


# ---------------------------------------------------------------- the model


def cell_model(
    tree: CellTree, trained: list[TrainedCell], classes: np.ndarray, d: int, plan: KernelPlan
) -> CellModel:
    """The model of all cells."""
    parameters = kept_parameters(plan) | {"cells": plan.cells, "cell_overlap": plan.cell_overlap}
    return CellModel(
        tree,
        tuple(one.cell for one in trained),
        Kernel(str(plan.kernel), 1.0, plan.degree, plan.coef0),
        classes,
        d,
        multi_class=plan.multi_class,
        certificates=tuple(one.certificate for one in trained),
        parameters=parameters,
    )


def validation_error(trained: list[TrainedCell]) -> float | None:
    """The errors of the cells' best points by the weights of their rows; None if not tuned."""
    known = [one for one in trained if one.error is not None]
    if len(known) < len(trained) or all(one.cell.is_constant for one in trained):
        return None
    total = sum(one.weight for one in known)
    return sum(one.weight * float(one.error or 0.0) for one in known) / total
