"""From rows and labels to a kernel model: one fit, or a grid of them by cross-validation.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.models.kernel import KernelModel
from maxmargin.models.normal_form import NormalForm, normal_form
from maxmargin.problem import Callback, Progress, Settings
from maxmargin.solvers import kernel_grid, kernels
from maxmargin.solvers.coding import coding_of
from maxmargin.solvers.kernel_grid import GridProblem, GridProgress, GridResult
from maxmargin.solvers.kernel_sources import Source, budget_of, seconds_of_cached_fit, source_of
from maxmargin.solvers.kernels import KERNELS, Kernel, KernelCallable
from maxmargin.solvers.run import interruptible
from maxmargin.solvers.two_variable import (
    BinaryProblem,
    KernelSolution,
    Method,
    solve,
    zero_solution,
)

WARN_SECONDS = 600  # a cached fit that will take longer than this is announced


@dataclass(frozen=True)
class KernelPlan:
    """What is to be solved, how, and when to stop. Construction checks every value.

    Parameters are those of KernelSVC; `weights` are given to `train` and `search`.
    """

    kernel: str | KernelCallable = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    stopping: str = "clipped"
    working_set: int | str = 7
    n_neighbors: int = 10
    cold_start: str = "auto"
    multi_class: str = "ovr"
    memory: int | float | str | None = None
    max_iter: int | None = None
    max_time: float | None = None
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not callable(self.kernel) and self.kernel not in (*KERNELS, "precomputed"):
            raise ValueError(
                f"kernel must be one of {', '.join(KERNELS)}, precomputed, or a function of two "
                f"arrays of rows; got {self.kernel!r}"
            )
        if not (_is_number(self.tol) and self.tol > 0 and math.isfinite(self.tol)):
            raise ValueError(f"tol must be a positive number; got {self.tol!r}")
        if self.stopping not in ("clipped", "plain"):
            raise ValueError(f"stopping must be 'clipped' or 'plain'; got {self.stopping!r}")
        if self.working_set != "1d" and not (
            _is_number(self.working_set) and self.working_set in range(4096)
        ):
            raise ValueError(
                f"working_set must be '1d' or a sum of 1, 2, 4, ..., 2048 (0: all pairs); "
                f"got {self.working_set!r}"
            )
        if not (_is_number(self.n_neighbors) and self.n_neighbors >= 1):
            raise ValueError(f"n_neighbors must be a positive integer; got {self.n_neighbors!r}")
        for name in ("max_iter", "max_time", "threads"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and value > 0):
                raise ValueError(f"{name} must be positive, or None for no limit; got {value!r}")
        coding_of(3, self.multi_class)
        Method(cold=self.cold_start)

    @property
    def method(self) -> Method:
        return Method(
            working_set=-1 if self.working_set == "1d" else int(self.working_set),
            n_neighbours=int(self.n_neighbors),
            clipped=self.stopping == "clipped",
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


def train(
    X,
    y: np.ndarray,
    C: float,
    plan: KernelPlan,
    weights: np.ndarray | None = None,
    callback: Callback | None = None,
) -> TrainedKernel:
    """Trains on finite rows X (dense or CSR; a square matrix if precomputed) with labels y.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    if not (_is_number(C) and C > 0 and math.isfinite(C)):
        raise ValueError(f"C must be a positive number; got {C!r}")
    classes, codes, weights = _checked(X, y, weights, plan.kernel)
    form = _normal_form(X, codes, weights, plan)
    gamma = gamma_of(plan.gamma, form.X, form.weights) if plan.has_width else 1.0
    kernel = plan.kernel_with(gamma)
    with interruptible(plan.max_time) as stop:
        pool = _core.Pool(plan.threads or granted_cpus(), stop)
        settings = Settings(plan.tol, plan.max_iter, plan.seed, callback, stop)
        labels = coding_of(len(classes), plan.multi_class).labels(form.codes)
        try:
            source = _source(form.X, kernel, plan, pool)
            problems = [BinaryProblem(source, signs, form.weights) for signs in labels]
            solutions = solve_all(problems, float(C), settings, pool, plan.method)
        except _core.Stopped:  # before there was a kernel matrix
            solutions = [zero_solution(signs, form.weights, float(C), settings) for signs in labels]
    found = {"C": float(C), "gamma": gamma}
    model = _model(X, classes, kernel, plan, _spread(solutions, form), found)
    return TrainedKernel(model, solutions, gamma)


