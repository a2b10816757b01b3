"""What machines on few basis vectors claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.refute import optimum
from tests.refute.arithmetic import (
    Long,
    Measure,
    ResidualLoss,
    Scores,
    Value,
    hinge,
    kernel_scores,
    long,
    pair_costs,
    ranks,
)
from tests.refute.claim import SMALL, C_of, Claim, signs_of, turned, weights_of
from tests.refute.drawing import family_of
from tests.refute.fitting import dense, kernel_of
from tests.refute.kernel_claims import exact_machines, least_values
from tests.refute.linear_claims import residual_losses, target_of
from tests.refute.problem import Problem


@dataclass(frozen=True)
class SpanLoss:
    """A loss of scores, weights that may be best for it on rows Z, and values of machines on all
    rows where these are known."""

    value: Callable[[Scores], Value]
    least: Callable[[np.ndarray], list[np.ndarray]]
    exact: Callable[[], list[Value]] | None = None


def span_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    vectors = dense(estimator.basis_vectors_)
    K, error = kernel_of(problem, problem.X, vectors, estimator.gamma_)
    inner = kernel_of(problem, vectors, vectors, estimator.gamma_)
    square, turn = None, turned(problem)
    if problem.n <= SMALL:
        square = kernel_of(problem, problem.X, problem.X, estimator.gamma_)
    coefficients = turn * np.atleast_2d(estimator.dual_coef_)
    for k, loss in enumerate(losses_in_span(problem, estimator, turn, square)):

        def value(beta, loss=loss) -> Value:
            scores = kernel_scores(K, error, inner, beta)
            return scores.plus(loss.value(scores))

        def others(loss=loss, value=value) -> list[Value]:
            if problem.n > SMALL:
                return []
            return [value(beta) for beta in optimum.in_span(K, inner[0], loss.least)]

        yield Claim(estimator.certificates_[k], value(coefficients[k]), others, loss.exact)


def losses_in_span(problem: Problem, estimator: Any, turn: int, square: Any) -> Iterator[SpanLoss]:
    """One for every problem, in the order of `certificates_`."""
    family = family_of(problem.kind)
    if family == "sparse-kernel-regression":
        for loss in residual_losses(problem, estimator):
            yield of_residuals(loss, square)
    elif family in ("sparse-kernel-rank", "sparse-kernel-ordinal"):
        y = np.unique(problem.y, return_inverse=True)[1]
        qid = problem.qid if family == "sparse-kernel-rank" else None
        yield of_pairs(pair_costs(y, estimator.C, qid, weights_of(problem)))
    else:
        for y in signs_of(problem, estimator):
            yield of_labels(problem, estimator, turn * y, square)


def of_labels(problem: Problem, estimator: Any, y: np.ndarray, square: Any) -> SpanLoss:
    name, options = problem.options.get("loss", "hinge"), problem.options
    C, s = Long(C_of(problem, estimator)), weights_of(problem)
    if name in ("hinge", "error"):
        return SpanLoss(
            lambda scores: hinge(scores, y, C * s),
            lambda Z: [optimum.least_hinge(Z, long(y), C * s)],
            exact_machines(square, y, C * s) if name == "hinge" else None,
        )
    if name in ("squared_hinge", "logistic"):
        return of_residuals(ResidualLoss(name, target_of(name, y), C * s, sign=y), None)
    if name == "roc_auc":
        return of_pairs(pair_costs(y, C, None, s))
    weight = None if np.all(s == 1) else s
    measure = Measure(name, y, C, options.get("beta", 1.0), options.get("k"), weight)
    return SpanLoss(
        measure.loss, lambda Z: [optimum.least_measure(Z, measure)] if len(Z) <= 30 else []
    )


def of_residuals(loss: ResidualLoss, square: Any) -> SpanLoss:
    def least(Z: np.ndarray) -> list[np.ndarray]:
        return optimum.least_residual(Z, loss, np.zeros(Z.shape[1], dtype=Long))

    exact = None if square is None else lambda: least_values(square, [loss])
    return SpanLoss(loss.value, least, exact)


def of_pairs(cost: np.ndarray) -> SpanLoss:
    few = np.count_nonzero(cost) <= SMALL
    return SpanLoss(
        lambda scores: ranks(scores, cost),
        lambda Z: [optimum.least_ranks(Z, cost)] if few else [],
    )
