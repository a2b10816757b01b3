"""``gamma`` of a kernel: what it may be, and what its words stand for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.data.arrays import ArrayRows
from maxmargin.parameters import ParameterError, is_number


def check_gamma(gamma: Any) -> None:
    """A positive number, or one of the words."""
    good = gamma > 0 and math.isfinite(gamma) if is_number(gamma) else gamma in ("scale", "auto")
    if not good:
        raise ParameterError("gamma", "a positive number, 'scale' or 'auto'", gamma)


def gamma_of(gamma: Any, X: Any, weights: np.ndarray) -> float:
    """The number that "scale", "auto" or a number stands for. Weights count as repetitions."""
    check_gamma(gamma)
    if is_number(gamma):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    share, rows = weights / weights.sum(), ArrayRows(X)
    mean = float(share @ rows.matvec(np.ones(X.shape[1]))) / X.shape[1]
    variance = float(share @ rows.squared_norms()) / X.shape[1] - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * mean**2 else 1.0
