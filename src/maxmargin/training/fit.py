"""One fit: rows, wherever they are, meet losses and a solver.

rows      `InMemory` (arrays), `OnDisk` (a source of blocks), or rows that bring a `Place` of their
          own (those on a cluster)
losses    one for each problem, made with the threads that will evaluate it
solver    the one that the plan names, or the one that `choice` picks

Problems (one for each class, say) are solved side by side where that pays, and share the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, entries_of, useful_threads
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.features import MappedSource
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.data.stream.source_rows import Passes, SourceRows
from maxmargin.losses.base import Loss
from maxmargin.parameters import Options, not_negative, one_of, positive
from maxmargin.problem import Clock, Progress, Settings, Solution, Status, joined
from maxmargin.solvers.common.run import Interrupts, catch_interrupts
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.table import ARRAYS, BLOCKS
from maxmargin.training.calibration import method_of
from maxmargin.training.choice import (
    check_solver,
    check_width,
    pick_elsewhere,
    pick_solver,
    solve_with,
)

MOST_SHARING = 16  # problems that share their passes over a file: each keeps planes of its own

INTERCEPTS = ("regularised", "free")

MakeLoss = Callable[[_core.Pool], Loss]


@dataclass(frozen=True)
class LinearPlan:
    """What a linear machine is to minimise, and how. Construction checks every value.

    `bias` is the constant feature B of the intercept, 0 for no intercept. `intercept` says whether
    its weight is regularised; a free one has B = 1. `keeps_planes`: another C of the same loss
    follows, which begins with planes of this one.
    """

    C: float = 1.0
    loss: str = "hinge"
    solver: str = "auto"
    bias: float = 1.0
    intercept: str = "regularised"
    class_weight: Mapping[Any, Any] | str | None = None
    probability: bool | str = False
    options: Options = field(default_factory=Options)
    keeps_planes: bool = False

    def __post_init__(self) -> None:
        method_of(self.probability)
        positive("C", self.C)
        not_negative("bias", self.bias)
        one_of("intercept", self.intercept, INTERCEPTS)
        if self.has_free_intercept and self.bias != 1:
            raise ValueError(
                f"intercept is 'free', but its constant feature is {self.bias:g}: a free intercept "
                "has no scale and is always there; leave out fit_intercept and intercept_scaling"
            )
        check_solver(self.solver, loss=self.loss, free_intercept=self.has_free_intercept)

    @property
    def has_free_intercept(self) -> bool:
        return self.intercept == "free"

    def parameters(self) -> dict[str, Any]:
        """What a model file says of the fit: the problem, not what it was solved with."""
        return {
            "C": float(self.C),
            "loss": self.loss,
            "solver": self.solver,
            "tol": self.options.tol,
            "max_iter": self.options.max_iter,
            "fit_intercept": self.bias > 0,
            "intercept_scaling": self.bias or 1.0,
            "intercept": self.intercept,
            "class_weight": self.class_weight,
            "probability": self.probability,
            "random_state": self.options.seed or None,
        }


@dataclass(frozen=True)
class Fitted:
    """The solutions of all problems, the solver that found them, and the number of features."""

    solutions: list[Solution]
    solver: str
    d: int


@dataclass(frozen=True)
class Trained:
    """A model, the runs that led to it, and where a neighbouring problem can begin."""

    model: Any
    solutions: list[Solution]
    starts: list[Start] = field(default_factory=list)

    @property
    def history(self) -> list[Progress]:
        """All problems' progress, one after the other."""
        return joined(solution.history for solution in self.solutions)

    def with_model(self, model: Any) -> Trained:
        """The same runs, with the model changed after them."""
        return replace(self, model=model)

    def on(self, X: Any) -> Trained:
        """The same, with the map of features that the rows X are made by, if there is one."""
        if not isinstance(X, MappedSource):
            return self
        from maxmargin.models.mapped import with_features  # which brings all linear models

        return self.with_model(with_features(self.model, X.features, X.compact.kind, X.compact.d))


