"""Runs of the bundle loop by itself, for the scripts that look at OCAS and CPA closely."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import Hinge
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.linear import bundle

# Where the loop spends its time, told from outside: the functions it calls, by file.
PHASES = {
    ("arrays.py", "matvec"): "products",
    ("arrays.py", "rmatvec"): "products",
    ("pointwise.py", "search"): "line search",
    ("pointwise.py", "evaluate"): "loss",
    ("reduced_qp.py", "add"): "reduced QP",
    ("reduced_qp.py", "minimise"): "reduced QP",
    ("reduced_qp.py", "drop_idle"): "reduced QP",
}


def solve(
    X: sp.csr_matrix,
    y: np.ndarray,
    C: float,
    method: str = "ocas",
    tol: float = 1e-3,
    threads: int = 1,
    max_time: float | None = None,
    max_iter: int | None = None,
    variant: bundle.Variant = bundle.STANDARD,
) -> Solution:
    """The problem without a bias, by "ocas" or "cpa"."""
    with interruptible(max_time) as stop:
        pool = _core.Pool(threads, stop)
        rows, loss = ArrayRows(X, 0.0, pool), Hinge(y, C, pool)
        settings = Settings(tol=tol, max_iter=max_iter, stop=stop)
        return bundle.solve(rows, loss, settings, method, variant=variant)


PLANES = "reduced QP: of it, products with the planes"
FOR_PLANES = "products: of them, in the place of planes"


def phases(*arguments, **settings) -> tuple[Solution, dict[str, float]]:
    """A solution and the seconds of each phase; "other" is what no phase accounts for.

    The loop makes a few dozen calls an iteration, so watching them costs next to nothing. The
    reduced problem multiplies its planes by the same two products as the data; those calls are part
    of "reduced QP", and shown once more by themselves as `PLANES`. Where planes are kept as sets of
    rows it multiplies with the data instead: those calls are "products", and shown once more as
    `FOR_PLANES`.
    """
    profile = cProfile.Profile()
    solution = profile.runcall(solve, *arguments, **settings)
    seconds = dict.fromkeys(PHASES.values(), 0.0)
    shown = {PLANES: 0.0, FOR_PLANES: 0.0}
    calls: dict = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for function, (_, _, _, _, callers) in calls.items():
        phase = phase_of(function)
        if phase is None:
            continue
        for caller, (_, _, _, cumulative) in callers.items():
            inside = inside_reduced_qp(caller) if phase == "products" else None
            if inside is not None:
                shown[inside] += cumulative
            elif phase_of(caller) is None:
                seconds[phase] += cumulative
    seconds["products"] += shown[FOR_PLANES]
    seconds["reduced QP"] -= shown[FOR_PLANES]
    absent = [phase for phase, value in seconds.items() if value <= 0.0]
    if absent:
        raise RuntimeError(f"no time found for {', '.join(absent)}: have functions been renamed?")
    seconds["other"] = solution.certificate.seconds - sum(seconds.values())
    return solution, seconds | shown


def inside_reduced_qp(caller: tuple[str, int, str]) -> str | None:
    """On behalf of what a caller multiplies, if it is part of the reduced problem."""
    path, _, name = caller
    file = Path(path).name
    if file == "wide_planes.py":
        return FOR_PLANES
    if file == "reduced_qp.py" and name != "add_subgradient":  # comprehensions have no name
        return PLANES
    return None


def phase_of(function: tuple[str, int, str]) -> str | None:
    """The phase a profiled function (file, line, name) belongs to."""
    path, _, name = function
    return PHASES.get((Path(path).name, name))
