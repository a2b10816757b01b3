"""Cells on a cluster: rows are sorted into regions of space, and each region's cells are a task.

    sample     a share of every part comes here, and is cut into regions
    sort       every part sends each of its rows to the region it lies in
    train      a region's rows meet on one worker, are cut into cells, and each cell is trained

Tasks are functions of their arguments: when a worker dies Dask repeats those that are lost, from
the reading of the rows on, and no others.
"""

from __future__ import annotations

import math
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.distributed import describe
from maxmargin.distributed.cluster import POLL, RETRIES
from maxmargin.distributed.parts import Layout, Part
from maxmargin.distributed.training import Fit, blaming
from maxmargin.models.cells import Cell, stacked
from maxmargin.problem import Clock, Status
from maxmargin.solvers.common.run import BY_CALLBACK, Interrupts, ended_by
from maxmargin.solvers.kernel.cells import SAMPLE, CellTree, cut, graft
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.training.cell_rows import SAMPLE_OF_PART, cut_rows
from maxmargin.training.cells import cell_model, cutting_of, train_cut, validation_error
from maxmargin.training.each_cell import CellProgress, TrainedCell, TrainedCells, Tuning, Watch
from maxmargin.training.kernel import KernelPlan
from maxmargin.training.targets import Labels
from maxmargin.training.weights import class_factors

MOST_PIECES = 4096  # of parts, each cut by regions: a task for each
LEAST_REGIONS = 64


@dataclass(frozen=True)
class CellTask:
    """What a worker must know to train the cells of a region."""

    classes: np.ndarray
    factors: np.ndarray  # of the classes
    plan: KernelPlan
    tuning: Tuning | None
    layout: Layout


@dataclass(frozen=True)
class Piece:
    """The rows of a part that lie in one region, their classes and sample weights."""

    X: Any
    codes: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Region:
    """A region cut into its cells, trained."""

    tree: CellTree
    cells: list[TrainedCell]
    rows: int = 0


def train_cells(
    fit: Fit, plan: KernelPlan, tuning: Tuning | None, callback: Watch | None
) -> TrainedCells:
    """Cells of rows that lie on workers. Regions that a stop leaves out have f = 0."""
    clock = Clock()
    with blaming(fit.cluster):
        labels = describe.all_labels(fit.cluster.ask(describe.labels_of))
        factors = class_factors(labels.classes, labels.weight, plan.class_weight)
        threads = plan.options.threads or 1
        of_task = replace(plan, options=replace(plan.options, threads=threads, callback=None))
        task = CellTask(labels.classes, factors, of_task, tuning, fit.shape.layout(0.0, 1))
        coarse = _regions(fit, plan, task.layout)
        regions = _Training(fit, coarse, task, callback, clock).run()
    tree = graft(coarse, [region.tree for region in regions])
    trained = [cell for region in regions for cell in region.cells]
    model = cell_model(tree, trained, labels.classes, fit.shape.d, plan)
    return TrainedCells(model, validation_error(trained), clock())


