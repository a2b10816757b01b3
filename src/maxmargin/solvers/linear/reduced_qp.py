"""The planes of a cutting plane method, and the minimum of their maximum.

    max_{beta >= 0, sum beta <= 1}   sum_j beta_j b_j - 1/2 beta^T H beta,    H_jk = <a_j, a_k>
    w = - sum_j beta_j a_j

The core keeps H and beta from one call to the next (an active set method, warm-started). Any
feasible beta gives a lower bound on the optimum; it is computed from the planes themselves, so it
holds whatever the rounding errors of H. What the sum of the planes itself may have lost to rounding
is taken from it: where planes are long and w is short, that is all.

Products with hundreds of planes of many features take longer than those with the data. Where a
coarse answer is wanted planes are kept in float32, and what rounding a_j takes from the bound is
subtracted from it: ``||sum_j beta_j a_j|| <= ||w|| + sum_j beta_j error_j``.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.solvers.common.vectors import ROUNDING, inner, norm2

IDLE_LIMIT = 30  # iterations a plane may have weight 0 before it may be dropped
IDLE_SHARE = 0.2  # and planes are only moved together when this share of them may
CHUNK = 64
COARSE = 1e-4  # relative precision of an answer for which planes may be rounded to float32,
NEGLIGIBLE = 1e-7  # if that changes them by less than this share of their length


KnownPlane = tuple[np.ndarray, float, float]  # a, b, and by how much a may be off


class Planes:
    """Planes ``<a_j, w> + b_j``, kept as rows of matrices of `CHUNK` rows each.

    (One matrix that grows would be copied each time: with many features that took longer than the
    products with it.)
    """

    def __init__(self, width: int, pool: _core.Pool | None = None, precision: float = 0.0) -> None:
        self._number = np.dtype(np.float32 if precision >= COARSE else np.float64)
        self._pool = pool if pool is not None else _core.Pool(1)
        self._width = width
        self._chunks: list[np.ndarray] = []
        self._b = np.empty(0)
        self._errors = np.empty(0)
        self._lengths = np.empty(0)  # ||a_j||
        self._idle = np.empty(0, dtype=int)
        self._qp = _core.ReducedQP()

    def __len__(self) -> int:
        return len(self._b)

    def add_subgradient(self, rows: Rows, subgrad: np.ndarray, b: float) -> None:
        """Adds the plane ``<X^T subgrad, w> + b``."""
        self.add(rows.rmatvec(subgrad), b)

    def add(self, a: np.ndarray, b: float, error: float = 0.0) -> None:
        """Adds the plane ``<a, w> + b``; a may be off by `error`."""
        products = self._store(a)
        if error:
            self._errors[-1] += error
        self._b = np.append(self._b, b)
        self._lengths = np.append(self._lengths, math.sqrt(products[-1]))
        self._idle = np.append(self._idle, 0)
        self._qp.append(b, products)

    def _store(self, a: np.ndarray) -> np.ndarray:
        """Keeps a plane. Its inner products with those kept before it, and with itself."""
        kept, error = self._rounded(a)
        t = len(self)
        if t == CHUNK * len(self._chunks):
            self._chunks.append(np.zeros((CHUNK, self._width), dtype=self._number))
        self._plane(t)[:] = kept
        self._errors = np.append(self._errors, error)
        return np.concatenate([rows.matvec(kept) for rows in self._rows(t + 1)])

    def _rounded(self, a: np.ndarray) -> tuple[np.ndarray, float]:
        """The plane as it is kept, in float64, and by how much it differs."""
        if self._number == np.float64:
            return a, 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused with the products
            kept = a.astype(self._number).astype(np.float64)
            lost = a - kept
        error = math.sqrt(inner(lost, lost))
        if error <= NEGLIGIBLE * math.sqrt(norm2(a)):
            return kept, error
        self._number = np.dtype(np.float64)  # numbers beyond the range of float32
        self._chunks = [chunk.astype(self._number) for chunk in self._chunks]
        return a, 0.0

    def widen(self, coordinates: np.ndarray) -> None:
        """Every plane gains a coordinate: w grows by one."""
        for k, chunk in enumerate(self._chunks):
            mine = coordinates[k * CHUNK : (k + 1) * CHUNK]
            self._chunks[k] = np.hstack([chunk, np.zeros((CHUNK, 1))])
            self._chunks[k][: len(mine), -1] = mine
        self._width += 1
        self._lengths = np.hypot(self._lengths, coordinates)
        self._qp.widen(coordinates)

    def minimise(self, tolerance: float) -> tuple[np.ndarray, float]:
        """w at the minimum of ``1/2 ||w||^2 + max(0, planes)``, and a lower bound on it."""
        self._qp.solve(tolerance, self._pool)
        beta = self._qp.beta
        beta /= max(1.0, float(beta.sum()))  # feasible to the last digit, or it bounds nothing
        self._idle = np.where(beta > 0, 0, self._idle + 1)
        w, error = self._mix(beta)
        length = math.sqrt(norm2(w)) + error + ROUNDING * inner(beta, self._lengths)
        return w, inner(beta, self._b) - 0.5 * length**2

    def _mix(self, beta: np.ndarray) -> tuple[np.ndarray, float]:
        """``w = - sum_j beta_j a_j``, and how far rounding may have moved it."""
        w = np.zeros(self._width)
        for k, rows in enumerate(self._rows(len(self))):
            w -= rows.rmatvec(beta[k * CHUNK : k * CHUNK + rows.n])
        return w, inner(beta, self._errors)

    def known(self) -> list[KnownPlane]:
        """The planes that hold the last minimum up."""
        return [
            (self._plane(j).astype(np.float64), float(self._b[j]), float(self._errors[j]))
            for j in np.flatnonzero(self._idle == 0).tolist()
        ]

    def drop_idle(self) -> None:
        """Forgets planes that have not mattered for a while; the bound does not fall by it."""
        idle = self._idle >= IDLE_LIMIT
        if idle.sum() <= IDLE_SHARE * len(self):
            return
        self._keep(np.flatnonzero(~idle))

    def _keep(self, kept: np.ndarray) -> None:
        self._qp.keep(kept.tolist())
        self._b, self._idle = self._b[kept], self._idle[kept]
        self._lengths = self._lengths[kept]
        self._keep_stored(kept)

    def _keep_stored(self, kept: np.ndarray) -> None:
        for place, plane in enumerate(kept.tolist()):
            if place != plane:
                self._plane(place)[:] = self._plane(plane)
        self._errors = self._errors[kept]
        del self._chunks[-(-len(kept) // CHUNK) :]

    def _plane(self, j: int) -> np.ndarray:
        return self._chunks[j // CHUNK][j % CHUNK]

    def _rows(self, t: int) -> list[ArrayRows]:
        """The first t planes, chunk by chunk."""
        filled = [min(CHUNK, t - k * CHUNK) for k in range(len(self._chunks))]
        return [
            ArrayRows(chunk[:n], pool=self._pool)
            for chunk, n in zip(self._chunks, filled, strict=True)
        ]
