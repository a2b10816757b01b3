"""From rows and labels to a linear model: one problem for two classes, one each for more.

    problem j    minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (<w, x_i> + b))
                 y_i = +1 if row i has class j, else -1
                 C_i = C * (weight of row i) * (weight of the class of row i)

The intercept is ``b = B w_last`` of a constant feature B appended to every row, so it is
regularised like the rest. Estimators and commands both train here: nothing in this file needs
scikit-learn, whose import takes longer than many a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, useful_threads
from maxmargin.data.blocks import BlockSource
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.source_rows import Passes, SourceRows
from maxmargin.losses.hinge import Hinge
from maxmargin.models.linear import LinearModel
from maxmargin.problem import Callback, Clock, Progress, Settings, Solution, Status
from maxmargin.solvers.run import Interrupts, catch_interrupts

SMALL_NNZ = 50_000
STEPS, STEPS_FROM_SAMPLE = 10, 4  # of Newton on all rows, from nothing and from a sample's solution
CORES = 2
HARDNESS_ROWS = 5000  # are enough for a mean
FETCH = 30  # entries that could be summed while a row comes from memory
CACHED_NNZ = 2_000_000  # or does not: so many entries stay in a cache
ON_DISK = ("auto", "ocas", "cpa")  # what can be done with rows that stay on disk
MOST_SHARING = 16  # problems that share their passes: each keeps planes of its own


@dataclass(frozen=True)
class Plan:
    """What is to be solved, how, and when to stop. Construction checks every value.

    Parameters
    ----------
    bias : float
        The constant feature B of the intercept; 0 for no intercept.
    class_weight : mapping from labels to weights, "balanced" or None
        Labels it does not name weigh 1.
    threads : int, optional
        None for all CPUs this process may use.
    """

    C: float = 1.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    bias: float = 1.0
    class_weight: Mapping | str | None = None
    threads: int | None = None
    seed: int = 0
    callback: Callback | None = None

    def __post_init__(self) -> None:
        for name in ("C", "tol"):
            value: Any = getattr(self, name)
            if not (isinstance(value, Real) and float(value) > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be a positive number; got {value!r}")
        if not (self.bias >= 0 and math.isfinite(self.bias)):
            raise ValueError(f"the bias feature must be a number >= 0; got {self.bias!r}")
        for name in ("max_iter", "max_time", "threads"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) > 0):
                raise ValueError(f"{name} must be positive, or None for no limit; got {value!r}")
        if self.solver not in ("auto", *SOLVERS):
            raise ValueError(f"solver {self.solver!r} is none of auto, {', '.join(SOLVERS)}")


@dataclass(frozen=True)
class Start:
    """A neighbouring problem's answer to begin from: w, and a_i / C_i where the method has them."""

    w: np.ndarray
    share: np.ndarray | None


@dataclass(frozen=True)
class Trained:
    """A model, the runs that led to it, and where a neighbouring problem can begin."""

    model: LinearModel
    solutions: list[Solution]
    cost: np.ndarray  # C_i of every row

    @property
    def starts(self) -> list[Start]:
        return [_start(solution, self.cost) for solution in self.solutions]

    @property
    def history(self) -> list[Progress]:
        """All problems' progress, one after the other."""
        return [progress for solution in self.solutions for progress in solution.history]


def train(
    X,
    y: np.ndarray,
    plan: Plan,
    sample_weight: np.ndarray | None = None,
    starts: list[Start] | None = None,
) -> Trained:
    """Train on finite rows X (dense or CSR) with labels y of any type that sorts.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is. `starts`
    of another number or size of problems are not used.
    """
    problems = Problems(y, plan, sample_weight)
    threads = useful_threads(plan.threads, X.nnz if sp.issparse(X) else X.size)
    rows = ArrayRows(X, plan.bias, _core.Pool(threads))
    solver = pick_solver(rows, problems.cost) if plan.solver == "auto" else plan.solver
    side_by_side = min(threads, problems.count)
    if starts is not None and not fits(starts, problems.count, rows):
        starts = None

    def solve(k: int, settings: Settings) -> Solution:
        pool = _core.Pool(threads if side_by_side == 1 else 1, settings.stop)
        start = None if starts is None else starts[k]
        loss = problems.loss(k, pool)
        return SOLVERS[solver](rows.with_pool(pool), loss, settings, problems.cost, start)

    with catch_interrupts() as interrupts:
        solutions = problems.solve_all(solve, side_by_side, interrupts)
    return Trained(
        linear_model(rows.d, problems.classes, solver, solutions, plan), solutions, problems.cost
    )


