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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.features import FeatureMap, Stats
from maxmargin.data.limits import parse_bytes
from maxmargin.data.stream.blocks import BlockSource
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
from maxmargin.training.stream_memory import cache_budget, dual_shares
from maxmargin.training.stream_packing import Labels, Packing, Values
from maxmargin.training.weights import class_factors

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
    class_weight: Mapping[Any, Any] | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 600.0
    alpha_dtype: str = "float64"
    alpha_file: str | os.PathLike[str] | None = None
    patient: bool = False
    options: Options = field(default_factory=Options)
    rules: Rules = field(default_factory=Rules)

    other: ClassVar[str] = "LinearSVC"  # that does the same by other solvers
    probability: ClassVar[bool] = False  # none is calibrated

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

    other: ClassVar[str] = "LinearSVR"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.class_weight is not None:
            raise ValueError("class_weight is for classes; a regression has none")

    def specs(self) -> list[LossSpec]:
        return self.regression().specs()

    def regression(self) -> RegressionPlan:
        """The same losses, as a regression in memory has them."""
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
        known = self.regression().parameters()
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

    def with_model(self, model: Any) -> TrainedStream:
        """The same runs, with the model changed after them."""
        return replace(self, model=model)


def train_stream(source: BlockSource, plan: StreamPlan) -> TrainedStream:
    """Train on the rows of a source, whose labels (and weights) are in its blocks.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    run = solve_stream(source, plan, lambda stop: aim_of(source, plan, stop))
    say_if_slow(run.solutions, plan.other, run.features)
    return TrainedStream(stream_model(source, plan, run, run.solutions), run.solutions)


@dataclass(frozen=True)
class StreamRun:
    """What the cached loops found: a solution of each problem, and the dual shares u."""

    solutions: list[Solution]
    shares: list[np.ndarray]
    features: FeatureMap | None
    classes: np.ndarray | None


def solve_stream(
    source: BlockSource,
    plan: StreamPlan,
    aim: Callable[[_core.Stop], Aim],
    start: StreamRun | None = None,
) -> StreamRun:
    """Solves the problems of an aim; `start` is a run on the same problems with another C, whose
    dual shares are used up."""
    check_source(source, plan.features)
    with catch_interrupts() as interrupts:
        stop = interrupts.new_stop(plan.options.max_time)
        to_do = aim(stop)
        features = plan.features.fitted(to_do.labels.stats) if plan.features is not None else None
        packing = Packing(source, features, plan.bias, to_do.labels, to_do.costs)
        task = cached_loops.Task(
            *(source, packing.pack, packing.format, to_do.positives, to_do.losses),
            to_do.left_out,
            to_do.folds,
        )
        budget = cache_budget(source, task, plan)
        known = None if start is None else start.shares
        shares = known or dual_shares(source.n, len(to_do.losses), plan)
        state = State.start(packing.format.width, to_do.at_zero, shares)
        if start is not None:
            state.begin_at([solution.w for solution in start.solutions])
        checkpoints = None
        if plan.checkpoint is not None:
            identity = identity_of(source, plan, features, to_do)
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
        threads = min(plan.options.threads or granted_cpus(), len(to_do.losses))
        solutions = cached_loops.solve(task, settings, options, state, _core.Pool(threads, stop))
        if checkpoints is not None:
            checkpoints.write(state)
    return StreamRun(solutions, state.shares, features, to_do.classes)


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
    left_out: np.ndarray | None = None  # bits by row: the folds that leave it out
    folds: list[int] = field(default_factory=list)  # of each problem, if some rows are left out

    @property
    def classes(self) -> np.ndarray | None:
        """None of a regression."""
        return self.labels.classes if isinstance(self.labels, Labels) else None


def aim_of(
    source: BlockSource, plan: StreamPlan, stop: _core.Stop, stats: Stats | None = None
) -> Aim:
    """The problems of a plan, by what a source says of itself or by a pass over it.

    `stats` are those of an earlier pass.
    """
    specs, features = plan.specs(), plan.features
    if isinstance(plan, StreamRegressionPlan):
        known = Values.known(source, features, plan.C, specs, stats)
        values = known or Values.scanned(source, features, plan.C, specs, stop)
        return Aim(values, np.array([plan.C]), [0] * len(specs), specs, values.at_zero)
    labels = Labels.known(source, features, stats) or Labels.scanned(source, features, stop)
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


def stream_model(
    source: BlockSource, plan: StreamPlan, run: StreamRun, solutions: list[Solution]
) -> StreamModel | StreamRegressionModel:
    """The model of some solutions of a run."""
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
        "features": run.features,
        "rows": source.kind,
        "d_in": source.d,
    }
    if run.classes is None:
        return StreamRegressionModel(**shared)
    return StreamModel(classes=run.classes, **shared)
