"""The seam between losses and solvers."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Loss(Protocol):
    """A convex R(p) >= 0 of the predictions p = X w; C and all weights are part of it.

    To be inherited: `SearchedLoss` brings a search for losses that can only be evaluated.
    """

    n: int
    at_zero: float  # R(0), known without looking at predictions

    def evaluate(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """``R(p)`` and a subgradient ``dR/dp``."""

    def value(self, p: np.ndarray) -> float:
        """``R(p)`` to as many digits as can be had: what a certificate states."""

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        """``k = argmin_{k >= 0} k^2 A0 / 2 + k B0 + R(p + k dp)``, and ``R(p + k dp)``."""

    def known_subgradient(self) -> np.ndarray | None:
        """The subgradient where the last search ended, if it is known and a plane there will do."""
        return None