class Place(Protocol):
    """Where rows are, and how a problem is solved there."""

    kind: str  # of rows, as `choice` calls them
    n: int
    d: int
    width: int

    def side_by_side(self, problems: int) -> int:
        """How many problems to solve at a time."""

    def pick(self, loss: MakeLoss, name: str) -> str:
        """The solver that `auto` takes."""

    def solve(
        self, loss: MakeLoss, solver: str, settings: Settings, start: Start | None, alone: bool
    ) -> Solution:
        """One problem; `alone` if no other is solved at the same time."""

    def matvec(self, w: np.ndarray) -> np.ndarray:
        """``X w``"""


class InMemory:
    """Rows in arrays."""

    kind = ARRAYS

    def __init__(self, X: Any, plan: LinearPlan, interrupts: Interrupts) -> None:
        self.threads = useful_threads(plan.options.threads, entries_of(X))
        self.free_intercept = plan.has_free_intercept
        self.rows = ArrayRows(X, plan.bias, _core.Pool(self.threads))
        self.n, self.d, self.width = self.rows.n, self.rows.d, self.rows.width

    def side_by_side(self, problems: int) -> int:
        return min(self.threads, problems)

    def pick(self, loss: MakeLoss, name: str) -> str:
        return pick_solver(self.rows, name, self.free_intercept)

    def solve(
        self, loss: MakeLoss, solver: str, settings: Settings, start: Start | None, alone: bool
    ) -> Solution:
        pool = _core.Pool(self.threads if alone else 1, settings.stop)
        return solve_with(solver, self.rows.with_pool(pool), loss(pool), settings, start)

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self.rows.matvec(w)


class OnDisk:
    """Rows of a source, which stay where they are.

    Each product is one pass, and problems solved side by side share their passes.
    """

    kind = BLOCKS

    def __init__(self, source: BlockSource, plan: LinearPlan, interrupts: Interrupts) -> None:
        self.threads = plan.options.threads or granted_cpus()
        self.n, self.d = source.n, source.d
        self.width = source.d + (plan.bias != 0)
        pool = _core.Pool(self.threads, interrupts.new_stop(plan.options.max_time))
        self.source, self.passes = source, Passes(source, plan.bias, pool)

    def side_by_side(self, problems: int) -> int:
        return min(MOST_SHARING, problems)

    def pick(self, loss: MakeLoss, name: str) -> str:
        return pick_elsewhere(self.n, self.width, name)

    def solve(
        self, loss: MakeLoss, solver: str, settings: Settings, start: Start | None, alone: bool
    ) -> Solution:
        check_width(solver, self.width)
        pool = _core.Pool(self.threads if alone else 1, settings.stop)
        with self.passes.member():
            rows = SourceRows(self.passes, pool)
            solution = solve_with(solver, rows, loss(pool), settings, start)
        self.source.check_unchanged()
        return solution

    def matvec(self, w: np.ndarray) -> np.ndarray:
        """Whatever time the fit has left: a model is not whole without its thresholds or maps."""
        pool = _core.Pool(self.threads)
        return SourceRows(Passes(self.source, self.passes.bias, pool), pool).matvec(w)


@dataclass(frozen=True)
class SamePlace:
    """Rows whose place is known: another fit on them need not look at them first."""

    known: Place

    def place(self, plan: LinearPlan, interrupts: Interrupts) -> Place:
        return self.known


def place_of(X: Any, plan: LinearPlan, interrupts: Interrupts) -> Place:
    """Where the rows X are. Rows that live elsewhere say so themselves."""
    if hasattr(X, "place"):
        return X.place(plan, interrupts)
    return OnDisk(X, plan, interrupts) if hasattr(X, "blocks") else InMemory(X, plan, interrupts)


