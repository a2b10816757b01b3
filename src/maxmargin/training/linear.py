"""Linear classifiers: from rows and labels to a model, on arrays or on a file that stays on disk.

problem j    minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (<w, x_i> + b))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, entries_of, useful_threads
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.data.stream.source_rows import Passes, SourceRows
from maxmargin.losses.hinge import Hinge
from maxmargin.models.linear import LinearModel
from maxmargin.parameters import Options, not_negative, positive
from maxmargin.problem import Clock, Progress, Settings, Solution, Status
from maxmargin.solvers.common.run import Interrupts, catch_interrupts
from maxmargin.training.choice import BLOCKS, SOLVERS, Start, check_solver, pick_solver
from maxmargin.training.targets import Labels, labels_of

MOST_SHARING = 16  # problems that share their passes over a file: each keeps planes of its own


@dataclass(frozen=True)
class LinearPlan:
    """What a linear machine is to minimise, and how. Construction checks every value.

    `bias` is the constant feature B of the intercept, 0 for no intercept.
    """

    C: float = 1.0
    loss: str = "hinge"
    solver: str = "auto"
    bias: float = 1.0
    class_weight: Mapping | str | None = None
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        positive("C", self.C)
        not_negative("bias", self.bias)
        check_solver(self.solver, loss=self.loss)

    def parameters(self) -> dict[str, Any]:
        """What a model file says of the fit: the problem, not what it was solved with."""
        return {
            "C": float(self.C),
            "solver": self.solver,
            "tol": self.options.tol,
            "max_iter": self.options.max_iter,
            "fit_intercept": self.bias > 0,
            "intercept_scaling": self.bias or 1.0,
            "class_weight": self.class_weight,
            "random_state": self.options.seed or None,
        }


@dataclass(frozen=True)
class Trained:
    """A model, the runs that led to it, and where a neighbouring problem can begin."""

    model: Any
    solutions: list[Solution]
    starts: list[Start] = field(default_factory=list)

    @property
    def history(self) -> list[Progress]:
        """All problems' progress, one after the other."""
        return [progress for solution in self.solutions for progress in solution.history]


def train(
    X: Any,
    y: np.ndarray,
    plan: LinearPlan,
    sample_weight: np.ndarray | None = None,
    starts: list[Start] | None = None,
) -> Trained:
    """Train on finite rows X (dense, CSR, or a source of blocks) with labels y that sort.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is. `starts`
    of another number or size of problems are not used.
    """
    return train_on(X, labels_of(y, sample_weight, plan.class_weight), plan, starts)


def train_on(
    X: Any,
    labels: Labels,
    plan: LinearPlan,
    starts: list[Start] | None = None,
) -> Trained:
    """The same, with labels already made."""
    with catch_interrupts() as interrupts:
        holder: Any = OnDisk if hasattr(X, "blocks") else InMemory
        problems = holder(X, labels, plan, starts, interrupts)
        solutions = solve_all(problems, plan.options, interrupts)
    model = linear_model(problems.d, labels.classes, problems.solver, solutions, plan)
    return Trained(model, solutions, [start_of(s, problems.cost) for s in solutions])


class InMemory:
    """The binary problems on arrays."""

    def __init__(
        self,
        X: Any,
        labels: Labels,
        plan: LinearPlan,
        starts: list[Start] | None,
        interrupts: Interrupts,
    ) -> None:
        self.threads = useful_threads(plan.options.threads, entries_of(X))
        self.labels, self.cost = labels, labels.costs(plan.C)
        self.count = len(labels.positives)
        self.side_by_side = min(self.threads, self.count)
        self.rows = ArrayRows(X, plan.bias, _core.Pool(self.threads))
        self.d = self.rows.d
        self.starts = starts if starts is not None and self._fit(starts) else None
        self.solver = plan.solver
        if plan.solver == "auto":
            self.solver = pick_solver(self.rows, self.cost)

    def _fit(self, starts: list[Start]) -> bool:
        """Whether starting points belong to problems of this number and size."""
        n, width = self.rows.n, self.rows.width
        return len(starts) == self.count and all(
            len(start.w) == width and (start.share is None or len(start.share) == n)
            for start in starts
        )

    def solve(self, k: int, settings: Settings) -> Solution:
        pool = _core.Pool(self.threads if self.side_by_side == 1 else 1, settings.stop)
        start = None if self.starts is None else self.starts[k]
        loss = Hinge(self.labels.signs(k), self.cost, pool)
        return SOLVERS[self.solver].solve(self.rows.with_pool(pool), loss, settings, start)


