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

    initialize a, grad W, T, S                          RegularisationPath.start (path.py)
    while S > eps / (2 lambda)                          core/kernel/two_variable.cpp, run
      select directions i*, j*                          core/kernel/working_sets.cpp
      update a in both directions                       core/kernel/step.hpp
      update grad W, T and E; S = T + E                 core/kernel/sweep.cpp, one sweep

Algorithm 1, in one variable, is working set -1. Procedures 1 and 2 are the sweep, 3 to 8 starts.py.

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
from maxmargin.solvers.kernel.active_set import Subsets
from maxmargin.solvers.kernel.certificate import (
    Bounds,
    KernelCertificate,
    bounds_of,
)
from maxmargin.solvers.kernel.chunking import Start, chunking_of
from maxmargin.solvers.kernel.low_rank import LowRankSolver
from maxmargin.solvers.kernel.newton import solve_box
from maxmargin.solvers.kernel.path import NO_LIMIT, BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import FIRST_SLICE, CachedSource, PartialSource

SLICE = 0.05  # seconds between two looks at the callback
MARGIN = 0.02  # share of the tolerance left to the difference between float32 and float64
NEWTON_ROWS = 2000  # the most whose Newton steps are worth their n^3
SHRINK = 0.7  # a round of refinement is worth another if it leaves no more than this of the gap
FAR = 32.0  # times the tolerance: a gap after many steps that needs far more of them
CRAWL = 0.99  # of the gap left after twice the steps: the rest will not come either


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
    r0: np.ndarray | None = None,
    e0: np.ndarray | None = None,
    owns_stop: bool = True,
) -> KernelSolution:
    """Solves one problem until the rule of the method holds in float64.

    `beta0` is a start: the solution of a neighbouring problem, inside the box if its residuals `r0`
    are given too; `e0` is what these err by where they are not from rows of the problem.
    """
    path = RegularisationPath(
        problem, method or Method(), pool, settings.stop, owns_stop, settings.seed
    )
    descent = Descent(path, settings)
    try:
        if beta0 is None:
            descent.start(C)
        elif r0 is None:
            path.start_at(C, beta0)
        else:
            path.start_from(C, beta0, r0, e0)
        descent.descend()
    except _core.Stopped:
        descent.run.stopped()
        path.keep(C, path.beta)  # a start that was cut short leaves a beta that is feasible
    return descent.solution()


def zero_solution(y: np.ndarray, s: np.ndarray, C: float, settings: Settings) -> KernelSolution:
    """``f = 0``: what there is when a run was stopped before its first kernel row."""
    scale = C * float(s[y != 0].sum())
    run = Run(settings)
    run.stopped()
    certificate = KernelCertificate.of(run.certify(scale, 0.0), scale, scale)
    return KernelSolution(np.zeros(len(y)), np.zeros(len(y)), certificate)


