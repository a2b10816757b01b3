"""Kernel SVMs without offset, two dual variables a step.

I. Steinwart, D. Hush, C. Scovel, *Training SVMs without offset*, JMLR 12 (2011).

    minimise   P(f) = 1/2 ||f||^2 + sum_i C_i max(0, 1 - y_i f(x_i)),        C_i = C s_i
    maximise   W(a) = <e, a> - 1/2 <a, K a>,     0 <= a_i <= C_i,     K_ij = y_i y_j k(x_i, x_j)

    beta   y_i a_i, so that f(x) = sum_j beta_j k(x_j, x) and kernel rows carry no labels
    c      y_i C_i: beta_i lies between 0 and c_i
    r      y_i - f(x_i), the residual; g_i = y_i r_i is the gradient of W (the paper's nabla W_i)
    T      <a, K a> - <e, a> = -<beta, r>
    S      T + sum_i C_i clip(g_i, 0, 2), the clipped gap; without the 2 it is the gap P - W
    stop   S <= tol * sum_i C_i, the paper's rule (9) with its epsilon = tol

The steps themselves are in core/kernel. Here is what happens once a value of C: starts, stopping,
certificates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.problem import Certificate, Progress, Settings, Status
from maxmargin.solvers.kernel_sources import Source
from maxmargin.solvers.kernel_starts import COLD, STARTS, WARM, kernel_rule_fits
from maxmargin.solvers.kernels import NEIGHBOURS
from maxmargin.solvers.run import Run

ONE_VARIABLE = -1  # the code of the 1D solver
SLICE = 0.05  # seconds between two looks at the callback
NO_LIMIT = 2**62


@dataclass(frozen=True)
class Method:
    """How the problem is solved; the default is the paper's.

    Parameters
    ----------
    working_set : int
        How pairs are chosen: a sum of 1, 2, 4, ..., 2048; 0 for all pairs, -1 for one variable.
    clipped : bool
        Stop by the clipped gap (rule 9) or by the plain one (rule 7).
    cold, warm : str
        Start of the first C ("I0", "I1") and of the following ones ("W0" to "W6"). "auto" is I1
        with the matrix in memory if most points would stay there, and I0 otherwise; W4 for growing
        C and W6 for falling C.
    """

    working_set: int = 7
    n_neighbours: int = NEIGHBOURS
    clipped: bool = True
    cold: str = "auto"
    warm: str = "auto"

    def __post_init__(self) -> None:
        if self.cold not in ("auto", *COLD):
            raise ValueError(f"cold start must be auto, {', '.join(COLD)}; got {self.cold!r}")
        if self.warm not in ("auto", *COLD, *WARM):
            raise ValueError(
                f"warm start must be auto, {', '.join([*COLD, *WARM])}; got {self.warm!r}"
            )


@dataclass
class BinaryProblem:
    """Labels and weights over the points of a kernel source.

    Parameters
    ----------
    y : array of shape (n,)
        -1 and +1; 0 where a point takes no part.
    s : array of shape (n,)
        Weights ``s_i >= 0``.
    ranges : array of shape (m, 2)
        Where the points that take part lie, e.g. all but one fold. Nothing is copied for them.
    """

    source: Source
    y: np.ndarray
    s: np.ndarray
    ranges: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.y = np.ascontiguousarray(self.y, dtype=np.float64)
        self.s = np.ascontiguousarray(self.s, dtype=np.float64)
        if self.ranges is None:
            self.ranges = np.array([[0, self.source.n]])
        self.ranges = np.ascontiguousarray(self.ranges, dtype=np.int64)


# ---------------------------------------------------------------- one problem along a line of C


class Line:
    """One binary problem for one value of C after another, each started from the one before.

    `stop` is polled if this thread owns it; other threads only look at its flag.
    """

    def __init__(
        self,
        problem: BinaryProblem,
        method: Method,
        pool: _core.Pool,
        stop: _core.Stop | None = None,
        owns_stop: bool = True,
        seed: int = 0,
    ) -> None:
        self.problem, self.method, self.pool = problem, method, pool
        self.stop, self.owns_stop = stop, owns_stop
        self.rows = problem.source.rows
        self.ranges = problem.ranges
        self.y = problem.y
        self.q = problem.y * problem.s  # c_i = C q_i
        self.total = float(np.abs(self.q).sum())
        self.beta = np.zeros(self.rows.n)
        self.r = self.y.copy()
        self.c = np.zeros(self.rows.n)
        self.C: float | None = None
        self.core = _core.TwoVariable(
            self.rows,
            self.ranges,
            self.beta,
            self.r,
            self.c,
            problem.source.neighbours,
            method.n_neighbours,
            method.working_set,
            method.clipped,
            seed,
        )

    @property
    def scale(self) -> float:
        """``sum_i C_i``: what the tolerance is measured in."""
        return 0.0 if self.C is None else self.C * self.total

    def start(self, C: float) -> None:
        """Sets beta and r for a new C, by the start the method names."""
        c = C * self.q
        if self.C is None:
            name = self.method.cold
            if name == "auto":
                name = "I1" if kernel_rule_fits(self, c) else "I0"
            COLD[name](self, c)
        else:
            name = self.method.warm
            name = ("W4" if C >= self.C else "W6") if name == "auto" else name
            STARTS[name](self, c, C / self.C)
        self.c[:] = c
        self.C = C
        self.core.begin()

    def start_at(self, C: float, beta: np.ndarray) -> None:
        """Starts from a given beta, cut to the box of C."""
        self.c[:] = C * self.q
        self.beta[:] = np.clip(beta, np.minimum(self.c, 0), np.maximum(self.c, 0))
        self.C = C
        self.refresh()

    def run(self, tol: float, limit: int = NO_LIMIT) -> _core.RunEnd:
        """Steps until ``S <= tol sum_i C_i``."""
        return self.core.run(tol * self.scale, limit, self.stop, self.owns_stop)

    def refresh(self) -> None:
        """Computes the residuals afresh: nothing remains of rounding along the way."""
        self.r[:] = self.y - self.problem.source.combine(self.beta, self.pool)
        self.core.begin()

    def add_rows(self, indices: np.ndarray, coefficients: np.ndarray) -> None:
        """``f += sum_j coefficients_j k_j``"""
        _core.add_rows(self.rows, indices, -coefficients, self.ranges, self.r, self.pool)

    def bounds(self) -> tuple[float, float]:
        """``(P, W)`` of the current beta, from the residuals."""
        a = np.abs(self.beta)
        norm2 = float(self.beta @ (self.y - self.r))
        loss = float(np.maximum(self.c * self.r, 0.0).sum())
        return 0.5 * norm2 + loss, float(a.sum()) - 0.5 * norm2


# ---------------------------------------------------------------- one fit with its certificate


@dataclass(frozen=True)
class KernelCertificate(Certificate):
    """A certificate that also knows the clipped gap and ``sum_i C_i``, the tolerance's unit."""

    clipped_gap: float = 0.0
    scale: float = 1.0

    @property
    def normalised_gap(self) -> float:
        """``(P - D) / sum_i C_i``: the mean loss that could still be saved."""
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def normalised_clipped_gap(self) -> float:
        """The same with predictions clipped to [-1, 1], which is what rule (9) stops by."""
        return self.clipped_gap / self.scale if self.scale > 0 else 0.0

    def as_dict(self) -> dict[str, float | int | str]:
        extra: dict[str, float | int | str] = {
            "clipped_gap": self.clipped_gap,
            "normalised_gap": self.normalised_gap,
            "scale": self.scale,
        }
        return super().as_dict() | extra


