"""Probabilities of kernel machines, by machines that share their kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.models.calibration import Calibration
from maxmargin.parameters import Options
from maxmargin.problem import Clock
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.path import NO_LIMIT, BinaryProblem, RegularisationPath
from maxmargin.solvers.kernel.sources import CachedSource, Source
from maxmargin.solvers.kernel.two_variable import KernelSolution
from maxmargin.training.calibration import Calibrated, calibrate, method_of
from maxmargin.training.left_out import LeftOut, plus, slopes_and_curvatures
from maxmargin.training.normal_form import NormalForm, keys_of
from maxmargin.training.targets import Labels

if TYPE_CHECKING:
    from maxmargin.training.kernel import KernelPlan

KERNEL_SHARE = 64  # multiplications a kernel value of the whole matrix, about, that a fit takes
SINGLE = 1e-7  # of the trace: rounding of kernel values in float32


@dataclass(frozen=True)
class OtherMachines:
    """Machines without some of the rows, beside the solutions on all; the kernel matrix is shared.

    Those that start from the solutions take steps in float32, and nothing is certified.
    """

    problems: list[BinaryProblem]
    solutions: list[KernelSolution]
    plan: KernelPlan
    pool: _core.Pool
    stop: _core.Stop

    def scores_without(self, rows: np.ndarray, options: Options) -> np.ndarray | None:
        found = []
        for problem, solution in zip(self.problems, self.solutions):
            others = replace(problem, s=np.where(rows, 0.0, problem.s))
            path = RegularisationPath(
                others, self.plan.method, self.pool, self.stop, seed=options.seed
            )
            try:
                path.start_at(float(self.plan.C), solution.beta)
                path.run(options.tol, options.max_iter or NO_LIMIT)
            except _core.Stopped:
                return None
            found.append((path.y - path.r)[rows])
        return np.column_stack(found)

    def left_out(self, out: LeftOut) -> np.ndarray | None:
        """Predictions of rows without these rows; None where folds are the cheaper way."""
        found = []
        for problem, solution in zip(self.problems, self.solutions):
            cost = float(self.plan.C) * problem.s
            loss = LossSpec("hinge").on_margins(problem.y, cost, self.pool)
            weight, f, beta = float(problem.s[problem.y != 0].sum()), solution.f, solution.beta
            try:
                scores = kernel_scores(problem.source, loss, f, beta, weight, out)
            except _core.Stopped:
                return None
            if scores is None:
                return None
            found.append(scores)
        return np.column_stack(found)

    def own(self) -> np.ndarray:
        return np.column_stack([solution.f for solution in self.solutions])


def calibration_of(
    plan: KernelPlan, form: NormalForm, classes: np.ndarray, machines: OtherMachines
) -> Calibration | None:
    """Probabilities from machines without some of the rows, if they are asked for."""
    method, coding = method_of(plan.probability), coding_of(len(classes), plan.multi_class)
    if method is None:
        return None

    def scores_without(rows: np.ndarray, options: Options) -> np.ndarray | None:
        found = machines.scores_without(rows, options)
        return None if found is None else coding.scores(found)

    def left_out(out: LeftOut) -> np.ndarray | None:
        found = machines.left_out(out)
        return None if found is None else coding.scores(found).reshape(-1, len(labels.positives))

    labels = Labels(classes, form.codes, form.weights)
    keys = np.arange(float(labels.n)) if plan.kernel == "precomputed" else keys_of(form.X)
    certificates = [solution.certificate for solution in machines.solutions]
    known = Calibrated(labels, keys, certificates, lambda: coding.scores(machines.own()), left_out)
    return calibrate(method, known, scores_without, plan.options, Clock())


def kernel_scores(
    source: Source, loss: Pointwise, f: np.ndarray, beta: np.ndarray, weight: float, out: LeftOut
) -> np.ndarray | None:
    """Of one problem with coefficients beta on the rows of a kernel source; None where this would
    cost more than machines without some of the rows."""
    b, k = slopes_and_curvatures(loss, f, weight, beta)
    needed, band = np.flatnonzero(out.sums(b)), np.flatnonzero(k)
    support = out.first[needed]
    cost = len(band) ** 2 * (len(band) / 6 + len(support) / 2)
    if cost > KERNEL_SHARE * float(loss.n) ** 2 or isinstance(source, CachedSource):
        return None
    g = source.exact.diagonal[support].astype(np.float64)
    if len(band) > 0:
        near = source.some_rows(band).astype(np.float64)
        V = ArrayRows(near[:, support].T, pool=loss.pool)
        K, forms, ridge = near[:, band], np.empty(len(support)), 0.0
        np.einsum("jj->j", K)[:] += 1.0 / k[band]
        everyone = np.arange(len(support), dtype=np.uint32)
        while not _core.inverse_forms(V.core, everyone, plus(K, ridge), forms, loss.pool):
            ridge = max(10 * ridge, SINGLE * float(np.trace(K)))
        g = np.maximum(g - forms, 0.0)
    return out.scores(f, b, k, needed, g)
