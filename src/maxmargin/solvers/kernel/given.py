"""Kernel matrices that somebody else computed: what they must hold, and how that is tested.

A certificate is one only if the matrix is positive semidefinite. Cholesky's factor of K plus a
shift at the level of rounding exists for such matrices and no others. It takes n^3 / 3 steps, so
beyond some thousand rows random principal minors stand in for the whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from maxmargin import _core
from maxmargin.solvers.kernel.blas import OneBlasThread
from maxmargin.solvers.kernel.gram import KernelCallable, empty_matrix, tiles

WHOLE = 2000  # rows whose factor takes about as long as a fit does
MINOR, MINORS = 1000, 4  # rows of a random principal minor, and how many are tried


def called_matrix(X: Any, kernel: KernelCallable) -> np.ndarray:
    """The matrix of a Python function ``kernel(X, Z) -> (len(X), len(Z)) array``, as it gave it."""
    n = X.shape[0]
    parts = []
    for begin, end in tiles(n):
        values = np.asarray(kernel(X[begin:end], X))
        if values.shape != (end - begin, n):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for {end - begin} "
                f"and {n} rows; expected ({end - begin}, {n})"
            )
        parts.append(values)
    return np.concatenate(parts)


def given_matrix(K: Any, pool: _core.Pool) -> np.ndarray:
    """A precomputed matrix: float32 with contiguous rows is used in place, others are converted."""
    given = K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"got shape {K.shape}"
        )
    if K.dtype != np.float32 or (K.shape[0] > 1 and K.strides[1] != 4) or K.strides[0] < 0:
        converted = empty_matrix(K.shape[0])
        with np.errstate(over="ignore"):  # infinity is refused below
            converted[:] = K
        K = converted
    check_matrix(K, _core.Pool(pool.threads))  # which no stop flag ends: a check is done or not
    check_definite(given)
    return K


def check_matrix(K: np.ndarray, pool: _core.Pool) -> None:
    """Refuses values that are not finite, and matrices that cannot be those of a kernel."""
    fault, i, j = _core.check_matrix(K, pool)
    if fault == _core.MatrixFault.not_finite:
        raise ValueError(
            f"the kernel matrix contains {K[i, j]} at row {i}, column {j}; expected finite numbers"
        )
    if fault == _core.MatrixFault.asymmetric:
        raise ValueError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but "
            f"K[{j}, {i}] = {K[j, i]:.6g}"
        )
    if fault == _core.MatrixFault.indefinite:
        raise ValueError(
            f"the kernel is not positive definite: K[{i}, {j}] = {K[i, j]:.6g} with "
            f"K[{i}, {i}] = {K[i, i]:.6g} and K[{j}, {j}] = {K[j, j]:.6g}; expected "
            f"K_ij^2 <= K_ii K_jj. Use a positive definite kernel"
        )


def check_definite(K: np.ndarray) -> None:
    """Refuses matrices with eigenvalues below zero by more than rounding explains."""
    n = K.shape[0]
    random = np.random.default_rng(0)
    samples = [np.arange(n)]
    if n > WHOLE:
        samples = [random.permutation(n)[:MINOR] for _ in range(MINORS)]
    for rows in samples:
        minor = np.array(K[np.ix_(rows, rows)], dtype=np.float64)
        shift = _rounding(K.dtype, len(minor)) * float(np.diagonal(minor).max(initial=0.0))
        if shift == 0 or _has_factor(minor, shift):
            continue
        least = _least_eigenvalue(minor)
        if least < -shift:
            raise ValueError(
                f"the kernel matrix is not positive semidefinite: its smallest eigenvalue is about "
                f"{least:.3g} (largest diagonal entry {np.diagonal(minor).max():.3g}), so no "
                f"certificate would hold. Use a positive definite kernel, or add "
                f"{-least:.3g} or more to the diagonal"
            )


def _rounding(dtype: np.dtype, n: int) -> float:
    """How far below zero rounding of the entries can move an eigenvalue, for entries up to 1."""
    single = dtype == np.float32 or dtype == np.float16
    return math.sqrt(n) * (4 * float(np.finfo(np.float32).eps) if single else 1e-10)


def _has_factor(K: np.ndarray, shift: float) -> bool:
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += shift
    with OneBlasThread()():
        try:
            scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
    return True


def _least_eigenvalue(K: np.ndarray) -> float:
    if len(K) <= 300:
        return float(np.linalg.eigvalsh(K)[0])
    start = np.random.default_rng(0).normal(size=len(K))
    return float(scipy.sparse.linalg.eigsh(K, 1, which="SA", v0=start, tol=1e-3)[0][0])
