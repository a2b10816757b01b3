"""The vocabulary every solver, estimator and face shares.

    primal   P(w) = 1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i <w, x_i>)
    dual     D(a) = sum_i a_i - 1/2 || sum_i a_i y_i x_i ||^2,       0 <= a_i <= C s_i

``P(w) >= P* = D* >= D(a)`` for every w and every feasible a, so ``P(w) - D(a)`` bounds how far an
answer can be from the best one. That bound is the `Certificate` every fit ends with.

``C`` multiplies a *sum* over examples, as in LIBLINEAR, LIBSVM and scikit-learn. `C_from_mean` and
`C_from_lambda` translate the constants of the papers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maxmargin._core import Stop


class Status(StrEnum):
    """Why a run ended."""

    OPTIMAL = "optimal"  # the gap is within the tolerance
    MAX_ITER = "max_iter"
    MAX_TIME = "max_time"
    INTERRUPTED = "interrupted"  # Ctrl-C
    CALLBACK = "callback"  # the caller's callback asked to stop
    STALLED = "stalled"  # rounding error: no further progress is possible in float64


@dataclass(frozen=True)
class Certificate:
    """How good an answer is: no answer can have an objective below `dual`.

    `primal` and `dual` are computed in float64 over all rows from the answer returned.
    """

    primal: float
    dual: float
    status: Status
    n_iter: int
    seconds: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """``(P - D) / P``; 0 where both are 0."""
        return self.gap / self.primal if self.primal > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"objective {self.primal:.6g}, at most {max(self.relative_gap, 0.0):.2g} above the "
            f"best possible ({self.status}, {self.n_iter} iterations, {self.seconds:.3g} s)"
        )

    def as_dict(self) -> dict[str, float | int | str]:
        """Plain values, for JSON and model files."""
        return {
            "primal": self.primal,
            "dual": self.dual,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "status": str(self.status),
            "n_iter": self.n_iter,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Progress:
    """What a callback sees, and what `history_` keeps: one moment of a run."""

    iteration: int
    seconds: float
    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


Callback = Callable[[Progress], bool | None]


@dataclass
class Settings:
    """What a solver is told besides the problem. A callback that returns True ends the run.

    `stop` is the flag that Ctrl-C or the clock raises (`solvers.run.interruptible`).
    """

    tol: float = 1e-3
    max_iter: int | None = None
    seed: int = 0
    callback: Callback | None = None
    stop: Stop | None = None


@dataclass
class Solution:
    """What a solver gives back; with `dual_variables` (a_i >= 0) where the method has them."""

    w: np.ndarray
    certificate: Certificate
    history: list[Progress] = field(default_factory=list)
    dual_variables: np.ndarray | None = None


class Clock:
    """Seconds since a run began."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self) -> float:
        return time.perf_counter() - self._start


def C_from_mean(C_mean: float, n: int) -> float:
    """Our C for ``1/2 ||w||^2 + C_mean * mean(loss)`` (OCAS, SVM-perf, SVM-rank, CPSP)."""
    return C_mean / n


def C_from_lambda(lam: float, n: float) -> float:
    """Our C for ``lam ||f||^2 + mean(loss)`` (the no-offset paper, liquidSVM)."""
    if not lam > 0 or not math.isfinite(lam):
        raise ValueError(f"lambda must be a positive number; got {lam!r}")
    return 1.0 / (2.0 * lam * n)
