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
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from maxmargin._core import Stop


class Status(StrEnum):
    """Why a run ended."""

    OPTIMAL = "optimal"  # the relative gap is within the tolerance
    RULE_MET = "rule_met"  # another stopping rule that was asked for holds; the gap may be larger
    MAX_ITER = "max_iter"
    MAX_TIME = "max_time"
    INTERRUPTED = "interrupted"  # Ctrl-C
    CALLBACK = "callback"  # the caller's callback asked to stop
    ROWS_LOST = "rows_lost"  # part of the data could no longer be read (distributed fits)
    STALLED = "stalled"  # rounding error: no further progress is possible in float64


REASONS = {
    Status.RULE_MET: "the stopping rule that was asked for holds",
    Status.MAX_ITER: "iteration limit",
    Status.MAX_TIME: "time limit",
    Status.INTERRUPTED: "interrupted",
    Status.CALLBACK: "the callback asked to stop",
    Status.ROWS_LOST: "part of the data could no longer be read",
    Status.STALLED: "rounding errors leave no room for progress",
}

NO_BOUND = 1e-6  # a lower bound below so much of P tells nothing
LEAST_EXCESS = 1e-11  # closer than that float64 cannot tell
ROUNDING = 1e-9  # of P by which D may be above it and yet be equal but for rounding errors


def enclose(primal: float, dual: float) -> bool:
    """Whether two numbers can be an objective and a lower bound on it."""
    return math.isfinite(primal) and math.isfinite(dual) and dual <= primal * (1 + ROUNDING)


@dataclass(frozen=True)
class Certificate:
    """How good an answer is: no answer can have an objective below `dual`.

    `primal` and `dual` are computed in float64 over all rows from the answer returned. Where they
    cannot be an objective and a lower bound on it, rounding errors rule, and the status says so:
    nothing is `optimal` then. `tol` is the relative gap that was asked for, where that is known.
    """

    best: ClassVar[str] = "the best possible"  # what `dual` is a bound of, in words

    primal: float
    dual: float
    status: Status
    n_iter: int
    seconds: float
    tol: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.status is Status.OPTIMAL and not enclose(self.primal, self.dual):
            object.__setattr__(self, "status", Status.STALLED)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """``(P - D) / P``; 0 where both are 0."""
        return self.gap / self.primal if self.primal > 0 else 0.0

    @property
    def has_bound(self) -> bool:
        """Whether `dual` tells anything about the best objective."""
        return enclose(self.primal, self.dual) and self.dual >= NO_BOUND * self.primal

    def __str__(self) -> str:
        return f"objective {self.primal:.6g}, {self.quality} ({self._ending}{self._effort})"

    @property
    def quality(self) -> str:
        """How far the objective is from the best possible one, at most, in words."""
        if not self.has_bound:
            return f"nothing known yet about how close to {self.best} that is"
        excess = self.gap / self.dual if self.primal > 0 else 0.0
        if excess > 1:
            return f"at most {rounded_up(self.primal / self.dual):g} times {self.best}"
        return f"within {percent(max(excess, LEAST_EXCESS))} of {self.best}"

    @property
    def _ending(self) -> str:
        if self.status is Status.OPTIMAL:
            return ""
        missed = "stopped early"
        if self.tol is not None and self.status is not Status.RULE_MET:
            missed = f"tolerance {percent(self.tol)} not reached"
        return f"{missed}: {REASONS[self.status]}; "

    @property
    def _effort(self) -> str:
        plural = "" if self.n_iter == 1 else "s"
        return f"{self.n_iter} iteration{plural}, {self.seconds:.3g} s"

    def as_dict(self) -> dict[str, float | int | str]:
        """Plain values, for JSON and model files."""
        asked: dict[str, float | int | str] = {} if self.tol is None else {"tol": self.tol}
        return asked | {
            "primal": self.primal,
            "dual": self.dual,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "status": str(self.status),
            "n_iter": self.n_iter,
            "seconds": self.seconds,
        }


def percent(share: float) -> str:
    """A share for people: two digits, rounded up, so that no bound is said to be less."""
    number = rounded_up(100 * share)
    if not 0 < number < 99:
        return f"{number:.0f} %" if number < 1e6 else f"{number:.2g} %"
    places = max(0, 1 - math.floor(math.log10(number)))
    text = f"{number:.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if places else text} %"


def rounded_up(number: float) -> float:
    """Two digits, and no less but for rounding errors."""
    if not 0 < number < math.inf:
        return number
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit * (1 - 1e-9)) * unit:.2g}")


def written_out(number: float) -> str:
    """Three digits of a number, as people write it: 49,800 rather than 4.98e+04."""
    return f"{number:.3g}" if number < 1000 else f"{float(f'{number:.3g}'):,.0f}"


@dataclass(frozen=True)
class Progress:
    """What a callback sees, and what `history_` keeps: one moment of a run.

    A callback also sees which of several problems (one a class, say) it is a moment of.
    """

    iteration: int
    seconds: float
    primal: float
    dual: float
    problem: int = field(default=0, kw_only=True, compare=False)
    problems: int = field(default=1, kw_only=True, compare=False)

    @property
    def relative_gap(self) -> float:
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


def joined(histories: Iterable[Iterable[Progress]]) -> list[Progress]:
    """The moments of several problems, one after the other, that know which is theirs."""
    found = list(histories)
    if len(found) == 1:
        return list(found[0])
    return [
        replace(moment, problem=k, problems=len(found))
        for k, history in enumerate(found)
        for moment in history
    ]


def callers_line() -> int:
    """The `stacklevel` at which a warning names the line that called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith(("maxmargin.", "sklearn.callback."))


Callback = Callable[[Any], bool | None]


@dataclass
class Settings:
    """What a solver is told besides the problem. A callback that returns True ends the run.

    `stop` is the flag that Ctrl-C or the clock raises (`solvers.common.run.interruptible`).
    `free_intercept`: the last weight, of a constant feature 1, is not part of ``||w||^2``.
    `keeps_planes`: give back the planes that hold the answer up, if they are few.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    seed: int = 0
    callback: Callback | None = None
    stop: Stop | None = None
    free_intercept: bool = False
    keeps_planes: bool = False


@dataclass
class Solution:
    """What a solver gives back; with `dual_variables` (a_i >= 0) where the method has them, the
    name of the `solver` where several may have worked, and planes (a, b, error of a) below the loss
    where they are asked for."""

    w: np.ndarray
    certificate: Certificate
    history: list[Progress] = field(default_factory=list)
    dual_variables: np.ndarray | None = None
    solver: str | None = None
    planes: list[tuple[np.ndarray, float, float]] = field(default_factory=list)


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
