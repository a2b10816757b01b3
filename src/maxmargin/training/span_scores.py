"""Regressions, rankings and ordered labels in the span of few basis vectors.

minimise   1/2 ||f||^2 + R(f(x_1) .. f(x_n))

R is the loss of `LinearSVR`, `RankSVM` or `OrdinalSVC`: losses see predictions only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.ranks import Ranks
from maxmargin.models.ordinal import best_thresholds, places_of
from maxmargin.models.sparse_kernel_scores import (
    SparseKernelOrdinalModel,
    SparseKernelRankModel,
    SparseKernelRegressionModel,
)
from maxmargin.solvers.subspace.subspace_pursuit import Stage
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.span import SpanPlan, TrainedSpan, pursue
from maxmargin.training.targets import checked_queries, labels_of, targets_of
from maxmargin.training.weights import checked_weights


@dataclass(frozen=True, kw_only=True)
class SpanRegressionPlan(SpanPlan):
    """A regression on few basis vectors. Parameters are those of SparseKernelSVR."""

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    quantile: float | Sequence[float] = 0.5
    delta: float = 1.0
    non_crossing: bool = False
    span_delta: float | None = None

    kept: ClassVar[tuple[str, ...]] = ("span_delta", *SpanPlan.kept)
    nearness_name: ClassVar[str] = "span_delta"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.losses.specs()

    @property
    def losses(self) -> RegressionPlan:
        """The losses, as a linear regression has them."""
        names = ("C", "loss", "epsilon", "quantile", "delta", "non_crossing")
        return RegressionPlan(**{name: getattr(self, name) for name in names})

    def parameters(self, stage: Stage, gamma: float) -> dict[str, Any]:
        of_loss = self.losses.parameters()
        names = ("loss", "epsilon", "quantile", "delta", "non_crossing")
        return super().parameters(stage, gamma) | {name: of_loss[name] for name in names}


@dataclass(frozen=True, kw_only=True)
class SpanRankPlan(SpanPlan):
    """A ranking on few basis vectors. Parameters are those of SparseKernelRankSVM."""

    delta: float | None = None

    kept: ClassVar[tuple[str, ...]] = ("delta", *SpanPlan.kept)


@dataclass(frozen=True, kw_only=True)
class SpanOrdinalPlan(SpanRankPlan):
    """Ordered labels on few basis vectors. Parameters are those of SparseKernelOrdinalSVC."""

    order: Sequence[Any] | None = None
    class_weight: Mapping[Any, Any] | str | None = None

    kept: ClassVar[tuple[str, ...]] = ("class_weight", *SpanRankPlan.kept)

    def parameters(self, stage: Stage, gamma: float) -> dict[str, Any]:
        order = None if self.order is None else list(self.order)
        return super().parameters(stage, gamma) | {"order": order}


def train_regression(
    X: Any, y: Any, plan: SpanRegressionPlan, sample_weight: Any = None
) -> TrainedSpan:
    """One function of a kernel's span, or one for each quantile, all on the same basis."""
    targets = targets_of(y, sample_weight)
    cost = targets.costs(plan.C)

    def losses(pool: _core.Pool) -> list[Loss]:
        return [spec.on_targets(targets.values, cost, pool) for spec in plan.losses.specs()]

    span = pursue(X, losses, plan, targets.weights())
    path = [
        SparseKernelRegressionModel(
            **span.parts(stage), parameters=plan.parameters(stage, span.kernel.gamma)
        )
        for stage in span.stages
    ]
    return TrainedSpan(path, span.stages, span.kernel.gamma)


def train_ranking(
    X: Any, y: np.ndarray, plan: SpanRankPlan, qid: Any = None, sample_weight: Any = None
) -> TrainedSpan:
    """A score that puts rows in the order of their targets, query by query."""
    n = len(y)
    qid, weight = checked_queries(qid, n), checked_weights(sample_weight, n)

    def losses(pool: _core.Pool) -> list[Loss]:
        return [Ranks(y, plan.C, pool, qid=qid, sample_weight=weight)]

    span = pursue(X, losses, plan, np.ones(n) if weight is None else weight)
    path = [
        SparseKernelRankModel(
            **span.parts(stage), parameters=plan.parameters(stage, span.kernel.gamma)
        )
        for stage in span.stages
    ]
    return TrainedSpan(path, span.stages, span.kernel.gamma)


def train_ordinal(
    X: Any, y: np.ndarray, plan: SpanOrdinalPlan, sample_weight: Any = None
) -> TrainedSpan:
    """A score that ranks rows by label, and thresholds that cut it into labels."""
    labels = labels_of(y, sample_weight, plan.class_weight)
    classes, place = places_of(y, plan.order)

    def losses(pool: _core.Pool) -> list[Loss]:
        return [Ranks(place, plan.C, pool, sample_weight=labels.weight)]

    span = pursue(X, losses, plan, labels.weights())
    path = [
        SparseKernelOrdinalModel(
            **span.parts(stage),
            thresholds=best_thresholds(
                stage.solutions[0].predictions, place, classes.size, labels.weight
            ),
            classes=classes,
            parameters=plan.parameters(stage, span.kernel.gamma),
        )
        for stage in span.stages
    ]
    return TrainedSpan(path, span.stages, span.kernel.gamma)
