"""Kernel regression without offset, two dual variables a step, for every loss of residuals.

    minimise   P(f) = 1/2 ||f||^2 + sum_i C_i phi(t_i - f(x_i))
    maximise   D(beta) = sum_i (t_i beta_i - h_i(beta_i)) - 1/2 <beta, K beta>,    C_i = C s_i

    beta   f(x) = sum_j beta_j k(x_j, x);  beta_i / C_i is a slope of phi at the residual
    h_i    C_i phi*(beta_i / C_i): a kink at 0 (the tube), a parabola to each side, a box
    stop   (P - D) <= tol * P, in float64

The steps are in core/kernel/regression.cpp, on float32 rows. Answers are judged by float64 kernel
values; where they fall short the steps go on from the residuals found so, and where that does not
help either, or have cost as much, an interior-point method does the rest in float64. Least squares
of few rows are one Cholesky solve from the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Settings, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.least_squares import least_squares, most_steps
from maxmargin.solvers.kernel.path import LARGEST, NO_LIMIT
from maxmargin.solvers.kernel.regression_certificate import RegressionBounds, bounds_of
from maxmargin.solvers.kernel.regression_newton import RegressionNewton
from maxmargin.solvers.kernel.sources import FIRST_SLICE, CachedSource, PartialSource, Source
from maxmargin.solvers.kernel.two_variable import MARGIN, NEWTON_ROWS, SHRINK, KernelSolution

MOST_ROWS = 4000  # for Newton's method
STEPS = 16  # per row, in searches


@dataclass
class RegressionProblem:
    """Targets and weights over the points of a kernel source, and the loss.

    `ranges` are where the points that take part lie, all if none is said; the others have s = 0.
    """

    source: Source
    t: np.ndarray
    s: np.ndarray
    spec: LossSpec
    ranges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def __post_init__(self) -> None:
        self.t = np.ascontiguousarray(self.t, dtype=np.float64)
        self.s = np.ascontiguousarray(self.s, dtype=np.float64)
        if len(self.ranges) == 0:
            self.ranges = np.array([[0, self.source.n]], dtype=np.int64)
        self.shape = _core.LossShape(self.spec.name, self.spec.x)


class RegressionPath:
    """One problem for one value of C after another, each started from the one before."""

    def __init__(self, problem: RegressionProblem, pool: _core.Pool) -> None:
        self.problem, self.pool = problem, pool
        n = problem.source.n
        self.beta, self.c = np.zeros(n), np.zeros(n)
        self.r = problem.t.copy()
        self.C: float | None = None
        self._exact: tuple[np.ndarray, np.ndarray] | None = None
        self.core = _core.RegressionSteps(
            problem.source.rows,
            problem.ranges,
            self.beta,
            self.r,
            self.c,
            problem.t,
            problem.spec.name,
            problem.spec.x,
        )

    def start(self, C: float, beta: np.ndarray | None = None) -> None:
        """Takes a new C. Slopes are kept where they are at an end or bend, coefficients elsewhere:
        the former grow with C, the latter would leave the tube."""
        before = self.C
        self._set_costs(C)
        if beta is not None:
            self.move(beta)
        elif before is not None:
            self.move(self._grown(C / before))
        self.core.begin()

    def _grown(self, ratio: float) -> np.ndarray:
        low, high = box(self.c / ratio, self.problem.shape)
        at_end = (self.beta >= high) | (self.beta <= low)
        return np.where(at_end, self.beta * ratio, self.beta)

    def move(self, beta: np.ndarray) -> None:
        """Goes to a beta, cut to its box, with residuals of the rows as they are."""
        low, high = box(self.c, self.problem.shape)
        self.beta[:] = np.clip(beta, low, high)
        self.r[:] = self.problem.t - self.problem.source.combine(self.beta, self.pool)

    def newton(self, tol: float, check_stop: Callable[[], None]) -> int:
        """Goes to the solution by Newton's method in float64, and tells in how many steps."""
        problem = self.problem
        if self._exact is None:
            rows = np.flatnonzero(self.c)
            self._exact = rows, problem.source.exact.block(rows)
        rows, K = self._exact
        newton = RegressionNewton(K, problem.t[rows], self.c[rows], problem.spec)
        found, steps = newton.solve(tol, check_stop)
        beta = np.zeros(len(self.beta))
        beta[rows] = found
        self.move(beta)
        return steps

    def _set_costs(self, C: float) -> None:
        problem = self.problem
        largest = float(np.max(problem.source.exact.diagonal, initial=0.0))
        total = C * float(problem.s.sum())
        if not total * max(largest, 1.0) * max(float(np.abs(problem.t).max()), 1.0) <= LARGEST:
            raise ValueError(
                f"C times the sum of weights is {total:.3g}, k(x, x) is up to {largest:.3g} and "
                f"|y| up to {np.abs(problem.t).max():.3g}: more than floating point numbers can "
                f"tell apart. Use a smaller C or smaller weights, or scale kernel or targets down"
            )
        self.C = C
        self.c[:] = C * problem.s

    @property
    def scale(self) -> float:
        return float(self.c.sum())


