"""What a judge who means harm would add to a drawn problem, one or more things at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.refute.options import decades
from tests.refute.problem import Problem

TYPES = ("int8", "uint8", "int16", "int32", "int64", "uint64", "bool", "float16")
PATIENT = 20.0  # seconds, so that no clock ends one of two fits that are compared
ODD_LAYOUTS = ("strided", "reversed", "swapped", "read-only", "csc", "csr64", "unsorted")


def harden(problem: Problem, rng: np.random.Generator, quick: bool = False) -> Problem:
    """The problem with some of the changes below; texts and files take few of them."""
    for share, change in CHANGES:
        if rng.random() < share:
            problem = change(problem, rng, quick)
    return problem


def has_numbers(problem: Problem) -> bool:
    return problem.X.dtype.kind == "f"


def is_regression(problem: Problem) -> bool:
    return "regression" in problem.kind


def is_scanned(problem: Problem) -> bool:
    """Whether folds, files or kernels say how rows must look."""
    return problem.kind.endswith(("-cv", "-file", "-precomputed", "-callable"))


def with_options(problem: Problem, **more) -> Problem:
    return replace(problem, options=problem.options | more)


def wide(problem: Problem, rng, quick: bool) -> Problem:
    """More features than rows."""
    if not has_numbers(problem):
        return problem
    most = 30 if quick else 300 if problem.n < 100 else 1500
    d = int(rng.integers(problem.n, max(problem.n + 1, most) + 1))
    more = rng.normal(size=(problem.n, d)) * (rng.random((problem.n, d)) < decades(rng, -2, 0))
    return replace(problem, X=np.hstack([problem.X, more.astype(problem.X.dtype)]))


def whole_numbers(problem: Problem, rng, quick: bool) -> Problem:
    """Features of another type of numbers."""
    if not has_numbers(problem) or is_scanned(problem) or "features" in problem.options:
        return problem
    dtype = np.dtype(str(rng.choice(TYPES)))
    low, high = (0, 1) if dtype.kind == "b" else (-60, 60) if dtype.kind in "if" else (0, 120)
    size = max(float(np.abs(problem.X).max()), 1e-300)
    with np.errstate(invalid="ignore"):  # infinity among them
        near_one = np.nan_to_num(problem.X / size)
    X = np.clip(np.rint(near_one * decades(rng, 0, 2)), low, high).astype(dtype)
    layout = "C" if dtype == np.float16 else problem.layout  # scipy has no such matrices
    return replace(problem, X=X, layout=layout)


def scales_of_rows(problem: Problem, rng, quick: bool) -> Problem:
    """Rows whose sizes differ by many decades."""
    if not has_numbers(problem):
        return problem
    most = rng.choice([3, 10, 18] if problem.X.dtype == np.float32 else [3, 20, 70])
    with np.errstate(over="ignore", under="ignore"):
        X = problem.X * 10.0 ** rng.uniform(-most, most, (problem.n, 1))
        return replace(problem, X=X.astype(problem.X.dtype))


def odd_targets(problem: Problem, rng, quick: bool) -> Problem:
    """Targets that are all one number, all 0, huge, tiny, or but for one."""
    if not is_regression(problem):
        return problem
    y = np.array(problem.y, dtype=float)
    shape = rng.integers(5)
    if shape == 0:
        y[:] = float(rng.choice([0.0, 1.0, -3.5, 1e-8, 1e8]))
    elif shape == 1:
        y *= decades(rng, -60, 60)
    elif shape == 2:
        y[rng.integers(problem.n)] += decades(rng, 2, 12)
    elif shape == 3:
        y += decades(rng, 3, 10)
    else:
        y = np.sign(y)
    return replace(problem, y=y)


def one_row_of_a_class(problem: Problem, rng, quick: bool) -> Problem:
    """All rows but one are of one class or grade."""
    if is_regression(problem) or problem.y.ndim > 1 or problem.kind.endswith("-cv"):
        return problem
    values = np.unique(problem.y)
    y = np.full_like(problem.y, values[0])
    y[rng.integers(problem.n)] = values[-1]
    given = problem.options.get("class_weight")
    kept = {c: given[c] for c in np.unique(y).tolist()} if isinstance(given, dict) else given
    return replace(problem, y=y, options=problem.options | ({"class_weight": kept} if kept else {}))


def equal_rows(problem: Problem, rng, quick: bool) -> Problem:
    """One row, over and over, or two."""
    return replace(problem, X=problem.X[np.arange(problem.n) % int(rng.integers(1, 3))])


def extreme_cost(problem: Problem, rng, quick: bool) -> Problem:
    C = float(rng.choice([1e-8, 1e8]))
    if "Cs" in problem.options:
        return with_options(problem, Cs=[C, 1.0])
    return with_options(problem, C=C) if "C" in problem.options else problem


def extreme_tolerance(problem: Problem, rng, quick: bool) -> Problem:
    return with_options(problem, tol=float(rng.choice([0.9, 1e-12, 1e-15])))


def weights_of_many_decades(problem: Problem, rng, quick: bool) -> Problem:
    if problem.layout == "svm":
        return problem
    return replace(problem, weight=10.0 ** rng.uniform(-6, 6, problem.n))


def odd_layout(problem: Problem, rng, quick: bool) -> Problem:
    """Arrays and matrices that cannot be read in place."""
    if is_scanned(problem) or problem.X.dtype.kind == "U" or problem.kind.startswith("dask-"):
        return problem
    dense_only = problem.X.dtype == np.float16
    return replace(problem, layout=str(rng.choice(ODD_LAYOUTS[: 4 if dense_only else None])))


def hardly_any_time(problem: Problem, rng, quick: bool) -> Problem:
    return problem if quick else with_options(problem, max_time=decades(rng, -6, -3))


def start_from_other_rows(problem: Problem, rng, quick: bool) -> Problem:
    """A warm start where all rows and labels have become others since."""
    if "warm_from" not in problem.options or problem.X.dtype.kind == "U":
        return problem
    return with_options(problem, warm_rows=float(rng.choice([-1.0, 0.0, 1e3])))


def big_offset(problem: Problem, rng, quick: bool) -> Problem:
    """Of a kernel, or what an intercept is scaled by."""
    options = problem.options
    if "offset" in options:
        return with_options(problem, offset=decades(rng, -6, 6))
    if "intercept_scaling" in options:
        return with_options(problem, intercept_scaling=decades(rng, -6, 6))
    return problem


def told_twice(problem: Problem, rng, quick: bool) -> Problem:
    """The same fit on other threads is to give the same answer."""
    return with_options(problem, again=True, max_time=PATIENT)


Change = Callable[[Problem, np.random.Generator, bool], Problem]
CHANGES: tuple[tuple[float, Change], ...] = (
    (0.02, wide),
    (0.06, whole_numbers),
    (0.04, scales_of_rows),
    (0.15, odd_targets),
    (0.04, one_row_of_a_class),
    (0.02, equal_rows),
    (0.05, extreme_cost),
    (0.03, extreme_tolerance),
    (0.04, weights_of_many_decades),
    (0.08, odd_layout),
    (0.02, hardly_any_time),
    (0.3, start_from_other_rows),
    (0.3, big_offset),
    (0.08, told_twice),
)
