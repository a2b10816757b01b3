"""Pre-images: the point b whose phi(b) says most about a residual of the kernel space.

    r      sum_i l_i phi(x_i) - sum_j c_j phi(b_j): what the basis leaves of a plane
    f(b)   <r, phi(b)> = sum_q v_q k(b, t_q) over the points (x_i, l_i) and (b_j, -c_j)
    find   argmax_b f(b)^2 / k(b, b)

rbf: the fixed point ``b <- sum_q v_q k(b, t_q) t_q / sum_q v_q k(b, t_q)`` (Schoelkopf, Smola 2002,
18.2.2). It is a step along the gradient of f^2, so where the whole step does not gain, a shorter
one does. poly, linear: L-BFGS on the logarithm of the same quotient.

Rows are many and one b needs few: f is summed over a sample of the rows with l_i != 0. c is made
for *that sample's* sum, so what the basis already spans is left out exactly, and only the residual
itself is sampled. Starts are the best of some of these rows, and b is never worse than its start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.kernel_values import (
    diagonal,
    is_wide,
    kernel_of_products,
    squared_norms,
)
from maxmargin.solvers.subspace.span import Subspace

KERNELS_WITH_PREIMAGES = ("rbf", "poly", "linear")
NOTHING = 1e-5  # |f(b)| below this share of sum_q |v_q| sqrt(k(b, b) k(t, t)) is rounding error
TRIM = 1e-6  # share of ||b||^2 that may be dropped to keep b sparse
SHORTEN = 4.0  # by how much a step that does not gain is shortened


@dataclass(frozen=True)
class PreImageOptions:
    """How hard to look for a pre-image.

    Parameters
    ----------
    rows : int
        Sampled rows of the residual, that f is summed over.
    starts : int
        How many of them compete to be starting points.
    restarts : int
        How many of these are followed uphill.
    iterations : int
        Of each, at most.
    tolerance : float
        The end is reached when f^2 / k(b, b) grows by less than this share.
    """

    rows: int = 2048
    starts: int = 32
    restarts: int = 2
    iterations: int = 10
    tolerance: float = 1e-2


@dataclass(frozen=True)
class Sample:
    """Some rows of a residual, and the weights v_q of these rows and of the basis vectors."""

    rows: np.ndarray
    v: np.ndarray


def sample_of(
    subspace: Subspace,
    subgrad: np.ndarray,
    count: int,
    random: np.random.Generator,
) -> Sample:
    """At most so many of the rows with l_i != 0, standing for all of them."""
    used = np.flatnonzero(subgrad)
    rows = used
    if len(used) > count:
        rows = np.sort(random.choice(used, count, replace=False))
    v = subgrad[rows] * (len(used) / max(len(rows), 1))
    c = np.empty(0)
    if subspace.k:
        c = subspace.coefficients(v @ subspace.coordinates(rows))
    return Sample(rows, np.concatenate([v, -c]))


class SampledResidual(ABC):
    """r on a sample of rows: points t_q (rows, then basis vectors) with weights v_q."""

    norms: np.ndarray  # ||t_q||^2

    def __init__(self, subspace: Subspace, sample: Sample) -> None:
        self.kernel: Kernel = subspace.kernel
        self.rows, self.v = sample.rows, sample.v

    @property
    def nothing(self) -> float:
        """|f(b)| / sqrt(k(b, b)) of this size is rounding error."""
        largest = float(diagonal(self.kernel, self.norms.max(initial=0.0)))
        return NOTHING * float(np.abs(self.v).sum()) * float(np.sqrt(largest))

    @abstractmethod
    def some_rows(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Some of the sampled rows as starting points, in this residual's coordinates."""

    @abstractmethod
    def quotients(self, b: np.ndarray) -> np.ndarray:
        """``f(b)^2 / k(b, b)``: what adding b takes from ||r||^2, if phi(b) were new altogether."""

    @abstractmethod
    def mean_shift(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(b) and ``sum_q v_q k(b, t_q) t_q / f(b)`` of the Gaussian kernel for some b (rows)."""

    @abstractmethod
    def ascend(self, b: np.ndarray, options: PreImageOptions) -> tuple[np.ndarray, np.ndarray]:
        """Where some b (rows) lead, uphill, and the quotients there."""

    @abstractmethod
    def back(self, b: np.ndarray) -> np.ndarray:
        """A point in the data's space, dense."""


class Residual(SampledResidual):
    """The same with points as vectors.

    Dense points of a kernel of the distance are taken about the mean of the rows: that changes no
    distance, and products of centred points are more exact. Of wide sparse rows only the columns
    that some sampled row uses are looked at.
    """

    def __init__(self, subspace: Subspace, sample: Sample) -> None:
        super().__init__(subspace, sample)
        self.pool = subspace.pool
        self._width = subspace.X.shape[1]
        self._columns: np.ndarray | None = None
        self._centre: np.ndarray | None = None
        if is_wide(subspace.X):
            self._take_wide(subspace)
        else:
            self._take_dense(subspace)

    def _take_dense(self, subspace: Subspace) -> None:
        number = np.dtype(np.float32) if subspace.few_digits else subspace.basis.dtype
        m = len(self.rows)
        sampled = subspace.X[self.rows].astype(number, copy=False)
        points = np.zeros((len(self.v), self._width), dtype=number)
        if sp.issparse(sampled):
            sampled.toarray(out=points[:m])
        else:
            points[:m] = sampled
        points[m:] = subspace.basis.vectors
        if self.kernel.of_distance and m:
            centre = points[:m].mean(axis=0)
            points -= centre
            self._centre = centre.astype(np.float64)
        self._blocks = [points]
        self.norms = squared_norms(points).astype(np.float64)

    def _take_wide(self, subspace: Subspace) -> None:
        sampled, basis = subspace.X[self.rows], subspace.basis
        self._columns = used_columns(sampled)
        own = basis.vectors[:, self._columns].astype(np.float32).toarray()
        self._blocks = [sampled[:, self._columns].astype(np.float32), own]
        self.norms = np.concatenate([squared_norms(sampled), basis.squared_norms])

    def some_rows(self, count: int, random: np.random.Generator) -> np.ndarray:
        few: Any = self._blocks[0][random.permutation(len(self.rows))[:count]]
        return few.toarray() if sp.issparse(few) else few

    def place(self, points: np.ndarray) -> np.ndarray:
        """Dense points of the data's space as this residual has them."""
        points = points if self._columns is None else points[:, self._columns]
        points = points if self._centre is None else points - self._centre
        return points.astype(self._blocks[0].dtype)

    def back(self, b: np.ndarray) -> np.ndarray:
        if self._columns is None:
            return b.astype(np.float64) if self._centre is None else b + self._centre
        whole = np.zeros(self._width)
        whole[self._columns] = trimmed(b)
        return whole

    def products(self, b: np.ndarray) -> np.ndarray:
        """``<b, t_q>`` for some b (rows) and every point."""
        parts = [(block @ b.T).T for block in self._blocks]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def combine(self, weights: np.ndarray) -> np.ndarray:
        """``sum_q weights_q t_q`` for some weights (rows)."""
        weights = weights.astype(self._blocks[0].dtype, copy=False)
        if len(self._blocks) == 1:
            return weights @ self._blocks[0]
        sampled, own = self._blocks
        cut = len(self.rows)
        return (sampled.T @ weights[:, :cut].T).T + weights[:, cut:] @ own

    def values(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(b) and k(b, b) for some b (rows)."""
        kernel = self.kernel
        if kernel.name == "rbf":
            return self.gaussian(b) @ self.v, np.ones(len(b))
        norms = squared_norms(b).astype(np.float64)
        products = self.products(b).astype(np.float64)
        K = kernel_of_products(kernel, products, norms[:, None], self.norms)
        return K @ self.v, kernel_of_products(kernel, norms, norms, norms)

    def gaussian(self, b: np.ndarray) -> np.ndarray:
        """``exp(-gamma ||b - t_q||^2)`` for some b (rows), in float64."""
        gamma, number = self.kernel.gamma, b.dtype
        exponent = self.products(b)  # -gamma (||b||^2 + ||t||^2 - 2 <b, t>), in one array
        exponent *= number.type(2 * gamma)
        exponent -= (gamma * squared_norms(b)).astype(number)[:, None]
        exponent -= (gamma * self.norms).astype(number)
        np.minimum(exponent, 0, out=exponent)
        return np.exp(exponent, out=exponent).astype(np.float64, copy=False)

    def mean_shift(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (points,), f, s = self._blocks, np.empty(len(b)), np.empty(b.shape)
        _core.mean_shift(self.kernel.gamma, points, self.norms, self.v, b, f, s, self.pool)
        return f, np.divide(s, f[:, None], out=b.astype(s.dtype), where=f[:, None] != 0)

    def ascend(self, b: np.ndarray, options: PreImageOptions) -> tuple[np.ndarray, np.ndarray]:
        ascents = fixed_points if self.kernel.name == "rbf" else gradient_ascents
        return ascents(self, b, options)

    def quotients(self, b: np.ndarray) -> np.ndarray:
        f, own = self.values(b)
        return np.divide(f**2, own, out=np.zeros_like(f), where=own > 0)


def used_columns(X: sp.csr_matrix) -> np.ndarray:
    """The columns in which some row has an entry, at least one."""
    used = np.zeros(X.shape[1], dtype=bool)
    used[X.indices] = True
    used[0] |= not X.nnz
    return np.flatnonzero(used)


def trimmed(b: np.ndarray) -> np.ndarray:
    """b without its least entries, so that it stays sparse."""
    squares = np.sort(b**2)
    cut = squares[np.searchsorted(np.cumsum(squares), TRIM * squares.sum())]
    return np.where(b**2 < cut, 0.0, b)


def pre_image(
    residual: SampledResidual, options: PreImageOptions, random: np.random.Generator
) -> tuple[np.ndarray, float]:
    """The best b found, in the residual's coordinates, and its quotient."""
    starts = residual.some_rows(options.starts, random)
    best = np.argsort(-residual.quotients(starts), kind="stable")[: options.restarts]
    ends, quotients = residual.ascend(starts[best], options)
    winner = int(np.argmax(quotients))
    return ends[winner], float(quotients[winner])


def fixed_points(
    residual: SampledResidual, b: np.ndarray, options: PreImageOptions
) -> tuple[np.ndarray, np.ndarray]:
    """Follows some b (rows) to fixed points of the Gaussian kernel, and f^2, which never falls."""
    f, target = residual.mean_shift(b)
    step = np.ones(len(b))
    for _ in range(options.iterations):
        tried = b + step.astype(b.dtype)[:, None] * (target - b).astype(b.dtype)
        f_tried, target_tried = residual.mean_shift(tried)
        better = (f_tried**2 > f**2) & np.isfinite(tried).all(axis=1)
        growth = np.where(better, f_tried**2 - f**2, 0.0) / np.maximum(f_tried**2, 1e-300)
        f = np.where(better, f_tried, f)
        b = np.where(better[:, None], tried, b)
        target = np.where(better[:, None], target_tried, target)
        step = np.where(better, 1.0, step / SHORTEN)
        if np.all(growth < options.tolerance) and np.all(better | (step < 1e-2)):
            break
    return b, f**2


def gradient_ascents(
    residual: Residual, b: np.ndarray, options: PreImageOptions
) -> tuple[np.ndarray, np.ndarray]:
    """The same for polynomial kernels: L-BFGS on ``log k(b, b) - log f(b)^2``."""
    from scipy.optimize import minimize

    kernel = residual.kernel
    linear = kernel.name == "linear"
    gamma, coef0, p = (1.0, 0.0, 1) if linear else (kernel.gamma, kernel.coef0, kernel.degree)

    def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
        b = flat[None, :]
        base = gamma * residual.products(b).astype(np.float64) + coef0
        f = float((base**p @ residual.v)[0])
        own = gamma * float(flat @ flat) + coef0
        if f == 0 or own <= 0:
            return np.inf, np.zeros_like(flat)
        slope = residual.combine(p * gamma * residual.v * base ** (p - 1))[0]
        gradient = 2 * p * gamma * flat / own - 2 * slope / f
        return p * np.log(own) - 2 * np.log(abs(f)), gradient.astype(np.float64)

    ends = b.astype(np.float64)
    for q, start in enumerate(ends):
        value = downhill(start)[0]
        if not np.isfinite(value):
            continue
        found = minimize(
            downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": options.iterations}
        )
        if found.fun < value and np.isfinite(found.x).all():
            ends[q] = found.x
    ends = ends.astype(b.dtype)
    return ends, residual.quotients(ends)
