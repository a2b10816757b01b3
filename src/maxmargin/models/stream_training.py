"""From a source of blocks to a linear model, within a budget of memory (the cached loops).

    problem j    minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (<w, phi(x_i)> + b))

In memory there are: w for each problem, a_i for each row and problem, and within `memory` all else:
the best w so far and the mean one, 4 bytes a row to find it in the cache, blocks under way, and the
cache.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.data.blocks import Block, BlockSource, Strings
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.errors import DataError
from maxmargin.data.features import FeatureMap, Seen
from maxmargin.models.labels import pack_classes
from maxmargin.models.stream import StreamModel
from maxmargin.models.training import Plan, class_factors
from maxmargin.problem import Callback, Progress, Settings, Solution
from maxmargin.solvers import cached_loops
from maxmargin.solvers.checkpoint import Checkpoints, resume
from maxmargin.solvers.kernel_sources import parse_bytes
from maxmargin.solvers.run import catch_interrupts

UNDER_WAY = 6  # blocks in memory beside the cache: read, packed, waiting, visited
OTHER_VECTORS = 2  # as long as w, for each problem: the best one and the mean
ALPHA_TYPES = ("float64", "float32")


@dataclass(frozen=True)
class StreamPlan:
    """What is to be solved, how, and when to stop. Construction checks every value.

    `bias` is the constant feature of the intercept (0 for none); `patient` runs are a function of
    their seed.
    """

    C: float = 1.0
    memory: int | float | str = "1GB"
    features: FeatureMap | None = None
    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    bias: float = 1.0
    class_weight: Mapping | str | None = None
    threads: int | None = None
    seed: int = 0
    callback: Callback | None = None
    checkpoint: str | os.PathLike | None = None
    checkpoint_every: float = 600.0
    alpha_dtype: str = "float64"
    alpha_file: str | os.PathLike | None = None
    patient: bool = False

    def __post_init__(self) -> None:
        Plan(
            C=self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            bias=self.bias,
            threads=self.threads,
        )
        if self.alpha_dtype not in ALPHA_TYPES:
            raise ValueError(f"alpha_dtype {self.alpha_dtype!r} is none of {ALPHA_TYPES}")
        if not (self.checkpoint_every >= 0 and math.isfinite(self.checkpoint_every)):
            raise ValueError(
                f"checkpoint_every must be a number of seconds >= 0; got {self.checkpoint_every!r}"
            )

    @property
    def budget(self) -> int:
        return parse_bytes(self.memory)


@dataclass(frozen=True)
class TrainedStream:
    """A model, and the runs that led to it."""

    model: StreamModel
    solutions: list[Solution]

    @property
    def history(self) -> list[Progress]:
        """All problems' progress in order of time."""
        moments = [moment for solution in self.solutions for moment in solution.history]
        return sorted(moments, key=lambda moment: moment.seconds)


