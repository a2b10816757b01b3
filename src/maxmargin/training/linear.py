"""Linear classifiers: from rows and labels to a model.

problem j    minimise  1/2 ||w||^2 + sum_i C_i f(y_i (<w, x_i> + b)),     f one of `losses.LOSSES`
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.models.linear import LinearModel
from maxmargin.parameters import Options
from maxmargin.problem import Clock, Solution, Status
from maxmargin.solvers.common.run import Interrupts
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.table import ARRAYS
from maxmargin.training.calibration import (
    Calibrated,
    ScoresLeftOut,
    calibrate,
    key_direction,
    method_of,
)
from maxmargin.training.fit import (
    InMemory,
    LinearPlan,
    MakeLoss,
    SamePlace,
    Trained,
    fit,
    place_of,
)
from maxmargin.training.left_out import LeftOut, is_affordable, linear_scores, most_rows
from maxmargin.training.targets import Labels, labels_of


def train(
    X: Any,
    y: np.ndarray,
    plan: LinearPlan,
    sample_weight: np.ndarray | None = None,
    starts: list[Start] | None = None,
) -> Trained:
    """Train on finite rows X (dense, CSR, or a source of blocks) with labels y that sort.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    return train_on(X, labels_of(y, sample_weight, plan.class_weight), plan, starts)


def train_on(
    X: Any, labels: Labels, plan: LinearPlan, starts: list[Start] | None = None
) -> Trained:
    """The same, with labels already made."""
    clock, cost = Clock(), labels.costs(plan.C)
    fitted = fit(X, losses_of(labels, cost, plan.loss), plan, starts)
    model = linear_model(fitted.d, labels.classes, fitted.solver, fitted.solutions, plan)
    trained = Trained(model, fitted.solutions, [start_of(s, cost) for s in fitted.solutions])
    method = method_of(plan.probability)
    if plan.probability is True and model.calibration is not None:
        method = None  # the logistic loss gives probabilities by itself
    if method is not None:
        trained = calibrated(method, X, labels, plan, trained, clock)
    return trained.on(X)


def calibrated(
    method: str, X: Any, labels: Labels, plan: LinearPlan, trained: Trained, clock: Clock
) -> Trained:
    """The same with probabilities: machines without some of the rows start from its answer."""
    place = place_of(X, plan, Interrupts())
    warm = all(start.share is not None for start in trained.starts)
    solver = trained.model.solver if warm or place.kind != ARRAYS else "auto"

    def margins(solutions: list[Solution]) -> np.ndarray:
        return np.column_stack([place.matvec(solution.w) for solution in solutions])

    def scores_without(rows: np.ndarray, options: Options) -> np.ndarray | None:
        if not warm:  # another method, or from nothing: a share of the iterations says nothing
            options = replace(options, max_iter=plan.options.max_iter)
        own = replace(plan, solver=solver, probability=False, options=options)
        others = labels.without(rows)
        losses = losses_of(others, others.costs(plan.C), plan.loss)
        where = SamePlace(place) if place.kind == ARRAYS else X
        solutions = fit(where, losses, own, trained.starts if warm else None).solutions
        if any(solution.certificate.status is Status.INTERRUPTED for solution in solutions):
            return None
        return margins(solutions)[rows]

    keys = place.matvec(np.append(key_direction(place.d), np.zeros(place.width - place.d)))
    known = Calibrated(labels, keys, trained.model.certificates, lambda: margins(trained.solutions))
    if isinstance(place, InMemory) and is_affordable(place.rows):
        left_out = one_left_out(place.rows, labels, plan, trained)
        known = replace(known, left_out=left_out, most=most_rows(place.rows))
    calibration = calibrate(method, known, scores_without, plan.options, clock)
    return replace(trained, model=replace(trained.model, calibration=calibration))


def one_left_out(
    rows: ArrayRows, labels: Labels, plan: LinearPlan, trained: Trained
) -> ScoresLeftOut:
    """What gives the scores of rows without these rows."""
    spec, cost = LossSpec.of(plan.loss, "classification"), labels.costs(plan.C)
    weight = float(labels.weights().sum())

    def scores(out: LeftOut) -> np.ndarray:
        found = []
        for k, start in enumerate(trained.starts):
            loss = spec.on_margins(labels.signs(k), cost, rows.pool)
            found.append(linear_scores(rows, loss, start.w, start.share, weight, out))
        return np.column_stack(found)

    return scores


def losses_of(labels: Labels, cost: np.ndarray, name: str) -> list[MakeLoss]:
    """One for each problem."""
    spec = LossSpec.of(name, "classification")
    return [loss_of(spec, labels, k, cost) for k in range(len(labels.positives))]


def loss_of(spec: LossSpec, labels: Labels, k: int, cost: np.ndarray) -> MakeLoss:
    """The loss of the k-th problem."""

    def make(pool: _core.Pool) -> Pointwise:
        return spec.on_margins(labels.signs(k), cost, pool)

    return make


def start_of(solution: Solution, cost: np.ndarray) -> Start:
    """Where a neighbouring problem can begin; takes over the dual variables of the solution."""
    if solution.dual_variables is None:
        return Start(solution.w)
    share, solution.dual_variables = solution.dual_variables, None
    share[cost == 0] = 0
    np.divide(share, cost, out=share, where=cost > 0, casting="same_kind")
    return Start(solution.w, share)


def linear_model(
    d: int, classes: np.ndarray, solver: str, solutions: list[Solution], plan: LinearPlan
) -> LinearModel:
    """What is kept of the solutions of all problems."""
    coef, intercept = weights_of(d, solutions, plan)
    return LinearModel(
        coef=coef,
        intercept=intercept,
        classes=classes,
        certificates=tuple(solution.certificate for solution in solutions),
        solver=solver,
        parameters=plan.parameters(),
    )


def weights_of(
    d: int, solutions: list[Solution], plan: LinearPlan
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the features, (k, d), and the intercepts, (k,)."""
    W = np.stack([solution.w for solution in solutions])
    intercept = plan.bias * W[:, d] if plan.bias > 0 else np.zeros(len(W))
    return np.ascontiguousarray(W[:, :d]), intercept
