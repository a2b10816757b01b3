"""How each estimator is fitted, and what its fitted attributes claim.

A claim is a certificate, the value of the model it is about, and the values of other machines of
the same problem: those of an independent solver where the problem is small, else those of another
solver of the package. Everything is evaluated from attributes that any user sees.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin
import maxmargin.distributed
from maxmargin import data
from tests.refute import optimum
from tests.refute.arithmetic import (
    PARAMETER_OF,
    UNIT,
    Long,
    Measure,
    ResidualLoss,
    Value,
    hinge,
    kernel_matrix,
    kernel_scores,
    linear_scores,
    long,
    pair_costs,
    ranks,
)
from tests.refute.cluster import fit_on_cluster
from tests.refute.drawing import family_of
from tests.refute.maps import explicit, given_map
from tests.refute.problem import Problem

SMALL = 400  # dual variables that the independent solver takes on

ESTIMATORS = {
    "linear": "LinearSVC",
    "linear-cv": "LinearSVCCV",
    "rank": "RankSVM",
    "ordinal": "OrdinalSVC",
    "measure": "MeasureSVC",
    "kernel": "KernelSVC",
    "kernel-cv": "KernelSVCCV",
    "sparse": "SparseKernelSVC",
    "stream": "StreamSVC",
    "stream-regression": "StreamSVR",
    "stream-regression-file": "StreamSVR",
    "regression": "LinearSVR",
    "regression-cv": "LinearSVRCV",
    "regression-kernel": "KernelSVR",
    "regression-kernel-precomputed": "KernelSVR",
    "regression-kernel-cv": "KernelSVRCV",
    "labels": "LinearSVC",
    "cells": "KernelSVC",
    "cells-cv": "KernelSVCCV",
    "rank-cv": "RankSVMCV",
    "ordinal-cv": "OrdinalSVCCV",
    "measure-cv": "MeasureSVCCV",
    "sparse-kernel-cv": "SparseKernelSVCCV",
}
OURS = ("stop_after", "warm_from", "indefinite", "sparse_labels")  # options of no estimator


@dataclass(frozen=True)
class Claim:
    """What a certificate is about: the value of its machine, and by `others` values of other
    machines; `exact` gives those of machines outside a basis too."""

    certificate: Any
    value: Value
    others: Callable[[], list[Value]]
    exact: Callable[[], list[Value]] | None = None


# ---------------------------------------------------------------- fitting


def estimator_of(problem: Problem) -> Any:
    name = ESTIMATORS.get(problem.kind) or ESTIMATORS[family_of(problem.kind)]
    options = {k: v for k, v in problem.options.items() if k not in OURS}
    if "stop_after" in problem.options:
        options["callback"] = stopping_callback(problem.options["stop_after"])
    if problem.kind == "kernel-callable":
        options["kernel"] = plain_kernel(problem)
    if problem.kind.endswith("-precomputed"):
        options["kernel"] = "precomputed"
    if "features" in options:
        options["features"] = given_map(options["features"])
    if problem.kind.startswith("dask-"):
        return getattr(maxmargin.distributed, name)(**options)
    return getattr(maxmargin, name)(**options)


def stopping_callback(calls: int) -> Callable[[Any], bool]:
    counter = itertools.count(1)
    return lambda progress: next(counter) >= calls


def plain_kernel(problem: Problem):
    """The kernel as a function in float64."""

    def kernel(A, B):
        return to_float64(kernel_of(problem, A, B, gamma_of(problem))[0])

    return kernel


def to_float64(K: np.ndarray) -> np.ndarray:
    """Infinite where float64 ends; an estimator is to say so."""
    with np.errstate(over="ignore"):
        return K.astype(np.float64)


def gamma_of(problem: Problem) -> float:
    """For kernels that are not told a gamma."""
    gamma = problem.options.get("gamma", 1.0)
    return 1.0 if isinstance(gamma, str) else gamma


def kernel_of(problem: Problem, A, B, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    options = problem.options
    return kernel_matrix(
        options.get("kernel", "rbf"),
        dense(A),
        dense(B),
        gamma,
        options.get("degree", 3),
        options.get("coef0", 0.0),
    )


def dense(X) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def given_matrix(problem: Problem) -> np.ndarray:
    """The precomputed matrix; `indefinite` takes a rank-one matrix away from it."""
    K = to_float64(kernel_of(problem, problem.X, problem.X, gamma_of(problem))[0])
    share = problem.options.get("indefinite", 0.0)
    if share and np.isfinite(K).all():
        v = np.where(np.arange(len(K)) % 2, 1.0, -1.0) / np.sqrt(len(K))
        K = K - share * np.diagonal(K).max() * np.outer(v, v)
    return K


def is_indefinite(K: np.ndarray) -> bool:
    """Beyond what rounding can do to a positive semidefinite matrix."""
    if not np.isfinite(K).all():
        return False
    eigenvalues = np.linalg.eigvalsh(K / max(np.abs(K).max(), 1e-300))
    return bool(eigenvalues[0] < -1e-5 * max(eigenvalues[-1], 1e-300))


def fit(problem: Problem) -> Any:
    """The fitted estimator."""
    estimator = estimator_of(problem)
    if problem.kind.endswith("-file"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"rows.{problem.layout}"
            dataset = data.Dataset(X=problem.X, y=problem.y, weight=problem.weight, qid=problem.qid)
            if problem.layout == "svm":
                dataset.X = sp.csr_matrix(problem.X)
            data.save(dataset, path)
            small = {"block_bytes": 1 << 12} if problem.kind.startswith("stream") else {}
            source = data.open_source(path, n_features=width_of_text(problem), **small)
            return estimator.fit(source)
    X = given_matrix(problem) if problem.kind.endswith("-precomputed") else problem.rows
    y = sp.csr_matrix(problem.y) if problem.options.get("sparse_labels") else problem.y
    more = {} if family_of(problem.kind) != "rank" else {"qid": problem.qid}
    if problem.kind.startswith("dask-"):
        return fit_on_cluster(estimator, problem.rows, y, sample_weight=problem.weight, **more)
    if "warm_from" in problem.options:
        C, stop = estimator.C, estimator.callback
        estimator.set_params(C=problem.options["warm_from"], warm_start=True, callback=None)
        estimator.fit(X, y, sample_weight=problem.weight, **more)
        estimator.set_params(C=C, callback=stop)
    return estimator.fit(X, y, sample_weight=problem.weight, **more)


def width_of_text(problem: Problem) -> int | None:
    return problem.X.shape[1] if problem.layout == "svm" else None


# ---------------------------------------------------------------- claims


def claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every binary problem, in the order of `certificates_`."""
    if "features" in problem.options:
        problem = replace(problem, X=explicit(problem.X, problem.options["features"]))
    return CLAIMS[family_of(problem.kind)](problem, estimator)