def fit(
    X: Any,
    losses: Sequence[MakeLoss],
    plan: LinearPlan,
    starts: Sequence[Start] | None = None,
    keep_dual_variables: bool = True,
) -> Fitted:
    """Solve ``1/2 ||w||^2 + R(X w)`` for every loss R.

    Ctrl-C and `max_time` give the best answers so far; their certificates say how good they are.
    `starts` of another number or size of problems are not used. Dual variables, one for each row
    and problem, serve a next start; without them there is `w` to start from.
    """
    with catch_interrupts() as interrupts:
        place = place_of(X, plan, interrupts)
        check_solver(plan.solver, place.kind, plan.loss, plan.has_free_intercept)
        solver = place.pick(losses[0], plan.loss) if plan.solver == "auto" else plan.solver
        if starts is not None and not _fit_together(starts, place, len(losses)):
            starts = None
        at_once = place.side_by_side(len(losses))

        def solve_one(k: int, settings: Settings) -> Solution:
            start = None if starts is None else starts[k].at(plan.C)
            settings.free_intercept = plan.has_free_intercept
            settings.keeps_planes = plan.keeps_planes
            solution = place.solve(losses[k], solver, settings, start, at_once == 1)
            if not keep_dual_variables:
                solution.dual_variables = None
            return solution if plan.probability else _slim(solution)

        solutions = solve_all(solve_one, len(losses), at_once, plan.options, interrupts)
    return Fitted(solutions, solutions[0].solver or solver, place.d)


def _slim(solution: Solution) -> Solution:
    """Dual variables are kept to start another fit from: float32 is enough, where there is one for
    each row and class, unless it cannot hold them."""
    if solution.dual_variables is not None:
        with np.errstate(over="ignore"):
            slim = solution.dual_variables.astype(np.float32)
        if np.isfinite(slim).all():
            solution.dual_variables = slim
    return solution


def _fit_together(starts: Sequence[Start], place: Place, problems: int) -> bool:
    """Whether starting points belong to problems of this number and size."""
    return len(starts) == problems and all(
        len(start.w) == place.width and (start.share is None or len(start.share) == place.n)
        for start in starts
    )


def _numbered(settings: Settings, problem: int, problems: int) -> Settings:
    """Settings whose callback is told which of several problems it sees."""
    callback = settings.callback
    if callback is None or problems == 1:
        return settings
    return replace(
        settings,
        callback=lambda seen: callback(replace(seen, problem=problem, problems=problems)),
    )


def solve_all(
    solve: Callable[[int, Settings], Solution],
    count: int,
    side_by_side: int,
    options: Options,
    interrupts: Interrupts,
) -> list[Solution]:
    """All problems, some side by side. A callback that ends one ends all."""
    clock = Clock()

    def solve_one(k: int) -> Solution:
        """Problem k, with its share of the time left, so that those before it starve none."""
        rounds = math.ceil((count - k) / side_by_side)
        left = None if options.max_time is None else max(options.max_time - clock(), 0.0) / rounds
        settings = _numbered(options.settings(interrupts.new_stop(left)), k, count)
        solution = solve(k, settings)
        if solution.certificate.status is Status.CALLBACK:
            interrupts.interrupt(_core.StopReason.callback)
        return solution

    return in_threads(solve_one, count, side_by_side)


def in_threads(
    solve_one: Callable[[int], Solution], count: int, side_by_side: int
) -> list[Solution]:
    """The solutions of all problems."""
    if side_by_side == 1:
        return [solve_one(k) for k in range(count)]
    with ThreadPoolExecutor(side_by_side) as executor:
        return list(executor.map(solve_one, range(count)))


def predictions_of(X: Any, w: np.ndarray, plan: LinearPlan) -> np.ndarray:
    """``X w`` of rows wherever they are, w without a bias, whatever time the fit has left: a model
    is not whole without them."""
    whole = replace(plan, bias=0.0, options=replace(plan.options, max_time=None))
    place = place_of(X, whole, Interrupts())
    return place.matvec(np.ascontiguousarray(w))
