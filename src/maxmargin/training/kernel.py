"""From rows and labels to a kernel model: one fit, or a grid of them by cross-validation.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, as_floats, useful_threads
from maxmargin.models.kernel import KernelModel
from maxmargin.parameters import (
    Options,
    ParameterError,
    is_number,
    is_whole,
    one_of,
    positive,
    positive_whole,
)
from maxmargin.problem import Progress, Settings
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel import grid as kernel_grid
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.gram import KERNELS, Kernel, KernelCallable
from maxmargin.solvers.kernel.grid import GridProblem, GridProgress, GridResult
from maxmargin.solvers.kernel.sources import budget_of, source_of
from maxmargin.solvers.kernel.two_variable import (
    RULES,
    BinaryProblem,
    KernelSolution,
    Method,
    solve,
    zero_solution,
)
from maxmargin.training.normal_form import NormalForm, normal_form
from maxmargin.training.targets import Labels, checked_weights, labels_of


@dataclass(frozen=True)
class KernelPlan:
    """What a kernel machine is to minimise, and how. Construction checks every value.

    Parameters are those of KernelSVC.
    """

    C: float = 1.0
    kernel: str | KernelCallable = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    stopping: str = "relative"
    working_set: int | str = 7
    n_neighbors: int = 10
    cold_start: str = "auto"
    multi_class: str = "ovr"
    class_weight: Mapping | str | None = None
    memory: int | float | str | None = None
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        positive("C", self.C)
        if not callable(self.kernel) and self.kernel not in (*KERNELS, "precomputed"):
            raise ParameterError(
                "kernel",
                f"one of {', '.join(KERNELS)}, precomputed, or a function of two arrays of rows",
                self.kernel,
            )
        check_gamma(self.gamma)
        one_of("stopping", self.stopping, RULES)
        if self.working_set != "1d" and not (
            is_whole(self.working_set) and self.working_set in range(4096)
        ):
            raise ParameterError(
                "working_set",
                "'1d' or a sum of 1, 2, 4, ..., 2048 (0: all pairs)",
                self.working_set,
            )
        positive_whole("n_neighbors", self.n_neighbors)
        coding_of(3, self.multi_class)
        Method(cold=self.cold_start)

    @property
    def method(self) -> Method:
        return Method(
            working_set=-1 if self.working_set == "1d" else int(self.working_set),
            n_neighbours=int(self.n_neighbors),
            rule=self.stopping,
            cold=self.cold_start,
        )

    def kernel_with(self, gamma: float) -> Kernel | KernelCallable | str:
        """The kernel with this gamma; functions and "precomputed" as they are."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return self.kernel
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    @property
    def has_width(self) -> bool:
        """Whether gamma means anything."""
        return not callable(self.kernel) and self.kernel not in ("precomputed", "linear")


@dataclass(frozen=True)
class TrainedKernel:
    """A model, and the runs that led to it."""

    model: KernelModel
    solutions: list[KernelSolution]
    gamma: float
    grid: GridResult | None = None

    @property
    def history(self) -> list[Progress]:
        """All problems' progress, one after the other."""
        return [progress for solution in self.solutions for progress in solution.history]


# ---------------------------------------------------------------- one fit


