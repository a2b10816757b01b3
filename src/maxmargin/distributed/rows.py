"""Rows whose two products are done by workers.

    matvec(w)           nothing yet: the next task that needs X w makes it
    rmatvec(subgrad)    came with the loss that it is a subgradient of
    inner, axpby        as matvec: vectors of one number per row never leave the workers

`GatheredRows` are for losses that must see every prediction at once: there, predictions travel.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.data.cpus import new_pool
from maxmargin.distributed import parts
from maxmargin.distributed.cluster import Cluster, Sent
from maxmargin.distributed.parts import Layout, Order, Task
from maxmargin.distributed.vectors import Subgradient, Vector, Vectors, blended
from maxmargin.solvers.common.vectors import inner


class DaskRows:
    """The rows of all parts. A `Rows` for the bundle loop; its vectors are `Vector`s."""

    def __init__(self, cluster: Cluster, task: Task, n: int, stop: Any = None) -> None:
        self.cluster, self.task, self.n, self.stop = cluster, task, n, stop
        self.width = task.layout.width
        self.pool = new_pool(1, stop)  # for the driver's own sums over w-sized vectors
        self._vectors = Vectors()

    def zeros(self) -> Vector:
        return self._vectors.new(None)

    def matvec(self, w: np.ndarray) -> Vector:
        return self._vectors.new(np.array(w, dtype=np.float64))

    def axpby(self, alpha: float, x: Vector, beta: float, y: Vector) -> Vector:
        return self._vectors.new(blended(alpha, x, beta, y), (alpha, x, beta, y))

    def rmatvec(self, subgrad: Subgradient) -> np.ndarray:
        return subgrad.a

    def inner(self, x: Subgradient | Vector, y: Vector) -> float:
        if isinstance(x, Subgradient):
            if x.at is not y and not np.array_equal(x.at.w, y.w):  # type: ignore[arg-type]
                raise ValueError("a subgradient is only known where it was taken")
            return x.inner
        return float(self.total(parts.dot, x, y)[0][0])

    def each(self, job: Callable[..., Any], *needs: Vector, **options: Any) -> list[Any]:
        """What the job gives on every part."""
        return self._run(job, needs, options, total=False)

    def total(
        self,
        job: Callable[..., Any],
        *needs: Vector,
        once_forgotten: dict[str, Any] | None = None,
        entries: int | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, ...]:
        """The sum of what the job gives, over the parts in a fixed tree.

        `once_forgotten` are options that only parts get which have forgotten what they had, and
        `entries` the numbers of a result where these are more than w has.
        """
        return self._run(job, needs, options, True, once_forgotten, entries)

    def _run(
        self,
        job: Callable[..., Any],
        needs: tuple[Vector, ...],
        options: dict[str, Any],
        total: bool,
        once_forgotten: dict[str, Any] | None = None,
        entries: int | None = None,
    ) -> Any:
        tags, size = tuple(vector.tag for vector in needs), entries or self.width

        def order(steps: Any, ws: Any, options: Any) -> tuple[Order, list[Any]]:
            made = Order(self.task, job, tags, tuple(steps), self._vectors.alive(), options, size)
            return made, ws

        def again() -> tuple[Order, list[Any]]:
            steps, ws = self._vectors.from_scratch(needs)
            return order(steps, ws, options | (once_forgotten or {}))

        steps, ws = self._vectors.program(needs)
        result = self.cluster.run(order(steps, ws, options), again, total, self.stop)
        self._vectors.note_made(steps)
        return result


class PlainTask:
    """A problem whose loss the driver evaluates."""

    def __init__(self, layout: Layout) -> None:
        self.key, self.layout = uuid.uuid4().hex, layout

    def loss(self, part: Any, rows: Any) -> None:
        return None


class GatheredRows:
    """Rows whose predictions come to the driver, n numbers per product; subgradients go back."""

    def __init__(
        self, cluster: Cluster, layout: Layout, sizes: list[int], stop: Any = None
    ) -> None:
        self._rows = DaskRows(cluster, PlainTask(layout), sum(sizes), stop)
        self.n, self.width, self.pool = self._rows.n, self._rows.width, self._rows.pool
        self.key = self._rows.task.key
        self._cuts = np.cumsum(sizes)[:-1]

    def with_pool(self, pool: Any) -> GatheredRows:
        """The same rows in rounds that no stop flag ends."""
        rows = copy.copy(self)
        rows._rows = copy.copy(self._rows)
        rows._rows.stop, rows.pool = None, pool
        return rows

    def zeros(self) -> np.ndarray:
        return np.zeros(self.n)

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate(self._rows.each(parts.values, self._rows.matvec(w)))

    def rmatvec(self, subgrad: np.ndarray) -> np.ndarray:
        order = Order(self._rows.task, parts.rmatvec, (), (), frozenset(), {}, self.width)
        pieces = np.split(subgrad, self._cuts)
        sent: Sent = (order, [])
        return self._rows.cluster.run(sent, lambda: sent, True, self._rows.stop, pieces)[0]

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        return inner(x, y)

    def axpby(self, alpha: float, x: np.ndarray, beta: float, y: np.ndarray) -> np.ndarray:
        return alpha * x + beta * y