def train_stream(source: BlockSource, plan: StreamPlan) -> TrainedStream:
    """Train on the rows of a source, whose labels (and weights) are in its blocks.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    check_source(source, plan.features)
    with catch_interrupts() as interrupts:
        stop = interrupts.new_stop(plan.max_time)
        labels = Labels.known(source, plan.features) or Labels.scanned(source, plan.features, stop)
        features = plan.features.learned(labels.seen) if plan.features is not None else None
        costs = plan.C * class_factors(labels.classes, labels.totals, plan.class_weight)
        packing = Packing(source, features, plan.bias, labels, costs)
        classes = labels.classes
        positives = [1] if len(classes) == 2 else list(range(len(classes)))
        at_zero = float(costs @ labels.totals)
        task = cached_loops.Task(source, packing.pack, packing.format, positives, at_zero)
        budget = cache_budget(source, task, plan)
        state = cached_loops.State.start(task, dual_variables(source.n, len(positives), plan))
        checkpoints = None
        if plan.checkpoint is not None:
            identity = identity_of(source, plan, features, classes, costs)
            resume(plan.checkpoint, state, identity)
            checkpoints = Checkpoints(plan.checkpoint, plan.checkpoint_every, identity)
        options = cached_loops.Options(
            budget=budget,
            patient=plan.patient,
            max_time=plan.max_time,
            after_block=checkpoints or (lambda state: None),
        )
        settings = Settings(plan.tol, plan.max_iter, plan.seed, plan.callback, stop)
        pool = _core.Pool(min(plan.threads or granted_cpus(), len(positives)), stop)
        solutions = cached_loops.solve(task, settings, options, state, pool)
        if checkpoints is not None:
            checkpoints.write(state)
    model = _model(source, plan, features, classes, solutions)
    return TrainedStream(model, solutions)


def check_source(source: BlockSource, features: FeatureMap | None) -> None:
    """Refuse rows that cannot be trained on, before anything is read."""
    if source.n == 0:
        raise ValueError(f"{source.name}: has no rows; expected at least one of each class")
    if features is not None:
        features.check_kind(source.kind, source.name)
    elif source.kind == "strings":
        raise ValueError(
            f"{source.name}: its rows are strings: say which features to make of them "
            "(features='weighted_degree:8' or 'word_ngrams:2', say)"
        )


# ---------------------------------------------------------------- labels


@dataclass
class Labels:
    """The classes of a source, the sum of the weights of each, and what maps have to know."""

    classes: np.ndarray
    totals: np.ndarray
    seen: Seen

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise ValueError(
                f"training needs two classes or more, but y has one class only: "
                f"{self.classes.tolist()}"
            )

    @classmethod
    def known(cls, source: BlockSource, features: FeatureMap | None) -> Labels | None:
        """What a row store says about itself, if that is enough: it saves a pass."""
        summary: Any = getattr(source, "summary", None)
        description: Any = getattr(source, "description", None)
        if summary is None or not summary.labels or "sample_weight" in description.columns:
            return None
        if features is not None and features.learns and source.kind == "strings":
            return None
        classes, counts = zip(*summary.labels)
        return cls(np.array(classes), np.array(counts, dtype=np.float64), Seen(source.d))

    @classmethod
    def scanned(cls, source: BlockSource, features: FeatureMap | None, stop: _core.Stop) -> Labels:
        """One pass over the source."""
        totals: dict[Any, float] = {}
        seen, dtype = Seen(source.d), np.dtype(np.int64)
        for block in source.blocks():
            if stop.poll() and stop.reason == _core.StopReason.interrupted:
                raise KeyboardInterrupt(
                    f"{source.name}: stopped before all rows had been seen once: there is no model"
                )
            if block.y is None:
                raise ValueError(f"{source.name}: has no labels; training needs one for each row")
            found, codes = np.unique(block.y, return_inverse=True)
            for label, total in zip(found.tolist(), np.bincount(codes, weights_of(block))):
                totals[label] = totals.get(label, 0.0) + float(total)
            dtype = found.dtype if dtype.kind != "U" else dtype
            if features is not None and features.learns:
                seen.add(block.X)
        classes = np.array(sorted(totals))
        if classes.dtype.kind != "U" and dtype.kind != "O":
            classes = classes.astype(dtype)
        return cls(classes, np.array([totals[label] for label in classes.tolist()]), seen)


def weights_of(block: Block) -> np.ndarray:
    """The weights of a block's rows, 1 where it has none."""
    if block.weight is None:
        return np.ones(block.n)
    weight = np.asarray(block.weight, dtype=np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any():
        bad = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise DataError(
            f"row {block.first + bad + 1} has weight {weight[bad]}; expected a finite number >= 0"
        )
    return weight


class Packing:
    """Makes blocks ready for the core, and notices labels that change between passes."""

    def __init__(
        self,
        source: BlockSource,
        features: FeatureMap | None,
        bias: float,
        labels: Labels,
        costs: np.ndarray,
    ) -> None:
        self.name, self.features, self.labels, self.costs = source.name, features, labels, costs
        self._checksums: dict[int, int] = {}
        blocks = source.blocks()
        first = next(blocks)
        if hasattr(blocks, "close"):
            blocks.close()
        X: Any = self._compact(first.X)
        core = features.in_core(X.shape[1]) if features is not None else None
        if isinstance(X, Strings):
            self.format = _core.string_format(bias, core)
        else:
            self.format = _core.row_format(view(X, bias), bias, core)

    def _compact(self, X: Any) -> Any:
        return X if self.features is None else self.features.at_reading(X)

    def pack(self, block: Block) -> _core.PackedBlock:
        """A block as the core takes it. Called by the reader's thread."""
        y = np.asarray(block.y)
        codes = np.searchsorted(self.labels.classes, y)
        codes = np.minimum(codes, len(self.labels.classes) - 1).astype(np.int32)
        self._check(block, y, codes)
        costs = self.costs[codes] * weights_of(block)
        X = self._compact(block.X)
        if isinstance(X, Strings):
            return _core.pack_strings(X.letters, X.starts, block.first, codes, costs, self.format)
        rows = view(X, 0.0)
        return _core.pack_rows(rows, block.first, codes, costs, self.format)

    def _check(self, block: Block, y: np.ndarray, codes: np.ndarray) -> None:
        wrong = self.labels.classes[codes] != y
        checksum = _core.crc32c(codes.view(np.uint8))
        if block.weight is not None:
            checksum = _core.crc32c(np.ascontiguousarray(block.weight).view(np.uint8), checksum)
        known = self._checksums.setdefault(block.first, checksum)
        if wrong.any() or known != checksum:
            raise DataError(
                f"{self.name}: labels or weights of the rows from number {block.first + 1} are not "
                "what they were in an earlier pass: the data changed while it was in use; train "
                "again on data that stays as it is"
            )


# ---------------------------------------------------------------- memory


def cache_budget(source: BlockSource, task: cached_loops.Task, plan: StreamPlan) -> int:
    """What is left of the memory for cached rows."""
    blocks = UNDER_WAY * source.largest_block
    vectors = OTHER_VECTORS * 8 * task.format.width * len(task.positives)
    index = 4 * source.n
    left = plan.budget - blocks - vectors - index
    if left < 0:
        raise ValueError(
            f"memory={plan.memory!r} is too small for {source.name}: the blocks under way take "
            f"{blocks} bytes ({UNDER_WAY} of up to {source.largest_block}), vectors as long as w "
            f"{vectors} and the index of its {source.n} rows {index}; allow at least "
            f"{blocks + vectors + index} bytes, or convert the data with smaller blocks"
        )
    return left


def dual_variables(n: int, problems: int, plan: StreamPlan) -> list[np.ndarray]:
    """a = 0, in memory or in a file that is mapped."""
    if plan.alpha_file is None:
        return [np.zeros(n, dtype=plan.alpha_dtype) for _ in range(problems)]
    shape = (problems, n)
    mapped = np.memmap(plan.alpha_file, dtype=plan.alpha_dtype, mode="w+", shape=shape)
    return list(mapped)


def identity_of(
    source: BlockSource,
    plan: StreamPlan,
    features: FeatureMap | None,
    classes: np.ndarray,
    costs: np.ndarray,
) -> dict[str, Any]:
    """What makes two runs the same: the rows, the features and the problem."""
    return {
        "source": source.fingerprint,
        "features": None if features is None else features.packed()[0],
        "classes": pack_classes(classes),
        "costs": costs.tolist(),
        "bias": plan.bias,
    }


def _model(
    source: BlockSource,
    plan: StreamPlan,
    features: FeatureMap | None,
    classes: np.ndarray,
    solutions: list[Solution],
) -> StreamModel:
    intercept = plan.bias > 0
    d = len(solutions[0].w) - intercept
    if len(solutions) == 1:
        coef = solutions[0].w[None, :d]  # a view: w may be large
    else:
        coef = np.stack([solution.w[:d] for solution in solutions])
    last = np.array([solution.w[-1] for solution in solutions])
    names = source.feature_names
    return StreamModel(
        coef=coef,
        intercept=plan.bias * last if intercept else np.zeros(len(solutions)),
        classes=classes,
        certificates=tuple(solution.certificate for solution in solutions),
        solver="cached_loops",
        parameters={
            "C": plan.C,
            "memory": plan.memory,
            "tol": plan.tol,
            "max_iter": plan.max_iter,
            "max_time": plan.max_time,
            "fit_intercept": intercept,
            "intercept_scaling": plan.bias or 1.0,
            "class_weight": plan.class_weight,
            "n_jobs": plan.threads,
            "random_state": plan.seed,
        },
        feature_names=None if names is None else tuple(names),
        index_base=source.index_base,
        features=features,
        rows=source.kind,
        d_in=source.d,
    )
