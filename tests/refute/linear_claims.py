"""What linear machines, those of streams and of scores claim."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import maxmargin
from tests.refute import optimum
from tests.refute.arithmetic import (
    PARAMETER_OF,
    Long,
    Measure,
    ResidualLoss,
    Value,
    hinge,
    linear_scores,
    long,
    pair_costs,
    ranks,
)
from tests.refute.claim import SMALL, C_of, Claim, signs_of, turned, weights_of
from tests.refute.drawing import family_of
from tests.refute.problem import Problem


def with_constant(problem: Problem) -> tuple[np.ndarray, np.longdouble]:
    """X with the constant feature of the intercept, and that constant (0: there is none)."""
    X = long(problem.X)
    constant = Long(problem.options.get("intercept_scaling", 1.0))
    if not problem.options.get("fit_intercept", True):
        return X, Long(0)
    return np.column_stack([X, np.full(len(X), constant)]), constant


def weights_with_constant(coef, intercept, constant) -> np.ndarray:
    return np.append(long(coef), Long(intercept) / constant) if constant else long(coef)


def linear_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    cost = Long(C_of(problem, estimator)) * weights_of(problem)
    for k, y in enumerate(signs_of(problem, estimator)):
        yield linear_claim(problem, estimator, k, y, cost)


def linear_claim(problem: Problem, estimator: Any, k: int, y, cost) -> Claim:
    X, constant = with_constant(problem)
    free = problem.options.get("intercept") == "free"
    w = weights_with_constant(estimator.coef_[k], estimator.intercept_[k], constant)
    loss = problem.options.get("loss", "hinge")
    if loss == "hinge":
        return hinge_claim(estimator.certificates_[k], X, y, cost, w, free)
    margin = ResidualLoss(loss, target_of(loss, y), cost, sign=y)
    return residual_claim(estimator.certificates_[k], X, margin, w, free)


def target_of(loss: str, y: np.ndarray) -> np.ndarray:
    """t of the residuals ``t - y p`` of a loss of margins."""
    return np.full(len(y), Long(loss != "logistic"))


def label_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every column of an indicator matrix; class weights are those of 0 and 1.

    Two rows of no weight stand for both, in a column that lacks one.
    """
    weight = np.ones(problem.n) if problem.weight is None else problem.weight
    for k, column in enumerate(problem.y.T):
        one = replace(
            problem,
            y=np.append(column != 0, [False, True]).astype(int),
            weight=np.append(weight, [0.0, 0.0]),
        )
        cost = Long(estimator.C) * weights_of(one)[:-2]
        yield linear_claim(problem, estimator, k, np.where(column != 0, 1, -1), cost)


def regression_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    X, constant = with_constant(problem)
    coef, intercept = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
    free = problem.options.get("intercept") == "free"
    for k, loss in enumerate(residual_losses(problem, estimator)):
        w = weights_with_constant(coef[k], intercept[k], constant)
        yield residual_claim(estimator.certificates_[k], X, loss, w, free)


def residual_losses(problem: Problem, estimator: Any) -> Iterator[ResidualLoss]:
    """One for each quantile or expectile, else one."""
    cost = Long(C_of(problem, estimator)) * weights_of(problem)
    options = {"epsilon": 0.0, "quantile": 0.5, "delta": 1.0} | problem.options
    name = options.get("loss", "epsilon_insensitive")
    levels = options["quantile"]
    for level in levels if isinstance(levels, list) else [levels]:
        given = {"epsilon": options["epsilon"], "delta": options["delta"], "quantile": level}
        x = given.get(PARAMETER_OF.get(name, ""), 0.0)
        yield ResidualLoss(name, long(problem.y), cost, x=x)


def residual_claim(certificate, X, loss: ResidualLoss, w, free: bool = False) -> Claim:
    def value(w) -> Value:
        scores = linear_scores(X, w, free)
        return scores.plus(loss.value(scores))

    def others() -> list[Value]:
        return [value(v) for v in optimum.least_residual(X, loss, long(w), free)]

    return Claim(certificate, value(w), others)


def hinge_claim(certificate, X, y, cost, w, free: bool = False) -> Claim:
    def value(w) -> Value:
        scores = linear_scores(X, w, free)
        return scores.plus(hinge(scores, y, cost))

    def others() -> list[Value]:
        if free:
            return [value(optimum.least_hinge_free(X, long(y), cost))]
        if np.sum(cost > 0) <= SMALL:
            return [value(optimum.least_hinge(X, long(y), cost))]
        return [value(w) for w in rival_weights(X, y, cost)]

    return Claim(certificate, value(w), others)


def rival_weights(X, y, cost) -> list[np.ndarray]:
    """w by Newton's method at a small tolerance; none where the data are too large for float64."""
    rival = maxmargin.LinearSVC(solver="newton", tol=1e-6, max_time=2.0, fit_intercept=False)
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        rival.fit(X.astype(np.float64), y, sample_weight=cost.astype(np.float64))
    if not hasattr(rival, "coef_"):
        return []
    return [long(rival.coef_[0])]


def rank_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    y, weight = problem.y, weights_of(problem)
    if family_of(problem.kind) == "ordinal":
        y = np.unique(y, return_inverse=True)[1]
    cost = pair_costs(y, C_of(problem, estimator), problem.qid, weight)
    yield ranking_claim(problem, estimator.certificates_[0], cost, estimator.coef_[0])


def ranking_claim(problem: Problem, certificate, cost, w) -> Claim:
    X = long(problem.X)

    def value(w) -> Value:
        scores = linear_scores(X, w)
        return scores.plus(ranks(scores, cost))

    def others() -> list[Value]:
        small = np.count_nonzero(cost) <= SMALL
        return [value(optimum.least_ranks(X, cost))] if small else []

    return Claim(certificate, value(w), others)


def measure_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    name, options = problem.options["measure"], problem.options
    of_order = name in ("prbep", "roc_auc")
    X, constant = (long(problem.X), Long(0)) if of_order else with_constant(problem)
    s = weights_of(problem)
    C, turn = C_of(problem, estimator), turned(problem)
    for k, y in enumerate(signs_of(problem, estimator)):
        certificate = estimator.certificates_[k]
        w = weights_with_constant(estimator.coef_[k], estimator.learned_intercept_[k], constant)
        y, w = turn * y, turn * w
        if name == "error":
            yield hinge_claim(certificate, X, y, Long(C) * s, w)
        elif name == "roc_auc":
            yield ranking_claim(problem, certificate, pair_costs(y, C, None, s), w)
        else:
            weight = None if np.all(s == 1) else s
            beta, k = options.get("beta", 1.0), options.get("k")
            measure = Measure(name, y, C, beta, k, weight)
            yield measure_claim(certificate, X, measure, w)


def measure_claim(certificate, X, measure: Measure, w) -> Claim:
    def value(w) -> Value:
        scores = linear_scores(X, w)
        return scores.plus(measure.loss(scores))

    def others() -> list[Value]:
        return [value(optimum.least_measure(X, measure))] if len(X) <= 30 else []

    return Claim(certificate, value(w), others)


def stream_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    regression = problem.kind.startswith("stream-regression")
    return (regression_claims if regression else linear_claims)(problem, estimator)
