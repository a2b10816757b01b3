"""Vectors of one number per row that stay on the workers, as the driver knows them.

    p = X w           every vector the bundle loop handles, predictions and their combinations

The driver keeps w and a tag. Vectors are made when a task first needs them, within that task: a
line search costs no round of its own for the product before it. Once made they no longer refer to
those they came from, so nothing grows with the number of iterations; a worker that has lost one
makes it anew from w.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.distributed.parts import Step


class Vector:
    """``X w``; `w` is None for 0."""

    def __init__(
        self, tag: int, w: np.ndarray | None, blend: tuple[float, Vector, float, Vector] | None
    ) -> None:
        self.tag, self.w, self.blend = tag, w, blend
        self.made = False


@dataclass(frozen=True)
class Subgradient:
    """A subgradient of the loss at `at`, known by what is asked of it."""

    at: Vector
    inner: float  # <subgrad, p>
    a: np.ndarray  # X^T subgrad


class Vectors:
    """The vectors of one problem: which there are, and how to make those needed next."""

    def __init__(self) -> None:
        self._tags = itertools.count()
        self._alive: weakref.WeakSet[Vector] = weakref.WeakSet()

    def new(
        self,
        w: np.ndarray | None,
        blend: tuple[float, Vector, float, Vector] | None = None,
    ) -> Vector:
        vector = Vector(next(self._tags), w, blend)
        self._alive.add(vector)
        return vector

    def program(self, needs: Iterable[Vector]) -> tuple[list[Step], list[np.ndarray | None]]:
        """The steps that make what is needed of what was made, and the w's they take."""
        steps: list[Step] = []
        ws: list[np.ndarray | None] = []
        planned: set[int] = set()

        def plan(vector: Vector) -> None:
            if vector.made or vector.tag in planned:
                return
            planned.add(vector.tag)
            if vector.blend is None:
                steps.append(Step(vector.tag, w=len(ws)))
                ws.append(vector.w)
                return
            alpha, x, beta, y = vector.blend
            plan(x)
            plan(y)
            steps.append(Step(vector.tag, blend=(alpha, x.tag, beta, y.tag)))

        for vector in needs:
            plan(vector)
        return steps, ws

    def from_scratch(self, needs: Iterable[Vector]) -> tuple[list[Step], list[np.ndarray | None]]:
        """The steps for a part that has forgotten everything: all from their w's."""
        needs = list(needs)
        steps = [Step(vector.tag, w=j) for j, vector in enumerate(needs)]
        return steps, [vector.w for vector in needs]

    def note_made(self, steps: Iterable[Step]) -> None:
        """All parts have made these: they need not know any more where they came from."""
        made = {step.tag for step in steps}
        for vector in list(self._alive):
            if vector.tag in made:
                vector.made, vector.blend = True, None

    def alive(self) -> frozenset[int]:
        """The tags that may be asked for again."""
        return frozenset(vector.tag for vector in list(self._alive))


def blended(alpha: float, x: Vector, beta: float, y: Vector) -> np.ndarray | None:
    """``alpha w_x + beta w_y``"""
    if x.w is None:
        return None if y.w is None else beta * y.w
    return alpha * x.w if y.w is None else alpha * x.w + beta * y.w