class OnDisk:
    """The binary problems on the rows of a source, which stay where they are.

    Each product is one pass, and problems share their passes.
    """

    def __init__(
        self,
        source: BlockSource,
        labels: Labels,
        plan: LinearPlan,
        starts: list[Start] | None,
        interrupts: Interrupts,
    ) -> None:
        check_solver(plan.solver, BLOCKS)
        self.solver = "ocas" if plan.solver == "auto" else plan.solver
        self.threads = plan.options.threads or granted_cpus()
        self.labels, self.cost = labels, labels.costs(plan.C)
        self.count = len(labels.positives)
        self.side_by_side = min(MOST_SHARING, self.count)
        self.d = source.d
        pool = _core.Pool(self.threads, interrupts.new_stop(plan.options.max_time))
        self.source, self.passes = source, Passes(source, plan.bias, pool)

    def solve(self, k: int, settings: Settings) -> Solution:
        pool = _core.Pool(self.threads if self.side_by_side == 1 else 1, settings.stop)
        loss = Hinge(self.labels.signs(k), self.cost, pool)
        with self.passes.member():
            rows = SourceRows(self.passes, pool)
            solution = SOLVERS[self.solver].solve(rows, loss, settings, None)
        self.source.check_unchanged()
        return solution


def solve_all(problems: Any, options: Options, interrupts: Interrupts) -> list[Solution]:
    """All problems, some side by side. A callback that ends one ends all.

    `problems` has `count`, `side_by_side` and `solve(k, settings)`.
    """
    clock = Clock()

    def solve_one(k: int) -> Solution:
        """Problem k, with its share of the time left, so that those before it starve none."""
        rounds = math.ceil((problems.count - k) / problems.side_by_side)
        left = None if options.max_time is None else max(options.max_time - clock(), 0.0) / rounds
        solution = problems.solve(k, options.settings(interrupts.new_stop(left)))
        if solution.certificate.status is Status.CALLBACK:
            interrupts.interrupt()
        return solution

    return in_threads(solve_one, problems.count, problems.side_by_side)


def in_threads(
    solve_one: Callable[[int], Solution], count: int, side_by_side: int
) -> list[Solution]:
    """The solutions of all problems; what a callback's end interrupted was ended by it too."""
    if side_by_side == 1:
        solutions = [solve_one(k) for k in range(count)]
    else:
        with ThreadPoolExecutor(side_by_side) as executor:
            solutions = list(executor.map(solve_one, range(count)))
    if any(solution.certificate.status is Status.CALLBACK for solution in solutions):
        solutions = [_stopped_by_callback(solution) for solution in solutions]
    return solutions


def _stopped_by_callback(solution: Solution) -> Solution:
    certificate = solution.certificate
    if certificate.status is not Status.INTERRUPTED:
        return solution
    return replace(solution, certificate=replace(certificate, status=Status.CALLBACK))


def start_of(solution: Solution, cost: np.ndarray) -> Start:
    """Where a neighbouring problem can begin."""
    if solution.dual_variables is None:
        return Start(solution.w)
    share = np.divide(solution.dual_variables, cost, out=np.zeros(len(cost)), where=cost > 0)
    return Start(solution.w, np.clip(share, 0.0, 1.0))


def linear_model(
    d: int, classes: np.ndarray, solver: str, solutions: list[Solution], plan: LinearPlan
) -> LinearModel:
    """What is kept of the solutions of all problems."""
    W = np.stack([solution.w for solution in solutions])
    return LinearModel(
        coef=np.ascontiguousarray(W[:, :d]),
        intercept=plan.bias * W[:, d] if plan.bias > 0 else np.zeros(len(W)),
        classes=classes,
        certificates=tuple(solution.certificate for solution in solutions),
        solver=solver,
        parameters=plan.parameters(),
    )
