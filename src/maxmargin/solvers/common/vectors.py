"""Inner products of w-sized vectors, and what their rounding errors leave of a bound.

numpy hands long ones to BLAS, whose threads (how many is a setting of the whole process) would
change the last digit and get in the way of ours.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _core

ROUNDING = 1e-14  # of the numbers added up: more than a sum in float64 loses

_CALLER = _core.Pool(1)  # no threads of its own: safe to share


def inner(x: np.ndarray, y: np.ndarray) -> float:
    """``<x, y>``"""
    return _core.inner(x, y, _CALLER)


def norm2(x: np.ndarray) -> float:
    """``||x||^2``; ValueError where float64 cannot hold it."""
    square = _core.inner(x, x, _CALLER)
    if not math.isfinite(square):
        raise ValueError(
            "the features are too large for float64: sums of their squares overflow. Scale the "
            "features or lower C"
        )
    return square


def dual_bound(added: float, v_squared: float, size: float | None = None) -> float:
    """``added - 1/2 ||v||^2`` less what rounding may have added to it; at least D(0) = 0.

    `size` is the sum `added` with all its terms taken as positive, where some are not.
    """
    taken = 0.5 * v_squared
    bound = added - taken - ROUNDING * ((added if size is None else size) + taken)
    return bound if bound > 0 else 0.0