def box(c: np.ndarray, shape: _core.LossShape) -> tuple[np.ndarray, np.ndarray]:
    """Between which numbers each beta lies."""
    with np.errstate(over="ignore"):
        return c * shape.low, c * shape.high


def along(path: RegressionPath, Cs: np.ndarray, settings: Settings) -> Iterator[np.ndarray]:
    """Predictions of all points for one C after another, by float32 rows, to a gap that is small
    beside the loss of ``f = 0``. A fit that takes more than `STEPS` steps a row, as some do at
    large C, is left where it stands."""
    most = STEPS * path.problem.source.n
    limit = most if settings.max_iter is None else min(most, int(settings.max_iter))
    for C in np.asarray(Cs, dtype=np.float64):
        path.start(float(C))
        loss = path.problem.spec.on_targets(path.problem.t, path.c, path.pool)
        scale = loss.at_zero  # as the hinge of f = 0 is sum_i C_i, the unit of the clipped rule
        if path.core.run(settings.tol, scale, limit, settings.stop, False) == _core.RunEnd.stopped:
            raise _core.Stopped
        yield path.problem.t - path.r


# ---------------------------------------------------------------- one fit with its certificate


def solve_regression(
    problem: RegressionProblem,
    C: float,
    settings: Settings,
    pool: _core.Pool,
    *,
    beta0: np.ndarray | None = None,
    owns_stop: bool = True,
) -> KernelSolution:
    """Solves one problem until the relative gap is within the tolerance in float64."""
    path = RegressionPath(problem, pool)
    descent = RegressionDescent(path, settings, owns_stop)
    try:
        path.start(C, beta0)
        descent.descend()
    except _core.Stopped:
        descent.run.stopped()
    return descent.solution()


def zero_regression(
    t: np.ndarray, c: np.ndarray, spec: LossSpec, settings: Settings
) -> KernelSolution:
    """``f = 0``: what there is when a run was stopped before its first kernel row."""
    run = Run(settings)
    run.stopped()
    value = spec.on_targets(t, c, _core.Pool(1)).at_zero
    certificate = KernelCertificate.of(run.certify(value, 0.0), value, float(c.sum()))
    return KernelSolution(np.zeros(len(t)), np.zeros(len(t)), certificate)


def patience_of(problem: RegressionProblem) -> int:
    """How many steps in two variables cost about as much as Newton's method does."""
    n = problem.source.n
    if n > MOST_ROWS:
        return NO_LIMIT
    if problem.spec.name == "squared":
        return 0 if n <= NEWTON_ROWS else n * n // 300
    return 5_000 + n * n // 50


