"""Streams in a search along C: folds are problems beside each other and share every pass.

A row has a byte with a bit for each fold that leaves it out. So the file is read as often as for
one machine, and rows that several folds find informative are in the cache once.

    bits    of each row: the folds it is held out from         k    problems of one fold
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.data.stream.known_metadata import KnownMetadata
from maxmargin.metrics.named import HeldOut
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.stream import (
    Aim,
    StreamPlan,
    StreamRegressionPlan,
    StreamRun,
    TrainedStream,
    aim_of,
    solve_stream,
    stream_model,
    train_stream,
)
from maxmargin.training.targets import check_classes
from maxmargin.training.tasks import OfClasses, OfValues, Task

MOST_TOGETHER = 8  # folds: the bits of a byte


class OnStream(Task):
    """Machines on rows of a source."""

    plan: Any
    y: np.ndarray

    def train(self, X: Any, starts: Any = None) -> TrainedStream:
        return train_stream(KnownMetadata(X, self.y, self.weight), self.plan)

    def paths(self, X: Any, tests: Sequence[np.ndarray]) -> list[FoldOfMany]:
        found: list[FoldOfMany] = []
        for begin in range(0, len(tests), MOST_TOGETHER):
            some = FoldsTogether(X, self, list(tests[begin : begin + MOST_TOGETHER]))
            found += [FoldOfMany(some, fold) for fold in range(len(some.tests))]
        return found


@dataclass(frozen=True)
class ClassesOnStream(OnStream, OfClasses):
    """Linear classifiers of rows of a source."""

    plan: StreamPlan  # type: ignore[assignment]
    has_cut: ClassVar[bool] = True


@dataclass(frozen=True)
class ValuesOnStream(OnStream, OfValues):
    """Regressions on rows of a source."""

    plan: StreamRegressionPlan  # type: ignore[assignment]

    @property
    def losses(self) -> RegressionPlan:
        return self.plan.regression()


class FoldsTogether:
    """The machines of several folds along C, each C starting from the one before it."""

    def __init__(self, source: BlockSource, task: OnStream, tests: list[np.ndarray]) -> None:
        self.source, self.task, self.tests = source, task, tests
        self.bits = np.zeros(len(task.y), np.uint8)
        for fold, test in enumerate(tests):
            self.bits[test] |= np.uint8(1 << fold)
        self.rows = KnownMetadata(source, task.y, task.weight)
        self.C: float | None = None
        self.run: StreamRun | None = None
        self.found: list[HeldOut] = []
        self._stats: Any = None  # of the rows, which a map has to know

    def held_out(self, C: float) -> list[HeldOut]:
        """Train for a C, and predict what each fold held out: once, however often it is asked."""
        if C != self.C:
            plan = self.task.at({"C": C}).plan
            start = self.run if self.C is not None and self.C < C else None
            self.run = self.found = None  # type: ignore[assignment]  # to have their memory back
            self.run = solve_stream(self.rows, plan, lambda stop: self.aim(plan, stop), start)
            self.found, self.C = self.predicted(plan, self.run), C
        return self.found

    def aim(self, plan: Any, stop: _core.Stop) -> Aim:
        """The problems of the plan, once for each fold."""
        whole = aim_of(self.rows, plan, stop, self._stats)
        self._stats = whole.labels.stats
        count = len(self.tests)
        return replace(
            whole,
            positives=whole.positives * count,
            losses=whole.losses * count,
            at_zero=[P for fold in range(count) for P in self.at_zero(fold, whole)],
            left_out=self.bits,
            folds=[fold for fold in range(count) for _ in whole.losses],
        )

    def at_zero(self, fold: int, whole: Aim) -> list[float]:
        """P of w = 0 on the rows that a fold trains on."""
        kept = self.trains(fold)
        y, weight = self.task.y[kept], self.rows.weights()[kept]
        if whole.classes is None:
            pool, cost = _core.Pool(1), whole.costs[0] * weight
            return [spec.on_targets(y, cost, pool).at_zero for spec in whole.losses]
        costs = whole.costs[np.searchsorted(whole.classes, y)]
        return [float(costs @ weight) * spec.margin_loss_at_zero for spec in whole.losses]

    def trains(self, fold: int) -> np.ndarray:
        return (self.bits & np.uint8(1 << fold)) == 0

    def check(self, fold: int) -> None:
        """Refuse a fold that leaves nothing to tell apart."""
        kept = self.trains(fold)
        weighed = kept if self.task.weight is None else kept & (self.task.weight > 0)
        if isinstance(self.task, OfClasses):
            check_classes(np.unique(self.task.y))
            check_classes(np.unique(self.task.y[weighed]), " among rows of positive weight")
        elif not weighed.any():
            raise ValueError("every weight is zero; expected rows that count")

    def predicted(self, plan: Any, run: StreamRun) -> list[HeldOut]:
        """What each fold's machine says of the rows it has not seen: one pass for all."""
        k = len(run.solutions) // len(self.tests)
        models = [
            stream_model(self.rows, plan, run, run.solutions[fold * k : (fold + 1) * k])
            for fold in range(len(self.tests))
        ]
        parts: list[list[np.ndarray]] = [[] for _ in models]
        for block in self.source.blocks():
            bits = self.bits[block.first : block.first + block.n]
            for fold, model in enumerate(models):
                values = model.decision_function(block.X, plan.options.threads)
                parts[fold].append(values[(bits & np.uint8(1 << fold)) != 0])
        found = []
        for fold, model in enumerate(models):
            test = np.flatnonzero(~self.trains(fold))  # in the order of the rows
            counts = None if self.task.weight is None else self.task.weight[test]
            groups = None if self.task.groups is None else self.task.groups[test]
            values = np.concatenate(parts[fold])
            found.append(HeldOut(model, values, self.task.y[test], counts, groups))
        return found


@dataclass(frozen=True)
class FoldOfMany:
    """One of the folds that are trained together."""

    together: FoldsTogether
    fold: int

    def held_out(self, C: float) -> HeldOut:
        """What the machine of this fold says of the rows held out."""
        self.together.check(self.fold)
        return self.together.held_out(C)[self.fold]
