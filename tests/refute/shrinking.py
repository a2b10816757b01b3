"""A refuted problem made small: fewer rows and columns, fewer options, rounder numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.refute.judge import Verdict, judge
from tests.refute.problem import Problem

KEPT = (
    *("C", "max_time", "measure", "k", "n_basis", "Cs", "cv", "gammas", "kernel", "solver"),
    "cells",
)


def shrink(problem: Problem, verdict: Verdict, seconds: float = 20.0) -> tuple[Problem, Verdict]:
    """The smallest problem found that is refuted for one of the same reasons."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for smaller in simpler(problem):
            if time.monotonic() > deadline:
                break
            found = judge(smaller)
            if found.names & verdict.names:
                problem, verdict, progress = smaller, found, True
                break
    return problem, verdict


def simpler(problem: Problem) -> Iterator[Problem]:
    """Problems that differ in one thing, those that save most first."""
    n, d = problem.X.shape
    size = n // 2
    while size >= 1:
        for first in range(0, n, size):
            rows = np.delete(np.arange(n), slice(first, first + size))
            if len(rows) >= 2 and len(np.unique(problem.y[rows])) >= 2:
                yield problem.only(rows)
        size //= 2
    if d > 1:
        for j in range(d):
            yield replace(problem, X=np.delete(problem.X, j, axis=1))
    if problem.weight is not None:
        yield replace(problem, weight=None)
    if problem.qid is not None:
        yield replace(problem, qid=None)
    if problem.layout in ("F", "csr"):
        yield replace(problem, layout="C")
    for name in problem.options:
        if name not in KEPT:
            options = {k: v for k, v in problem.options.items() if k != name}
            yield replace(problem, options=options)
    for digits in (1, 2, 4):
        X = np.array([[float(f"{v:.{digits - 1}e}") for v in row] for row in problem.X.tolist()])
        X = X.astype(problem.X.dtype)
        if not np.array_equal(X, problem.X):
            yield replace(problem, X=X)
            break
