"""Linear regression: from rows and real-valued targets to a model.

problem j    minimise  1/2 ||w||^2 + sum_i C_i f(t_i - <w, x_i> - b),     f one of `losses.LOSSES`

There is one problem, but for several quantiles (or expectiles), which are one each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.losses.table import losses_of_levels
from maxmargin.models.regression import RegressionModel
from maxmargin.parameters import ParameterError, is_number
from maxmargin.problem import Solution
from maxmargin.solvers.common.start import Start
from maxmargin.training.fit import LinearPlan, MakeLoss, Trained, fit
from maxmargin.training.linear import start_of, weights_of
from maxmargin.training.targets import Targets, targets_of


@dataclass(frozen=True, kw_only=True)
class RegressionPlan(LinearPlan):
    """What a linear regression is to minimise, and how. Construction checks every value.

    `epsilon`, `quantile` and `delta` count for the losses that have them. `quantile` may be several
    increasing numbers: then there is a problem for each. `non_crossing` sorts their predictions.
    """

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    quantile: float | Sequence[float] = 0.5
    delta: float = 1.0
    non_crossing: bool = False

    def __post_init__(self) -> None:
        self.specs()
        super().__post_init__()

    def specs(self) -> list[LossSpec]:
        """The loss of each problem."""
        if is_number(self.quantile):
            return [self._spec(self.quantile)]
        levels = checked_levels(self.quantile)
        if self.loss not in losses_of_levels():
            takers = " or ".join(map(repr, losses_of_levels()))
            raise ValueError(
                f"several quantiles are for loss={takers}; the loss is {self.loss!r}, which fits "
                "one function: give one, or leave it out"
            )
        return [self._spec(level) for level in levels]

    def _spec(self, quantile: Any) -> LossSpec:
        given = {"epsilon": self.epsilon, "quantile": quantile, "delta": self.delta}
        return LossSpec.of(self.loss, "regression", **given)

    def parameters(self) -> dict[str, Any]:
        level = self.quantile
        kept = {
            "epsilon": float(self.epsilon),
            "quantile": float(level) if is_number(level) else [float(q) for q in level],  # type: ignore[arg-type, union-attr]
            "delta": float(self.delta),
            "non_crossing": bool(self.non_crossing),
        }
        shared = super().parameters()
        del shared["class_weight"]
        return shared | kept


def checked_levels(levels: Any) -> list[float]:
    """Several quantiles, increasing."""
    expected = "a number between 0 and 1, or several that increase"
    try:
        known = [float(level) for level in levels]
    except (TypeError, ValueError):
        raise ParameterError("quantile", expected, levels) from None
    if not known or any(a >= b for a, b in pairwise(known)):
        raise ParameterError("quantile", expected, levels)
    return known


def train_regression(
    X: Any,
    y: Any,
    plan: RegressionPlan,
    sample_weight: Any = None,
    starts: list[Start] | None = None,
) -> Trained:
    """Train on finite rows X (dense, CSR, or a source of blocks) with a number for each.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    return train_on(X, targets_of(y, sample_weight), plan, starts)


def train_on(
    X: Any, targets: Targets, plan: RegressionPlan, starts: list[Start] | None = None
) -> Trained:
    """The same, with targets already checked."""
    cost = targets.costs(plan.C)
    fitted = fit(X, [loss_of(spec, targets, cost) for spec in plan.specs()], plan, starts)
    model = regression_model(fitted.d, fitted.solver, fitted.solutions, plan)
    starts = [start_of(s, cost) for s in fitted.solutions]
    return Trained(model, fitted.solutions, starts).on(X)


def regression_model(
    d: int, solver: str, solutions: list[Solution], plan: RegressionPlan
) -> RegressionModel:
    """What is kept of the solutions of all problems."""
    coef, intercept = weights_of(d, solutions, plan)
    return RegressionModel(
        coef=coef,
        intercept=intercept,
        certificates=tuple(solution.certificate for solution in solutions),
        solver=solver,
        parameters=plan.parameters(),
    )


def loss_of(spec: LossSpec, targets: Targets, cost: np.ndarray) -> MakeLoss:
    """The loss of one problem."""

    def make(pool: _core.Pool) -> Pointwise:
        return spec.on_targets(targets.values, cost, pool)

    return make


def mean_loss(
    plan: RegressionPlan, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> float:
    """The weighted mean over rows of what the plan minimises; over several quantiles the mean."""
    share = np.full(len(y), 1.0 / len(y)) if weight is None else weight / weight.sum()
    columns = predicted.reshape(len(y), -1).T
    losses = [spec.on_targets(y, share, _core.Pool(1)) for spec in plan.specs()]
    means = [loss.value(np.ascontiguousarray(p)) for loss, p in zip(losses, columns)]
    return sum(means) / len(means)