def train_from(
    source: BlockSource,
    y: np.ndarray,
    plan: Plan,
    sample_weight: np.ndarray | None = None,
) -> Trained:
    """Train on the rows of a source, which stay where they are: each product is one pass over it.

    `y` and weights are in memory (`read_sides` collects them). The problems of several classes
    share their passes. Only the cutting plane methods need nothing but products.
    """
    if plan.solver not in ON_DISK:
        raise ValueError(
            f"solver {plan.solver!r} needs the rows in memory, but X is {source.name}; expected "
            f"one of {', '.join(ON_DISK)}; read the data first (maxmargin.data.open) for others"
        )
    method = "ocas" if plan.solver == "auto" else plan.solver
    threads = plan.threads or granted_cpus()
    problems = Problems(y, plan, sample_weight)
    side_by_side = min(MOST_SHARING, problems.count)

    with catch_interrupts() as interrupts:
        pool = _core.Pool(threads, interrupts.new_stop(plan.max_time))
        passes = Passes(source, plan.bias, pool)

        def solve(k: int, settings: Settings) -> Solution:
            own = _core.Pool(threads if side_by_side == 1 else 1, settings.stop)
            with passes.member():
                rows, loss = SourceRows(passes, own), problems.loss(k, own)
                return SOLVERS[method](rows, loss, settings, problems.cost, None)

        solutions = problems.solve_all(solve, side_by_side, interrupts)
    source.check_unchanged()
    model = linear_model(source.d, problems.classes, method, solutions, plan)
    return Trained(model, solutions, problems.cost)