class Descent:
    """One run on one path: slices of steps, judged in float64, refined until the rule holds."""

    def __init__(self, path: RegularisationPath, settings: Settings) -> None:
        self.path, self.settings = path, settings
        self.run = Run(settings, patience=math.inf, owns_stop=path.owns_stop)
        self.rule = path.method.rule
        self.limit = NO_LIMIT if settings.max_iter is None else int(settings.max_iter)
        self.pool = _core.Pool(path.pool.threads)  # one that no stop flag ends
        self.bounds: Bounds | None = None  # of the path's beta, if it was judged since it moved
        self.newton_steps = self.earlier_steps = 0
        n = path.problem.source.n
        # Newton's method costs about as much as this many steps in two variables.
        self.patience = 20_000 + int(0.65 * n * n) if n <= NEWTON_ROWS else 40 * n
        self.gap_at_patience = math.inf
        self.subsets: Subsets | None = None
        self.low_rank: LowRankSolver | None = None

    @property
    def iterations(self) -> int:
        return self.path.core.iterations + self.newton_steps + self.earlier_steps

    def start(self, C: float) -> None:
        """From a subset of the points where that pays, else as the method says."""
        path = self.path

        def solve_small(
            problem: BinaryProblem, settings: Settings, start: Start | None
        ) -> KernelSolution:
            known = {} if start is None else {"beta0": start.beta, "r0": start.r, "e0": start.e}
            pool, method, owns = path.pool, path.method, path.owns_stop
            return solve(problem, C, settings, pool, method, owns_stop=owns, **known)

        chunking = None
        if path.method.cold == "auto":
            chunking = chunking_of(path.problem, C, self.settings, path.pool, solve_small)
        try:
            found = None if chunking is None else chunking.start()
        except _core.Stopped:
            assert chunking is not None
            path.beta[:] = chunking.beta
            raise
        if found is None:
            path.start(C)
        else:
            path.start_from(C, found.beta, found.r, found.e)
            self.earlier_steps = found.steps

    def descend(self) -> None:
        """Slices of steps until the run ends; Newton's method where they no longer help."""
        slice_length, judged = FIRST_SLICE, math.inf
        while True:
            end, steps, seconds = self.steps(slice_length)
            primal, dual = self.path.bounds()
            done = end in (_core.RunEnd.tolerance, _core.RunEnd.stalled)
            if self.run.record(self.iterations, primal, dual, solved=done and self.solved()):
                return
            if done:
                gap = self.judge().gap
                if not gap <= SHRINK * judged:
                    return self.newton()
                judged = gap
                self.path.core.begin()
            self.fill_matrix_if_cheaper(steps)
            if self.slow(primal, dual) and self.solved_otherwise():
                return self.run.end(Status.OPTIMAL)
            if self.crawls(primal - dual):
                return self.newton()
            if steps == slice_length and (steps < 1000 or seconds < SLICE / 2):
                slice_length *= 2

    def fill_matrix_if_cheaper(self, steps: int) -> None:
        """Makes the whole Gram matrix where that pays."""
        path, source = self.path, self.path.problem.source
        if isinstance(source, PartialSource):
            waiting = int(np.count_nonzero((path.beta == 0) & (path.c * path.r > 0)))
            source.fill_if_cheaper(steps, path.pool, waiting)
        elif isinstance(source, CachedSource):
            source.warn_if_too_small()

    def steps(self, most: int) -> tuple[_core.RunEnd, int, float]:
        """Steps in two variables: what ended them, how many, and the seconds they took."""
        core, began = self.path.core, time.perf_counter()
        before = core.iterations
        ahead = min(self.limit - self.iterations, self.patience - before)
        if isinstance(source := self.path.problem.source, PartialSource):
            ahead = min(ahead, source.steps_ahead())
        tol = self.settings.tol * (1 - MARGIN if self.rule == "relative" else 1)
        end = self.path.run(tol, max(0, min(most, ahead)))
        taken = core.iterations - before
        self.bounds = None if taken else self.bounds
        return end, taken, time.perf_counter() - began

    def solved(self) -> bool:
        """Whether the rule of the method holds in float64."""
        return self.judge().meets(self.rule, self.settings.tol)

    def judge(self) -> Bounds:
        """Bounds of where the path is, in float64; its residuals are fresh afterwards."""
        if self.bounds is None:
            self.bounds = bounds_of(self.path, self.pool, self.settings.tol)
        return self.bounds

    def slow(self, primal: float, dual: float) -> bool:
        """Whether so many steps left so much of the gap that others should be tried: the steps
        still needed would be many times as many even if the gap fell as 1 / steps, or it falls more
        slowly than that."""
        gap, n = primal - dual, self.path.problem.source.n
        if n <= NEWTON_ROWS or self.path.core.iterations < self.patience:
            return False
        far = gap > FAR * self.settings.tol * primal
        return far or SHRINK * self.gap_at_patience < gap < math.inf

    def solved_otherwise(self) -> bool:
        """Whether a Gram matrix of low rank or subsets of the points ended the run; steps go on
        from where they were, or from a better place, if not."""
        if self.subsets is None or self.low_rank is None:
            self.subsets, self.low_rank = Subsets(self), LowRankSolver(self)
        if self.low_rank.go_on() or self.subsets.go_on():
            return True
        self.judge()
        self.path.core.begin()
        return False

    def crawls(self, gap: float) -> bool:
        """Whether so many steps were taken, for so little, that others should be tried."""
        if self.path.core.iterations < self.patience:
            return False
        n = self.path.problem.source.n
        if n <= NEWTON_ROWS or not gap <= CRAWL * self.gap_at_patience:
            return True
        self.patience, self.gap_at_patience = 2 * self.patience, gap
        return False

    def newton(self) -> None:
        """Newton's method on working sets, as long as the gap falls for it."""
        while not self.solved():
            if self.iterations >= self.limit:
                return self.run.end(Status.MAX_ITER)
            before, beta = self.judge(), self.path.beta.copy()
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
        self.path.keep(self.path.C or 0.0, beta)
        self.bounds = None

    def working_set(self) -> np.ndarray:
        """Points that would move: all of them, or those with the most to gain."""
        path = self.path
        used = np.flatnonzero(path.c)
        if len(used) <= NEWTON_ROWS:
            return used
        low, high = np.minimum(path.c, 0) - path.beta, np.maximum(path.c, 0) - path.beta
        k = np.maximum(path.problem.source.exact.diagonal, 1e-300)
        d = np.clip(path.r / k, low, high)
        gain = d * (path.r - 0.5 * d * k)
        gain[(path.beta != 0) & (path.beta != path.c)] += float(gain.max())  # inner points first
        return np.sort(used[np.argsort(-gain[used], kind="stable")[:NEWTON_ROWS]])

    def improved(self, rows: np.ndarray, share: float = 1.0, rounding: float = 1.0) -> np.ndarray:
        """beta with the variables of these rows at their optimum, and all others as they are. With
        a small share of the usual tolerance it is known which of them are at their bounds; putting
        them there may cost the other share."""
        path, exact = self.path, self.path.problem.source.exact
        sign = np.sign(path.c[rows])
        Q = exact.block(rows)
        Q *= sign[:, None]
        Q *= sign[None, :]
        others = np.setdiff1d(np.flatnonzero(path.beta), rows)
        f, _ = exact.combine(np.append(others, rows), others, path.beta[others], self.pool)
        q = 1.0 - sign * f[len(others) :]
        u, tol = np.abs(path.c[rows]), 0.1 * self.settings.tol
        check = self.run.raise_if_stopped
        a, steps = solve_box(Q, q, u, share * tol, check, rounding=rounding * tol)
        self.newton_steps += steps
        beta = path.beta.copy()
        beta[rows] = sign * a
        return beta

    def solution(self) -> KernelSolution:
        """The answer with its certificate: whatever ended the run, the numbers decide."""
        path, bounds = self.path, self.judge()
        certificate = self.run.certify(
            bounds.primal, bounds.dual, n_iter=self.iterations, rule_met=self.solved()
        )
        f = bounds.factor * (path.y - path.r)
        return KernelSolution(
            bounds.factor * path.beta,
            f,
            KernelCertificate.of(certificate, bounds.clipped_gap, path.scale),
            self.run.history,
        )
