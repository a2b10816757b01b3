"""From rows and real-valued targets to a kernel regression: one fit, and a search of (C, gamma).

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import as_floats
from maxmargin.models.kernel_regression import KernelRegressionModel
from maxmargin.parameters import Options
from maxmargin.problem import Settings
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable
from maxmargin.solvers.kernel.least_squares import least_squares, times
from maxmargin.solvers.kernel.regression import (
    RegressionPath,
    RegressionProblem,
    along,
    solve_regression,
    zero_regression,
)
from maxmargin.solvers.kernel.sources import (
    CachedSource,
    Source,
    budget_of,
    source_of,
    sources_along,
)
from maxmargin.solvers.kernel.two_variable import KernelSolution
from maxmargin.training.folds import check_weighed, checked_folds
from maxmargin.training.kernel import KernelPlan, TrainedKernel, rows_for, threads_for
from maxmargin.training.kernel_gamma import gamma_of
from maxmargin.training.kernel_offset import offsets_of, with_constant
from maxmargin.training.kernel_search import grid_of
from maxmargin.training.normal_form import Folds, NormalForm, normal_form
from maxmargin.training.regression import RegressionPlan, mean_loss
from maxmargin.training.targets import Targets, targets_of

POLL = 0.02  # seconds between two looks at the stop flag


@dataclass(frozen=True)
class KernelRegressionPlan:
    """What a kernel regression is to minimise, and how. Construction checks every value.

    Parameters are those of KernelSVR.
    """

    C: float = 1.0
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    quantile: float | Sequence[float] = 0.5
    delta: float = 1.0
    non_crossing: bool = False
    kernel: str | KernelCallable = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    offset: float = 0.0
    memory: int | float | str | None = None
    cells: int | None = None
    cell_overlap: float = 0.0
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        self.losses  # noqa: B018  (checks what is minimised)
        self.machine  # noqa: B018  (checks the kernel)

    @property
    def losses(self) -> RegressionPlan:
        """The losses, as a linear regression has them."""
        names = ("C", "loss", "epsilon", "quantile", "delta", "non_crossing")
        return RegressionPlan(**{name: getattr(self, name) for name in names})

    @property
    def machine(self) -> KernelPlan:
        """The kernel, as a classifier has it."""
        names = (
            *("C", "kernel", "gamma", "degree", "coef0", "offset", "memory", "options"),
            *("cells", "cell_overlap"),
        )
        return KernelPlan(**{name: getattr(self, name) for name in names})

    def parameters(self) -> dict[str, Any]:
        """What a model says of how it was made."""
        of_loss = self.losses.parameters()
        names = ("C", "loss", "epsilon", "quantile", "delta", "non_crossing")
        kept = {name: of_loss[name] for name in names} | {
            "degree": self.degree,
            "coef0": self.coef0,
            "offset": self.offset,
            "tol": self.options.tol,
            "max_iter": self.options.max_iter,
            "random_state": self.options.seed or None,
        }
        return kept if callable(self.kernel) else kept | {"kernel": self.kernel}


@dataclass(frozen=True)
class RegressionGrid:
    """Mean losses on the rows held out: arrays (gammas, Cs, folds), NaN where cut short."""

    Cs: np.ndarray
    gammas: np.ndarray
    loss: np.ndarray

    @property
    def best(self) -> tuple[int, int]:
        """(gamma, C) of the least mean loss; of equal ones the first."""
        mean = np.nan_to_num(self.loss.mean(axis=2), nan=np.inf)
        g, at = np.unravel_index(int(np.argmin(mean)), mean.shape)
        return int(g), int(at)

    @property
    def complete(self) -> bool:
        return not np.isnan(self.loss).any()


# ---------------------------------------------------------------- one fit


def train_kernel_regression(
    X: Any, y: Any, plan: KernelRegressionPlan, sample_weight: Any = None
) -> TrainedKernel:
    """Trains on finite rows X (dense or CSR; a square matrix if precomputed) with a number each.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    targets = targets_of(y, sample_weight)
    with interruptible(plan.options.max_time) as stop:
        return train_on(X, targets, plan, stop)


