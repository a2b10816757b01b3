"""Which solver works with which rows and losses, and which one `auto` takes.

solver    rows                loss        what it asks of them
newton    any                 pointwise   products, weighted Gram matrices
dual      arrays              pointwise   single rows, the loss's dual
ocas      any                 any         products, a subgradient
cpa       any                 any         the same, without a line search

All but "dual" take an intercept that is not regularised: there the dual variables add up to 0, and
none can move alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.table import LOSSES
from maxmargin.parameters import one_of
from maxmargin.problem import Settings, Solution
from maxmargin.solvers.common.vectors import ROUNDING

PASSES_SAVED = 5  # by a step of Newton: it does the work of so many of the cutting planes' passes
SMALL_COST = 4e6  # entries looked at in about a millisecond or two
SMALL_FIT = 1e6  # and in less than one: what a fit takes before and after the solver


@dataclass(frozen=True)
class Start:
    """A neighbouring problem's answer to begin from: w, and the dual
    variables in units of C_i where the method has them.

    `planes` lie below the loss at `C`. A loss of C' is one of C times C' / C, and so are its
    planes.
    """

    w: np.ndarray
    share: np.ndarray | None = None
    planes: list[tuple[np.ndarray, float, float]] = field(default_factory=list)
    C: float = 1.0

    def at(self, C: float) -> Start:
        """The same with planes of the loss at another C."""
        ratio = C / self.C
        planes = [
            (ratio * a, ratio * b - ROUNDING * abs(ratio * b), ratio * error)
            for a, b, error in self.planes
        ]
        return replace(self, planes=planes, C=C)


Solve = Callable[[Any, Any, Settings, Start | None], Solution]


@dataclass(frozen=True)
class Solver:
    """A line of the table: `rows` and `losses` are what it works with, None for all there are."""

    solve: Solve
    needs: str
    rows: tuple[str, ...] | None = None
    losses: tuple[str, ...] | None = None
    free_intercept: bool = True

    def takes(self, rows: str, loss: str, free_intercept: bool) -> bool:
        return (
            (self.rows is None or rows in self.rows)
            and (self.losses is None or loss in self.losses)
            and (self.free_intercept or not free_intercept)
        )


def _bundle(method: Literal["ocas", "cpa"]) -> Solve:
    def solve(rows, loss, settings, start):
        from maxmargin.solvers.linear import bundle, free_intercept

        w0 = None if start is None else start.w
        if settings.free_intercept:
            return free_intercept.solve(rows, loss, settings, method, w0)
        planes = () if start is None else start.planes
        return bundle.solve(rows, loss, settings, method=method, w0=w0, planes0=planes)

    return solve


def _dual(rows, loss, settings, start):
    from maxmargin.solvers.linear import dual_descent

    return dual_descent.solve(rows, loss, settings, u0=None if start is None else start.share)


def _newton(rows, loss, settings, start):
    from maxmargin.solvers.linear import newton

    known = None if start is None else (start.w, start.share)
    return newton.solve(rows, loss, settings, start=known)


def _by_progress(rows, loss, settings, start):
    """`auto` on arrays. With a free intercept Newton goes on from a neighbour's answer."""
    from maxmargin.solvers.linear import progress

    if start is not None and settings.free_intercept:
        return replace(_newton(rows, loss, settings, start), solver="newton")
    return progress.solve(rows, loss, settings, u0=None if start is None else start.share)


ARRAYS, BLOCKS, CLUSTER = "arrays in memory", "rows that stay on disk", "rows on a cluster"

POINTWISE = tuple(LOSSES)

SOLVERS: dict[str, Solver] = {
    "dual": Solver(
        _dual,
        "single rows in memory, a pointwise loss and a regularised intercept",
        (ARRAYS,),
        POINTWISE,
        free_intercept=False,
    ),
    "ocas": Solver(_bundle("ocas"), "nothing but products and a subgradient"),
    "cpa": Solver(_bundle("cpa"), "nothing but products and a subgradient"),
    "newton": Solver(_newton, "a pointwise loss", losses=POINTWISE),
}


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

    Newton where it is cheaper than to begin with anything else, and for small problems, where the
    rest of a fit takes longer: there the answer that needs no seed is better. Dual descent where
    features are too many for Newton's linear systems; with a free intercept it begins.
    """
    from maxmargin.solvers.linear import newton_system, progress

    if not isinstance(rows, ArrayRows) or name not in POINTWISE:
        return "ocas"
    if rows.width > newton_system.DIRECT_WIDTH:
        return "auto" if free_intercept else "dual"
    small = progress.newton_cost(rows) <= SMALL_FIT
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