def train(X, y: np.ndarray, plan: KernelPlan, sample_weight: Any = None) -> TrainedKernel:
    """Trains on finite rows X (dense or CSR; a square matrix if precomputed) with labels y.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    labels = labels_of(y, sample_weight, plan.class_weight)
    X = rows_for(X, plan.kernel)
    form = _normal_form(X, labels, plan)
    C, options = float(plan.C), plan.options
    gamma = gamma_of(plan.gamma, form.X, form.weights) if plan.has_width else 1.0
    kernel = plan.kernel_with(gamma)
    with interruptible(options.max_time) as stop:
        pool = _core.Pool(_threads(options, form.X), stop)
        settings = options.settings(stop)
        codings = coding_of(len(labels.classes), plan.multi_class).labels(form.codes)
        try:
            source = source_of(form.X, kernel, budget_of(plan.memory), pool)
            problems = [BinaryProblem(source, signs, form.weights) for signs in codings]
            solutions = solve_all(problems, C, settings, pool, plan.method)
        except _core.Stopped:  # before there was a kernel matrix
            solutions = [zero_solution(signs, form.weights, C, settings) for signs in codings]
    model = _model(X, labels.classes, kernel, plan, _spread(solutions, form), C)
    return TrainedKernel(model, solutions, gamma)


def solve_all(
    problems: list[BinaryProblem], C: float, settings: Settings, pool: _core.Pool, method: Method
) -> list[KernelSolution]:
    """Problems on one kernel: one by one, side by side once the whole matrix is in memory."""
    solutions: list[KernelSolution] = []
    rows = problems[0].source.rows
    while len(solutions) < len(problems):
        rest = problems[len(solutions) :]
        if len(rest) > 1 and rows.whole and pool.threads > 1:
            return solutions + _side_by_side(rest, C, settings, pool, method)
        solutions.append(solve(rest[0], C, settings, pool, method))
    return solutions


def _side_by_side(problems, C: float, settings: Settings, pool: _core.Pool, method: Method):
    with ThreadPoolExecutor(pool.threads) as executor:
        futures = [
            executor.submit(solve, problem, C, settings, _core.Pool(1), method, owns_stop=False)
            for problem in problems
        ]
        while wait(futures, timeout=0.02).not_done:
            if settings.stop is not None:
                settings.stop.poll()
    return [future.result() for future in futures]


# ---------------------------------------------------------------- a grid of fits


def search(
    X,
    y: np.ndarray,
    Cs: int | Sequence[float],
    gammas: int | Sequence[float],
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    plan: KernelPlan,
    sample_weight: Any = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
) -> TrainedKernel:
    """Tries every C and gamma in every fold and trains the best point on all rows.

    Validation rows count by their sample weights in errors and losses, whatever their class.
    """
    labels, options = labels_of(y, sample_weight, plan.class_weight), plan.options
    X = rows_for(X, plan.kernel)
    counts = checked_weights(sample_weight, labels.n)
    counts = np.ones(labels.n) if counts is None else counts
    folds = [(_rows("training", a, labels.n), _rows("test", b, labels.n)) for a, b in folds]
    form = _normal_form(X, labels, plan, counts, folds)
    n, d = len(form.codes), X.shape[1]
    total = float(form.weights.sum())
    Cs_tried = _values("Cs", Cs, lambda count: kernel_grid.paper_Cs(n, count, total))
    gammas_tried = np.array([1.0])
    if plan.has_width:
        gammas_tried = _values(
            "gammas", gammas, lambda count: kernel_grid.paper_gammas(n, d, str(plan.kernel), count)
        )
    with interruptible(options.max_time) as stop:
        pool = _core.Pool(_threads(options, form.X, len(folds) * len(gammas_tried)), stop)
        settings = replace(options, callback=None).settings(stop)
        problem = GridProblem(
            form.X,
            form.codes,
            form.weights,
            form.counts,
            form.folds,
            coding_of(len(labels.classes), plan.multi_class),
            plan.kernel_with(float(gammas_tried[0])),
            Cs_tried,
            gammas_tried,
        )
        result = kernel_grid.search(
            problem, settings, pool, method=plan.method, memory=plan.memory, callback=callback
        )
    kernel = plan.kernel_with(result.gamma)
    model = _model(X, labels.classes, kernel, plan, _spread(result.solutions, form), result.C)
    return TrainedKernel(model, result.solutions, result.gamma, result)


def stratified_folds(y: np.ndarray, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random folds, every class with its share in each: pairs (training, validation rows)."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(y))
    by_class = shuffled[np.argsort(np.asarray(y)[shuffled], kind="stable")]
    fold_of = np.empty(len(y), dtype=np.intp)
    fold_of[by_class] = np.arange(len(y)) % count
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(count)]


def _rows(part: str, given, n: int) -> np.ndarray:
    """Row numbers of a fold, all of them in the data."""
    rows = np.asarray(given)
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (n,) else rows
    if rows.size == 0:
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"the {part} rows of a fold must be row numbers; got {given!r}")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise ValueError(
            f"a fold names the {part} row {outside[0]}; expected numbers from 0 to {n - 1}"
        )
    return rows


def _values(name: str, given, default: Callable[[int], np.ndarray]) -> np.ndarray:
    """Positive numbers, or how many of the paper's are wanted."""
    if isinstance(given, (int, np.integer)):
        if given < 1:
            raise ValueError(f"{name} must be a count >= 1 or positive numbers; got {given}")
        return default(int(given))
    values = np.unique(np.asarray(given, dtype=np.float64))
    if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError(f"{name} must be a count >= 1 or positive numbers; got {given!r}")
    return values


