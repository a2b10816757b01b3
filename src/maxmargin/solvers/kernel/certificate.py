"""Bounds of a kernel machine that hold in float64.

    f_i      sum_j beta_j k(x_i, x_j) from float64 kernel values, known up to e_i
    P        1/2 <beta, f> + sum_i C_i max(0, 1 - y_i f_i)
    D        sum_i |beta_i| - 1/2 <beta, f>, less all that the e_i can do to P and D

So D is no more than the objective of any function, and ``P - D`` no less than the distance of f
from the best one, whatever rounding did.

Rows that carry no coefficient and lie beyond the margin, by more than float32 can hide, add nothing
to either: only support vectors and rows near the margin need float64 values. So the pass costs half
a square of the number of support vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from maxmargin import _core
from maxmargin.problem import Certificate

ROUNDING = 8 * float(np.finfo(np.float64).eps)  # of a residual in one step, in units of reach

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.path import RegularisationPath


@dataclass(frozen=True)
class KernelCertificate(Certificate):
    """A certificate that also knows the clipped gap and ``sum_i C_i``, the papers' unit."""

    clipped_gap: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, certificate: Certificate, clipped_gap: float, scale: float) -> Self:
        """A certificate with what is known besides."""
        common = {field.name: getattr(certificate, field.name) for field in fields(Certificate)}
        return cls(**common, clipped_gap=clipped_gap, scale=scale)

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


@dataclass(frozen=True)
class SpanCertificate(KernelCertificate):
    """Of a machine on basis vectors: `dual` bounds the machines on these vectors, no others."""

    best: ClassVar[str] = "the best possible on these basis vectors"


@dataclass(frozen=True)
class Bounds:
    """P of ``factor * f``, and D; the clipped gap is that of f itself."""

    primal: float
    dual: float
    clipped_gap: float
    scale: float
    factor: float = 1.0

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def within(self, tol: float) -> bool:
        """Whether the relative gap is."""
        return self.gap <= tol * self.primal

    def meets(self, rule: str, tol: float) -> bool:
        """Whether the stopping rule of that name is satisfied."""
        if rule == "relative":
            return self.within(tol)
        return (self.clipped_gap if rule == "clipped" else self.gap) <= tol * self.scale


def bounds_of(path: RegularisationPath, pool: _core.Pool, tol: float) -> Bounds:
    """Bounds of the path's beta, whose residuals are computed afresh on the way.

    f is multiplied by the factor that makes P smallest where that brings the relative gap within
    `tol`: at large C many rows lie a little inside the margin, and the factor puts them on it.
    """
    terms = _Terms(path, pool)
    found = terms.bounds(1.0)
    if found.within(tol):
        return found
    t = best_factor(*terms.sure)
    scaled = terms.bounds(t)
    if 0 < t < 1 and scaled.within(tol):
        terms.make_exact(1.0 / t)
        scaled = terms.bounds(t)
    return scaled if scaled.within(tol) else found


class _Terms:
    """What P and D of ``t f`` are made of, from residuals that are computed afresh."""

    def __init__(self, path: RegularisationPath, pool: _core.Pool) -> None:
        self.path, self.pool = path, pool
        self.e, self.exact = _fresh_residuals(path, pool)
        self._add_up()

    def make_exact(self, reach: float) -> None:
        """Gives all rows with margins up to `reach` float64 values: t f brings them within 1."""
        path = self.path
        margin = path.y * (path.y - path.r)
        near = (path.c != 0) & ~self.exact & (margin - self.e <= reach)
        if near.any():
            _set_exact(path, self.pool, np.flatnonzero(near), self.e)
            self.exact |= near
            self._add_up()

    def _add_up(self) -> None:
        path, e = self.path, self.e
        part = np.flatnonzero(path.c)
        f = path.y - path.r
        self.cost, self.margin = np.abs(path.c[part]), path.y[part] * f[part]
        self.norm2 = max(float(path.beta @ f), 0.0)
        longest = self.norm2 + float(np.abs(path.beta) @ e)
        self.sure = longest, self.cost, self.margin - e[part]  # whatever rounding did
        self.total = float(np.abs(path.beta).sum())

    def bounds(self, t: float) -> Bounds:
        primal = objective(t, self.norm2, self.cost, self.margin)
        worst = objective(t, *self.sure)
        dual = max(self.total - 0.5 * self.sure[0] - (worst - primal), 0.0)  # D = 0 needs no proof
        loss = float(self.cost @ np.clip(1.0 - self.margin, 0.0, 2.0))
        clipped = 0.5 * self.norm2 + loss - dual
        if dual > primal:  # equal but for rounding; or the kernel is none, and D means nothing
            dual = primal if dual <= primal * (1 + 1e-9) else 0.0
        return Bounds(primal, dual, clipped, self.path.scale, t)


