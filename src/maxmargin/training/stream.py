"""From a source of blocks to a linear model, within a budget of memory (the cached loops).

    problem j    minimise  1/2 ||w||^2 + sum_i C_i f(t_i - y_i (<w, phi(x_i)> + b))

f is any of the pointwise losses. More than two classes are a problem each, and so are quantiles.

In memory there are: w for each problem, u_i for each row and problem, and within `memory` all else:
the best w so far, the mean one and the rounding errors of a sum, 4 bytes a row to find it in the
cache, blocks under way, and the cache.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.errors import DataError
from maxmargin.data.features import FeatureMap
from maxmargin.data.limits import parse_bytes
from maxmargin.data.stream.blocks import BLOCK_BYTES, BlockSource
from maxmargin.losses.pointwise import LossSpec
from maxmargin.models.labels import pack_classes
from maxmargin.models.stream import StreamModel, StreamRegressionModel
from maxmargin.parameters import Options, not_negative, one_of, positive
from maxmargin.problem import Progress, Solution, callers_line
from maxmargin.solvers.common.run import catch_interrupts
from maxmargin.solvers.streaming import cached_loops
from maxmargin.solvers.streaming.checkpoint import Checkpoints, resume
from maxmargin.solvers.streaming.progress import SlowProgress, hardly_falls
from maxmargin.solvers.streaming.rules import Rules
from maxmargin.solvers.streaming.state import State
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.stream_packing import Labels, Packing, Values
from maxmargin.training.targets import class_factors

SMALLEST_BLOCKS = 1 << 12
LEAST_BLOCKS = 32  # that fit in the memory, where the source can be cut so
UNDER_WAY = 6  # blocks in memory beside the cache: read, packed, waiting, visited
OTHER_VECTORS = 3  # as long as w, for each problem: the best one, the mean, rounding errors
ALPHA_TYPES = ("float64", "float32")


@dataclass(frozen=True)
class StreamPlan:
    """What is to be solved, how, and when to stop. Construction checks every value.

    `bias` is the constant feature of the intercept (0 for none); `patient` runs are a function of
    their seed.
    """

    C: float = 1.0
    loss: str = "hinge"
    memory: int | float | str = "1GB"
    features: FeatureMap | None = None
    bias: float = 1.0
    class_weight: Mapping | str | None = None
    checkpoint: str | os.PathLike | None = None
    checkpoint_every: float = 600.0
    alpha_dtype: str = "float64"
    alpha_file: str | os.PathLike | None = None
    patient: bool = False
    options: Options = field(default_factory=Options)
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        positive("C", self.C)
        not_negative("bias", self.bias)
        one_of("alpha_dtype", self.alpha_dtype, ALPHA_TYPES)
        not_negative("checkpoint_every", self.checkpoint_every)

        self.specs()

    @property
    def budget(self) -> int:
        return parse_bytes(self.memory)

    def specs(self) -> list[LossSpec]:
        """The loss of each problem; of classes one for all of them."""
        return [LossSpec.of(self.loss, "classification")]

    def parameters(self) -> dict[str, Any]:
        """What a model keeps of it."""
        return {
            "C": self.C,
            "loss": self.loss,
            "tol": self.options.tol,
            "max_iter": self.options.max_iter,
            "fit_intercept": self.bias > 0,
            "intercept_scaling": self.bias or 1.0,
            "class_weight": self.class_weight,
            "random_state": self.options.seed or None,
        }


@dataclass(frozen=True)
class StreamRegressionPlan(StreamPlan):
    """A regression on a stream: losses and parameters as in `RegressionPlan`."""

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    quantile: float | Sequence[float] = 0.5
    delta: float = 1.0
    non_crossing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.class_weight is not None:
            raise ValueError("class_weight is for classes; a regression has none")

    def specs(self) -> list[LossSpec]:
        return self._regression().specs()

    def _regression(self) -> RegressionPlan:
        return RegressionPlan(
            loss=self.loss,
            epsilon=self.epsilon,
            quantile=self.quantile,
            delta=self.delta,
            non_crossing=self.non_crossing,
        )

    def parameters(self) -> dict[str, Any]:
        own = super().parameters()
        del own["class_weight"]
        names = ("epsilon", "quantile", "delta", "non_crossing")
        known = self._regression().parameters()
        return own | {name: known[name] for name in names}


@dataclass(frozen=True)
class TrainedStream:
    """A model, and the runs that led to it."""

    model: StreamModel | StreamRegressionModel
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
        stop = interrupts.new_stop(plan.options.max_time)
        aim = aim_of(source, plan, stop)
        features = plan.features.fitted(aim.labels.stats) if plan.features is not None else None
        packing = Packing(source, features, plan.bias, aim.labels, aim.costs)
        task = cached_loops.Task(source, packing.pack, packing.format, aim.positives, aim.losses)
        budget = cache_budget(source, task, plan)
        shares = dual_shares(source.n, len(aim.losses), plan)
        state = State.start(packing.format.width, aim.at_zero, shares)
        checkpoints = None
        if plan.checkpoint is not None:
            identity = identity_of(source, plan, features, aim)
            promised = resume(plan.checkpoint, state, identity)
            if promised is not None:
                packing.expect(promised, os.fspath(plan.checkpoint))
            every = plan.checkpoint_every
            checkpoints = Checkpoints(plan.checkpoint, every, identity, packing.seen)
        options = cached_loops.Options(
            budget=budget,
            patient=plan.patient,
            max_time=plan.options.max_time,
            after_block=checkpoints or (lambda state: None),
            rules=plan.rules,
        )
        settings = plan.options.settings(stop)
        pool = _core.Pool(min(plan.options.threads or granted_cpus(), len(aim.losses)), stop)
        solutions = cached_loops.solve(task, settings, options, state, pool)
        if checkpoints is not None:
            checkpoints.write(state)
    say_if_slow(solutions, "LinearSVR" if aim.classes is None else "LinearSVC", features)
    model = _model(source, plan, features, aim.classes, solutions)
    return TrainedStream(model, solutions)


def say_if_slow(solutions: list[Solution], other: str, features: FeatureMap | None) -> None:
    """What to do about a gap that passes hardly change: most often columns are of unlike scale."""
    slow = [solution.certificate for solution in solutions if hardly_falls(solution.history)]
    if not slow:
        return
    kind = "regression" if other == "LinearSVR" else "linear"
    advice = "scale the columns to similar size"
    if features is None:
        advice += (
            f", or use {other}().fit(path) (train --kind {kind} --from-disk), whose Newton steps "
            "do not depend on scale"
        )
    warnings.warn(
        f"the gap hardly falls from pass to pass: after {slow[0].n_iter} it is "
        f"{max(c.relative_gap for c in slow):.2g} of the objective. Most often columns are of very "
        f"unlike scale: {advice}",
        SlowProgress,
        stacklevel=callers_line(),
    )


@dataclass(frozen=True)
class Aim:
    """What there is to learn from the labels of a source: the problems, and what rows cost."""

    labels: Labels | Values
    costs: np.ndarray  # C times the factor of each class
    positives: list[int]
    losses: list[LossSpec]
    at_zero: list[float]  # P of w = 0

    @property
    def classes(self) -> np.ndarray | None:
        """None of a regression."""
        return self.labels.classes if isinstance(self.labels, Labels) else None


def aim_of(source: BlockSource, plan: StreamPlan, stop: _core.Stop) -> Aim:
    """The problems of a plan, by what a source says of itself or by a pass over it."""
    specs, features = plan.specs(), plan.features
    if isinstance(plan, StreamRegressionPlan):
        values = Values.scanned(source, features, plan.C, specs, stop)
        return Aim(values, np.array([plan.C]), [0] * len(specs), specs, values.at_zero)
    labels = Labels.known(source, features) or Labels.scanned(source, features, stop)
    costs = plan.C * class_factors(labels.classes, labels.totals, plan.class_weight)
    positives = [1] if len(labels.classes) == 2 else list(range(len(labels.classes)))
    at_zero = float(costs @ labels.totals) * specs[0].margin_loss_at_zero
    k = len(positives)
    return Aim(labels, costs, positives, specs * k, [at_zero] * k)


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


# ---------------------------------------------------------------- memory


def blocks_within(memory: int | float | str) -> int:
    """How large blocks should be for a budget of memory."""
    return max(SMALLEST_BLOCKS, min(BLOCK_BYTES, parse_bytes(memory) // LEAST_BLOCKS))


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


def dual_shares(n: int, problems: int, plan: StreamPlan) -> list[np.ndarray]:
    """u = 0, in memory or in a file that is mapped."""
    path, dtype = plan.alpha_file, np.dtype(plan.alpha_dtype)
    if path is None:
        return [np.zeros(n, dtype) for _ in range(problems)]
    size = problems * n * dtype.itemsize
    if os.path.exists(path) and os.path.getsize(path) not in (0, size):
        raise DataError(
            f"{os.fspath(path)}: has {os.path.getsize(path)} bytes, and dual variables of these "
            f"rows take {size}: it is another file; delete it, or name another one"
        )
    return list(np.memmap(path, dtype, mode="w+", shape=(problems, n)))


def identity_of(
    source: BlockSource, plan: StreamPlan, features: FeatureMap | None, aim: Aim
) -> dict[str, Any]:
    """What makes two runs the same: the rows, the features and the problem."""
    return {
        "source": source.fingerprint,
        "features": None if features is None else features.packed()[0],
        "classes": None if aim.classes is None else pack_classes(aim.classes),
        "losses": [[spec.name, spec.x] for spec in aim.losses],
        "costs": aim.costs.tolist(),
        "bias": plan.bias,
    }


def _model(
    source: BlockSource,
    plan: StreamPlan,
    features: FeatureMap | None,
    classes: np.ndarray | None,
    solutions: list[Solution],
) -> StreamModel | StreamRegressionModel:
    intercept = plan.bias > 0
    d = len(solutions[0].w) - intercept
    if len(solutions) == 1:
        coef = solutions[0].w[None, :d]  # a view: w may be large
    else:
        coef = np.stack([solution.w[:d] for solution in solutions])
    last = np.array([solution.w[-1] for solution in solutions])
    names = source.feature_names
    shared: dict[str, Any] = {
        "coef": coef,
        "intercept": plan.bias * last if intercept else np.zeros(len(solutions)),
        "certificates": tuple(solution.certificate for solution in solutions),
        "solver": "cached_loops",
        "parameters": plan.parameters(),
        "feature_names": None if names is None else tuple(names),
        "index_base": source.index_base,
        "features": features,
        "rows": source.kind,
        "d_in": source.d,
    }
    if classes is None:
        return StreamRegressionModel(**shared)
    return StreamModel(classes=classes, **shared)