def solve_all(
    problems: list[BinaryProblem], C: float, settings: Settings, pool: _core.Pool, method: Method
) -> list[KernelSolution]:
    """Problems on one kernel: side by side if the matrix is in memory, else one by one."""
    if len(problems) == 1 or not problems[0].source.rows.whole or pool.threads == 1:
        return [solve(problem, C, settings, pool, method) for problem in problems]
    with ThreadPoolExecutor(pool.threads) as executor:
        futures = [
            executor.submit(solve, problem, C, settings, _core.Pool(1), method, owns_stop=False)
            for problem in problems
        ]
        while wait(futures, timeout=0.02).not_done:
            if settings.stop is not None:
                settings.stop.poll()
    return [future.result() for future in futures]


def _source(X, kernel, plan: KernelPlan, pool: _core.Pool) -> Source:
    """The kernel rows; a fit that will take long for want of memory says so before it starts."""
    n, budget = X.shape[0], budget_of(plan.memory)
    size = kernels.matrix_bytes(n)
    if isinstance(kernel, Kernel) and size > budget:
        seconds = seconds_of_cached_fit(X, kernel, budget, pool)
        if seconds > WARN_SECONDS:
            warnings.warn(
                f"the kernel matrix of {n} rows takes {size / 2**30:.1f} GiB and the budget is "
                f"{budget / 2**30:.1f} GiB: rows will be computed again and again, for about "
                f"{seconds / 60:.0f} minutes. Allow more memory, train on fewer rows, or use "
                f"SparseKernelSVC, which needs no such matrix",
                UserWarning,
                stacklevel=4,
            )
    return source_of(X, kernel, budget, pool)


# ---------------------------------------------------------------- a grid of fits


def search(
    X,
    y: np.ndarray,
    Cs: int | Sequence[float],
    gammas: int | Sequence[float],
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    plan: KernelPlan,
    weights: np.ndarray | None = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
    counts: np.ndarray | None = None,
) -> TrainedKernel:
    """Tries every C and gamma in every fold and trains the best point on all rows.

    `counts` weigh the validation rows in errors and losses: weights without those of classes.
    """
    classes, codes, weights = _checked(X, y, weights, plan.kernel)
    counts = np.ones(len(codes)) if counts is None else np.asarray(counts, dtype=np.float64)
    form = _normal_form(X, codes, weights, plan, counts, folds)
    n, d = len(form.codes), X.shape[1]
    total = float(form.weights.sum())
    Cs_tried = _values("Cs", Cs, lambda count: kernel_grid.paper_Cs(n, count, total))
    gammas_tried = np.array([1.0])
    if plan.has_width:
        gammas_tried = _values(
            "gammas", gammas, lambda count: kernel_grid.paper_gammas(n, d, str(plan.kernel), count)
        )
    with interruptible(plan.max_time) as stop:
        pool = _core.Pool(plan.threads or granted_cpus(), stop)
        settings = Settings(plan.tol, plan.max_iter, plan.seed, None, stop)
        problem = GridProblem(
            form.X,
            form.codes,
            form.weights,
            form.counts,
            form.folds,
            coding_of(len(classes), plan.multi_class),
            plan.kernel_with(float(gammas_tried[0])),
            Cs_tried,
            gammas_tried,
        )
        result = kernel_grid.search(
            problem, settings, pool, method=plan.method, memory=plan.memory, callback=callback
        )
    kernel = plan.kernel_with(result.gamma)
    found = {"C": result.C, "gamma": result.gamma}
    model = _model(X, classes, kernel, plan, _spread(result.solutions, form), found)
    return TrainedKernel(model, result.solutions, result.gamma, result)


