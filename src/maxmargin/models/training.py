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
from maxmargin.losses.hinge import Hinge
from maxmargin.models.linear import LinearModel
from maxmargin.problem import Callback, Clock, Progress, Settings, Solution, Status
from maxmargin.solvers.run import catch_interrupts

SMALL_NNZ = 50_000
STEPS, STEPS_FROM_SAMPLE = 10, 4  # of Newton on all rows, from nothing and from a sample's solution
CORES = 2
HARDNESS_ROWS = 5000  # are enough for a mean
FETCH = 30  # entries that could be summed while a row comes from memory
CACHED_NNZ = 2_000_000  # or does not: so many entries stay in a cache


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
    classes = check_classes(y)
    codes = np.searchsorted(classes, y)  # several times faster than unique's own inverse
    cost = row_costs(classes, codes, plan, sample_weight)
    positives = [1] if len(classes) == 2 else list(range(len(classes)))
    threads = useful_threads(plan.threads, X.nnz if sp.issparse(X) else X.size)
    rows = ArrayRows(X, plan.bias, _core.Pool(threads))
    solver = pick_solver(rows, cost) if plan.solver == "auto" else plan.solver
    side_by_side = min(threads, len(positives))
    if starts is not None and not fits(starts, len(positives), rows):
        starts = None
    clock = Clock()

    def solve(k: int) -> Solution:
        """Problem k, with its share of the time left, so that those before it starve none."""
        rounds = math.ceil((len(positives) - k) / side_by_side)
        share = None if plan.max_time is None else max(plan.max_time - clock(), 0.0) / rounds
        stop = interrupts.new_stop(share)
        pool = _core.Pool(threads if side_by_side == 1 else 1, stop)
        loss = Hinge(np.where(codes == positives[k], 1.0, -1.0), cost, pool)
        settings = Settings(plan.tol, plan.max_iter, plan.seed, plan.callback, stop)
        start = None if starts is None else starts[k]
        solution = SOLVERS[solver](rows.with_pool(pool), loss, settings, cost, start)
        if solution.certificate.status is Status.CALLBACK:
            interrupts.interrupt()
        return solution

    with catch_interrupts() as interrupts:
        if side_by_side == 1:
            solutions = [solve(k) for k in range(len(positives))]
        else:
            with ThreadPoolExecutor(side_by_side) as executor:
                solutions = list(executor.map(solve, range(len(positives))))
    if any(solution.certificate.status is Status.CALLBACK for solution in solutions):
        solutions = [stopped_by_callback(solution) for solution in solutions]
    model = linear_model(rows.d, classes, solver, solutions, plan)
    return Trained(model, solutions, cost)


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
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight must be {n} finite numbers >= 0")
    if plan.class_weight is None:
        return plan.C * weight
    total = np.bincount(codes, weight, minlength=len(classes))
    return weight * class_costs(classes, total, plan)[codes]


def class_costs(classes: np.ndarray, total: np.ndarray, plan: Plan) -> np.ndarray:
    """C times the weight of each class; `total` is what the rows of each weigh.

    Balanced class weights make every class weigh the same: n / (k n_j), by weight.
    """
    if plan.class_weight is None:
        return np.full(len(classes), plan.C)
    if isinstance(plan.class_weight, str):
        if plan.class_weight != "balanced":
            raise ValueError(
                f"class_weight {plan.class_weight!r}: expected 'balanced' or a mapping"
            )
        return plan.C * total.sum() / (len(classes) * np.where(total > 0, total, 1.0))
    unknown = [label for label in plan.class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown!r}, which are no labels of y ({classes.tolist()!r})"
        )
    per_class = np.array([plan.class_weight.get(c, 1.0) for c in classes.tolist()], dtype=float)
    if not np.isfinite(per_class).all() or (per_class < 0).any():
        raise ValueError(f"class_weight must map labels to numbers >= 0; got {plan.class_weight!r}")
    return plan.C * per_class


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
