"""Kernel machines in cells: space is cut, and every cell is trained, or tuned, by itself.

The whole is one problem whose Gram matrix has a block for each cell and nothing between them: its
objective and its lower bound are the sums over cells. Cells are independent, so that threads take
them one by one; memory is that of as many cells as there are threads.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.data.cpus import granted_cpus
from maxmargin.models.cells import Cell, CellModel
from maxmargin.models.kernel import combined
from maxmargin.parameters import ParameterError, is_whole
from maxmargin.problem import Progress, Status
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.cells import CellTree, cut
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.sources import budget_of
from maxmargin.solvers.kernel.two_variable import KernelCertificate
from maxmargin.training.folds import stratified_folds
from maxmargin.training.kernel import KernelPlan, TrainedKernel, kept_parameters, train_on
from maxmargin.training.kernel_search import search_on
from maxmargin.training.targets import Labels, labels_of

POLL = 0.02  # seconds between two looks at the stop flag


@dataclass(frozen=True)
class Tuning:
    """How each cell chooses its C and gamma."""

    Cs: Any = "auto"
    gammas: Any = "auto"
    folds: int = 5

    def __post_init__(self) -> None:
        if not (is_whole(self.folds) and self.folds >= 2):
            raise ParameterError(
                "cv", "a whole number >= 2 of folds (with cells, each has its own)", self.folds
            )


@dataclass(frozen=True)
class CellProgress:
    """What a callback sees after every cell."""

    done: int
    total: int
    seconds: float
    rows: int
    constant: int

    @property
    def seconds_left(self) -> float:
        return self.seconds / max(self.done, 1) * (self.total - self.done)

    def __str__(self) -> str:
        return (
            f"{self.seconds:8.2f} s  {self.done}/{self.total} cells  {self.rows} rows  "
            f"{self.constant} of one class  {self.seconds_left:.0f} s left"
        )


@dataclass(frozen=True)
class CellRows:
    """The rows of one cell, with their class numbers and weights."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class TrainedCell:
    """The machine of a cell, its certificate, and the validation errors of its best point."""

    cell: Cell
    certificate: KernelCertificate
    error: float | None = None
    weight: float = 0.0


@dataclass(frozen=True)
class TrainedCells:
    """A model in cells, and how well its cells did in validation (None: not tuned)."""

    model: CellModel
    validation_error: float | None
    seconds: float

    @property
    def history(self) -> list[Progress]:
        """The sums of objectives and bounds, cell after cell."""
        moments, primal, dual = [], 0.0, 0.0
        for k, certificate in enumerate(self.model.certificates):
            primal, dual = primal + certificate.primal, dual + certificate.dual
            moments.append(Progress(k + 1, certificate.seconds, primal, dual))
        return moments


# ---------------------------------------------------------------- all cells


def train_cells(
    X: Any,
    y: np.ndarray,
    plan: KernelPlan,
    sample_weight: Any = None,
    tuning: Tuning | None = None,
    callback: Callable[[CellProgress], bool | None] | None = None,
) -> TrainedCells:
    """Cuts the rows into cells of at most `plan.cells` rows and trains each, or tunes it."""
    labels = labels_of(y, sample_weight, plan.class_weight)
    counts = np.ones(labels.n) if sample_weight is None else np.asarray(sample_weight, float)
    X = X.tocsr() if sp.issparse(X) else X
    with interruptible(plan.options.max_time) as stop:
        began = time.perf_counter()
        tree, members = cut(X, int(plan.cells or X.shape[0]), plan.options.seed, plan.cell_overlap)
        weights = labels.weights()

        def load(k: int) -> CellRows:
            rows = members[k]
            return CellRows(X[rows], labels.codes[rows], weights[rows], counts[rows])

        trained = train_each(load, len(members), plan, tuning, stop, callback)
        seconds = time.perf_counter() - began
    model = cell_model(tree, trained, labels.classes, X.shape[1], plan)
    return TrainedCells(model, validation_error(trained), seconds)


def train_each(
    load: Callable[[int], CellRows],
    total: int,
    plan: KernelPlan,
    tuning: Tuning | None,
    stop: _core.Stop,
    callback: Callable[[CellProgress], bool | None] | None = None,
) -> list[TrainedCell]:
    """All cells, as many at a time as there are threads; this thread watches the stop flag."""
    threads = min(useful_threads(plan.options.threads or granted_cpus(), total * 2**20), total)
    alone = replace(plan, options=replace(plan.options, threads=1, callback=None, max_time=None))
    alone = replace(alone, memory=max(1, budget_of(plan.memory) // threads), cells=None)
    stops = [_core.Stop() for _ in range(total)]
    began, ended, rows, constant = time.perf_counter(), False, 0, 0

    def train_one(k: int) -> tuple[TrainedCell, int]:
        some = load(k)
        return train_cell(some, alone, tuning, stops[k]), len(some.codes)

    with ThreadPoolExecutor(threads) as executor:
        futures: list[Future] = [executor.submit(train_one, k) for k in range(total)]
        waiting, done = set(futures), 0
        while waiting:
            finished, waiting = wait(waiting, POLL, return_when=FIRST_COMPLETED)
            for future in finished:
                if future.exception() is not None:
                    _interrupt(stops)
                trained, count = future.result()
                done, rows = done + 1, rows + count
                constant += trained.cell.is_constant
                seconds = time.perf_counter() - began
                progress = CellProgress(done, total, seconds, rows, constant)
                ended = ended or bool(callback is not None and callback(progress))
            if ended or stop.poll():
                _interrupt(stops)
    return [future.result()[0] for future in futures]


def _interrupt(stops: list[_core.Stop]) -> None:
    for stop in stops:
        stop.interrupt()


def print_progress(progress: CellProgress) -> None:
    """One line per cell on standard error."""
    print(progress, file=sys.stderr)


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
    found = search_on(X, labels, tuning.Cs, tuning.gammas, folds, plan, stop, counts=counts)
    return _trained(found, known, rows)


def _trained(found: TrainedKernel, known: np.ndarray, rows: CellRows) -> TrainedCell:
    model, grid = found.model, found.grid
    C = float(model.parameters["C"])  # type: ignore[arg-type]
    cell = Cell(C, found.gamma, model.vectors, model.coefficients, known)
    error = None if grid is None else float(grid.error[grid.best].mean())
    return TrainedCell(cell, combined(model.certificates), error, float(rows.counts.sum()))


def constant_cell(rows: CellRows, known: np.ndarray, plan: KernelPlan) -> TrainedCell:
    """One class: no loss and no norm are left to be minimised."""
    codes = known if len(known) else np.unique(rows.codes)[:1]
    certificate = KernelCertificate(0.0, 0.0, Status.OPTIMAL, 0, 0.0, tol=plan.options.tol)
    cell = Cell(float(plan.C), 1.0, rows.X[:0], np.zeros((0, 0)), codes)
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
