"""Machines on few basis vectors as tasks (see `maxmargin.training.tasks`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.training import span_scores, subspace
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.span_scores import SpanOrdinalPlan, SpanRankPlan, SpanRegressionPlan
from maxmargin.training.subspace import SparseKernelPlan
from maxmargin.training.tasks import OfOrder, OfRanks, OfValues, Task, judge_of


class InSpan(Task):
    """Machines on few basis vectors, judged on rows taken out: kernel values are dear."""

    keeps_planes: ClassVar[bool] = False

    def values(self, X: Any, model: Any, test: np.ndarray) -> np.ndarray:
        return model.decision_function(X[test], self.plan.options.threads)


@dataclass(frozen=True)
class OfBasis(InSpan):
    """Kernel machines on few basis vectors."""

    plan: SparseKernelPlan
    has_cut: ClassVar[bool] = True

    def train(self, X: Any, starts: Any = None) -> Any:
        return subspace.train(X, self.y, self.plan, self.weight)

    def scoring(self, axis: str | None) -> Any:
        measure = self.plan.measure
        return "accuracy" if measure is None else judge_of(measure, axis)


@dataclass(frozen=True)
class ValuesInSpan(InSpan, OfValues):
    """Regressions on few basis vectors, by the loss that they minimise."""

    plan: SpanRegressionPlan  # type: ignore[assignment]

    def train(self, X: Any, starts: Any = None) -> Any:
        return span_scores.train_regression(X, self.y, self.plan, self.weight)

    @property
    def losses(self) -> RegressionPlan:
        return self.plan.losses


@dataclass(frozen=True)
class RanksInSpan(InSpan, OfRanks):
    """Rankings on few basis vectors."""

    plan: SpanRankPlan  # type: ignore[assignment]

    def train(self, X: Any, starts: Any = None) -> Any:
        return span_scores.train_ranking(X, self.y, self.plan, self.groups, self.weight)


@dataclass(frozen=True)
class OrderInSpan(InSpan, OfOrder):
    """Labels that have an order, on few basis vectors."""

    plan: SpanOrdinalPlan  # type: ignore[assignment]

    def train(self, X: Any, starts: Any = None) -> Any:
        return span_scores.train_ordinal(X, self.y, self.plan, self.weight)
