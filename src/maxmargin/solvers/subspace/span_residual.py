"""Pre-images for wide sparse rows: a search that never leaves the span of its points.

    t_q    the sampled rows, then the basis vectors        S    the sampled rows, CSR
    b      sum_q u_q t_q: kept as u                        B    the basis vectors
    M      <t_q, t_r>, in four blocks

The fixed point of `preimages.py` starts at a row and goes towards ``sum_q v_q k(b, t_q) t_q``, so b
is a combination of the t_q at all times, and the search needs no more of it than ``<b, t_q>``: M u.
A basis vector has entries in most columns of text, and hundreds of them are a hundred times the
sampled rows; but their products with rows and with each other are known from when they joined
(`BasisProducts`). Of the sampled rows, ``S S^T u`` is two products with a sparse matrix.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin.solvers.subspace.kernel_values import kernel_of_products
from maxmargin.solvers.subspace.preimages import (
    PreImageOptions,
    Sample,
    SampledResidual,
    fixed_points,
    trimmed,
    used_columns,
)
from maxmargin.solvers.subspace.span import Subspace


def narrowed(X: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    """X with these columns only, which are all it uses."""
    places = np.zeros(X.shape[1], dtype=X.indices.dtype)
    places[columns] = np.arange(len(columns))
    parts = (X.data.astype(np.float64), places[X.indices], X.indptr)
    return sp.csr_matrix(parts, (X.shape[0], len(columns)))


class SpanResidual(SampledResidual):
    """r of the Gaussian kernel; its coordinates of a point b are u."""

    def __init__(self, subspace: Subspace, sample: Sample) -> None:
        super().__init__(subspace, sample)
        assert subspace.products is not None
        self._basis = subspace.basis
        self._SB, self._BB = subspace.products.among(self.rows)
        sampled = subspace.X[self.rows]
        self._columns = used_columns(sampled)
        self._S = narrowed(sampled, self._columns)
        self.norms = np.concatenate([subspace.norms[self.rows], self._basis.squared_norms])

    def some_rows(self, count: int, random: np.random.Generator) -> np.ndarray:
        few = random.permutation(len(self.rows))[:count]
        u = np.zeros((len(few), len(self.v)))
        u[np.arange(len(few)), few] = 1.0
        return u

    def products(self, u: np.ndarray) -> np.ndarray:
        """``<b, t_q>`` for some b (rows) and every point."""
        m = len(self.rows)
        of_rows, of_basis, S, SB = u[:, :m], u[:, m:], self._S, self._SB
        few = np.flatnonzero(of_rows.any(axis=0))
        if len(few) < m:  # starts are single rows
            of_rows, S, SB = of_rows[:, few], S[few], SB[few]
        with_rows, with_basis = (self._S @ (S.T @ of_rows.T)).T, of_rows @ SB
        if of_basis.any():
            with_rows += of_basis @ self._SB.T
            with_basis += of_basis @ self._BB
        return np.hstack([with_rows, with_basis])

    def gaussian(self, u: np.ndarray) -> np.ndarray:
        """``exp(-gamma ||b - t_q||^2)`` for some b (rows)."""
        products = self.products(u)
        own = np.einsum("ij,ij->i", u, products)
        return kernel_of_products(self.kernel, products, own[:, None], self.norms)

    def quotients(self, b: np.ndarray) -> np.ndarray:
        return (self.gaussian(b) @ self.v) ** 2

    def mean_shift(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights = self.gaussian(b) * self.v
        f = weights.sum(axis=1)
        return f, np.divide(weights, f[:, None], out=b.copy(), where=f[:, None] != 0)

    def ascend(self, b: np.ndarray, options: PreImageOptions) -> tuple[np.ndarray, np.ndarray]:
        return fixed_points(self, b, options)

    def back(self, b: np.ndarray) -> np.ndarray:
        m = len(self.rows)
        whole = self._basis.vectors.T @ b[m:] if self._basis.k else np.zeros(self._basis.width)
        whole[self._columns] += self._S.T @ b[:m]
        return trimmed(whole)