def _regions(fit: Fit, plan: KernelPlan, layout: Layout) -> CellTree:
    """Space cut into about as many regions as there will be cells, by a sample of the rows."""
    n, most = fit.shape.n, int(plan.cells or fit.shape.n)
    bound = max(LEAST_REGIONS, MOST_PIECES // fit.cluster.n_parts)
    count = min(math.ceil(n / most), bound)
    if count == 1:
        return cut(np.zeros((1, layout.d)), 1)[0]
    share = min(1.0, max(SAMPLE, SAMPLE_OF_PART * count) / n)
    found = fit.cluster.ask(sample_of, layout, share, plan.options.seed)
    sample = stacked([rows for rows in found if rows.shape[0]])
    return cut(sample, math.ceil(sample.shape[0] / count), plan.options.seed)[0]


class _Training:
    """A task for every region, on the pieces that the parts have of it; this thread watches."""

    def __init__(
        self, fit: Fit, coarse: CellTree, task: CellTask, callback: Watch | None, clock: Clock
    ) -> None:
        self.fit, self.cluster, self.task = fit, fit.cluster, task
        self.callback, self.clock, self.stop = callback, clock, fit.new_stop()
        # A task, unlike data that is merely scattered, is repeated if its worker dies.
        self.known = self._submit(carry, (coarse, task))
        self.regions: list[Region | None] = [None] * coarse.n_cells
        self.done = self.rows = self.constant = 0

    def _submit(self, function: Any, *arguments: Any) -> Any:
        key = f"maxmargin-{function.__name__}-{uuid.uuid4().hex}"
        return self.cluster.client.submit(function, *arguments, key=key, retries=RETRIES)

    def run(self) -> list[Region]:
        sorted_parts = self.cluster.send(sort_part, self.known)
        factors = self.task.factors
        weighed = self.cluster.fetch([self._submit(weigh, part, factors) for part in sorted_parts])
        weights = np.sum(weighed, axis=0)
        futures = {}
        for region in range(len(self.regions)):
            pieces = [self._submit(piece_of, part, region) for part in sorted_parts]
            futures[self._submit(train_region, pieces, self.known)] = region
        self._wait(futures)
        return [
            self._untrained(weights[k]) if region is None else region
            for k, region in enumerate(self.regions)
        ]

    def _wait(self, futures: dict[Any, int]) -> None:
        """Takes regions as they are done, until all are or the stop flag is raised."""
        waiting = set(futures)
        while waiting and not self.stop.poll():
            self.cluster.wait_for_scheduler(self.stop)
            finished = [future for future in waiting if future.done()]
            for future in finished:
                waiting.discard(future)
                (region,) = self.cluster.fetch([future])
                self.regions[futures[future]] = region
                if self._tell(region, len(waiting)):
                    self.stop.interrupt(BY_CALLBACK)
            if not finished:
                time.sleep(POLL)
        for future in waiting:
            future.cancel()

    def _tell(self, region: Region, regions_left: int) -> bool:
        self.done += len(region.cells)
        self.rows += region.rows
        self.constant += sum(one.cell.is_constant for one in region.cells)
        total, seconds = self.done + regions_left, self.clock()
        progress = CellProgress(self.done, total, seconds, self.rows, self.constant)
        return bool(self.callback is not None and self.callback(progress))

    def _untrained(self, weights: np.ndarray) -> Region:
        """The region as one cell with f = 0, whose loss its weights tell."""
        plan, known = self.task.plan, np.flatnonzero(weights)
        known = known if len(known) else np.array([0])
        d, k = self.task.layout.d, len(known)
        status = ended_by(self.stop) if k > 1 else Status.OPTIMAL
        coding = coding_of(max(k, 2), plan.multi_class)
        problems = coding.labels(np.arange(k)) if k > 1 else []
        primal = float(plan.C) * sum(float(weights[known[y != 0]].sum()) for y in problems)
        certificate = KernelCertificate(primal, 0.0, status, 0, self.clock(), tol=plan.options.tol)
        cell = Cell(float(plan.C), 1.0, np.zeros((0, d)), np.zeros((0, len(problems))), known)
        return Region(cut(np.zeros((1, d)), 1)[0], [TrainedCell(cell, certificate)])


# ---------------------------------------------------------------- tasks


def carry(known: Any) -> Any:
    """What other tasks are given."""
    return known


def sample_of(part: Part, layout: Layout, share: float, seed: int) -> Any:
    """A share of a part's rows, drawn at random."""
    X = part.columns(layout)
    random = np.random.default_rng((seed, part.number))
    count = min(X.shape[0], math.ceil(share * X.shape[0]))
    return X[np.sort(random.choice(X.shape[0], count, replace=False))]


def sort_part(part: Part, known: tuple[CellTree, CellTask]) -> list[Piece]:
    """The rows of a part by the region they lie in."""
    coarse, task = known
    X, data = part.columns(task.layout), part.data
    assert data.y is not None
    y = data.y.astype(str) if data.y.dtype.kind == "O" else data.y
    codes = describe.codes_of(y, task.classes)
    counts = np.ones(len(codes)) if data.weight is None else data.weight
    region = coarse.route(X)
    of_region = [np.flatnonzero(region == k) for k in range(coarse.n_cells)]
    return [Piece(X[rows], codes[rows], counts[rows]) for rows in of_region]


def weigh(pieces: list[Piece], factors: np.ndarray) -> np.ndarray:
    """What each class weighs in each region."""
    k = len(factors)
    return np.array([factors * np.bincount(p.codes, p.counts, minlength=k) for p in pieces])


def piece_of(pieces: list[Piece], region: int) -> Piece:
    return pieces[region]


def train_region(pieces: list[Piece], known: tuple[CellTree, CellTask]) -> Region:
    """Cuts a region into cells and trains each."""
    task, some = known[1], [piece for piece in pieces if len(piece.codes)]
    codes = np.concatenate([piece.codes for piece in some])
    counts = np.concatenate([piece.counts for piece in some])
    labels = Labels(task.classes, codes, counts * task.factors[codes])
    cutting = cutting_of(task.plan, labels.n)
    with cut_rows(stacked([piece.X for piece in some]), cutting) as found:
        cells = train_cut(found, labels, counts, task.plan, task.tuning, Interrupts().new_stop())
    return Region(found.tree, cells, labels.n)
