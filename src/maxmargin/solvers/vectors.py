"""Inner products of w-sized vectors.

numpy hands long ones to BLAS, whose threads (how many is a setting of the whole process) would
change the last digit and get in the way of ours.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core

_CALLER = _core.Pool(1)  # no threads of its own: safe to share


def inner(x: np.ndarray, y: np.ndarray) -> float:
    """``<x, y>``"""
    return _core.inner(x, y, _CALLER)


def norm2(x: np.ndarray) -> float:
    """``||x||^2``"""
    return _core.inner(x, x, _CALLER)
