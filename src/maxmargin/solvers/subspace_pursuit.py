"""Sparse kernel machines by cutting-plane subspace pursuit (CPSP).

T. Joachims, C.-N. Yu, *Sparse kernel SVMs via cutting-plane training*, ECML 2009, algorithm 3.

    minimise   P(f) = 1/2 ||f||^2 + R(f),   R(f) = sum_i C_i max(0, 1 - y_i f(x_i)),   f in span(B)

    B      basis vectors b_1 .. b_k, found on the way       z_i   coordinates of P_B phi(x_i)
    l      subgradient of R in the predictions              Psi   sum_i l_i phi(x_i): a plane
    a      Z^T l: the coordinates of P_B Psi                b     its offset, whatever the basis
    w_t    minimiser over the planes                        w_b   best so far
    D      value of the planes: lower bound within span(B)  P     value at w_b: upper bound

In the coordinates z the problem is a linear one, and the loop of `bundle.py` solves it. A vector
that joins the basis appends a column to Z and a coordinate to every plane kept: <l, z_new>, for
which planes keep their l. P(w_b) does not change by it, and D starts anew: it bounds the machines
of one span only.

The paper follows the residual of the newest plane. Here it is that of the plane at w_b: -w_b - Psi
is the steepest descent there, and its part outside the span is what the basis lacks.

Several classes are several problems on one basis, which take turns in choosing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.losses.hinge import Hinge
from maxmargin.problem import Progress, Settings, Status
from maxmargin.solvers.basis_choice import Choice
from maxmargin.solvers.bundle import Point, line_search, next_touch
from maxmargin.solvers.kernels import OneBlasThread
from maxmargin.solvers.reduced_qp import Planes
from maxmargin.solvers.run import Run
from maxmargin.solvers.subspace import Subspace
from maxmargin.solvers.subspace_bounds import ActivePlanes, Bounds, bounds_of, fresh_values
from maxmargin.solvers.two_variable import KernelCertificate

MARGIN = 0.02  # of the tolerance, for what float32 coordinates differ from fresh kernel values


@dataclass
class SubspaceSolution:
    """``f(x) = sum_j beta_j k(b_j, x)``, how good it is in its span and beside the exact one."""

    beta: np.ndarray
    certificate: KernelCertificate
    bounds: Bounds
    history: list[Progress] = field(default_factory=list)


@dataclass
class Stage:
    """The machines on the first k basis vectors, one a problem."""

    k: int
    solutions: list[SubspaceSolution]


def solve(
    subspace: Subspace,
    losses: Sequence[Hinge],
    choice: Choice,
    sizes: Sequence[int],
    settings: Settings,
) -> list[Stage]:
    """Machines with bases of growing `sizes`, each begun from the one before.

    The subspace is empty at first. Growth ends early where no vector adds anything, or when a
    limit or the stop flag ends the run: the last stage is then what there is.
    """
    machines = [Machine(loss, subspace, settings) for loss in losses]
    stages = []
    for size in sizes:
        complete = grow(machines, subspace, choice, size)
        for machine in machines:
            if complete and subspace.k == 0:  # phi(x_i) = 0 for every row: f = 0 is the optimum
                machine.D = machine.best.P
            machine.settle()
        stages.append(Stage(subspace.k, [machine.solution() for machine in machines]))
        if complete or any(machine.ended for machine in machines):
            break
    return stages


def grow(machines: list[Machine], subspace: Subspace, choice: Choice, size: int) -> bool:
    """Basis vectors until there are `size`, a cutting plane after each; True if no more exist."""
    one_blas_thread = OneBlasThread()
    while subspace.k < size and not any(machine.ended for machine in machines):
        machine = machines[subspace.k % len(machines)]
        try:
            with one_blas_thread():
                z = extend_basis(subspace, choice, machine.residual_of())
            if z is None:
                return True
            for other in machines:
                other.widen(z)
            if choice.guided:
                machine.step()
                machine.note()
        except _core.Stopped:
            machine.run.stopped()
    return False


def extend_basis(subspace: Subspace, choice: Choice, l: np.ndarray) -> np.ndarray | None:  # noqa: E741
    """Adds a vector for the residual of ``sum_i l_i phi(x_i)``; its column of Z, or None."""
    for _ in range(choice.tries):
        b = choice.next(subspace, l)
        if b is None:
            return None
        z = subspace.append(b)
        if z is not None:
            choice.appended(z)
            return z
    return None


class PlanesOfRows(Planes):
    """Planes that remember their l, so that they can follow a growing basis."""

    def __init__(self, n: int, pool: _core.Pool) -> None:
        super().__init__(0, pool)
        self._l = np.empty((8, n), dtype=np.float32)

    def add_subgradient(self, rows: Rows, l: np.ndarray, b: float) -> None:  # noqa: E741
        t = len(self)
        if t == len(self._l):
            grown = np.empty((t + t // 2, self._l.shape[1]), dtype=np.float32)
            grown[:t] = self._l
            self._l = grown
        self._l[t] = l
        super().add_subgradient(rows, l, b)

    def follow(self, z: np.ndarray) -> None:
        """Every plane gains its coordinate along a new column z."""
        self.widen(self._subgradients().predict(z) if len(self) else np.empty(0))

    def active(self) -> ActivePlanes:
        """The planes that make up w_t."""
        beta = self._qp.beta
        beta = beta / max(1.0, float(beta.sum()))
        used = np.flatnonzero(beta)
        return ActivePlanes(beta[used], self._b[used], self._l[used])

    def mixed(self) -> np.ndarray:
        """``sum_j beta_j l_j``: the plane that w_t is made of."""
        beta = self._qp.beta
        return self._subgradients().combine(beta / max(1.0, float(beta.sum())))

    def _keep(self, kept: np.ndarray) -> None:
        for place, plane in enumerate(kept):
            if place != plane:
                self._l[place] = self._l[plane]
        super()._keep(kept)

    def _subgradients(self) -> ArrayRows:
        return ArrayRows(self._l[: len(self)], pool=self._pool)


class Machine:
    """One binary problem on the shared basis: its planes, its bounds, its run."""

    def __init__(self, loss: Hinge, subspace: Subspace, settings: Settings) -> None:
        self.loss, self.subspace, self.settings = loss, subspace, settings
        self.run = Run(settings, scale=loss.at_zero, margin=MARGIN)
        self.planes = PlanesOfRows(subspace.n, subspace.pool)
        self.best = Point(np.empty(0), np.zeros(subspace.n), loss.at_zero, 0.0)
        self.p_c, self.R_c, self.l = self.best.p, self.best.R, -loss.q  # the plane at w = 0
        self.D, self.iteration = 0.0, 0

    @property
    def ended(self) -> bool:
        """Whether something other than the tolerance ended the run."""
        return self.run.status not in (None, Status.OPTIMAL)

    def residual_of(self) -> np.ndarray:
        """The l whose plane the next basis vector is to serve: at w_b, else that of the bound."""
        l = self.loss.evaluate(self.best.p)[1]  # noqa: E741
        return l if l.any() or not len(self.planes) else self.planes.mixed()

    def widen(self, z: np.ndarray) -> None:
        """The basis has a new vector, z its column."""
        self.planes.follow(z)
        best = self.best
        self.best = Point(np.append(best.w, 0.0), best.p, best.R, best.w_squared)
        self.D = 0.0
        self.run.restart()

    def step(self) -> None:
        """One iteration of OCAS on the rows z_i."""
        rows, best = self.subspace.rows, self.best
        self.planes.add_subgradient(rows, self.l, self.R_c - rows.inner(self.l, self.p_c))
        precision = max(best.P - self.D, self.settings.tol * self.loss.at_zero)
        w_t, D_t = self.planes.minimise(tolerance=1e-3 * precision)
        self.D = max(self.D, D_t)
        p_t = rows.predict(w_t)
        self.best = line_search(rows, self.loss, best, w_t, p_t)
        moved = self.best is not best
        self.p_c, self.R_c, self.l = next_touch(rows, self.loss, self.best, p_t, moved)
        self.planes.drop_idle()
        self.iteration += 1

    def note(self) -> None:
        """Remembers this moment of growth; a small gap in a small span ends nothing."""
        self.run.record(self.iteration, self.best.P, self.D)
        if self.run.status is Status.OPTIMAL:
            self.run.restart()

    def settle(self) -> None:
        """Cutting planes until the gap within the span is within the tolerance."""
        if self.ended or self.subspace.k == 0:
            return
        try:
            self.run.restart()
            while not self.run.record(self.iteration, self.best.P, self.D):
                self.step()
        except _core.Stopped:
            self.run.stopped()

    def solution(self) -> SubspaceSolution:
        """The answer with its certificate, from fresh kernel values unless the run was stopped."""
        w, scale = self.best.w, self.loss.at_zero
        beta = self.subspace.coefficients(w) if len(w) else w
        P, D, p = self.best.P, self.D, self.best.p
        bounds = Bounds(math.nan, math.nan, math.nan)
        if not self.ended and len(self.planes):
            active = self.planes.active()
            p, D = fresh_values(self.subspace, beta, active)
            P = 0.5 * self.best.w_squared + self.loss.value(p)
            bounds = bounds_of(self.subspace, active, P, D, scale, self.settings.seed)
        certificate = self.run.certify(P, D)
        clipped = 0.5 * self.best.w_squared + self._clipped(p) - certificate.dual
        return SubspaceSolution(
            beta,
            KernelCertificate(
                certificate.primal,
                certificate.dual,
                certificate.status,
                certificate.n_iter,
                certificate.seconds,
                clipped_gap=clipped,
                scale=scale,
            ),
            bounds,
            list(self.run.history),
        )

    def _clipped(self, p: np.ndarray) -> float:
        """R of predictions clipped to [-1, 1]."""
        cost = np.abs(self.loss.q)
        return float(cost @ np.clip(1.0 - np.sign(self.loss.q) * p, 0.0, 2.0))