def stratified_folds(y: np.ndarray, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random folds, every class with its share in each: pairs (training, validation rows)."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(y))
    by_class = shuffled[np.argsort(np.asarray(y)[shuffled], kind="stable")]
    fold_of = np.empty(len(y), dtype=np.intp)
    fold_of[by_class] = np.arange(len(y)) % count
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(count)]


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


def class_weights(
    class_weight: Mapping | str | None, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Weights of rows times those of their classes; balanced classes weigh the same in all."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight {class_weight!r}: expected 'balanced' or a mapping")
        total = np.bincount(codes, weights, minlength=len(classes))
        per_class = total.sum() / (len(classes) * np.where(total > 0, total, 1.0))
    else:
        per_class = np.array([class_weight.get(c, 1.0) for c in classes.tolist()], dtype=float)
        if not np.isfinite(per_class).all() or (per_class < 0).any():
            raise ValueError(f"class_weight must map labels to numbers >= 0; got {class_weight!r}")
    return weights * per_class[codes]


def gamma_of(gamma, X, weights: np.ndarray) -> float:
    """The number that "scale", "auto" or a number stands for. Weights count as repetitions."""
    if _is_number(gamma):
        if not (gamma > 0 and math.isfinite(gamma)):
            raise ValueError(f"gamma must be a positive number, 'scale' or 'auto'; got {gamma!r}")
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        raise ValueError(f"gamma must be a positive number, 'scale' or 'auto'; got {gamma!r}")
    share = weights / weights.sum()
    squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
    mean = float(np.sum(share @ X)) / X.shape[1]
    variance = float(np.sum(share @ squares)) / X.shape[1] - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * mean**2 else 1.0


def _checked(X, y: np.ndarray, weights: np.ndarray | None, kernel: object):
    """Classes, class numbers and weights of rows that can be trained on."""
    classes, codes = np.unique(y, return_inverse=True)
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != codes.shape or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"weights must be {len(codes)} finite numbers >= 0")
    seen = classes[np.unique(codes[weights > 0])]
    if len(seen) < 2:
        raise ValueError(
            f"training needs rows of positive weight of at least two classes; got "
            f"{seen.tolist()!r} in {len(codes)} rows"
        )
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"got shape {X.shape}"
        )
    return classes, codes, weights


def _normal_form(
    X,
    codes: np.ndarray,
    weights: np.ndarray,
    plan: KernelPlan,
    counts: np.ndarray | None = None,
    folds: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> NormalForm:
    """Equal rows merged; a matrix of kernel values is taken as it is."""
    counts = weights if counts is None else counts
    if plan.kernel == "precomputed":
        everything = np.arange(len(codes))
        return NormalForm(X, codes, weights, counts, list(folds), everything, everything)
    return normal_form(X, codes, weights, counts, folds)


def _spread(solutions: list[KernelSolution], form: NormalForm) -> list[KernelSolution]:
    """Solutions with one coefficient for every row that was given."""
    return [replace(solution, beta=form.spread(solution.beta)) for solution in solutions]


def _model(X, classes, kernel, plan: KernelPlan, solutions, found: dict) -> KernelModel:
    beta = np.column_stack([solution.beta for solution in solutions])
    support = np.flatnonzero(np.any(beta != 0, axis=1))
    parameters = {
        name: getattr(plan, name)
        for name in (
            "degree",
            "coef0",
            "tol",
            "stopping",
            "working_set",
            "n_neighbors",
            "cold_start",
            "multi_class",
            "memory",
            "max_iter",
            "max_time",
        )
    }
    if not callable(plan.kernel):
        parameters["kernel"] = plan.kernel
    return KernelModel(
        kernel,
        None if isinstance(kernel, str) else X[support],
        np.ascontiguousarray(beta[support]),
        support,
        classes,
        X.shape[1],
        plan.multi_class,
        tuple(solution.certificate for solution in solutions),
        parameters=parameters | found | {"n_jobs": plan.threads, "random_state": plan.seed},
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