class RegressionDescent:
    """One run: slices of steps, judged in float64, refined until the relative gap is small."""

    def __init__(self, path: RegressionPath, settings: Settings, owns_stop: bool = True) -> None:
        self.path, self.settings, self.owns_stop = path, settings, owns_stop
        self.run = Run(settings, patience=math.inf, owns_stop=owns_stop)
        self.limit = NO_LIMIT if settings.max_iter is None else int(settings.max_iter)
        self.pool = _core.Pool(path.pool.threads)  # one that no stop flag ends
        self.bounds: RegressionBounds | None = None
        self.newton_steps = 0
        self.patience = patience_of(path.problem)

    @property
    def iterations(self) -> int:
        return self.path.core.iterations + self.newton_steps

    def descend(self) -> None:
        """Slices of steps until the run ends; Newton's method where they no longer help."""
        path, judged, length = self.path, math.inf, FIRST_SLICE
        small = self.patience < NO_LIMIT
        if path.problem.spec.name == "squared" and self.patience > 0 and self.least_squares():
            return None
        if self.patience == 0 and self.limit > 0:
            return self.newton()
        while True:
            before = path.core.iterations
            end = self.steps(length)
            length *= 2
            done = end in (_core.RunEnd.tolerance, _core.RunEnd.stalled)
            primal = path.core.P
            dual = max(primal - path.core.gap, 0.0)
            if self.run.record(self.iterations, primal, dual, solved=done and self.solved()):
                return None
            if done:
                gap = self.judge().gap
                if not gap <= SHRINK * judged:
                    return self.newton() if small else self.run.end(Status.STALLED)
                judged = gap
                path.core.begin()
            if small and path.core.iterations >= self.patience:
                return self.newton()
            self.fill_matrix_if_cheaper(path.core.iterations - before)

    def steps(self, most: int) -> _core.RunEnd:
        core = self.path.core
        ahead = max(0, min(most, self.limit - self.iterations, self.patience - core.iterations))
        if isinstance(source := self.path.problem.source, PartialSource):
            ahead = min(ahead, source.steps_ahead())
        before = core.iterations
        tol = self.settings.tol * (1 - MARGIN)
        end = core.run(tol, 0.0, ahead, self.settings.stop, self.owns_stop)
        self.bounds = None if core.iterations > before else self.bounds
        return end

    def fill_matrix_if_cheaper(self, steps: int) -> None:
        """Makes the whole Gram matrix where that pays."""
        source = self.path.problem.source
        if isinstance(source, PartialSource):
            source.fill_if_cheaper(steps, self.path.pool)
        elif isinstance(source, CachedSource):
            source.warn_if_too_small()

    def judge(self) -> RegressionBounds:
        if self.bounds is None:
            self.bounds = bounds_of(self.path, self.pool)
        return self.bounds

    def solved(self) -> bool:
        bounds = self.judge()
        return bounds.gap <= self.settings.tol * bounds.primal

    def least_squares(self) -> bool:
        """Goes on by the Lanczos process, and again from the float64 residuals that it leaves, for
        as long as the gap falls for it. Whether the run ended."""
        path, source, tol = self.path, self.path.problem.source, 0.5 * self.settings.tol
        if isinstance(source, CachedSource):
            return False
        if isinstance(source, PartialSource):
            source.fill(path.pool)
        part, before, of_zero = path.c > 0, math.inf, bool(path.beta.any())
        while self.iterations < self.limit:
            bounds = self.judge()
            if self.run.record(self.iterations, bounds.primal, bounds.dual, solved=self.solved()):
                return True
            if not bounds.gap <= SHRINK * before:
                return False
            before = bounds.gap
            # What is left to be solved is least squares too, of other targets and the same gap.
            left = np.zeros(len(part))
            left[part] = path.r[part] - path.beta[part] / path.c[part]
            share = tol * bounds.primal / bounds.gap if of_zero else tol
            beta, steps = least_squares(
                *(source.K, left, path.c[None], np.ones((1, 1)), share, path.pool),
                of_zero=of_zero,
                most=min(most_steps(source.n, 1), self.limit - self.iterations),
            )
            path.beta += beta[0, 0]
            self.newton_steps, self.bounds, of_zero = self.newton_steps + steps, None, True
        return False

    def newton(self) -> None:
        """The rest in float64; the better of before and after is kept."""
        path, before = self.path, self.judge()
        beta, r = path.beta.copy(), path.r.copy()
        self.bounds = None  # a stop may come when beta has moved already
        self.newton_steps += path.newton(0.1 * self.settings.tol, self.run.raise_if_stopped)
        after = self.judge()
        if not after.gap < before.gap:
            path.beta[:], path.r[:], self.bounds = beta, r, before
        bounds = self.judge()
        if not self.run.record(self.iterations, bounds.primal, bounds.dual, solved=self.solved()):
            self.run.end(Status.MAX_ITER if self.iterations >= self.limit else Status.STALLED)

    def solution(self) -> KernelSolution:
        """The answer with its certificate: whatever ended the run, the numbers decide."""
        path, bounds = self.path, self.judge()
        certificate = self.run.certify(bounds.primal, bounds.dual, n_iter=self.iterations)
        return KernelSolution(
            path.beta.copy(),
            path.problem.t - path.r,
            KernelCertificate.of(certificate, bounds.gap, path.scale),
            self.run.history,
        )
