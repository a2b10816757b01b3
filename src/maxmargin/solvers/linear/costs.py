"""What solvers' work costs: counted, so that the same data give the same choice everywhere.

The unit is a number of a dense row that a visit of dual descent looks at, about 0.3 ns where the
proportions below were measured, on random rows of all shapes (`python -m benchmarks.costs`).

    visit     2 of each entry, VISIT a row: it waits for its own step, and where rows are more than
              CACHED numbers, for most of them also for memory
    pass      PASS of each entry: rows come in order, and nothing waits
    Gram      GRAM of each step of `gram_steps_per_row`, for rows with curvature; as many at most as
              estimate a Hessian
    factor    d^3 / 48, and 10 d^2 for sums and copies of the matrix
    step      STEP_ROW a row: multipliers, line search, predictions; and CALLS

An entry of a sparse row counts SPARSE times: it has an index, and what it meets is anywhere.
"""

from __future__ import annotations

from typing import Any

VISIT, VISIT_FAR = 50.0, 200.0  # the latter more, of a row that is in no cache
CACHED = 1e6
PASS = 0.6
GRAM = 1.7
SPARSE = 2.0
STEP_ROW, SPARSE_STEP_ROW = 22.0, 60.0  # the latter with what passes do for a row, however short
CALLS = 1e5


def entry_cost(rows: Any) -> float:
    return 1.0 if rows.nnz >= rows.n * rows.width else SPARSE


def visit_cost(rows: Any, entries: float, visited: float) -> float:
    far = 1 - min(CACHED / max(entry_cost(rows) * rows.nnz, 1.0), 1.0)
    return 2 * entry_cost(rows) * entries + (VISIT + far * VISIT_FAR) * visited


def pass_cost(rows: Any) -> float:
    return PASS * entry_cost(rows) * rows.nnz


def gram_cost(rows: Any) -> float:
    """Of one row."""
    return GRAM * entry_cost(rows) * float(rows.gram_steps_per_row)


def factor_cost(d: int) -> float:
    return d**3 / 48 + 10 * d**2


def row_cost(rows: Any) -> float:
    """What a step of Newton does for all rows beside its passes."""
    return (STEP_ROW if entry_cost(rows) == 1 else SPARSE_STEP_ROW) * rows.n
