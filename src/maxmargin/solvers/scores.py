"""Linear scores ``X w`` that minimise a loss of predictions: threads, stop flag and bundle loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.cpus import granted_cpus
from maxmargin.losses.base import Loss
from maxmargin.problem import Callback, Settings, Solution
from maxmargin.solvers import bundle
from maxmargin.solvers.run import interruptible


def fit_scores(
    X,
    make_loss: Callable[[_core.Pool], Loss],
    *,
    bias: float = 0.0,
    method: Literal["ocas", "cpa"] = "ocas",
    tol: float = 1e-3,
    max_iter: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    callback: Callback | None = None,
    w0: np.ndarray | None = None,
) -> Solution:
    """Minimises ``1/2 ||w||^2 + R(X w)`` for the loss R that `make_loss` builds on given threads.

    `threads` is None for all CPUs granted, or a number; `bias` is the value of a constant feature.
    """
    with interruptible(max_time) as stop:
        pool = _core.Pool(granted_cpus() if threads is None else threads, stop)
        settings = Settings(tol=tol, max_iter=max_iter, callback=callback, stop=stop)
        rows = ArrayRows(X, bias, pool)
        return bundle.solve(rows, make_loss(pool), settings, method=method, w0=w0)
