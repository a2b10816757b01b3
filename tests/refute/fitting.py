"""How each estimator is fitted to a problem, and the kernels it is given."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin
import maxmargin.distributed
from maxmargin import data
from tests.refute.arithmetic import UNIT, Long, kernel_matrix
from tests.refute.cluster import fit_on_cluster
from tests.refute.drawing import family_of
from tests.refute.maps import given_map
from tests.refute.problem import Problem
from tests.refute.thresholds import as_large

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
    "cells-regression": "KernelSVR",
    "sparse-kernel-regression": "SparseKernelSVR",
    "sparse-kernel-rank": "SparseKernelRankSVM",
    "sparse-kernel-ordinal": "SparseKernelOrdinalSVC",
}
# Options of no estimator.
OURS = (
    *("stop_after", "warm_from", "warm_rows", "indefinite", "sparse_labels", "as_large", "again"),
)


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
        return to_float64(values_of(problem, A, B, gamma_of(problem))[0])

    return kernel


def to_float64(K: np.ndarray) -> np.ndarray:
    """Infinite where float64 ends; an estimator is to say so."""
    with np.errstate(over="ignore"):
        return K.astype(np.float64)


def gamma_of(problem: Problem) -> float:
    """For kernels that are not told a gamma."""
    gamma = problem.options.get("gamma", 1.0)
    return 1.0 if isinstance(gamma, str) else gamma


def values_of(problem: Problem, A, B, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values with their rounding errors."""
    options = problem.options
    return kernel_matrix(
        options.get("kernel", "rbf"),
        dense(A),
        dense(B),
        gamma,
        options.get("degree", 3),
        options.get("coef0", 0.0),
    )


def kernel_of(problem: Problem, A, B, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """The same of the machine, whose offset adds a constant."""
    return with_offset(problem, *values_of(problem, A, B, gamma))


def with_offset(problem: Problem, K, error) -> tuple[np.ndarray, np.ndarray]:
    square = Long(problem.options.get("offset", 0.0)) ** 2
    return (K + square, error + UNIT * (np.abs(K) + square)) if square else (K, error)


def dense(X) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def given_matrix(problem: Problem) -> np.ndarray:
    """The precomputed matrix; `indefinite` takes a rank-one matrix away from it."""
    K = to_float64(values_of(problem, problem.X, problem.X, gamma_of(problem))[0])
    share = problem.options.get("indefinite", 0.0)
    if share and np.isfinite(K).all():
        v = np.where(np.arange(len(K)) % 2, 1.0, -1.0) / np.sqrt(len(K))
        K = K - share * np.diagonal(K).max() * np.outer(v, v)
    return K


def is_indefinite(problem: Problem) -> bool:
    """Beyond what rounding can do to a positive semidefinite matrix; an offset is part of it."""
    K = given_matrix(problem) + problem.options.get("offset", 0.0) ** 2
    if not np.isfinite(K).all():
        return False
    eigenvalues = np.linalg.eigvalsh(K / max(np.abs(K).max(), 1e-300))
    return bool(eigenvalues[0] < -1e-5 * max(eigenvalues[-1], 1e-300))


def fit(problem: Problem) -> Any:
    """The fitted estimator."""
    with as_large(problem.options.get("as_large", False)):
        return fit_as_it_is(problem)


def fit_as_it_is(problem: Problem) -> Any:
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
    more = {} if not family_of(problem.kind).endswith("rank") else {"qid": problem.qid}
    if problem.kind.startswith("dask-"):
        return fit_on_cluster(estimator, problem.rows, y, sample_weight=problem.weight, **more)
    if "warm_from" in problem.options:
        C, stop = estimator.C, estimator.callback
        estimator.set_params(C=problem.options["warm_from"], warm_start=True, callback=None)
        first = X if "warm_rows" not in problem.options else X * problem.options["warm_rows"]
        estimator.fit(first, y, sample_weight=problem.weight, **more)
        estimator.set_params(C=C, callback=stop)
    return estimator.fit(X, y, sample_weight=problem.weight, **more)


def width_of_text(problem: Problem) -> int | None:
    return problem.X.shape[1] if problem.layout == "svm" else None
