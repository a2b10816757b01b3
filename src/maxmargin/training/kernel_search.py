"""C and gamma of a kernel machine by cross-validation.

Estimators and commands both search here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.adaptive_grid import scaled_Cs, scaled_gammas, search_adaptively
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.grid_problem import GridProblem, GridProgress, paper_Cs, paper_gammas
from maxmargin.training.folds import check_weighed, checked_folds
from maxmargin.training.kernel import (
    KernelPlan,
    TrainedKernel,
    form_of,
    model_of,
    rows_for,
    spread,
    threads_for,
)
from maxmargin.training.kernel_gamma import gamma_of
from maxmargin.training.kernel_offset import with_constant
from maxmargin.training.normal_form import Folds, NormalForm
from maxmargin.training.targets import Labels, labels_of
from maxmargin.training.weights import checked_weights


def search(
    X: Any,
    y: np.ndarray,
    Cs: int | str | Sequence[float],
    gammas: int | str | Sequence[float],
    folds: Folds,
    plan: KernelPlan,
    sample_weight: Any = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
) -> TrainedKernel:
    """Tries every C and gamma in every fold and trains the best point on all rows.

    Validation rows count by their sample weights in errors and losses, whatever their class.
    """
    labels = labels_of(y, sample_weight, plan.class_weight)
    counts = checked_weights(sample_weight, labels.n)
    folds = checked_folds(folds, labels.n)
    check_weighed(folds, counts)
    with interruptible(plan.options.max_time) as stop:
        return search_on(X, labels, Cs, gammas, folds, plan, stop, counts=counts, callback=callback)


def search_on(
    X: Any,
    labels: Labels,
    Cs: Any,
    gammas: Any,
    folds: Folds,
    plan: KernelPlan,
    stop: _core.Stop,
    *,
    counts: np.ndarray | None = None,
    callback: Callable[[GridProgress], bool | None] | None = None,
) -> TrainedKernel:
    """The same for labels and weights that are known, until a stop flag of the calling thread."""
    X, options = rows_for(X, plan.kernel, plan.offset), plan.options
    counts = np.ones(labels.n) if counts is None else counts
    form = form_of(X, labels, plan, counts, folds)
    values = grid_of(form, Cs, gammas, plan)
    pool = _core.Pool(threads_for(options, form.X, len(folds) * len(values.gammas)), stop)
    settings = replace(options, callback=None).settings(stop)
    problem = GridProblem(
        form.X,
        form.codes,
        form.weights,
        form.counts,
        form.folds,
        coding_of(len(labels.classes), plan.multi_class),
        with_constant(plan.kernel_with(float(values.gammas[0])), plan.offset),
        values.Cs,
        values.gammas,
    )
    result = search_adaptively(
        problem,
        settings,
        pool,
        method=plan.method,
        memory=plan.memory,
        callback=callback,
        free_C=values.free_C,
        free_gamma=values.free_gamma,
    )
    kernel = plan.kernel_with(result.gamma)
    model = model_of(X, labels.classes, kernel, plan, spread(result.solutions, form), result.C)
    return TrainedKernel(model, result.solutions, result.gamma, result)


@dataclass(frozen=True)
class GridValues:
    """Where a search begins, and whether it may go on to values of its own."""

    Cs: np.ndarray
    gammas: np.ndarray
    free_C: bool
    free_gamma: bool


def grid_of(form: NormalForm, Cs: Any, gammas: Any, plan: KernelPlan) -> GridValues:
    """The values to begin with."""
    n, total, kernel = len(form.codes), float(form.weights.sum()), str(plan.kernel)
    d = form.X.shape[1]
    free_C = isinstance(Cs, str) and Cs == "auto"
    free_gamma = plan.has_gamma and isinstance(gammas, str) and gammas == "auto"
    if free_C:
        Cs_tried = scaled_Cs(n, total)
    else:
        Cs_tried = _values("Cs", Cs, lambda count: paper_Cs(n, count, total))
    if not plan.has_gamma:
        return GridValues(Cs_tried, np.array([1.0]), free_C, False)
    if not free_gamma:
        tried = _values("gammas", gammas, lambda count: paper_gammas(n, d, kernel, count))
    elif kernel in ("rbf", "laplacian"):
        tried = scaled_gammas(form.X, kernel)
    else:
        tried = gamma_of("scale", form.X, form.weights) * np.geomspace(0.1, 10.0, 3)
    return GridValues(Cs_tried, tried, free_C, free_gamma)


def _values(name: str, given: Any, default: Callable[[int], np.ndarray]) -> np.ndarray:
    """Positive numbers, or how many of the paper's are wanted."""
    expected = f"{name} must be 'auto', a count >= 1 or positive numbers; got"
    if isinstance(given, str):
        raise ValueError(f"{expected} {given!r}")
    if isinstance(given, (int, np.integer)):
        if given < 1:
            raise ValueError(f"{expected} {given}")
        return default(int(given))
    values = np.unique(np.asarray(given, dtype=np.float64))
    if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError(f"{expected} {given!r}")
    return values
