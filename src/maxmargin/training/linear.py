"""Linear classifiers: from rows and labels to a model.

problem j    minimise  1/2 ||w||^2 + sum_i C_i f(y_i (<w, x_i> + b)),     f one of `losses.LOSSES`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.models.linear import LinearModel
from maxmargin.problem import Solution
from maxmargin.training.choice import Start
from maxmargin.training.fit import LinearPlan, MakeLoss, Trained, fit
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
    spec, cost = LossSpec.of(plan.loss, "classification"), labels.costs(plan.C)
    losses = [loss_of(spec, labels, k, cost) for k in range(len(labels.positives))]
    fitted = fit(X, losses, plan, starts)
    model = linear_model(fitted.d, labels.classes, fitted.solver, fitted.solutions, plan)
    return Trained(model, fitted.solutions, [start_of(s, cost) for s in fitted.solutions])


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
