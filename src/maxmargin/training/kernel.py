"""From rows and labels to a kernel model: what is asked for, and one fit.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import as_floats, useful_threads
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
from maxmargin.problem import Progress, Settings, joined
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.gram import KERNELS, Kernel, KernelCallable
from maxmargin.solvers.kernel.path import RULES, BinaryProblem, Method
from maxmargin.solvers.kernel.sources import budget_of, source_of
from maxmargin.solvers.kernel.two_variable import KernelSolution, solve, zero_solution
from maxmargin.training.calibration import method_of
from maxmargin.training.kernel_calibration import OtherMachines, calibration_of
from maxmargin.training.kernel_gamma import check_gamma, gamma_of
from maxmargin.training.kernel_offset import check_offset, offsets_of, shifted, with_constant
from maxmargin.training.kernel_pairs import solve_pairs
from maxmargin.training.normal_form import NormalForm, normal_form
from maxmargin.training.targets import Labels, labels_of

MOST_OVERLAP = 0.25  # of a cell with the next: more, and a cut would hardly make cells smaller


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
    offset: float = 0.0
    stopping: str = "relative"
    working_set: int | str = 7
    n_neighbors: int = 10
    cold_start: str = "auto"
    multi_class: str = "ovr"
    class_weight: Mapping[Any, Any] | str | None = None
    path_start: str = "auto"
    probability: bool | str = False
    memory: int | float | str | None = None
    cells: int | None = None
    cell_overlap: float = 0.0
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        positive("C", self.C)
        if method_of(self.probability) is not None and self.cells is not None:
            raise ValueError(
                f"cells have no probabilities: leave out cells={self.cells}, or probability="
                f"{self.probability!r}"
            )
        if not callable(self.kernel) and self.kernel not in (*KERNELS, "precomputed"):
            raise ParameterError(
                "kernel",
                f"one of {', '.join(KERNELS)}, precomputed, or a function of two arrays of rows",
                self.kernel,
            )
        check_gamma(self.gamma)
        check_offset(self.offset)
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
        Method(cold=self.cold_start, warm=self.path_start)
        if self.cells is not None:
            positive_whole("cells", self.cells, none="one machine for all rows")
            if self.offset > 0:
                raise ValueError(
                    f"cells have no offset: leave out cells={self.cells}, or offset={self.offset:g}"
                )
            if not isinstance(self.kernel, str) or self.kernel == "precomputed":
                raise ParameterError(
                    "cells", "None where the kernel is precomputed or a function", self.cells
                )
        if not (is_number(self.cell_overlap) and 0 <= self.cell_overlap <= MOST_OVERLAP):
            raise ParameterError("cell_overlap", f"from 0 to {MOST_OVERLAP}", self.cell_overlap)

    @property
    def method(self) -> Method:
        return Method(
            working_set=-1 if self.working_set == "1d" else int(self.working_set),
            n_neighbours=int(self.n_neighbors),
            rule=self.stopping,
            cold=self.cold_start,
            warm=self.path_start,
        )

    def kernel_with(self, gamma: float) -> Kernel | KernelCallable | str:
        """The kernel with this gamma; functions and "precomputed" as they are."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return self.kernel
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    @property
    def has_gamma(self) -> bool:
        """Whether gamma means anything."""
        return not callable(self.kernel) and self.kernel not in ("precomputed", "linear")


@dataclass(frozen=True)
class TrainedKernel:
    """A model of classes or of numbers, the runs that led to it, and the grid it is best of."""

    model: Any
    solutions: list[KernelSolution]
    gamma: float
    grid: Any = None

    @property
    def history(self) -> list[Progress]:
        """All problems' progress, one after the other."""
        return joined(solution.history for solution in self.solutions)


# ---------------------------------------------------------------- one fit