def train_on(
    X: Any, targets: Targets, plan: KernelRegressionPlan, stop: _core.Stop
) -> TrainedKernel:
    """The same for targets that are known, until a stop flag of the calling thread."""
    X = rows_for(X, plan.kernel, plan.offset)
    form = form_of(X, targets, plan)
    gamma = gamma_of(plan.gamma, form.X, form.weights) if plan.machine.has_gamma else 1.0
    return fit_form(X, form, targets, plan, gamma, stop)


def fit_form(
    X: Any,
    form: NormalForm,
    targets: Targets,
    plan: KernelRegressionPlan,
    gamma: float,
    stop: _core.Stop,
) -> TrainedKernel:
    """All problems of the plan, on rows of which each is there once."""
    pool = _core.Pool(threads_for(plan.options, form.X), stop)
    settings, t = plan.options.settings(stop), targets.values[form.kept]
    kernel, specs = plan.machine.kernel_with(gamma), plan.losses.specs()
    try:
        trained = with_constant(kernel, plan.offset)
        source = source_of(form.X, trained, budget_of(plan.memory), pool)
        problems = [RegressionProblem(source, t, form.weights, spec) for spec in specs]
        solutions = [solve_regression(p, float(plan.C), settings, pool) for p in problems]
    except _core.Stopped:  # before there was a kernel matrix
        solutions = [zero_regression(t, plan.C * form.weights, spec, settings) for spec in specs]
    spread = [replace(one, beta=form.spread(one.beta)) for one in solutions]
    return TrainedKernel(model_of(X, kernel, plan, spread), solutions, gamma)


def form_of(X: Any, targets: Targets, plan: KernelRegressionPlan, folds: Folds = ()) -> NormalForm:
    """Equal rows with equal targets merged; a matrix of kernel values is taken as it is."""
    codes, weights = np.unique(targets.values, return_inverse=True)[1], targets.weights()
    if plan.kernel == "precomputed":
        everything = np.arange(targets.n)
        return NormalForm(X, codes, weights, weights, list(folds), everything, everything)
    return normal_form(X, codes, weights, weights, folds)


def model_of(
    X: Any, kernel: Any, plan: KernelRegressionPlan, solutions: list[KernelSolution]
) -> KernelRegressionModel:
    beta = np.column_stack([solution.beta for solution in solutions])
    support = np.flatnonzero(np.any(beta != 0, axis=1))
    parameters = plan.parameters()
    parameters["gamma"] = kernel.gamma if isinstance(kernel, Kernel) else 1.0
    return KernelRegressionModel(
        kernel,
        None if isinstance(kernel, str) else as_floats(X[support]),
        np.ascontiguousarray(beta[support]),
        support,
        X.shape[1],
        certificates=tuple(solution.certificate for solution in solutions),
        offsets=offsets_of(beta, plan.offset),
        parameters=parameters,
    )


# ---------------------------------------------------------------- a grid


def search_kernel_regression(
    X: Any,
    y: Any,
    Cs: Any,
    gammas: Any,
    folds: Folds,
    plan: KernelRegressionPlan,
    sample_weight: Any = None,
) -> TrainedKernel:
    """Tries every C and gamma in every fold by the loss itself; trains the best on all rows.

    A gamma has one matrix. A fold is weights: rows held out weigh nothing, and as steps keep all
    residuals up to date, theirs are there when a fit ends. Along C each fit starts from the last.
    """
    targets = targets_of(y, sample_weight)
    folds = checked_folds(folds, len(targets.values))
    check_weighed(folds, targets.weight)
    with interruptible(plan.options.max_time) as stop:
        return search_on(X, targets, Cs, gammas, folds, plan, stop)


