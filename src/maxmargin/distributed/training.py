"""From parts on workers to models, by the bundle loop or Newton's method.

The driver keeps w, what the solver needs of it, and the bounds; the workers the rows and everything
that has one number per row. Several classes are several problems on the same parts, some at a time:
while one waits for its round another's tasks run.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from maxmargin.data.features import FeatureMap
from maxmargin.distributed import describe, newton
from maxmargin.distributed.averaging import averaged_start
from maxmargin.distributed.cluster import Cluster
from maxmargin.distributed.describe import Labels, Shape
from maxmargin.distributed.errors import ClusterError, dask_modules
from maxmargin.distributed.features import featured
from maxmargin.distributed.losses import (
    ClassTask,
    DaskRanks,
    RankTask,
    ValueTask,
    loss_at_zero,
    pairs_of,
    pointwise_loss,
)
from maxmargin.distributed.rows import DaskRows
from maxmargin.distributed.sources import Source
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Clock, Solution, Status
from maxmargin.solvers.common.run import (
    BY_CALLBACK,
    Interrupts,
    RowsLost,
    Stopped,
    catch_interrupts,
)
from maxmargin.solvers.linear import bundle
from maxmargin.solvers.table import CLUSTER
from maxmargin.training.calibration import method_of
from maxmargin.training.choice import check_solver, check_width, pick_elsewhere
from maxmargin.training.fit import LinearPlan, in_threads
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.weights import class_factors

LEAST_TIME = 1e-9  # a time limit is above 0
SIDE_BY_SIDE = 4  # problems at a time: each has a handful of vectors of one number per row


def check_on_cluster(plan: LinearPlan) -> None:
    """Refuse what the solvers over workers do not do."""
    check_solver(plan.solver, CLUSTER, plan.loss)
    own = plan.loss == "logistic" and plan.probability is True
    if method_of(plan.probability) is not None and not own:
        raise ValueError(
            "probabilities are calibrated in memory only: on a cluster leave probability out, or "
            "use loss='logistic', which has its own"
        )
    if plan.has_free_intercept:
        raise ValueError(
            "intercept='free' is for rows in memory or on disk; on a cluster use "
            "intercept='regularised' with a large intercept_scaling"
        )


def client_of(client: Any) -> Any:
    """The client given, or the one that is current."""
    _, distributed = dask_modules()
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "there is no Dask client: start one (distributed.Client(address), or Client() for "
                "workers on this machine), or give client="
            ) from error
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous; fit needs one that waits: Client(...)")
    return client


@dataclass
class Fit:
    """A fit under way: the parts, what they look like, and the flags that end it."""

    cluster: Cluster
    shape: Shape
    sizes: list[int]
    interrupts: Interrupts
    max_time: float | None
    clock: Clock

    @property
    def failure(self) -> ClusterError | None:
        return self.cluster.failure

    def with_time_left(self, plan: LinearPlan) -> LinearPlan:
        """The plan for what is left to do: reading the parts has taken some of its time."""
        if self.max_time is None:
            return plan
        left = max(self.max_time - self.clock(), LEAST_TIME)
        return replace(plan, options=replace(plan.options, max_time=left))

    def new_stop(self, rounds: int = 1) -> Any:
        """The flag of the next problem, with its share of the time left for so many rounds."""
        if self.max_time is None:
            return self.interrupts.new_stop()
        return self.interrupts.new_stop(max(self.max_time - self.clock(), 0.0) / rounds)


@contextmanager
def fitting(
    client: Any,
    sources: Sequence[Source],
    max_time: float | None,
    features: FeatureMap | None = None,
) -> Iterator[Fit]:
    """Parts read and looked at; reading counts for `max_time`, but is not cut short by it.

    With `features` rows are those that the map makes of the parts. Their memory is given back at
    the end.
    """
    clock = Clock()
    with catch_interrupts() as interrupts:
        cluster = Cluster(client_of(client), sources, interrupts.new_stop())
        with blaming(cluster):
            cluster.wait_until_read()
            shapes = cluster.ask(describe.shape_of)
            whole = describe.whole_shape(shapes, [source.name for source in sources])
            if features is not None:
                whole = featured(cluster, whole, features)
            elif whole.kind == "strings":
                raise ValueError(
                    "the rows are strings; make features of them (features='weighted_degree:8' or "
                    "'word_ngrams:2', say)"
                )
        sizes = [shape.n for shape in shapes]
        yield Fit(cluster, whole, sizes, interrupts, max_time, clock)


@contextmanager
def blaming(cluster: Cluster) -> Iterator[None]:
    """Where there is no model yet, a partition's failure or an interrupt is simply raised."""
    try:
        yield
    except RowsLost:
        assert cluster.failure is not None
        raise cluster.failure from cluster.failure.__cause__
    except Stopped:
        raise KeyboardInterrupt from None


def solve(
    rows: Any,
    loss: Any,
    plan: LinearPlan,
    stop: Any,
    w0: np.ndarray | None = None,
    planes: Sequence[tuple[np.ndarray, float]] = (),
) -> Solution:
    """The bundle loop on one problem."""
    settings = plan.options.settings(stop)
    method: Literal["ocas", "cpa"] = "cpa" if plan.solver == "cpa" else "ocas"
    return bundle.solve(rows, loss, settings, method=method, w0=w0, planes0=planes)


