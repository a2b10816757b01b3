"""From rows and labels to sparse kernel models: one basis for all classes, one run for all sizes.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.measures import MEASURES
from maxmargin.losses.pointwise import LossSpec
from maxmargin.losses.table import losses_for
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.parameters import one_of
from maxmargin.problem import Clock, Solution
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.subspace.subspace_pursuit import Stage
from maxmargin.training.calibration import method_of
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.linear import calibrated
from maxmargin.training.scores import Measure, check_of_measures, cut
from maxmargin.training.span import Span, SpanPlan, TrainedSpan, pursue
from maxmargin.training.targets import Labels, labels_of


@dataclass(frozen=True, kw_only=True)
class SparseKernelPlan(SpanPlan):
    """What a machine on few basis vectors is to minimise, and how. Construction checks every value.

    Parameters are those of SparseKernelSVC.
    """

    loss: str = "hinge"
    beta: float = 1.0
    k: int | float | None = None
    pos_label: Any = None
    delta: float | None = None
    class_weight: Mapping[Any, Any] | str | None = None
    probability: bool | str = False

    kept: ClassVar[tuple[str, ...]] = (
        *("loss", "beta", "k", "class_weight", "probability", "delta"),
        *SpanPlan.kept,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("loss", self.loss, (*losses_for("classification"), *MEASURES))
        check_of_measures(self.loss, self.beta, self.k)
        if self.pos_label is not None and self.loss not in MEASURES:
            raise ValueError(
                f"pos_label is for measures, but loss={self.loss!r} treats both classes alike: "
                "leave it out"
            )
        if method_of(self.probability) is not None and self.loss in MEASURES:
            raise ValueError(
                f"loss={self.loss!r} is a measure of all labels at once, whose cut probabilities "
                "would undo: leave probability out, or use loss='hinge'"
            )

    @property
    def measure(self) -> Measure | None:
        """The measure of all labels at once that the loss bounds, if it is not a sum over rows."""
        return (
            Measure(self.loss, self.beta, self.k, self.pos_label) if self.loss in MEASURES else None
        )

    def problem(self, signs: np.ndarray, labels: Labels, pool: _core.Pool) -> Loss:
        """The loss of one class (sign +1) against the others."""
        if self.measure is not None:
            return self.measure.loss(signs, self.C, labels.weight)(pool)
        return LossSpec(self.loss).on_margins(signs, labels.costs(self.C), pool)

    def parameters(self, stage: Stage, gamma: float) -> dict[str, Any]:
        label = None if self.measure is None else self.measure.pos_label
        return super().parameters(stage, gamma) | {"pos_label": label}


def train(X: Any, y: np.ndarray, plan: SparseKernelPlan, sample_weight: Any = None) -> TrainedSpan:
    """Trains on finite rows X (dense or CSR) with labels y and weights of rows.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    clock = Clock()
    labels = labels_of(y, sample_weight, plan.class_weight)
    classes = labels.classes
    turn = -1.0 if plan.measure is not None and plan.measure.turns(classes) else 1.0
    codings = [turn * signs for signs in coding_of(len(classes), "ovr").labels(labels.codes)]

    def losses(pool: _core.Pool) -> list[Loss]:
        return [plan.problem(signs, labels, pool) for signs in codings]

    span = pursue(X, losses, plan, labels.weights())
    path = [
        SparseKernelModel(
            **span.parts(stage, turn),
            classes=classes,
            intercept=_cuts(stage, codings, labels, plan, turn),
            parameters=plan.parameters(stage, span.kernel.gamma),
        )
        for stage in span.stages
    ]
    method = method_of(plan.probability)
    if method is not None and not (plan.probability is True and path[-1].calibration is not None):
        path = [_calibrated(method, model, span, labels, plan, clock) for model in path]
    return TrainedSpan(path, span.stages, span.kernel.gamma)


def _calibrated(
    method: str,
    model: SparseKernelModel,
    span: Span,
    labels: Labels,
    plan: SparseKernelPlan,
    clock: Clock,
) -> SparseKernelModel:
    """The model with probabilities, by linear machines on the coordinates in its span.

    The basis is that of all rows: what is held out is the part of the labels in the coefficients.
    """
    k = model.n_basis
    W = span.subspace.L[:k, :k].T @ model.coefficients
    solutions = [Solution(w, c) for w, c in zip(W.T.copy(), model.certificates)]
    linear = LinearPlan(plan.C, loss=plan.loss, bias=0.0, options=plan.options)
    trained = Trained(model, solutions, [Start(solution.w) for solution in solutions])
    rows = span.subspace.all_coordinates(k)
    return calibrated(method, rows, labels, linear, trained, clock).model


def _cuts(
    stage: Stage,
    codings: list[np.ndarray],
    labels: Labels,
    plan: SparseKernelPlan,
    turn: float,
) -> np.ndarray | None:
    """What is added to the scores where a measure of their order says nothing of a threshold."""
    measure = plan.measure
    if measure is None or not measure.needs_cut:
        return None
    return -turn * np.array(
        [
            cut(solution.predictions, signs, measure, labels)
            for solution, signs in zip(stage.solutions, codings, strict=True)
        ]
    )