def train(X: Any, y: np.ndarray, plan: KernelPlan, sample_weight: Any = None) -> TrainedKernel:
    """Trains on finite rows X (dense or CSR; a square matrix if precomputed) with labels y.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    labels = labels_of(y, sample_weight, plan.class_weight)
    with interruptible(plan.options.max_time) as stop:
        return train_on(X, labels, plan, stop)


def train_on(X: Any, labels: Labels, plan: KernelPlan, stop: _core.Stop) -> TrainedKernel:
    """The same for labels and weights that are known, until a stop flag of the calling thread."""
    X = rows_for(X, plan.kernel, plan.offset)
    form = form_of(X, labels, plan)
    C, options = float(plan.C), plan.options
    gamma = gamma_of(plan.gamma, form.X, form.weights) if plan.has_gamma else 1.0
    kernel = plan.kernel_with(gamma)
    pool = _core.Pool(threads_for(options, form.X), stop)
    settings = options.settings(stop)
    codings = coding_of(len(labels.classes), plan.multi_class).labels(form.codes)
    problems: list[BinaryProblem] = []
    shifted_kernel, budget = with_constant(kernel, plan.offset), budget_of(plan.memory)
    if in_pairs(plan, labels) and isinstance(shifted_kernel, Kernel):
        solutions = solve_pairs(
            form.X, shifted_kernel, codings, form.weights, C, settings, pool, plan.method, budget
        )
        model = model_of(X, labels.classes, kernel, plan, spread(solutions, form), C)
        return TrainedKernel(model, solutions, gamma)
    try:
        source = source_of(form.X, shifted_kernel, budget, pool)
        problems = [BinaryProblem(source, signs, form.weights) for signs in codings]
        solutions = solve_all(problems, C, settings, pool, plan.method)
    except _core.Stopped:  # before there was a kernel matrix
        solutions = [zero_solution(signs, form.weights, C, settings) for signs in codings]
    machines = OtherMachines(problems, solutions, plan, pool, stop)
    calibration = calibration_of(plan, form, labels.classes, machines)
    model = model_of(X, labels.classes, kernel, plan, spread(solutions, form), C)
    return TrainedKernel(replace(model, calibration=calibration), solutions, gamma)


def in_pairs(plan: KernelPlan, labels: Labels) -> bool:
    """Whether each pair of classes is solved on its own rows. Probabilities come from machines that
    share one matrix."""
    of_pairs = plan.multi_class == "ovo" and len(labels.classes) > 2
    return of_pairs and method_of(plan.probability) is None


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


def _side_by_side(
    problems: Any, C: float, settings: Settings, pool: _core.Pool, method: Method
) -> list[KernelSolution]:
    with ThreadPoolExecutor(pool.threads) as executor:
        futures = [
            executor.submit(solve, problem, C, settings, _core.Pool(1), method, owns_stop=False)
            for problem in problems
        ]
        while wait(futures, timeout=0.02).not_done:
            if settings.stop is not None:
                settings.stop.poll()
    return [future.result() for future in futures]


# ---------------------------------------------------------------- what both need


def rows_for(X: Any, kernel: object, offset: float = 0.0) -> Any:
    """X as a kernel can use it: to precomputed values ``offset^2`` is added, named kernels convert
    tiles of small integers as they go, functions of others are given floats, in which sums do not
    overflow."""
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"got shape {X.shape}"
        )
    if kernel == "precomputed":
        return shifted(X, offset)
    return as_floats(X) if callable(kernel) else X


def form_of(
    X: Any,
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


def spread(solutions: list[KernelSolution], form: NormalForm) -> list[KernelSolution]:
    """Solutions with one coefficient for every row that was given."""
    return [replace(solution, beta=form.spread(solution.beta)) for solution in solutions]


def kept_parameters(plan: KernelPlan) -> dict[str, Any]:
    """What a model says of how it was made."""
    kept = ("C", "degree", "coef0", "offset", "stopping", "working_set", "n_neighbors")
    more = ("cold_start", "multi_class", "class_weight", "probability")
    parameters = {name: getattr(plan, name) for name in (*kept, *more)} | {
        "tol": plan.options.tol,
        "max_iter": plan.options.max_iter,
        "random_state": plan.options.seed or None,
    }
    return parameters if callable(plan.kernel) else parameters | {"kernel": plan.kernel}


def model_of(
    X: Any, classes: Any, kernel: Any, plan: KernelPlan, solutions: Any, C: float
) -> KernelModel:
    beta = np.column_stack([solution.beta for solution in solutions])
    support = np.flatnonzero(np.any(beta != 0, axis=1))
    parameters = kept_parameters(plan) | {"C": C}
    parameters["gamma"] = kernel.gamma if isinstance(kernel, Kernel) else 1.0
    return KernelModel(
        kernel,
        None if isinstance(kernel, str) else as_floats(X[support]),
        np.ascontiguousarray(beta[support]),
        support,
        classes,
        X.shape[1],
        multi_class=plan.multi_class,
        certificates=tuple(solution.certificate for solution in solutions),
        offsets=offsets_of(beta, plan.offset),
        parameters=parameters,
    )


def threads_for(options: Options, X: Any, fits: int = 1) -> int:
    """As many as the kernel values of so many fits can feed."""
    return useful_threads(options.threads, X.shape[0] * max(X.shape) * fits)