def solve_pointwise(
    rows: DaskRows,
    spec: LossSpec,
    at_zero: float,
    plan: LinearPlan,
    w0: np.ndarray | None,
    average: bool = False,
) -> Solution:
    """A sum over rows, by the solver of the plan."""
    loss, stop = pointwise_loss(rows, spec, at_zero), rows.stop
    planes: list[tuple[np.ndarray, float]] = []
    if average and w0 is None:
        w0, planes = averaged_start(rows, plan, at_zero)
    if plan.solver == "newton":
        return newton.solve(rows, spec, at_zero, plan.options.settings(stop), w0)
    return solve(rows, loss, plan, stop, w0, planes)


def solver_of(fit: Fit, plan: LinearPlan) -> str:
    """What the plan asks for, or what `auto` takes; refuses Newton where features are too many."""
    width = fit.shape.layout(plan.bias, 1).width
    check_width(plan.solver, width)
    if fit.shape.features is not None:
        if plan.solver == "newton":
            raise ValueError(
                "solver='newton' needs rows as they are: on features that workers make use "
                "solver='ocas' or 'auto'"
            )
        return "ocas" if plan.solver == "auto" else plan.solver
    return pick_elsewhere(fit.shape.n, width, plan.loss) if plan.solver == "auto" else plan.solver


def solve_classes(
    fit: Fit, plan: LinearPlan, average: bool, starts: Sequence[np.ndarray] | None
) -> tuple[Labels, list[Solution]]:
    """One problem for two classes, one each for more (see `maxmargin.training.linear`)."""
    with blaming(fit.cluster):
        labels = describe.all_labels(fit.cluster.ask(describe.labels_of))
    cost = plan.C * class_factors(labels.classes, labels.weight, plan.class_weight)
    layout = fit.shape.layout(plan.bias, plan.options.threads or 1)
    spec = LossSpec.of(plan.loss, "classification")
    tasks = [
        ClassTask(uuid.uuid4().hex, layout, spec, labels.classes, cost, positive)
        for positive in ([1] if len(labels.classes) == 2 else range(len(labels.classes)))
    ]
    at_zero = spec.margin_loss_at_zero * float(np.sum(cost * labels.weight))
    return labels, solve_each(fit, plan, tasks, lambda task: at_zero, starts, average)


def solve_values(
    fit: Fit, plan: RegressionPlan, starts: Sequence[np.ndarray] | None
) -> list[Solution]:
    """One problem for each function (see `maxmargin.training.regression`)."""
    layout = fit.shape.layout(plan.bias, plan.options.threads or 1)
    tasks = [ValueTask(uuid.uuid4().hex, layout, spec, float(plan.C)) for spec in plan.specs()]

    def at_zero(task: Any) -> float:
        with blaming(fit.cluster):
            return math.fsum(fit.cluster.ask(loss_at_zero, task))

    return solve_each(fit, plan, tasks, at_zero, starts)


def solve_each(
    fit: Fit,
    plan: LinearPlan,
    tasks: Sequence[Any],
    at_zero: Callable[[Any], float],
    starts: Sequence[np.ndarray] | None,
    average: bool = False,
) -> list[Solution]:
    """Problems on the same rows, some at a time; `at_zero` is the loss of one where w = 0."""
    width = tasks[0].layout.width
    if starts is not None and (len(starts), len(starts[0])) != (len(tasks), width):
        starts = None
    side_by_side = min(SIDE_BY_SIDE, len(tasks))

    def one(k: int) -> Solution:
        stop = fit.new_stop(rounds=math.ceil((len(tasks) - k) / side_by_side))
        task, w0 = tasks[k], None if starts is None else starts[k]
        P0 = at_zero(task)
        rows = DaskRows(fit.cluster, task, fit.shape.n, stop)
        solution = solve_pointwise(rows, task.spec, P0, plan, w0, average)
        if fit.failure is None:
            fit.cluster.end(task.key)
        if solution.certificate.status is Status.CALLBACK:
            fit.interrupts.interrupt(BY_CALLBACK)
        return solution

    return in_threads(one, len(tasks), side_by_side)


def solve_ranking(fit: Fit, plan: LinearPlan, w0: np.ndarray | None) -> Solution:
    """A ranking none of whose queries crosses parts."""
    layout = fit.shape.layout(0.0, plan.options.threads or 1)
    with blaming(fit.cluster):
        N, Q, pairs = np.sum(fit.cluster.ask(pairs_of, layout), axis=0)
    if Q == 0:
        raise ValueError(
            f"there is nothing to rank: no two of the {fit.shape.n} rows have different targets "
            "and positive weights within any one query; expected at least one such pair"
        )
    task = RankTask(uuid.uuid4().hex, layout, float(plan.C * N / Q))
    stop = fit.new_stop()
    rows = DaskRows(fit.cluster, task, fit.shape.n, stop)
    loss = DaskRanks(rows, float(plan.C * N), float(pairs))
    solution = solve(rows, loss, plan, stop, w0)
    if fit.failure is None:
        fit.cluster.end(task.key)
    return solution
