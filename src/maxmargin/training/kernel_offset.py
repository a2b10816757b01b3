"""An offset for kernel machines: B^2 is added to the kernel.

    k'(x, z) = k(x, z) + B^2        f(x) = b + sum_j beta_j k(x_j, x),        b = B^2 sum_j beta_j

The norm of f then holds ``b^2 / B^2``: an offset that is regularised, and the dual stays a box.
Machines are trained with k'; models keep k and b.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.parameters import ParameterError, not_negative
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable

MOST_OFFSET = 1e6  # its square beside kernel values near 1 leaves float64 some digits


def check_offset(offset: Any) -> None:
    """A number from 0 to `MOST_OFFSET`."""
    if not_negative("offset", offset) > MOST_OFFSET:
        raise ParameterError("offset", f"a number from 0 to {MOST_OFFSET:g}", offset)


def with_constant(
    kernel: Kernel | KernelCallable | str, offset: float
) -> Kernel | KernelCallable | str:
    """The kernel to train with; precomputed values are `shifted`."""
    constant = float(offset) ** 2
    if constant == 0 or isinstance(kernel, str):
        return kernel
    if isinstance(kernel, Kernel):
        return replace(kernel, constant=constant)
    return lambda X, Z: np.asarray(kernel(X, Z)) + constant


def shifted(values: Any, offset: float) -> Any:
    """Precomputed kernel values to train with."""
    return np.asarray(values, dtype=np.float64) + float(offset) ** 2 if offset > 0 else values


def offsets_of(beta: np.ndarray, offset: float) -> np.ndarray | None:
    """``b`` of every problem, a column of beta each; None without an offset."""
    return float(offset) ** 2 * beta.sum(axis=0) if offset > 0 else None