def weights_of(problem: Problem) -> np.ndarray:
    """s_i: weights of rows times those of classes; "balanced" classes weigh the same in all."""
    weight = np.ones(problem.n, dtype=Long) if problem.weight is None else long(problem.weight)
    by_class = problem.options.get("class_weight")
    if by_class is None:
        return weight
    classes, codes = np.unique(problem.y, return_inverse=True)
    if by_class == "balanced":
        total = np.array([weight[codes == k].sum() for k in range(len(classes))])
        factors = total.sum() / (len(classes) * np.where(total > 0, total, 1))
    else:
        factors = long([by_class.get(c, 1.0) for c in classes.tolist()])
    return weight * factors[codes]


def signs_of(problem: Problem, estimator: Any) -> list[np.ndarray]:
    """The labels of every binary problem, -1, 0 or +1."""
    classes, codes = np.unique(problem.y, return_inverse=True)
    if len(classes) == 2:
        return [np.where(codes == 1, 1, -1)]
    if problem.options.get("multi_class") == "ovo":
        pairs = itertools.combinations(range(len(classes)), 2)
        return [np.where(codes == a, 1, np.where(codes == b, -1, 0)) for a, b in pairs]
    return [np.where(codes == k, 1, -1) for k in range(len(classes))]


def C_of(problem: Problem, estimator: Any) -> float:
    return estimator.C_ if problem.kind.endswith("-cv") else estimator.C


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


def turned(problem: Problem) -> int:
    """-1 where the first of two classes is the positive one."""
    return -1 if problem.options.get("pos_label") == np.unique(problem.y).tolist()[0] else 1


