"""Exact solutions on small subsets, for large C: where steps crawl though few points matter.

    A <- some random points
    repeat   solve the problem on A by Newton's method, in float64;  f at all points
             A <- the support vectors, and of the others those furthest inside the margin

Chunking (see `chunking`), whose subsets are solved whatever the condition of the Gram matrix. The a
of a subset, 0 elsewhere, is feasible for the whole problem, and its dual value only rises. It may
cost what the steps before it cost: if that is not enough they go on, and so does this after twice
as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.two_variable import Descent

FIRST = 512  # points to begin with
FEW = 0.4  # share of support vectors among them that is few
MOST = 4096  # points of a subset, for whose Gram matrix there must be memory
ADDED = 256  # points that a round takes in, at least
EXACT = 1e-6  # of the tolerance of a subset: which variables are at their bounds is known then
OF_A_STEP = 100  # multiply-adds of Newton's method in the time of a step, for each point


class Subsets:
    """The subsets of one descent, and the beta that was found on the last of them."""

    def __init__(self, descent: Descent) -> None:
        self.descent = descent
        self.part = np.flatnonzero(descent.path.c)
        order = np.random.default_rng(descent.settings.seed).permutation(self.part)
        self.subset = np.sort(order[:FIRST])
        self.beta = np.zeros_like(descent.path.beta)
        self.begun = self.hopeless = False

    def go_on(self) -> bool:
        """Whether the descent is at its end by this; else it is where it was."""
        descent, before = self.descent, self.descent.path.beta.copy()
        left = OF_A_STEP * float(descent.path.core.iterations) * len(self.part)
        while not self.hopeless and left > 0 and descent.iterations < descent.limit:
            steps = descent.newton_steps
            descent.move(self.beta)
            descent.move(descent.improved(self.subset, EXACT))
            if descent.solved():
                return True
            left -= len(self.subset) ** 3 / 3 * (descent.newton_steps - steps)
            self.beta = descent.path.beta.copy()
            self.find_next()
        descent.move(before)
        return False

    def find_next(self) -> None:
        """The next subset, from residuals that are fresh; or no hope, where it would be large."""
        path = self.descent.path
        support = np.flatnonzero(self.beta)
        margin, most = path.y * (path.y - path.r), max(ADDED, len(support))
        inside = violators(margin, self.beta, self.part, most)
        many = not self.begun and len(support) > FEW * len(self.subset)
        self.begun = True
        self.subset = np.sort(np.concatenate([support, inside]))
        self.hopeless = many or len(inside) == 0 or len(self.subset) > MOST


def violators(margin: np.ndarray, beta: np.ndarray, part: np.ndarray, most: int) -> np.ndarray:
    """Of the points without a coefficient those with the least margins, if below 1."""
    inside = part[(beta[part] == 0) & (margin[part] < 1)]
    if len(inside) <= most:
        return inside
    return inside[np.argpartition(margin[inside], most - 1)[:most]]