def objective(t: float, norm2: float, cost: np.ndarray, margin: np.ndarray) -> float:
    """``1/2 t^2 norm2 + sum_i cost_i max(0, 1 - t margin_i)``: P of t f"""
    return 0.5 * t * t * norm2 + float(cost @ np.maximum(1.0 - t * margin, 0.0))


def best_factor(norm2: float, cost: np.ndarray, margin: np.ndarray) -> float:
    """The t >= 0 that minimises `objective`.

    The slope ``t norm2 - sum of cost_i margin_i where t margin_i < 1`` grows with t; between two
    kinks ``1 / margin_i`` it is linear.
    """
    if norm2 <= 0:
        return 1.0
    ahead = margin > 0
    kinks = 1.0 / margin[ahead]
    order = np.argsort(kinks)
    kinks = kinks[order]
    pulls = (cost * margin)[ahead][order]
    pull = float((cost * margin)[~ahead].sum()) + np.append(pulls[::-1].cumsum()[::-1], 0.0)
    free = np.maximum(pull, 0.0) / norm2  # where the slope of each piece is 0
    piece = int(np.argmax(free <= np.append(kinks, np.inf)))
    low = kinks[piece - 1] if piece > 0 else 0.0
    return float(max(free[piece], low))


def _fresh_residuals(path: RegularisationPath, pool: _core.Pool) -> tuple[np.ndarray, np.ndarray]:
    """Sets ``r = y - f`` of the points that take part. How exact each f is, and which of them are
    from float64 values."""
    source, beta = path.problem.source, path.beta
    others, e = (path.c != 0) & (beta == 0), np.zeros(len(beta))
    if path.error is not None and path.fresh_at == path.core.iterations:
        e[:] = path.error
        unsure = others & (path.y * (path.y - path.r) <= 1.0 + e)
    elif source.drift_known:
        if path.fresh_at is None:
            path.refresh(pool)
        e[:] = _float32_errors(path)
        unsure = others & (path.y * (path.y - path.r) <= 1.0 + e)
    else:
        unsure = others
    _set_exact(path, pool, np.flatnonzero(unsure), e)
    path.fresh_at = None  # some are in float64 now, some are not
    return e, unsure | (beta != 0)


def _float32_errors(path: RegularisationPath) -> np.ndarray:
    """What residuals from float32 rows err by: what these hide, what steps since they were computed
    have rounded off, what float32 cannot hold, and what a start brought along."""
    exact, beta = path.problem.source.exact, path.beta
    sizes = np.sqrt(np.maximum(exact.diagonal, 0.0))
    drift = ROUNDING * (path.core.iterations - (path.fresh_at or 0))
    reach = exact.search_error * np.abs(beta) + drift * np.abs(path.c)
    e = float(reach @ sizes) * sizes + float(np.abs(beta).sum()) * float(np.finfo(np.float32).tiny)
    return e if path.error is None else e + path.error


def _set_exact(
    path: RegularisationPath, pool: _core.Pool, others: np.ndarray, e: np.ndarray
) -> None:
    """Residuals of the support vectors and of `others` from float64 values, and their errors."""
    used = np.flatnonzero(path.beta)
    rows = np.concatenate([used, others])
    f, e[rows] = path.problem.source.exact.combine(rows, used, path.beta[used], pool)
    path.r[rows] = path.y[rows] - f