def measure_claim(certificate, X, measure: Measure, w) -> Claim:
    def value(w) -> Value:
        scores = linear_scores(X, w)
        return scores.plus(measure.loss(scores))

    def others() -> list[Value]:
        return [value(optimum.least_measure(X, measure))] if len(X) <= 30 else []

    return Claim(certificate, value(w), others)


def kernel_parts(problem: Problem, estimator: Any) -> tuple:
    """Kernel values of all rows and of the support vectors with the support vectors, and of all
    rows with each other where these are few; each with its rounding errors."""
    if problem.kind.endswith("-precomputed"):
        whole = long(given_matrix(problem))
        support = np.asarray(estimator.support_)
        K, inner = (M[:, support] for M in (whole, whole[support]))
        errors = UNIT * np.abs(K), UNIT * np.abs(inner)
        square = whole, UNIT * np.abs(whole)
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


def sparse_kernel_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    vectors = dense(estimator.basis_vectors_)
    K, error = kernel_of(problem, problem.X, vectors, estimator.gamma_)
    inner = kernel_of(problem, vectors, vectors, estimator.gamma_)
    square, turn = None, turned(problem)
    if problem.n <= SMALL:
        square = kernel_of(problem, problem.X, problem.X, estimator.gamma_)
    for k, y in enumerate(signs_of(problem, estimator)):
        loss, least = loss_in_span(problem, estimator, turn * y)

        def value(beta, loss=loss) -> Value:
            scores = kernel_scores(K, error, inner, beta)
            return scores.plus(loss(scores))

        def others(least=least, value=value) -> list[Value]:
            if problem.n > SMALL:
                return []
            return [value(beta) for beta in optimum.in_span(K, inner[0], least)]

        exact = None
        if problem.options.get("loss", "hinge") == "hinge":
            exact = exact_machines(square, y, C_of(problem, estimator) * weights_of(problem))
        beta = turn * estimator.dual_coef_[k]
        yield Claim(estimator.certificates_[k], value(beta), others, exact)


def loss_in_span(problem: Problem, estimator: Any, y) -> tuple[Callable, Callable]:
    """The loss of scores, and weights that may be best for it on rows Z."""
    name, options = problem.options.get("loss", "hinge"), problem.options
    C, s = Long(C_of(problem, estimator)), weights_of(problem)
    if name in ("hinge", "error"):
        return lambda scores: hinge(scores, y, C * s), lambda Z: [
            optimum.least_hinge(Z, long(y), C * s)
        ]
    if name in ("squared_hinge", "logistic"):
        margin = ResidualLoss(name, target_of(name, y), C * s, sign=y)
        start = np.zeros(0, dtype=Long)
        return margin.value, lambda Z: optimum.least_residual(
            Z, margin, np.resize(start, Z.shape[1])
        )
    if name == "roc_auc":
        cost = pair_costs(y, C, None, s)
        few = np.count_nonzero(cost) <= SMALL
        return lambda scores: ranks(
            scores, cost
        ), lambda Z: [optimum.least_ranks(Z, cost)] if few else []
    weight = None if np.all(s == 1) else s
    measure = Measure(name, y, C, options.get("beta", 1.0), options.get("k"), weight)
    return measure.loss, lambda Z: [optimum.least_measure(Z, measure)] if len(Z) <= 30 else []


def cell_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every cell: the sum over the problems of the classes that weigh something in it."""
    model, weight = estimator.to_model(), weights_of(problem)
    codes = np.unique(problem.y, return_inverse=True)[1]
    where = model.tree.route(problem.rows)
    for number, (cell, certificate) in enumerate(zip(model.cells, estimator.certificates_)):
        rows = np.flatnonzero(where == number)
        kept = rows[np.isin(codes[rows], np.unique(codes[rows][weight[rows] > 0]))]
        one = replace(problem.only(kept), weight=weight[kept])
        one.options.pop("class_weight", None)
        yield cell_claim(one, codes[kept], cell, certificate)


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


def stream_claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    regression = problem.kind.startswith("stream-regression")
    return (regression_claims if regression else linear_claims)(problem, estimator)


CLAIMS = {
    "regression": regression_claims,
    "regression-kernel": kernel_regression_claims,
    "linear": linear_claims,
    "stream": stream_claims,
    "rank": rank_claims,
    "ordinal": rank_claims,
    "measure": measure_claims,
    "kernel": kernel_claims,
    "sparse": sparse_kernel_claims,
    "labels": label_claims,
    "cells": cell_claims,
}
