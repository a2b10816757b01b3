"""Whether a solver fits rows and a loss (`solvers.table`), and which one `auto` takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.data.arrays import ArrayRows
from maxmargin.parameters import one_of
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.table import ARRAYS, BLOCKS, POINTWISE, SOLVERS

PASSES_SAVED = 5  # by a step of Newton: it does the work of so many of the cutting planes' passes
SMALL_COST = 4e6  # entries looked at in about a millisecond or two
SMALL_STEP = 5e4  # and while a step of Newton makes its calls


def _by_progress(rows: Any, loss: Any, settings: Any, start: Any) -> Solution:
    """`auto` on arrays. With a free intercept Newton goes on from a neighbour's answer."""
    from maxmargin.solvers.linear import progress

    if start is not None and settings.free_intercept:
        return replace(SOLVERS["newton"].solve(rows, loss, settings, start), solver="newton")
    return progress.solve(rows, loss, settings, u0=None if start is None else start.share)


def solve_with(
    name: str, rows: Any, loss: Any, settings: Settings, start: Start | None
) -> Solution:
    """By a solver of the table, or by progress where that is what `auto` took."""
    solve = _by_progress if name == "auto" else SOLVERS[name].solve
    return solve(rows, loss, settings, start)


def check_solver(
    name: Any, rows: str = ARRAYS, loss: str = "hinge", free_intercept: bool = False
) -> None:
    """Refuse a solver that there is not, or that cannot work with these rows and this loss."""
    one_of("solver", name, ("auto", *SOLVERS))
    if name == "auto" or SOLVERS[name].takes(rows, loss, free_intercept):
        return
    able = [other for other, solver in SOLVERS.items() if solver.takes(rows, loss, free_intercept)]
    free = " with a free intercept" if free_intercept else ""
    advice = " or read the rows into memory (maxmargin.data.open)" if rows == BLOCKS else ""
    raise ValueError(
        f"solver {name!r} needs {SOLVERS[name].needs}, but this is the {loss} loss{free} on "
        f"{rows}; "
        f"use one of auto, {', '.join(able)}{advice}"
    )


def pick_solver(rows: Any, name: str = "hinge", free_intercept: bool = False) -> str:
    """What `auto` takes: a method, or "auto" where progress decides (`solvers.linear.progress`).

    Newton where it is cheaper than to begin with anything else, and where the work of its steps is
    less than their calls: there the answer that needs no seed, and that is the same for a row of
    weight 2 and a row given twice, is better. So a step is what decides, not the number of steps,
    which is a guess from the number of rows. Dual descent where features are too many for Newton's
    linear systems; with a free intercept it begins.
    """
    from maxmargin.solvers.linear import newton, newton_system, progress

    if not isinstance(rows, ArrayRows) or name not in POINTWISE:
        return "ocas"
    if rows.width > newton_system.DIRECT_WIDTH:
        return "auto" if free_intercept else "dual"
    small = newton.step_cost(rows) <= SMALL_STEP
    return "newton" if small or progress.is_newton_cheaper_than_a_start(rows, name) else "auto"


def check_width(name: str, width: int) -> None:
    """Refuse Newton where its linear systems are too large for rows that are not in memory."""
    from maxmargin.solvers.linear import newton_system

    if name == "newton" and width > newton_system.DIRECT_WIDTH:
        raise ValueError(
            f"solver 'newton' needs at most {newton_system.DIRECT_WIDTH} features of rows that are "
            f"not in memory; there are {width}; use one of auto, ocas, cpa"
        )


def pick_elsewhere(n: int, width: int, name: str) -> str:
    """What `auto` takes for rows that are not in memory, where passes are what costs.

    Newton needs some 30 passes (on a cluster rounds of tasks) and as many Gram matrices of a part
    of the rows; cutting planes a hundred passes and more. A matrix and its factor cost `step_cost`
    in entries looked at, a pass all n d of them.
    """
    from maxmargin.solvers.linear import newton_system

    if name not in POINTWISE or width > newton_system.DIRECT_WIDTH:
        return "ocas"
    passes = float(n) * width
    matrices = width**2 * (newton_system.HESSIAN_ROWS * width / 16 + width / 96 + 6)
    return "newton" if matrices <= PASSES_SAVED * passes or matrices <= SMALL_COST else "ocas"
