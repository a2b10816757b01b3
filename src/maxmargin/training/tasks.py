"""What is learned, one class for each kind of machine: one fit and a search both go by it.

A task knows the targets, the weights and the plan, and `train` makes the model. For a search
`without` leaves rows out by giving them no weight, `at` sets C or another parameter, and `held_out`
are the predictions. Machines on few basis vectors are in `span_tasks`, those of streams in
`stream_search`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.data.features import MappedSource
from maxmargin.metrics.named import HeldOut, Named
from maxmargin.training import linear, regression, scores
from maxmargin.training.fit import LinearPlan
from maxmargin.training.folds import Folds, folds_of
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.scores import AT_K, Measure
from maxmargin.training.targets import checked_queries, labels_of, targets_of
from maxmargin.training.weights import checked_weights

HIGHEST_GRADE = 31  # beyond, gains of 2^grade - 1 make no sense: the target is no grade


@dataclass(frozen=True)
class Task(ABC):
    """Targets `y`, `weight` of rows (None: 1), `groups` that folds keep whole, and a plan."""

    y: np.ndarray
    plan: Any
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    counts: np.ndarray | None = None  # what rows count where they are judged

    has_cut: ClassVar[bool] = False  # labels of two classes come by a threshold
    keeps_planes: ClassVar[bool] = False  # the next C of a path begins with them

    def __post_init__(self) -> None:
        checked_queries(self.groups, len(self.y))
        object.__setattr__(self, "weight", checked_weights(self.weight, len(self.y)))

    def without(self, rows: np.ndarray) -> Self:
        """The same with these rows left out."""
        weight = np.ones(len(self.y)) if self.weight is None else np.array(self.weight, float)
        counts = None if self.weight is None else weight.copy()
        weight[rows] = 0.0
        return replace(self, weight=weight, counts=counts)

    def at(self, point: dict[str, float]) -> Self:
        """The same with other values of parameters."""
        known = {f.name for f in fields(self.plan)}
        return replace(
            self,
            plan=replace(self.plan, **{k: v for k, v in point.items() if k in known}),
            **{k: v for k, v in point.items() if k not in known},  # type: ignore[arg-type]
        )

    def along_C(self) -> Self:
        """The same for fits after which another C follows."""
        if not self.keeps_planes:
            return self
        return replace(self, plan=replace(self.plan, keeps_planes=True))

    @abstractmethod
    def train(self, X: Any, starts: Any = None) -> Any:
        """The model, with where a neighbouring one can start. Ctrl-C gives the best so far."""

    def paths(self, X: Any, tests: Sequence[np.ndarray]) -> Any:
        """What trains the folds along C, one for each; None where each fold is for itself."""
        return None

    def scoring(self, axis: str | None) -> Any:
        """What is judged by unless told: a name, or a function of rows held out."""
        return "accuracy"

    def splits(self, folds: int) -> Folds:
        """Random folds."""
        codes = self.codes()
        return folds_of(folds, len(self.y), self.plan.options.seed, codes, self.groups)

    def codes(self) -> np.ndarray | None:
        """The classes that folds keep in proportion."""
        return np.unique(self.y, return_inverse=True)[1]

    def held_out(self, X: Any, model: Any, test: np.ndarray) -> HeldOut:
        """What a model says of the rows `test`."""
        values = self.values(X, model, test)
        counts = None if self.counts is None else self.counts[test]
        if counts is not None and not counts.any():
            counts = None
        groups = None if self.groups is None else self.groups[test]
        rows = None if hasattr(X, "blocks") else lambda: X[test]
        return HeldOut(model, values, self.y[test], counts, groups, rows)

    def values(self, X: Any, model: Any, test: np.ndarray) -> np.ndarray:
        """Decision values, or what is predicted: products with all rows copy none."""
        threads = self.plan.options.threads
        if hasattr(X, "blocks"):
            rows = X.compact if isinstance(X, MappedSource) else X  # the model has their map
            parts = [model.decision_function(block.X, threads) for block in rows.blocks()]
            return np.concatenate(parts)[test]
        return model.decision_function(X, threads)[test]

    def check_threshold(self, judge: Any) -> None:
        """Refuse to tune a threshold that there is not, or that no score depends on."""
        if not self.has_cut or len(np.unique(self.y)) != 2:
            raise ValueError("tune_threshold needs two classes, which one threshold tells apart")
        if self.plan.loss == "logistic" or self.plan.probability:
            raise ValueError(
                "tune_threshold would change probabilities: leave one of the two out (the logistic "
                "loss has probabilities)"
            )
        if isinstance(judge, Named) and not judge.has_threshold:
            raise ValueError(
                f"tune_threshold: {judge.title} looks at the order of the scores alone, which no "
                "threshold changes: leave it out, or judge by accuracy or f1"
            )


@dataclass(frozen=True)
class OfClasses(Task):
    """Linear classifiers."""

    plan: LinearPlan
    has_cut: ClassVar[bool] = True

    def train(self, X: Any, starts: Any = None) -> Any:
        labels = labels_of(self.y, self.weight, self.plan.class_weight)
        return linear.train_on(X, labels, self.plan, starts)


@dataclass(frozen=True)
class OfValues(Task):
    """Regressions, by the loss that they minimise."""

    plan: RegressionPlan

    def train(self, X: Any, starts: Any = None) -> Any:
        return regression.train_on(X, targets_of(self.y, self.weight), self.plan, starts)

    def scoring(self, axis: str | None) -> Any:
        if axis is not None:  # losses of unlike tubes cannot be compared
            return "mean_absolute_error"
        return self.negative_loss

    def negative_loss(self, held: HeldOut) -> float:
        return -regression.mean_loss(self.losses, held.values, held.y, held.weight)

    @property
    def losses(self) -> RegressionPlan:
        """What is minimised."""
        return self.plan

    def codes(self) -> np.ndarray | None:
        return None


@dataclass(frozen=True)
class OfRanks(Task):
    """Rankings: groups are queries."""

    plan: LinearPlan
    keeps_planes: ClassVar[bool] = True

    def train(self, X: Any, starts: Any = None) -> Any:
        return scores.train_ranking(X, self.y, self.plan, self.groups, self.weight, starts)

    def scoring(self, axis: str | None) -> Any:
        return "ndcg@10" if are_grades(self.y) else "pairwise_accuracy"

    def splits(self, folds: int) -> Folds:
        if self.groups is None:
            raise ValueError(
                "folds of a ranking keep queries whole, and there are none: give qid, or the folds "
                "themselves"
            )
        return super().splits(folds)

    def codes(self) -> np.ndarray | None:
        return None


@dataclass(frozen=True)
class OfOrder(Task):
    """Labels that have an order, by the mean number of places they are off."""

    plan: LinearPlan
    order: Sequence[Any] | None = None
    keeps_planes: ClassVar[bool] = True

    def train(self, X: Any, starts: Any = None) -> Any:
        return scores.train_ordinal(X, self.y, self.plan, self.order, self.weight, starts)

    def scoring(self, axis: str | None) -> Any:
        return "mean_absolute_error"


@dataclass(frozen=True)
class OfMeasure(Task):
    """Classifiers trained for a measure, which judges them."""

    plan: LinearPlan
    measure: Measure = Measure()  # noqa: RUF009
    has_cut: ClassVar[bool] = True
    keeps_planes: ClassVar[bool] = True

    def at(self, point: dict[str, float]) -> Self:
        measure = replace(self.measure, k=point["k"]) if "k" in point else self.measure
        return replace(super().at({k: v for k, v in point.items() if k != "k"}), measure=measure)

    def train(self, X: Any, starts: Any = None) -> Any:
        return scores.train_measure(X, self.y, self.plan, self.measure, self.weight, starts)

    def scoring(self, axis: str | None) -> Any:
        return judge_of(self.measure, axis)


def judge_of(measure: Measure, axis: str | None) -> Named:
    """The measure itself."""
    if axis == "k" and measure.name not in AT_K:
        raise ValueError(
            f"ks is for {' and '.join(map(repr, AT_K))}; this is {measure.name!r}: leave it out"
        )
    if axis == "k":
        raise ValueError(
            "measures at different k cannot be compared: name one with scoring, as precision@10"
        )
    name = measure.name.removesuffix("_at_k")
    at_k = name != measure.name
    name = "accuracy" if name == "error" else name
    return Named(name, measure.k if at_k else None, measure.beta)


def are_grades(y: np.ndarray) -> bool:
    """Whether targets are grades, as NDCG and average precision need them."""
    return bool(((y >= 0) & (y <= HIGHEST_GRADE) & (y == y.astype(int))).all())