def search_on(
    X: Any,
    targets: Targets,
    Cs: Any,
    gammas: Any,
    folds: Folds,
    plan: KernelRegressionPlan,
    stop: _core.Stop,
) -> TrainedKernel:
    """The same for targets that are known, until a stop flag of the calling thread."""
    X = rows_for(X, plan.kernel, plan.offset)
    form = form_of(X, targets, plan, folds)
    values = grid_of(form, Cs, gammas, plan.machine)
    shape = (len(values.gammas), len(values.Cs), len(folds))
    grid = RegressionGrid(values.Cs, values.gammas, np.full(shape, np.nan))
    with contextlib.suppress(_core.Stopped):
        _fill(grid, form, targets.values[form.kept], plan, stop)
    g, at = grid.best
    best = replace(plan, C=float(grid.Cs[at]))
    gamma = float(grid.gammas[g]) if plan.machine.has_gamma else 1.0
    return replace(fit_form(X, form, targets, best, gamma, stop), grid=grid)


def _fill(
    grid: RegressionGrid, form: NormalForm, t: np.ndarray, plan: KernelRegressionPlan, stop: Any
) -> None:
    pool = _core.Pool(threads_for(plan.options, form.X, len(form.folds)), stop)
    settings = replace(plan.options, callback=None).settings(stop)
    kernel = with_constant(plan.machine.kernel_with(float(grid.gammas[0])), plan.offset)
    sources = sources_along(form.X, kernel, grid.gammas, budget_of(plan.memory), pool)
    for g, source in enumerate(sources):
        if plan.loss == "squared" and not isinstance(source, CachedSource):
            grid.loss[g] = _least_squares_losses(source.K, form, t, grid.Cs, plan, pool)
            continue
        threads = pool.threads if source.rows.whole else 1
        with ThreadPoolExecutor(threads) as executor:
            futures = [
                executor.submit(_fold_losses, source, form, t, fold, grid.Cs, plan, settings)
                for fold in form.folds
            ]
            while wait(futures, timeout=POLL).not_done:
                stop.poll()
        for k, future in enumerate(futures):
            grid.loss[g, :, k] = future.result()


def _weights_of(form: NormalForm, fold: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, float]:
    """Weights of the rows that a fold trains on, and their share of all."""
    s = np.zeros(len(form.weights))
    s[fold[0]] = form.weights[fold[0]]
    return s, float(s.sum() / form.weights.sum()) or 1.0


def _least_squares_losses(
    K: np.ndarray,
    form: NormalForm,
    t: np.ndarray,
    Cs: np.ndarray,
    plan: KernelRegressionPlan,
    pool: _core.Pool,
) -> np.ndarray:
    """Mean losses (Cs, folds) on the rows held out: all C and all folds together."""
    s, shares = zip(*(_weights_of(form, fold) for fold in form.folds))
    of_folds = np.array([Cs / share for share in shares])
    tol, most = plan.options.tol, plan.options.max_iter
    beta, _ = least_squares(K, t, np.array(s), of_folds, tol, pool, of_zero=True, most=most)
    losses = np.empty((len(Cs), len(s)))
    for k, (_, test) in enumerate(form.folds):
        f = times(K[test], beta[k].T, pool).astype(np.float64)
        weight = form.weights[test]
        losses[:, k] = [mean_loss(plan.losses, one[:, None], t[test], weight) for one in f.T]
    return losses


def _fold_losses(
    source: Source,
    form: NormalForm,
    t: np.ndarray,
    fold: tuple[np.ndarray, np.ndarray],
    Cs: np.ndarray,
    plan: KernelRegressionPlan,
    settings: Settings,
) -> np.ndarray:
    """The mean loss on the rows held out, for every C. lambda stays what it is on all rows."""
    (s, share), test = _weights_of(form, fold), fold[1]
    specs = plan.losses.specs()
    found = np.empty((len(Cs), len(test), len(specs)))
    pool = _core.Pool(1)
    for p, spec in enumerate(specs):
        path = RegressionPath(RegressionProblem(source, t, s, spec), pool)
        for at, f in enumerate(along(path, Cs / share, settings)):
            found[at, :, p] = f[test]
    if plan.non_crossing:
        found.sort(axis=2)
    weight = form.weights[test]
    return np.array([mean_loss(plan.losses, f, t[test], weight) for f in found])