@dataclass
class KernelSolution:
    """``f(x) = sum_j beta_j k(x_j, x)`` with its certificate; `f` holds its values there."""

    beta: np.ndarray
    f: np.ndarray
    certificate: KernelCertificate
    history: list[Progress] = field(default_factory=list)


def solve(
    problem: BinaryProblem,
    C: float,
    settings: Settings,
    pool: _core.Pool,
    method: Method | None = None,
    *,
    beta0: np.ndarray | None = None,
    owns_stop: bool = True,
) -> KernelSolution:
    """Solves one problem until the (clipped) gap is at most ``tol * sum_i C_i``.

    `beta0` is a start: the solution of a neighbouring problem.
    """
    method = method or Method()
    run = Run(settings)
    line = Line(problem, method, pool, settings.stop, owns_stop, settings.seed)
    try:
        if beta0 is None:
            line.start(C)
        else:
            line.start_at(C, beta0)
        status = _descend(line, run, settings)
    except _core.Stopped:
        status = _who_stopped(settings)
    return _certified(line, run, status)


def zero_solution(y: np.ndarray, s: np.ndarray, C: float, settings: Settings) -> KernelSolution:
    """``f = 0``: what there is when a run was stopped before its first kernel row."""
    scale = C * float(s[y != 0].sum())
    certificate = KernelCertificate(
        scale, 0.0, _who_stopped(settings), 0, 0.0, clipped_gap=scale, scale=scale
    )
    return KernelSolution(np.zeros(len(y)), np.zeros(len(y)), certificate)


