"""Where a solver begins: a neighbouring problem's answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from maxmargin.solvers.common.vectors import ROUNDING


@dataclass(frozen=True)
class Start:
    """A neighbouring problem's answer to begin from: w, and the dual
    variables in units of C_i where the method has them.

    `planes` lie below the loss at `C`. A loss of C' is one of C times C' / C, and so are its
    planes.
    """

    w: np.ndarray
    share: np.ndarray | None = None
    planes: list[tuple[np.ndarray, float, float]] = field(default_factory=list)
    C: float = 1.0

    def at(self, C: float) -> Start:
        """The same with planes of the loss at another C."""
        ratio = C / self.C
        planes = [
            (ratio * a, ratio * b - ROUNDING * abs(ratio * b), ratio * error)
            for a, b, error in self.planes
        ]
        return replace(self, planes=planes, C=C)