class Problems:
    """The binary problems that labels and weights make: one for two classes, else one each."""

    def __init__(self, y: np.ndarray, plan: Plan, sample_weight: np.ndarray | None) -> None:
        self.plan = plan
        self.classes = check_classes(y)
        self.codes = codes_of(y, self.classes)
        self.cost = row_costs(self.classes, self.codes, plan, sample_weight)
        self.positives = [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @property
    def count(self) -> int:
        return len(self.positives)

    def loss(self, k: int, pool: _core.Pool) -> Hinge:
        """What problem k minimises."""
        return Hinge(np.where(self.codes == self.positives[k], 1.0, -1.0), self.cost, pool)

    def solve_all(
        self,
        solve: Callable[[int, Settings], Solution],
        side_by_side: int,
        interrupts: Interrupts,
    ) -> list[Solution]:
        """All problems, some side by side. A callback that ends one ends all."""
        plan, clock = self.plan, Clock()

        def solve_one(k: int) -> Solution:
            """Problem k, with its share of the time left, so that those before it starve none."""
            rounds = math.ceil((self.count - k) / side_by_side)
            share = None if plan.max_time is None else max(plan.max_time - clock(), 0.0) / rounds
            stop = interrupts.new_stop(share)
            settings = Settings(plan.tol, plan.max_iter, plan.seed, plan.callback, stop)
            solution = solve(k, settings)
            if solution.certificate.status is Status.CALLBACK:
                interrupts.interrupt()
            return solution

        if side_by_side == 1:
            solutions = [solve_one(k) for k in range(self.count)]
        else:
            with ThreadPoolExecutor(side_by_side) as executor:
                solutions = list(executor.map(solve_one, range(self.count)))
        if any(solution.certificate.status is Status.CALLBACK for solution in solutions):
            solutions = [stopped_by_callback(solution) for solution in solutions]
        return solutions


def stopped_by_callback(solution: Solution) -> Solution:
    """The callback ended one problem, and the interrupt of the others was its doing."""
    certificate = solution.certificate
    if certificate.status is not Status.INTERRUPTED:
        return solution
    return replace(solution, certificate=replace(certificate, status=Status.CALLBACK))


def check_classes(y: np.ndarray) -> np.ndarray:
    """The classes in y, of which there must be two."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"training needs two classes or more, but y has one class only: {classes[0]!s} in all "
            f"{len(y)} rows"
        )
    return classes


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the classes; faster than the inverse that unique gives."""
    return (y == classes[1]).astype(np.intp) if len(classes) == 2 else np.searchsorted(classes, y)


def fits(starts: list[Start], problems: int, rows: ArrayRows) -> bool:
    """Whether starting points belong to problems of this number and size."""
    return len(starts) == problems and all(
        len(start.w) == rows.width and (start.share is None or len(start.share) == rows.n)
        for start in starts
    )


def row_costs(
    classes: np.ndarray, codes: np.ndarray, plan: Plan, sample_weight: np.ndarray | None
) -> np.ndarray:
    """``C_i``: C times the weight of the row times that of its class."""
    n = len(codes)
    if sample_weight is None and plan.class_weight is None:
        return np.full(n, float(plan.C))
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight must be {n} finite numbers >= 0")
    total = np.bincount(codes, weight, minlength=len(classes))
    return plan.C * weight * class_factors(classes, total, plan.class_weight)[codes]


def class_factors(
    classes: np.ndarray, total: np.ndarray, class_weight: Mapping | str | None
) -> np.ndarray:
    """What the rows of each class count for, given the sum of the weights of each."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight {class_weight!r}: expected 'balanced' or a mapping")
        return total.sum() / (len(classes) * np.where(total > 0, total, 1.0))
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown!r}, which are no labels of y ({classes.tolist()!r})"
        )
    per_class = np.array([class_weight.get(c, 1.0) for c in classes.tolist()], dtype=float)
    if not np.isfinite(per_class).all() or (per_class < 0).any():
        raise ValueError(f"class_weight must map labels to numbers >= 0; got {class_weight!r}")
    return per_class


def pick_solver(rows: ArrayRows, cost: np.ndarray) -> str:
    """The method that should be fastest, by costs measured in entries of rows looked at.

    Newton: a few passes and a Gram matrix a step, in parallel (on two cores, say: the choice
    must not depend on how many a machine happens to have). Dual descent: about 4 + 10 C ||x||^2
    epochs one after the other, whose visits in random order also cost the fetching of the rows.
    Small problems take a millisecond either way: there the answer that needs no seed is better.
    """
    from maxmargin.solvers import newton

    if rows.width > newton.DIRECT_WIDTH:
        return "dual"
    if rows.nnz < SMALL_NNZ:
        return "newton"
    steps = STEPS_FROM_SAMPLE if newton.sample_steps(rows) else STEPS
    newton_cost = steps * (3 * rows.nnz + newton.hessian_cost(rows)) / CORES
    step = max(1, rows.n // HARDNESS_ROWS)
    hardness = float(np.mean(cost[::step] * rows.thinned(step).squared_norms()))
    fetch = FETCH if rows.nnz > CACHED_NNZ else 0
    dual_cost = (4 + 10 * hardness) * (2 * rows.nnz + fetch * rows.n)
    return "newton" if newton_cost < dual_cost else "dual"


def _bundle(method: Literal["ocas", "cpa"]):
    def solve(rows, loss, settings, cost, start) -> Solution:
        from maxmargin.solvers import bundle

        w0 = None if start is None else start.w
        return bundle.solve(rows, loss, settings, method=method, w0=w0)

    return solve


def _dual(rows, loss, settings, cost, start) -> Solution:
    from maxmargin.solvers import dual_descent

    known = start is not None and start.share is not None
    return dual_descent.solve(rows, loss, settings, a0=start.share * cost if known else None)


def _newton(rows, loss, settings, cost, start) -> Solution:
    from maxmargin.solvers import newton

    known = start is not None and start.share is not None
    return newton.solve(rows, loss, settings, start=(start.w, start.share) if known else None)


SOLVERS: dict[str, Callable[..., Solution]] = {
    "dual": _dual,
    "ocas": _bundle("ocas"),
    "cpa": _bundle("cpa"),
    "newton": _newton,
}


def _start(solution: Solution, cost: np.ndarray) -> Start:
    if solution.dual_variables is None:
        return Start(solution.w, None)
    share = np.divide(solution.dual_variables, cost, out=np.zeros(len(cost)), where=cost > 0)
    return Start(solution.w, np.clip(share, 0.0, 1.0))


def linear_model(
    d: int, classes: np.ndarray, solver: str, solutions: list[Solution], plan: Plan
) -> LinearModel:
    """What is kept of the solutions of all problems."""
    W = np.stack([solution.w for solution in solutions])
    return LinearModel(
        coef=np.ascontiguousarray(W[:, :d]),
        intercept=plan.bias * W[:, d] if plan.bias > 0 else np.zeros(len(W)),
        classes=classes,
        certificates=tuple(solution.certificate for solution in solutions),
        solver=solver,
        parameters={
            "C": plan.C,
            "solver": plan.solver,
            "tol": plan.tol,
            "max_iter": plan.max_iter,
            "max_time": plan.max_time,
            "fit_intercept": plan.bias > 0,
            "intercept_scaling": plan.bias or 1.0,
            "class_weight": plan.class_weight,
            "n_jobs": plan.threads,
            "random_state": plan.seed,
        },
    )