# ---------------------------------------------------------------- what both need


def check_gamma(gamma: Any) -> None:
    """A positive number, or one of the words."""
    good = gamma > 0 and math.isfinite(gamma) if is_number(gamma) else gamma in ("scale", "auto")
    if not good:
        raise ParameterError("gamma", "a positive number, 'scale' or 'auto'", gamma)


def gamma_of(gamma, X, weights: np.ndarray) -> float:
    """The number that "scale", "auto" or a number stands for. Weights count as repetitions."""
    check_gamma(gamma)
    if is_number(gamma):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    share, rows = weights / weights.sum(), ArrayRows(X)
    mean = float(share @ rows.matvec(np.ones(X.shape[1]))) / X.shape[1]
    variance = float(share @ rows.squared_norms()) / X.shape[1] - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * mean**2 else 1.0


def rows_for(X, kernel: object):
    """X as a kernel can use it. Named kernels convert tiles of small integers as they go; functions
    of others are given floats, in which sums do not overflow."""
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"got shape {X.shape}"
        )
    return as_floats(X) if callable(kernel) else X


def _normal_form(
    X,
    labels: Labels,
    plan: KernelPlan,
    counts: np.ndarray | None = None,
    folds: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> NormalForm:
    """Equal rows merged; a matrix of kernel values is taken as it is."""
    codes, weights = labels.codes, labels.weights()
    counts = weights if counts is None else counts
    if plan.kernel == "precomputed":
        everything = np.arange(len(codes))
        return NormalForm(X, codes, weights, counts, list(folds), everything, everything)
    return normal_form(X, codes, weights, counts, folds)


def _spread(solutions: list[KernelSolution], form: NormalForm) -> list[KernelSolution]:
    """Solutions with one coefficient for every row that was given."""
    return [replace(solution, beta=form.spread(solution.beta)) for solution in solutions]


def _model(X, classes, kernel, plan: KernelPlan, solutions, C: float) -> KernelModel:
    beta = np.column_stack([solution.beta for solution in solutions])
    support = np.flatnonzero(np.any(beta != 0, axis=1))
    kept = ("degree", "coef0", "stopping", "working_set", "n_neighbors", "cold_start")
    parameters = {name: getattr(plan, name) for name in (*kept, "multi_class", "class_weight")} | {
        "C": C,
        "gamma": kernel.gamma if isinstance(kernel, Kernel) else 1.0,
        "tol": plan.options.tol,
        "max_iter": plan.options.max_iter,
        "random_state": plan.options.seed or None,
    }
    if not callable(plan.kernel):
        parameters["kernel"] = plan.kernel
    return KernelModel(
        kernel,
        None if isinstance(kernel, str) else as_floats(X[support]),
        np.ascontiguousarray(beta[support]),
        support,
        classes,
        X.shape[1],
        multi_class=plan.multi_class,
        certificates=tuple(solution.certificate for solution in solutions),
        parameters=parameters,
    )


def _threads(options: Options, X, fits: int = 1) -> int:
    """As many as the kernel values of so many fits can feed."""
    return useful_threads(options.threads, X.shape[0] * max(X.shape) * fits)
