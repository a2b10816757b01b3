"""Several labels a row: one linear machine for each column of an indicator matrix.

The problems share the rows and are solved side by side. Signs and costs of a label are made while
it is solved, so thousands of labels need no memory beyond their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.models.multi_label import MultiLabelModel
from maxmargin.solvers.common.start import Start
from maxmargin.training.fit import LinearPlan, MakeLoss, Trained, fit
from maxmargin.training.linear import weights_of
from maxmargin.training.weights import checked_weights, class_factors

ABSENT_PRESENT = np.array([0, 1])


@dataclass(frozen=True)
class Indicators:
    """Which rows have which labels, (n, k) of zeros and ones, and what each row weighs."""

    present: Any  # an array, or CSC
    weight: np.ndarray | None = None

    def column(self, j: int) -> np.ndarray:
        """Whether each row has label j."""
        if not sparse.issparse(self.present):
            return self.present[:, j] != 0
        start, end = self.present.indptr[j], self.present.indptr[j + 1]
        has = np.zeros(self.present.shape[0], dtype=bool)
        has[self.present.indices[start:end]] = self.present.data[start:end] != 0
        return has

    def costs(self, j: int, plan: LinearPlan) -> np.ndarray:
        """``C_i`` of the problem of label j: class weights are those of 0 and 1."""
        has = self.column(j).astype(np.intp)
        total = np.bincount(has, self.weight, minlength=2)
        cost = plan.C * class_factors(ABSENT_PRESENT, total, plan.class_weight)[has]
        return cost if self.weight is None else cost * self.weight


def train_labels(
    X: Any,
    Y: Any,
    plan: LinearPlan,
    sample_weight: np.ndarray | None = None,
    starts: list[Start] | None = None,
) -> Trained:
    """Train on finite rows X with an indicator matrix Y, dense or sparse, of as many rows.

    A label that no row has, or every row, is learned like any other: its machine says so always.
    """
    if plan.probability:
        raise ValueError(
            "probability is for one label a row: leave it out, or take loss='logistic', whose "
            "scores are the log-odds of each label"
        )
    present = Y.tocsc() if sparse.issparse(Y) else np.asarray(Y)
    check_indicators(present)
    labels = Indicators(present, checked_weights(sample_weight, present.shape[0]))
    losses = [_loss_of(labels, j, plan) for j in range(present.shape[1])]
    fitted = fit(X, losses, plan, starts, keep_dual_variables=False)
    coef, intercept = weights_of(fitted.d, fitted.solutions, plan)
    model = MultiLabelModel(
        coef=coef,
        intercept=intercept,
        target_type=present.dtype.name,
        certificates=tuple(solution.certificate for solution in fitted.solutions),
        solver=fitted.solver,
        parameters=plan.parameters(),
    )
    return Trained(model, fitted.solutions, [Start(s.w) for s in fitted.solutions])


def check_indicators(present: Any) -> None:
    """Refuses other numbers: of -1 and 1 both would count as present."""
    values = present.data if sparse.issparse(present) else present
    others = values[(values != 0) & (values != 1)]
    if others.size:
        raise ValueError(
            f"y holds {others.flat[0]}; expected an indicator matrix: 1 where a row has a label, "
            "else 0 (y > 0 makes one of -1 and 1)"
        )


def _loss_of(labels: Indicators, j: int, plan: LinearPlan) -> MakeLoss:
    spec = LossSpec.of(plan.loss, "classification")

    def make(pool: _core.Pool) -> Pointwise:
        signs = np.where(labels.column(j), 1.0, -1.0)
        return spec.on_margins(signs, labels.costs(j, plan), pool)

    return make
