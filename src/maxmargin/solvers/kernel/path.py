"""One kernel machine for one value of C after another: the state that the steps change.

`two_variable` has the problem and the symbols. A `RegularisationPath` keeps beta and r between the
values of C; the steps are in core/kernel. Starts are in `starts`, judging and stopping of a single
fit in `two_variable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel.gram import NEIGHBOURS
from maxmargin.solvers.kernel.sources import PartialSource, Source
from maxmargin.solvers.kernel.starts import (
    COLD,
    HYBRID,
    STARTS,
    WARM,
    kernel_rule_fits,
    visits,
)

NO_LIMIT = 2**62
RULES = ("relative", "clipped", "plain")
LARGEST = 1e30  # sum_i C_i k(x_i, x_i) beyond which float32 steps would overflow


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
        C and W6 for falling C. `warm` may also be "hybrid": from a medium C in both directions.
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
        known = ("auto", HYBRID, *COLD, *WARM)
        if self.warm not in known:
            raise ValueError(f"warm start must be {', '.join(known)}; got {self.warm!r}")


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


# ---------------------------------------------------------------- one problem along a path of C


class RegularisationPath:
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
        self.largest = float(np.max(problem.source.exact.diagonal, initial=0.0))
        self.beta = np.zeros(self.rows.n)
        self.r = self.y.copy()
        self.c = np.zeros(self.rows.n)
        self.C: float | None = None
        self.fresh_at: int | None = None  # iterations when the residuals were computed afresh
        self.error: np.ndarray | None = None  # of those of a start that is not from these rows
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
            if name in ("auto", HYBRID):
                name = "W4" if C >= self.C else "W6"
            STARTS[name](self, c, C / self.C)
        self.c[:] = c
        self.C = C
        self.fresh_at = self.core.iterations
        self.core.begin()

    def along(self, Cs: np.ndarray) -> Iterator[int]:
        """Starts at one C after another, in the order of the method, and says which it is."""
        branch, second = visits(Cs, self.method.warm)
        first: tuple[float, np.ndarray, np.ndarray] | None = None
        for at in branch:
            self.start(float(Cs[at]))
            yield at
            if first is None and second:
                first = float(Cs[at]), self.beta.copy(), self.r.copy()
        for at in second:
            if first is not None:
                self._go_back(*first)
                first = None
            self.start(float(Cs[at]))
            yield at

    def _go_back(self, C: float, beta: np.ndarray, r: np.ndarray) -> None:
        """To where the path was at C."""
        self.c[:], self.C = self._costs(C), C
        self.beta[:], self.r[:] = beta, r

    def start_at(self, C: float, beta: np.ndarray) -> None:
        """Starts from a given beta, cut to the box of C."""
        self.keep(C, beta)
        self.refresh(self.pool)
        self.core.begin()

    def start_from(
        self, C: float, beta: np.ndarray, r: np.ndarray, error: np.ndarray | None = None
    ) -> None:
        """Starts from a beta inside the box whose residuals are known, up to an error if given."""
        self.keep(C, beta)
        self.r[:], self.error = r, error
        self.fresh_at = self.core.iterations
        self.core.begin()

    def reweigh(self, s: np.ndarray) -> None:
        """Goes on with other weights at the same C: as in W4, bounded variables go to their new
        bounds, and the rest is kept as far as it may be."""
        bounded = (self.beta == self.c) & (self.c != 0)
        self.q = self.y * s
        self.total = float(np.abs(self.q).sum())
        C = self.C or 0.0
        self.start_at(C, np.where(bounded, self._costs(C), self.beta))

    def refresh(self, pool: _core.Pool) -> None:
        """Computes the residuals afresh, as exactly as the rows are."""
        self.r[:], self.error = self.y - self.problem.source.combine(self.beta, pool), None
        self.fresh_at = self.core.iterations

    def keep(self, C: float, beta: np.ndarray) -> None:
        """Takes C and beta, cut to the box, and leaves the residuals to others."""
        self.c[:] = self._costs(C)
        self.beta[:] = np.clip(beta, np.minimum(self.c, 0), np.maximum(self.c, 0))
        self.C, self.fresh_at = C, None

    def _costs(self, C: float) -> np.ndarray:
        reach = C * self.total * max(self.largest, 1.0)
        if not reach <= LARGEST:
            raise ValueError(
                f"C times the sum of weights is {C * self.total:.3g} and k(x, x) is up to "
                f"{self.largest:.3g}: more than floating point numbers can tell apart. Use a "
                f"smaller C or smaller weights, or scale the kernel down"
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
