"""Kernel SVMs without offset, two dual variables a step.

I. Steinwart, D. Hush, C. Scovel, *Training SVMs without offset*, JMLR 12 (2011).

    minimise   P(f) = 1/2 ||f||^2 + sum_i C_i max(0, 1 - y_i f(x_i)),        C_i = C s_i
    maximise   W(a) = <e, a> - 1/2 <a, K a>,     0 <= a_i <= C_i,     K_ij = y_i y_j k(x_i, x_j)

    beta   y_i a_i, so that f(x) = sum_j beta_j k(x_j, x) and kernel rows carry no labels
    c      y_i C_i: beta_i lies between 0 and c_i
    r      y_i - f(x_i), the residual; g_i = y_i r_i is the gradient of W (the paper's nabla W_i)
    T      <a, K a> - <e, a> = -<beta, r>
    S      T + sum_i C_i clip(g_i, 0, 2), the clipped gap; without the 2 it is the gap P - W
    stop   "relative": the plain S <= tol * P; "clipped": S <= tol * sum_i C_i, the paper's rule (9)
           with its epsilon = tol; "plain": the same with the plain S, rule (7)

Algorithm 2 of the paper, and who does each line:

    initialize a, grad W, T, S                          Line.start (starts.py)
    while S > eps / (2 lambda)                          core/kernel/two_variable.cpp, run
      select directions i*, j*                          core/kernel/working_sets.cpp
      update a in both directions                       core/kernel/step.hpp
      update grad W, T and E; S = T + E                 core/kernel/sweep.cpp, one sweep

Deviations. The default rule is the relative gap; the paper's is "clipped". Kernel rows are float32,
so an answer is judged in float64 and refined. An iteration is one step, in one variable or two;
those of a start do not count. tests/papers has the box in plain Python; the core takes the same
steps.

The steps themselves are in core/kernel, on float32 rows. Here is what happens once a value of C:
starts, stopping, certificates. An answer is judged by float64 kernel values (kernel_certificate),
and if it falls short the steps go on from the residuals found so: iterative refinement. Where that
does not help either, Newton's method does the rest in float64 (kernel_newton).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.problem import Progress, Settings, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.kernel.certificate import (
    Bounds,
    KernelCertificate,
    bounds_of,
)
from maxmargin.solvers.kernel.gram import NEIGHBOURS
from maxmargin.solvers.kernel.newton import solve_box
from maxmargin.solvers.kernel.sources import FIRST_SLICE, CachedSource, PartialSource, Source
from maxmargin.solvers.kernel.starts import COLD, STARTS, WARM, kernel_rule_fits

SLICE = 0.05  # seconds between two looks at the callback
NO_LIMIT = 2**62
MARGIN = 0.02  # share of the tolerance left to the difference between float32 and float64
RULES = ("relative", "clipped", "plain")
LARGEST = 1e30  # sum_i C_i k(x_i, x_i) beyond which float32 steps would overflow
NEWTON_ROWS = 2000  # the most whose Newton steps are worth their n^3
SHRINK = 0.7  # a round of refinement is worth another if it leaves no more than this of the gap
CRAWL = 0.99  # of the gap left after twice the steps: the rest will not come either


@dataclass(frozen=True)
class Method:
    """How the problem is solved; the default is the paper's.

    Parameters
    ----------
    working_set : int
        How pairs are chosen: a sum of 1, 2, 4, ..., 2048; 0 for all pairs, -1 for one variable.
    rule : {"relative", "clipped", "plain"}
        Stop by the gap as a share of P, or by the clipped gap (rule 9) or the plain one (rule 7) as
        a share of ``sum_i C_i``.
    cold, warm : str
        Start of the first C ("I0", "I1") and of the following ones ("W0" to "W6"). "auto" is I1
        with the matrix in memory if most points would stay there, and I0 otherwise; W4 for growing
        C and W6 for falling C.
    """

    working_set: int = 7
    n_neighbours: int = NEIGHBOURS
    rule: str = "relative"
    cold: str = "auto"
    warm: str = "auto"

    @property
    def reads_everywhere(self) -> bool:
        """Whether pairs are sought in all rows of the matrix: working sets 0, 256 and 2048."""
        return self.working_set == 0 or (self.working_set > 0 and bool(self.working_set & 2304))

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"the rule must be one of {', '.join(RULES)}; got {self.rule!r}")
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

    def taking_part(self) -> np.ndarray:
        return np.array([[0, self.source.n]] if self.ranges is None else self.ranges, np.int64)


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
        if isinstance(problem.source, PartialSource) and method.reads_everywhere:
            problem.source.fill(pool)
        self.rows = problem.source.rows
        self.ranges = problem.taking_part()
        self.y = problem.y
        self.q = problem.y * problem.s  # c_i = C q_i
        self.total = float(np.abs(self.q).sum())
        self.beta = np.zeros(self.rows.n)
        self.r = self.y.copy()
        self.c = np.zeros(self.rows.n)
        self.C: float | None = None
        self.fresh_at: int | None = None  # iterations when the residuals were computed afresh
        self.core = _core.TwoVariable(
            self.rows,
            self.ranges,
            self.beta,
            self.r,
            self.c,
            problem.source.neighbours,
            method.n_neighbours,
            method.working_set,
            getattr(_core.GapRule, method.rule),
            seed,
        )

    @property
    def scale(self) -> float:
        """``sum_i C_i``: what the tolerance is measured in."""
        return 0.0 if self.C is None else self.C * self.total

    def start(self, C: float) -> None:
        """Sets beta and r for a new C, by the start the method names."""
        c = self._costs(C)
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
        self.fresh_at = self.core.iterations
        self.core.begin()

    def start_at(self, C: float, beta: np.ndarray) -> None:
        """Starts from a given beta, cut to the box of C."""
        self.keep(C, beta)
        self.refresh(self.pool)
        self.core.begin()

    def refresh(self, pool: _core.Pool) -> None:
        """Computes the residuals afresh, as exactly as the rows are."""
        self.r[:] = self.y - self.problem.source.combine(self.beta, pool)
        self.fresh_at = self.core.iterations

    def keep(self, C: float, beta: np.ndarray) -> None:
        """Takes C and beta, cut to the box, and leaves the residuals to others."""
        self.c[:] = self._costs(C)
        self.beta[:] = np.clip(beta, np.minimum(self.c, 0), np.maximum(self.c, 0))
        self.C, self.fresh_at = C, None

    def _costs(self, C: float) -> np.ndarray:
        largest = float(np.max(self.problem.source.exact.diagonal, initial=0.0))
        reach = C * self.total * max(largest, 1.0)
        if not reach <= LARGEST:
            raise ValueError(
                f"C times the sum of weights is {C * self.total:.3g} and k(x, x) is up to "
                f"{largest:.3g}: more than floating point numbers can tell apart. Use a smaller C "
                f"or smaller weights, or scale the kernel down"
            )
        return C * self.q

    def run(self, tol: float, limit: int = NO_LIMIT) -> _core.RunEnd:
        """Steps until the rule of the method holds."""
        unit = 1.0 if self.method.rule == "relative" else self.scale
        return self.core.run(tol * unit, limit, self.stop, self.owns_stop)

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
    """Solves one problem until the rule of the method holds in float64.

    `beta0` is a start: the solution of a neighbouring problem.
    """
    line = Line(problem, method or Method(), pool, settings.stop, owns_stop, settings.seed)
    descent = Descent(line, settings)
    try:
        if beta0 is None:
            line.start(C)
        else:
            line.start_at(C, beta0)
        descent.descend()
    except _core.Stopped:
        descent.run.stopped()
        line.keep(C, line.beta)  # a start that was cut short leaves a beta that is feasible
    return descent.solution()


def zero_solution(y: np.ndarray, s: np.ndarray, C: float, settings: Settings) -> KernelSolution:
    """``f = 0``: what there is when a run was stopped before its first kernel row."""
    scale = C * float(s[y != 0].sum())
    run = Run(settings)
    run.stopped()
    certificate = KernelCertificate.of(run.certify(scale, 0.0), scale, scale)
    return KernelSolution(np.zeros(len(y)), np.zeros(len(y)), certificate)


class Descent:
    """One run on one line: slices of steps, judged in float64, refined until the rule holds."""

    def __init__(self, line: Line, settings: Settings) -> None:
        self.line, self.settings = line, settings
        self.run = Run(settings, patience=math.inf, owns_stop=line.owns_stop)
        self.rule = line.method.rule
        self.limit = NO_LIMIT if settings.max_iter is None else int(settings.max_iter)
        self.pool = _core.Pool(line.pool.threads)  # one that no stop flag ends
        self.bounds: Bounds | None = None  # of the line's beta, if it was judged since it moved
        self.newton_steps = 0
        n = line.problem.source.n
        # Newton's method costs about as much as this many steps in two variables.
        self.patience = 20_000 + int(0.65 * n * n) if n <= NEWTON_ROWS else 40 * n
        self.gap_at_patience = math.inf

    @property
    def iterations(self) -> int:
        return self.line.core.iterations + self.newton_steps

    def descend(self) -> None:
        """Slices of steps until the run ends; Newton's method where they no longer help."""
        slice_length, judged = FIRST_SLICE, math.inf
        while True:
            end, steps, seconds = self.steps(slice_length)
            primal, dual = self.line.bounds()
            done = end in (_core.RunEnd.tolerance, _core.RunEnd.stalled)
            if self.run.record(self.iterations, primal, dual, solved=done and self.solved()):
                return
            if done:
                gap = self.judge().gap
                if not gap <= SHRINK * judged:
                    return self.newton()
                judged = gap
                self.line.core.begin()
            self.look_after_rows(steps)
            if self.crawls(primal - dual):
                return self.newton()
            if steps == slice_length and (steps < 1000 or seconds < SLICE / 2):
                slice_length *= 2

    def look_after_rows(self, steps: int) -> None:
        """Makes the whole Gram matrix where that pays."""
        source = self.line.problem.source
        if isinstance(source, PartialSource):
            source.fill_if_cheaper(steps, self.line.pool)
        elif isinstance(source, CachedSource):
            source.warn_if_too_small()

    def steps(self, most: int) -> tuple[_core.RunEnd, int, float]:
        """Steps in two variables: what ended them, how many, and the seconds they took."""
        core, began = self.line.core, time.perf_counter()
        before = core.iterations
        ahead = min(self.limit - self.iterations, self.patience - before)
        tol = self.settings.tol * (1 - MARGIN if self.rule == "relative" else 1)
        end = self.line.run(tol, max(0, min(most, ahead)))
        taken = core.iterations - before
        self.bounds = None if taken else self.bounds
        return end, taken, time.perf_counter() - began

    def solved(self) -> bool:
        """Whether the rule of the method holds in float64."""
        return self.judge().meets(self.rule, self.settings.tol)

    def judge(self) -> Bounds:
        """Bounds of where the line is, in float64; its residuals are fresh afterwards."""
        if self.bounds is None:
            self.bounds = bounds_of(self.line, self.pool, self.settings.tol)
        return self.bounds

    def crawls(self, gap: float) -> bool:
        """Whether so many steps were taken, for so little, that others should be tried."""
        if self.line.core.iterations < self.patience:
            return False
        n = self.line.problem.source.n
        if n <= NEWTON_ROWS or not gap <= CRAWL * self.gap_at_patience:
            return True
        self.patience, self.gap_at_patience = 2 * self.patience, gap
        return False

    def newton(self) -> None:
        """Newton's method on working sets, as long as the gap falls for it."""
        while not self.solved():
            if self.iterations >= self.limit:
                return self.run.end(Status.MAX_ITER)
            before, beta = self.judge(), self.line.beta.copy()
            rows = self.working_set()
            self.move(self.improved(rows))
            if self.solved():
                break
            after = self.judge()
            if not after.gap < before.gap:
                self.move(beta)
            if len(rows) < NEWTON_ROWS or not after.gap <= SHRINK * before.gap:
                return self.run.end(Status.STALLED)
        self.run.end(Status.OPTIMAL)

    def move(self, beta: np.ndarray) -> None:
        self.line.keep(self.line.C or 0.0, beta)
        self.bounds = None

    def working_set(self) -> np.ndarray:
        """Points that would move: all of them, or those with the most to gain."""
        line = self.line
        used = np.flatnonzero(line.c)
        if len(used) <= NEWTON_ROWS:
            return used
        low, high = np.minimum(line.c, 0) - line.beta, np.maximum(line.c, 0) - line.beta
        k = np.maximum(line.problem.source.exact.diagonal, 1e-300)
        d = np.clip(line.r / k, low, high)
        gain = d * (line.r - 0.5 * d * k)
        gain[(line.beta != 0) & (line.beta != line.c)] += float(gain.max())  # inner points first
        return np.sort(used[np.argsort(-gain[used], kind="stable")[:NEWTON_ROWS]])

    def improved(self, rows: np.ndarray) -> np.ndarray:
        """beta with the variables of these rows at their optimum, all others as they are."""
        line, exact = self.line, self.line.problem.source.exact
        sign = np.sign(line.c[rows])
        Q = exact.block(rows)
        Q *= sign[:, None]
        Q *= sign[None, :]
        others = np.setdiff1d(np.flatnonzero(line.beta), rows)
        f, _ = exact.combine(np.append(others, rows), others, line.beta[others], self.pool)
        q = 1.0 - sign * f[len(others) :]
        a, steps = solve_box(
            Q, q, np.abs(line.c[rows]), 0.1 * self.settings.tol, self.run.raise_if_stopped
        )
        self.newton_steps += steps
        beta = line.beta.copy()
        beta[rows] = sign * a
        return beta

    def solution(self) -> KernelSolution:
        """The answer with its certificate: whatever ended the run, the numbers decide."""
        line, bounds = self.line, self.judge()
        certificate = self.run.certify(
            bounds.primal, bounds.dual, n_iter=self.iterations, rule_met=self.solved()
        )
        f = bounds.factor * (line.y - line.r)
        return KernelSolution(
            bounds.factor * line.beta,
            f,
            KernelCertificate.of(certificate, bounds.clipped_gap, line.scale),
            self.run.history,
        )
