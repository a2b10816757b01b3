"""Cutting planes with an intercept that nothing penalises.

The bundle loop works on w alone: rows without their constant feature, and a loss that minimises
over the intercept by itself (`losses.free_intercept`). At the end the intercept joins w.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from maxmargin.data.arrays import Rows
from maxmargin.losses.free_intercept import FreeIntercept
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Certificate, Settings, Solution, Status
from maxmargin.solvers.common.vectors import norm2
from maxmargin.solvers.linear import bundle


def solve(
    rows: Rows,
    loss: Pointwise,
    settings: Settings,
    method: Literal["ocas", "cpa"] = "ocas",
    w0: np.ndarray | None = None,
) -> Solution:
    """Minimises ``1/2 ||w||^2 + R(X w + b)`` over w and b; the last feature of rows is 1."""
    free = FreeIntercept(bundle.unstoppable(rows, loss)[1])
    free.pool = loss.pool
    start = None if w0 is None else w0[:-1]
    found = bundle.solve(WithoutConstant(rows), free, settings, method, start)
    features, free = bundle.unstoppable(WithoutConstant(rows), free)
    b, R = free.best(features.matvec(found.w) if found.w.any() else features.zeros())
    P = 0.5 * norm2(found.w) + R
    return replace(found, w=np.append(found.w, b), certificate=recertified(found.certificate, P))


def recertified(certificate: Certificate, P: float) -> Certificate:
    """The same for the objective of the w and b that are given back, from a fresh pass."""
    closed = certificate.tol is not None and P - certificate.dual <= certificate.tol * P
    status = certificate.status
    if status is Status.OPTIMAL and not closed:
        status = Status.STALLED
    return replace(certificate, primal=P, status=status)


class WithoutConstant:
    """Rows without their last feature, the constant one."""

    def __init__(self, rows: Any) -> None:
        self.inside, self.pool = rows, rows.pool
        self.n: int = rows.n
        self.width: int = rows.width - 1

    def with_pool(self, pool: Any) -> WithoutConstant:
        return WithoutConstant(self.inside.with_pool(pool))

    def zeros(self) -> np.ndarray:
        return self.inside.zeros()

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self.inside.matvec(np.append(w, 0.0))

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        return self.inside.rmatvec(v)[:-1].copy()

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        return self.inside.inner(x, y)

    def axpby(self, alpha: float, x: np.ndarray, beta: float, y: np.ndarray) -> np.ndarray:
        return self.inside.axpby(alpha, x, beta, y)
