"""What kernel machines claim: whole ones, in cells, and on few basis vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.refute import optimum
from tests.refute.arithmetic import (
    UNIT,
    Long,
    ResidualLoss,
    Value,
    hinge,
    kernel_scores,
    long,
)
from tests.refute.claim import SMALL, C_of, Claim, signs_of, weights_of
from tests.refute.fitting import dense, gamma_of, given_matrix, kernel_of, with_offset
from tests.refute.linear_claims import residual_losses
from tests.refute.problem import Problem


def kernel_parts(problem: Problem, estimator: Any) -> tuple:
    """Kernel values of all rows and of the support vectors with the support vectors, and of all
    rows with each other where these are few; each with its rounding errors."""
    if problem.kind.endswith("-precomputed"):
        given = long(given_matrix(problem))
        square = whole, error = with_offset(problem, given, UNIT * np.abs(given))
        support = np.asarray(estimator.support_)
        K, inner = (M[:, support] for M in (whole, whole[support]))
        errors = error[:, support], error[support][:, support]
    else:
        gamma = gamma_of(problem) if problem.kind == "kernel-callable" else estimator.gamma_
        vectors = dense(estimator.support_vectors_).reshape(-1, problem.X.shape[1])
        K, error = kernel_of(problem, problem.X, vectors, gamma)
        inner, inner_error = kernel_of(problem, vectors, vectors, gamma)
        errors = error, inner_error
        square = None
        if problem.n <= SMALL:
            square = kernel_of(problem, problem.X, problem.X, gamma)
    return (K, errors[0]), (inner, errors[1]), square


def kernel_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    outer, inner, square = kernel_parts(problem, estimator)
    cost = Long(C_of(problem, estimator)) * weights_of(problem)
    for k, y in enumerate(signs_of(problem, estimator)):
        scores = kernel_scores(*outer, inner, estimator.dual_coef_[k])
        value = scores.plus(hinge(scores, y, cost * (y != 0)))
        yield Claim(estimator.certificates_[k], value, exact_machines(square, y, cost))


def kernel_regression_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    outer, inner, square = kernel_parts(problem, estimator)
    for k, loss in enumerate(residual_losses(problem, estimator)):
        scores = kernel_scores(*outer, inner, estimator.dual_coef_[k])

        def others(loss=loss, k=k) -> list[Value]:
            if square is None or problem.n > SMALL:
                return []
            beta = np.zeros(problem.n, dtype=Long)
            beta[np.asarray(estimator.support_)] = estimator.dual_coef_[k]
            found = optimum.least_kernel_residual(square[0], loss, beta)
            machines = [kernel_scores(*square, square, other) for other in found]
            return [other.plus(loss.value(other)) for other in machines]

        yield Claim(estimator.certificates_[k], scores.plus(loss.value(scores)), others)


def exact_machines(square, y, cost) -> Callable[[], list[Value]]:
    """Values of machines on all rows, given their kernel matrix with its errors."""

    def values() -> list[Value]:
        if square is None or len(y) > SMALL:
            return []
        K, error = square
        beta = optimum.least_kernel_hinge(K, long(y), cost)
        scores = kernel_scores(K, error, square, beta)
        return [scores.plus(hinge(scores, y, cost * (y != 0)))]

    return values


def cell_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every cell: the sum over the problems of the classes that weigh something in it."""
    model, weight = estimator.to_model(), weights_of(problem)
    codes = np.unique(problem.y, return_inverse=True)[1]
    where = model.tree.route(problem.rows)
    for number, (cell, certificate) in enumerate(zip(model.cells, estimator.certificates_)):
        rows = np.flatnonzero(where == number)
        kept = rows[np.isin(codes[rows], np.unique(codes[rows][weight[rows] > 0]))]
        options = {k: v for k, v in problem.options.items() if k != "class_weight"}
        one = replace(problem.only(kept), weight=weight[kept], options=options)
        yield cell_claim(one, codes[kept], cell, certificate)


def regression_cell_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every cell: the sum over its functions."""
    model = estimator.to_model()
    where = model.tree.route(problem.rows)
    for number, (cell, certificate) in enumerate(zip(model.cells, estimator.certificates_)):
        one = problem.only(np.flatnonzero(where == number))
        vectors = dense(cell.vectors).reshape(-1, problem.X.shape[1])
        outer = kernel_of(one, one.X, vectors, cell.gamma)
        inner = kernel_of(one, vectors, vectors, cell.gamma)
        square = kernel_of(one, one.X, one.X, cell.gamma)
        losses = list(residual_losses(one, estimator))
        scores = [kernel_scores(*outer, inner, beta) for beta in cell.coefficients.T]
        value = total([s.plus(loss.value(s)) for s, loss in zip(scores, losses)])
        yield Claim(certificate, value, lambda s=square, of=losses: [total(least_values(s, of))])


def least_values(square: tuple, losses: list[ResidualLoss]) -> list[Value]:
    """Of each loss the value of the best machine that is found."""
    start = np.zeros(len(square[0]), dtype=Long)
    found = []
    for loss in losses:
        betas = optimum.least_kernel_residual(square[0], loss, start)
        scores = [kernel_scores(*square, square, beta) for beta in betas]
        found.append(min((s.plus(loss.value(s)) for s in scores), key=lambda v: v.value))
    return found


def cell_claim(problem: Problem, codes: np.ndarray, cell: Any, certificate: Any) -> Claim:
    zero = Value(Long(0), Long(0))
    if cell.is_constant:
        return Claim(certificate, zero, lambda: [zero])
    vectors = dense(cell.vectors).reshape(-1, problem.X.shape[1])
    outer = kernel_of(problem, problem.X, vectors, cell.gamma)
    inner = kernel_of(problem, vectors, vectors, cell.gamma)
    square = kernel_of(problem, problem.X, problem.X, cell.gamma)
    values, machines = [], []
    for k, y in enumerate(signs_of(replace(problem, y=codes), None)):
        cost = Long(cell.C) * weights_of(problem) * (y != 0)
        scores = kernel_scores(*outer, inner, cell.coefficients[:, k])
        values.append(scores.plus(hinge(scores, y, cost)))
        machines.append(exact_machines(square, y, cost))

    def others() -> list[Value]:
        found = [machine() for machine in machines]
        return [total([values[0] for values in found])] if all(found) else []

    return Claim(certificate, total(values), others)


def total(values: list[Value]) -> Value:
    """The sum of objectives."""
    return Value(
        sum((v.value for v in values), Long(0)), sum((v.rounding for v in values), Long(0))
    )