def _descend(line: Line, run: Run, settings: Settings) -> Status:
    """Slices of steps until the tolerance holds with residuals computed afresh."""
    limit = NO_LIMIT if settings.max_iter is None else int(settings.max_iter)
    tolerance = settings.tol * line.scale
    slice_length, gained_at_refresh, fresh = 1000, -1.0, False
    while True:
        began, before = time.perf_counter(), line.core.iterations
        end = line.run(settings.tol, min(slice_length, limit - before))
        steps, seconds = line.core.iterations - before, time.perf_counter() - began
        fresh = fresh and steps == 0
        progress = Progress(line.core.iterations, run.clock(), *line.bounds())
        run.history.append(progress)
        if end == _core.RunEnd.stopped:
            return _who_stopped(settings)
        if end in (_core.RunEnd.tolerance, _core.RunEnd.stalled):
            if not fresh:
                line.refresh()
                fresh = True
            if tolerance >= line.core.S:
                return Status.OPTIMAL
            if end == _core.RunEnd.stalled and line.core.gained <= gained_at_refresh:
                return Status.STALLED
            gained_at_refresh = line.core.gained
            continue
        if settings.callback is not None and settings.callback(progress):
            return Status.CALLBACK
        if line.core.iterations >= limit:
            return Status.MAX_ITER
        if seconds < SLICE / 2 and steps == slice_length:
            slice_length *= 2


def _who_stopped(settings: Settings) -> Status:
    by_clock = settings.stop is not None and settings.stop.reason == _core.StopReason.time
    return Status.MAX_TIME if by_clock else Status.INTERRUPTED


def _certified(line: Line, run: Run, status: Status) -> KernelSolution:
    """The answer with P, W and the clipped gap in float64 from the residuals of the end."""
    if status not in (Status.OPTIMAL, Status.STALLED) and line.rows.whole:
        line.pool = _core.Pool(1)  # one that no stop flag ends: this pass is short
        line.refresh()
    P, W = line.bounds()
    g = np.sign(line.c) * line.r
    clipped = float(np.abs(line.c) @ np.clip(g, 0.0, 2.0) - line.beta @ line.r)
    gap = clipped if line.method.clipped else P - W
    if gap <= run.settings.tol * line.scale:
        status = Status.OPTIMAL  # whatever ended the run, the numbers decide
    certificate = KernelCertificate(
        P, W, status, line.core.iterations, run.clock(), clipped_gap=clipped, scale=line.scale
    )
    return KernelSolution(line.beta, line.y - line.r, certificate, run.history)
