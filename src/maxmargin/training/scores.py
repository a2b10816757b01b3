"""Linear scores trained by a loss of all predictions: rankings, ordered labels, measures.

minimise   1/2 ||w||^2 + R(X w),     R a loss of `maxmargin.losses`
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.measures import MEASURES, measure_loss, number_taken
from maxmargin.losses.ranks import Ranks
from maxmargin.models.linear import LinearScores, MeasureModel
from maxmargin.models.ordinal import OrdinalModel, best_thresholds, places_of
from maxmargin.models.ranking import RankModel
from maxmargin.parameters import one_of, positive
from maxmargin.problem import Solution, Status, callers_line
from maxmargin.solvers.common.start import Start
from maxmargin.training.fit import LinearPlan, MakeLoss, Trained, fit, predictions_of
from maxmargin.training.targets import Labels, checked_queries, labels_of, numbers_in
from maxmargin.training.weights import checked_weights

OF_ORDER = ("prbep", "roc_auc")  # a constant added to all scores changes nothing
AT_K = ("precision_at_k", "recall_at_k")


def trained_scores(
    model: type[LinearScores], solutions: list[Solution], plan: LinearPlan, **more: Any
) -> Trained:
    """The model of the solutions; `more` are its arrays, and parameters the plan does not know."""
    width = len(solutions[0].w) - (1 if plan.bias > 0 else 0)
    parameters = plan.parameters() | more.pop("parameters", {})
    kept = model(
        coef=np.array([solution.w[:width] for solution in solutions]),
        certificates=tuple(solution.certificate for solution in solutions),
        solver="ocas" if plan.solver == "auto" else plan.solver,
        parameters=parameters,
        **more,
    )
    starts = [Start(solution.w, planes=solution.planes, C=plan.C) for solution in solutions]
    return Trained(kept, solutions, starts)


# ---------------------------------------------------------------- rankings


def train_ranking(
    X: Any,
    y: np.ndarray,
    plan: LinearPlan,
    qid: Any = None,
    sample_weight: Any = None,
    starts: Sequence[Start] | None = None,
) -> Trained:
    """One score that puts rows in the order of their targets, query by query."""
    qid, weight = checked_queries(qid, len(y)), checked_weights(sample_weight, len(y))
    y = numbers_in(y, "a ranking")

    def loss(pool: Any) -> Ranks:
        return Ranks(y, plan.C, pool, qid=qid, sample_weight=weight)

    return trained_scores(RankModel, fit(X, [loss], plan, starts).solutions, plan).on(X)


def train_ordinal(
    X: Any,
    y: np.ndarray,
    plan: LinearPlan,
    order: Sequence[Any] | None = None,
    sample_weight: Any = None,
    starts: Sequence[Start] | None = None,
) -> Trained:
    """A score that ranks rows by label, and thresholds that cut it into labels."""
    weight = labels_of(y, sample_weight, plan.class_weight).weight
    classes, place = places_of(y, order)

    def loss(pool: Any) -> Ranks:
        return Ranks(place, plan.C, pool, sample_weight=weight)

    solutions = fit(X, [loss], plan, starts).solutions
    thresholds = np.zeros(classes.size - 1)
    if not getattr(X, "failed", False):  # without all rows nothing says where to cut
        score = predictions_of(X, solutions[0].w, plan)
        thresholds = best_thresholds(score, place, classes.size, weight)
    return trained_scores(
        OrdinalModel,
        solutions,
        plan,
        thresholds=thresholds,
        classes=classes,
        parameters={"order": None if order is None else list(order)},
    ).on(X)


# ---------------------------------------------------------------- measures


@dataclass(frozen=True)
class Measure:
    """A measure of all labels at once; `beta` is for "fbeta", `k` for the measures at k.

    `pos_label` is the positive one of two classes; None for the second.
    """

    name: str = "f1"
    beta: float = 1.0
    k: int | float | None = None
    pos_label: Any = None

    def __post_init__(self) -> None:
        one_of("measure", self.name, MEASURES)
        if hasattr(self.pos_label, "item"):  # a number of numpy's, as model files have none
            object.__setattr__(self, "pos_label", self.pos_label.item())
        check_of_measures(self.name, self.beta, self.k)

    def loss(self, signs: np.ndarray, C: float, weight: np.ndarray | None) -> MakeLoss:
        def make(pool: Any) -> Loss:
            return measure_loss(
                self.name, signs, C, pool, beta=self.beta, k=self.k, sample_weight=weight
            )

        return make

    def turns(self, classes: np.ndarray) -> bool:
        """Whether the positive class is the first of two: scores are then those of the other way
        round, since the second class is the one above the threshold."""
        if self.pos_label is None:
            return False
        labels = [str(label) for label in classes.tolist()]
        if len(labels) != 2 or str(self.pos_label) not in labels:
            raise ValueError(
                f"pos_label is {self.pos_label!r}, but the labels are "
                f"{', '.join(labels[:10])}: expected one of two labels"
            )
        return str(self.pos_label) == labels[0]

    @property
    def needs_cut(self) -> bool:
        """Whether scores have no threshold of their own at 0."""
        return self.name in OF_ORDER + AT_K

    def learned_bias(self, bias: float) -> float:
        """Measures of the order of the scores have no constant to learn."""
        return 0.0 if self.name in OF_ORDER else bias


def check_of_measures(name: str, beta: Any, k: Any) -> None:
    """Refuse parameters of one measure beside another measure or loss."""
    if positive("beta", beta) != 1 and name != "fbeta":
        raise ValueError(f"beta is for 'fbeta'; this is {name!r}: leave it out")
    if k is not None and name not in AT_K:
        raise ValueError(
            f"k is for {' and '.join(map(repr, AT_K))}; this is {name!r}: leave it out"
        )


def train_measure(
    X: Any,
    y: np.ndarray,
    plan: LinearPlan,
    measure: Measure,
    sample_weight: Any = None,
    starts: Sequence[Start] | None = None,
) -> Trained:
    """A linear classifier for a measure; several classes one against the rest."""
    labels = labels_of(y, sample_weight, plan.class_weight)
    learned = replace(plan, bias=measure.learned_bias(plan.bias))
    turn = -1.0 if measure.turns(labels.classes) else 1.0
    signs = [turn * labels.signs(k) for k in range(len(labels.positives))]
    losses = [measure.loss(sign, plan.C, labels.weight) for sign in signs]
    fitted = fit(X, losses, learned, starts)
    solutions = fitted.solutions
    for solution, sign in zip(solutions, signs):
        warn_if_nothing_learned(solution, measure, plan, labels, sign)
    constant = np.array([learned.bias * s.w[-1] if learned.bias else 0.0 for s in solutions])
    intercept = constant
    if measure.needs_cut and not getattr(X, "failed", False):  # without all rows there is no cut
        scores = [predictions_of(X, s.w[: fitted.d], plan) for s in solutions]
        cuts = [cut(score, sign, measure, labels) for score, sign in zip(scores, signs)]
        intercept = -np.array(cuts)
    trained = trained_scores(
        MeasureModel,
        solutions,
        learned,
        intercept=turn * intercept,
        learned_intercept=turn * constant,
        classes=labels.classes,
        parameters={
            "fit_intercept": plan.bias > 0,
            "intercept_scaling": plan.bias or 1.0,
            "measure": measure.name,
            "beta": measure.beta,
            "k": measure.k,
            "pos_label": measure.pos_label,
        },
    )
    return trained.with_model(replace(trained.model, coef=turn * trained.model.coef)).on(X)


def warn_if_nothing_learned(
    solution: Solution, measure: Measure, plan: LinearPlan, labels: Labels, signs: np.ndarray
) -> None:
    """Say so where no weights are better than all zero by more than the tolerance."""
    certificate, tol = solution.certificate, plan.options.tol
    if certificate.status is not Status.OPTIMAL:
        return
    at_zero = measure.loss(signs, plan.C, labels.weight)(_core.Pool(1)).at_zero
    if certificate.dual >= (1 - tol) * at_zero:
        rare = "Its bound is loose where positives are rare: train for measure='roc_auc', or try a "
        remedy = (
            rare + "larger C or a smaller tol"
            if measure.name in ("f1", "fbeta")
            else "Try a larger C, or features that tell the classes apart"
        )
        warnings.warn(
            f"nothing was learned: no weights are better for measure {measure.name!r} than all "
            f"zero by more than tol = {tol:g}. {remedy}",
            UserWarning,
            stacklevel=callers_line(),
        )


def cut(scores: np.ndarray, signs: np.ndarray, measure: Measure, labels: Labels) -> float:
    """The score above which as much weight of training rows lies as the measure takes."""
    weight = labels.weights()
    taken = float(weight[signs > 0].sum())
    if measure.name in AT_K:
        taken = number_taken(measure.name, measure.k, weight)
    return best_cut(scores[weight > 0], weight[weight > 0], taken)


def best_cut(scores: np.ndarray, weight: np.ndarray, taken: float) -> float:
    """A cut with weight `taken` above it, or as near as rows that tie allow."""
    values, place = np.unique(scores, return_inverse=True)
    above = np.cumsum(np.bincount(place, weight)[::-1])[::-1]
    cuts = np.concatenate(([values[0] - 1.0], 0.5 * (values[:-1] + values[1:]), [values[-1] + 1.0]))
    return float(cuts[np.argmin(np.abs(np.append(above, 0.0) - taken))])
