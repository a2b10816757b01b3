"""The solvers of linear problems, and what each works with.

solver    rows                loss        what it asks of them
newton    any                 pointwise   products, weighted Gram matrices
dual      arrays              pointwise   single rows, the loss's dual
ocas      any                 any         products, a subgradient
cpa       any                 any         the same, without a line search

All but "dual" take an intercept that is not regularised: there the dual variables add up to 0, and
none can move alone. Training, commands and the Dask face read this table; a solver is imported when
it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from maxmargin.losses.table import LOSSES

if TYPE_CHECKING:
    from maxmargin.problem import Settings, Solution
    from maxmargin.solvers.common.start import Start

    Solve = Callable[[Any, Any, Settings, Start | None], Solution]

ARRAYS, BLOCKS, CLUSTER = "arrays in memory", "rows that stay on disk", "rows on a cluster"

POINTWISE = tuple(LOSSES)


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
    def solve(rows: Any, loss: Any, settings: Settings, start: Start | None) -> Solution:
        from maxmargin.solvers.linear import bundle, free_intercept

        w0 = None if start is None else start.w
        if settings.free_intercept:
            return free_intercept.solve(rows, loss, settings, method, w0)
        planes = () if start is None else start.planes
        return bundle.solve(rows, loss, settings, method=method, w0=w0, planes0=planes)

    return solve


def _dual(rows: Any, loss: Any, settings: Settings, start: Start | None) -> Solution:
    from maxmargin.solvers.linear import dual_descent

    return dual_descent.solve(rows, loss, settings, u0=None if start is None else start.share)


def solve_of(module: str) -> Solve:
    """`solve` of a module of `solvers/linear`."""

    def solve(rows: Any, loss: Any, settings: Settings, start: Start | None) -> Solution:
        known = import_module(f"maxmargin.solvers.linear.{module}")
        return known.solve(rows, loss, settings, start)

    return solve


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
    "newton": Solver(solve_of("newton"), "a pointwise loss", losses=POINTWISE),
}


def solvers_for(loss: str | None = None) -> tuple[str, ...]:
    """The names of the solvers that take a loss; of those that take any, if none is named."""
    return tuple(
        name
        for name, solver in SOLVERS.items()
        if solver.losses is None or (loss is not None and loss in solver.losses)
    )
