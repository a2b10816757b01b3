"""Sparse kernel machines by cutting-plane subspace pursuit (CPSP).

T. Joachims, C.-N. Yu, *Sparse kernel SVMs via cutting-plane training*, ECML 2009, algorithm 3.

    minimise   P(f) = 1/2 ||f||^2 + R(f(x_1) .. f(x_n)),   f in span(B),   R any loss of predictions

    B        basis vectors b_1 .. b_k, found on the way   z_i   coordinates of P_B phi(x_i)
    subgrad  of R in the predictions                      Psi   sum_i subgrad_i phi(x_i): a plane
    a        Z^T subgrad: the coordinates of P_B Psi      b     its offset, whatever the basis
    w_t      minimiser over the planes                    w_b   best so far
    D        value of the planes: bound within span(B)    P     value at w_b: upper bound

In the coordinates z the problem is a linear one, and the loop of `bundle.py` solves it. A vector
that joins the basis appends a column to Z and a coordinate to every plane kept: <subgrad, z_new>,
for which planes keep their subgradient. P(w_b) does not change by it, and D starts anew: it bounds
the machines of one span only.

Algorithm 3, and who does each line:

     2  no planes, no basis                                   Machine, Subspace
     3  repeat                                                grow, then Machine.close_gap
     4-7  H, alpha, xi, w: the reduced problem                planes.minimise
     8-10 labels that violate most at w                       loss.evaluate, by next_touch
    11  remove inactive planes                                planes.drop_idle
    12-14 the new plane Psi_m                                 planes.add_subgradient
    15  extend the basis by one vector                        extend_basis
    16-18 project every plane onto the new span               planes.follow
    19  until the newest plane is violated by eps at most     run.record

Algorithm 1 is the loop of `bundle.py`. Algorithm 2 is the same in the dual, with kernels: lines 4
to 14 here once the basis is complete.

Deviations. A basis vector comes before the plane that uses it (15 to 18 come first): an empty span
has no machine. The steps are those of OCAS, with its line search, in place of CPA: fewer planes.
Growth makes one plane for each vector; only when the basis is complete is the gap closed. Line 19
is the duality gap. `iteration` counts planes, of growth too. tests/papers has the box in plain
Python; the loop takes the same steps.

The paper follows the residual of the newest plane. Here it is that of the plane at w_b: -w_b - Psi
is the steepest descent there, and its part outside the span is what the basis lacks. After a step
that left w_b where it was it is that of the planes' mixture. A `Pursuit` has what the paper does,
for comparisons.

Several classes are several problems on one basis, which take turns in choosing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.pointwise import Pointwise
from maxmargin.problem import Progress, Settings, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import norm2
from maxmargin.solvers.kernel.certificate import SpanCertificate
from maxmargin.solvers.linear.bundle import Point, line_search, next_touch, offset, unstoppable
from maxmargin.solvers.subspace.basis_choice import Choice
from maxmargin.solvers.subspace.bounds import Bounds, bounds_of, length_outside
from maxmargin.solvers.subspace.certificate import ActivePlanes, Evaluation, evaluate
from maxmargin.solvers.subspace.planes_of_rows import PlanesOfRows
from maxmargin.solvers.subspace.span import Subspace

MARGIN = 0.02  # of the tolerance, for what float32 coordinates differ from fresh kernel values
PASSES = 4  # products with all coordinates that an iteration takes


@dataclass(frozen=True)
class Pursuit:
    """What the paper does otherwise. Estimators have the `delta`; the others are for comparisons.

    `steps` are those of OCAS, or of CPA as in its box. A basis vector serves the `residual` of the
    plane at the best point, or of the newest one. With a `delta` vectors join until the newest
    plane of each problem is within so much of the span, (8); else one joins for every plane.
    """

    steps: Literal["ocas", "cpa"] = "ocas"
    residual: Literal["best", "newest"] = "best"
    delta: float | None = None


STANDARD = Pursuit()
PAPER = Pursuit("cpa", "newest")


@dataclass
class SubspaceSolution:
    """``f(x) = sum_j beta_j k(b_j, x)``, its values at the rows, how good it is in its span and
    beside the exact one."""

    beta: np.ndarray
    predictions: np.ndarray
    certificate: SpanCertificate
    bounds: Bounds
    history: list[Progress] = field(default_factory=list)


@dataclass
class Stage:
    """The machines on the first k basis vectors, one per problem."""

    k: int
    solutions: list[SubspaceSolution]


def solve(
    subspace: Subspace,
    losses: Sequence[Loss],
    choice: Choice,
    sizes: Sequence[int],
    settings: Settings,
    all_rows: bool = False,
    pursuit: Pursuit = STANDARD,
) -> list[Stage]:
    """Machines with bases of growing `sizes`, each begun from the one before.

    The subspace is empty at first. Growth ends early where no vector adds anything, or when a
    limit or the stop flag ends the run: the last stage is then what there is. With `all_rows`,
    bounds look at all pairs of rows, however many.
    """
    machines = [Machine(loss, subspace, settings, pursuit) for loss in losses]
    grown = grow if pursuit.delta is None else grow_within_delta
    stages = []
    for size in sizes:
        complete = grown(machines, subspace, choice, size)
        for machine in machines:
            machine.close_gap()
        stages.append(Stage(subspace.k, [machine.solution(all_rows) for machine in machines]))
        if complete or any(machine.ended for machine in machines):
            break
    return stages


def grow(machines: list[Machine], subspace: Subspace, choice: Choice, size: int) -> bool:
    """Basis vectors until there are `size`, a cutting plane after each; True if no more exist."""
    while subspace.k < size and not any(machine.ended for machine in machines):
        machine = machines[subspace.k % len(machines)]
        try:
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


def grow_within_delta(
    machines: list[Machine], subspace: Subspace, choice: Choice, size: int
) -> bool:
    """Planes until the gap is closed, and vectors for each while it is `delta` off the span."""
    try:
        for machine in machines:
            if machine.ended:
                break
            machine.run.restart()
            while not machine.run.record(machine.iteration, machine.best.P, machine.D):
                while subspace.k < size and machine.misses_delta():
                    z = extend_basis(subspace, choice, machine.residual_of())
                    if z is None:
                        return True
                    for other in machines:
                        other.widen(z)
                machine.step()
    except _core.Stopped:
        machine.run.stopped()
    return False


def extend_basis(subspace: Subspace, choice: Choice, subgrad: np.ndarray) -> np.ndarray | None:
    """Adds a vector for the residual of ``sum_i l_i phi(x_i)``; its column of Z, or None."""
    for _ in range(choice.tries):
        b = choice.next(subspace, subgrad)
        if b is None:
            return None
        z = subspace.append(b)
        if z is not None:
            choice.appended(z)
            return z
    return None


class Machine:
    """One problem on the shared basis: its planes, its bounds, its run."""

    def __init__(
        self, loss: Loss, subspace: Subspace, settings: Settings, pursuit: Pursuit = STANDARD
    ) -> None:
        self.loss, self.subspace, self.settings = loss, subspace, settings
        self.pursuit = pursuit
        _, self.judge = unstoppable(subspace.rows, loss)  # for what is stated in the end
        self.run = Run(settings, margin=MARGIN)
        unit = -loss.q if isinstance(loss, Pointwise) else np.ones(subspace.n)
        self.planes = PlanesOfRows(unit, subspace.pool)
        self.best = Point(np.empty(0), np.zeros(subspace.n), loss.at_zero, 0.0)
        self.p_c, self.R_c = self.best.p, self.best.R
        self.subgrad = self.judge.evaluate(self.p_c)[1]  # the plane at w = 0
        self.D, self.iteration, self.stuck = 0.0, 0, False

    @property
    def ended(self) -> bool:
        """Whether something other than the tolerance ended the run."""
        return self.run.status not in (None, Status.OPTIMAL)

    def residual_of(self) -> np.ndarray:
        """Of the plane that the next basis vector is to serve.

        Where the last step did not move w_b, its plane was served already. That is so where many
        labellings tie, of F1 at w = 0 say: P falls along the mixture of their planes only.
        """
        if self.pursuit.residual == "newest" or self.p_c is self.best.p:
            subgrad = self.subgrad
        elif self.stuck:
            subgrad = self.planes.mixed()
        else:
            subgrad = self.loss.evaluate(self.best.p)[1]
        return subgrad if subgrad.any() or not len(self.planes) else self.planes.mixed()

    def misses_delta(self) -> bool:
        """Whether the newest plane is further from the span than it may be."""
        delta = self.pursuit.delta
        return delta is not None and length_outside(self.subspace, self.subgrad) > delta

    def widen(self, z: np.ndarray) -> None:
        """The basis has a new vector, z its column."""
        self.planes.follow(z)
        best = self.best
        self.best = Point(np.append(best.w, 0.0), best.p, best.R, best.w_squared)
        self.D = 0.0
        self.run.restart()

    def step(self) -> None:
        """One iteration of OCAS, or of CPA, on the rows z_i."""
        rows, best = self.subspace.rows, self.best
        b = offset(self.loss, self.R_c, rows.inner(self.subgrad, self.p_c))
        self.planes.add_subgradient(rows, self.subgrad, b)
        precision = max(best.P - self.D, self.settings.tol * self.loss.at_zero)
        w_t, D_t = self.planes.minimise(tolerance=1e-3 * precision)
        self.D = max(self.D, D_t)
        p_t = rows.matvec(w_t)
        if self.pursuit.steps == "ocas":
            self.best = line_search(rows, self.loss, best, w_t, p_t)
            moved = self.best is not best
            self.p_c, self.R_c, self.subgrad = next_touch(rows, self.loss, self.best, p_t, moved)
        else:
            self.p_c = p_t
            self.R_c, self.subgrad = self.loss.evaluate(p_t)
            here = Point(w_t, p_t, self.R_c, norm2(w_t))
            self.best = min(best, here, key=lambda point: point.P)
        self.stuck = self.best is best
        self.planes.drop_idle()
        self.iteration += 1

    def note(self) -> None:
        """Remembers this moment of growth; a small gap in a small span ends nothing."""
        self.run.record(self.iteration, self.best.P, self.D)
        if self.run.status is Status.OPTIMAL:
            self.run.restart()

    def close_gap(self) -> None:
        """Cutting planes until the gap within the span is within the tolerance."""
        if self.ended or self.subspace.k == 0:
            return
        try:
            self.run.restart()
            while not self.run.record(self.iteration, self.best.P, self.D):
                self.step()
        except _core.Stopped:
            self.run.stopped()

    def solution(self, all_rows: bool = False) -> SubspaceSolution:
        """The answer with its certificate, from fresh kernel values.

        Bounds look at all pairs of rows if `all_rows`, or if the run took as much work.
        """
        beta = np.zeros(self.subspace.k)
        w = self.best.w  # a run that was stopped may know fewer vectors
        if len(w):
            beta[: len(w)] = self.subspace.coefficients(w)
        planes = self.planes.active() or ActivePlanes.at_zero(self.judge)
        found = evaluate(self.subspace, np.nan_to_num(beta), planes, self.judge)
        P, p = found.primal(self.judge), found.predictions
        if not self.loss.at_zero >= P or not np.isfinite(beta).all():
            beta, P, p = np.zeros_like(beta), self.loss.at_zero, np.zeros(self.subspace.n)
        # f = 0 is the best there is in an empty span; whoever ended the growth did not ask for that
        nothing_yet = self.ended and not self.subspace.k
        return SubspaceSolution(
            beta,
            p,
            self._certificate(P, 0.0 if nothing_yet else found.dual, p),
            self._bounds(planes, found, P, all_rows),
            list(self.run.history),
        )

    def _certificate(self, P: float, D: float, p: np.ndarray) -> SpanCertificate:
        """With the gap of predictions clipped to [-1, 1], where these mean labels."""
        certificate, loss = self.run.certify(P, D), self.judge
        clipped = P - certificate.dual
        if isinstance(loss, Pointwise) and loss.t is None:
            clipped -= loss.value(p) - loss.value(np.clip(p, -1.0, 1.0))
        return SpanCertificate.of(certificate, clipped, loss.at_zero)

    def _bounds(self, planes: ActivePlanes, found: Evaluation, P: float, all_rows: bool) -> Bounds:
        """How far the exact machine may be."""
        subspace = self.subspace
        work = float(PASSES * subspace.n * subspace.k * self.iteration)
        return bounds_of(
            subspace,
            planes,
            found,
            P,
            self.loss.at_zero,
            np.inf if all_rows else work,
            self.settings.seed,
        )
