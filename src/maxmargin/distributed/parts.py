"""A part of the rows on the worker that holds it, and what is done there.

Tasks are functions of their arguments. A part remembers vectors of one number per row from one task
to the next, but never as the only copy: each is ``X w`` for a w that the driver knows. A part that
was spilled to disk, moved, or read anew on another worker has forgotten them and says so
(`Found.forgotten`), and the driver sends the w's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from maxmargin.data.arrays import ArrayRows
from maxmargin.data.cpus import new_pool
from maxmargin.data.dataset import Dataset
from maxmargin.data.stream.blocks import Strings
from maxmargin.distributed.asking import Unusable
from maxmargin.distributed.errors import dask_modules
from maxmargin.distributed.sums import Found, sum_up


@dataclass(frozen=True)
class Layout:
    """What all parts have in common: columns, constant feature, threads of a task."""

    d: int
    bias: float = 0.0
    index_base: int | None = None
    threads: int = 1
    d_in: int | None = None  # of the rows that features are made of, where they are
    features: Any = field(default=None, compare=False)  # of one fit: the same for all its layouts

    @property
    def width(self) -> int:
        return self.d + (1 if self.bias else 0)


class PartFailed(Exception):
    """The work on one part raised `cause`."""

    def __init__(self, number: int, cause: BaseException) -> None:
        super().__init__(number, cause)
        self.number, self.cause = number, cause


class LocalLoss(Protocol):
    """The loss of one part's predictions."""

    def evaluate(self, p: np.ndarray, out: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """``R(p)`` and a subgradient, which may be written to `out`."""


class Task(Protocol):
    """A problem as every worker needs to know it; small, sent with every task.

    `key` tells problems apart that are solved on the same parts.
    """

    @property
    def key(self) -> str: ...
    @property
    def layout(self) -> Layout: ...

    def loss(self, part: Part, rows: ArrayRows) -> LocalLoss | None:
        """The loss of the part's rows; None if the driver evaluates it."""


class Part:
    """Rows with their labels, and what the tasks on them remember."""

    def __init__(self, data: Dataset, number: int) -> None:
        self.data, self.number = data, number
        self._forget()

    def _forget(self) -> None:
        self._views: dict[Layout, Any] = {}
        self._memories: dict[str, Memory] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "number": self.number}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.data, self.number = state["data"], state["number"]
        self._forget()

    def __sizeof__(self) -> int:
        arrays: list[Any] = [self.data.y, self.data.qid, self.data.weight]
        X: Any = self.data.X
        if isinstance(X, Strings):
            arrays += [X.letters, X.starts]
        else:
            arrays += [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        return sum(array.nbytes for array in arrays if array is not None)

    def rows(self, layout: Layout) -> ArrayRows:
        """The rows with the columns of the whole, on threads of their own."""
        if layout not in self._views:
            self._views[layout] = self._made(layout)
        return self._views[layout].with_pool(new_pool(layout.threads))

    def _made(self, layout: Layout) -> Any:
        if layout.features is None:
            return ArrayRows(self.columns(layout), layout.bias)
        if self.data.X.shape[0] == 0:
            return ArrayRows(np.empty((0, layout.d)), layout.bias)
        from maxmargin.distributed.features import made_rows  # which knows of parts

        pool = new_pool(layout.threads)
        return made_rows(self.columns(layout), layout.features, layout.bias, pool)

    def memory(self, task: Task) -> Memory:
        with self._lock:
            if task.key not in self._memories:
                self._memories[task.key] = Memory(self, task)
            return self._memories[task.key]

    def end(self, key: str) -> None:
        """Forgets all about a problem."""
        self._memories.pop(key, None)

    def columns(self, layout: Layout) -> Any:
        """X as wide as the widest part, features numbered from the first of all parts."""
        X: Any = self.data.X
        d = layout.d if layout.d_in is None else layout.d_in
        if not sp.issparse(X):
            if X.shape[1] != d:
                raise ValueError(
                    f"{self.data.source}: found {X.shape[1]} columns; expected {d}, as in "
                    "the other parts"
                )
            return X
        X = X.tocsr()
        shift = self.data.index_base == 1 and layout.index_base == 0
        indices = X.indices + 1 if shift else X.indices
        return sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], d), copy=False)


class Memory:
    """What a part remembers of one problem: its loss, and vectors by their tags.

    Arrays of vectors that are no longer needed are used again: workers give freed memory back to
    the system, and getting it anew takes longer than a sum over it.
    """

    def __init__(self, part: Part, task: Task) -> None:
        self._part, self._layout, self.lock = part, task.layout, threading.Lock()
        self.rows = part.rows(task.layout)
        self.loss = task.loss(part, self.rows)
        self.vectors: dict[int, np.ndarray] = {}
        self.note: tuple[str, Any] | None = None  # of the job that runs in several rounds
        self._spare: list[np.ndarray] = []

    def every_row(self, step: int) -> Any:
        """A copy of every `step`-th row."""
        return self._part.columns(self._layout)[::step].copy()

    def room(self) -> np.ndarray:
        """An array of one number per row."""
        return self._spare.pop() if self._spare else np.empty(self.rows.n)

    def give_back(self, array: np.ndarray) -> None:
        self._spare.append(array)

    def keep(self, tags: frozenset[int]) -> None:
        """Forgets all other vectors."""
        for tag in [tag for tag in self.vectors if tag not in tags]:
            self.give_back(self.vectors.pop(tag))

    def carry_out(self, program: Sequence[Step], ws: Sequence[np.ndarray | None]) -> bool:
        """Makes the vectors of a program; False if one it builds on is not here."""
        for step in program:
            if step.tag in self.vectors:
                continue
            if step.blend is None:
                w = ws[step.w]
                made = self.rows.zeros() if w is None else self.rows.matvec(w, self.room())
                self.vectors[step.tag] = made
                continue
            alpha, x, beta, y = step.blend
            if x not in self.vectors or y not in self.vectors:
                return False
            made = self.rows.axpby(alpha, self.vectors[x], beta, self.vectors[y], self.room())
            self.vectors[step.tag] = made
        return True


@dataclass(frozen=True)
class Step:
    """How a vector is made: ``X w`` for one of the w's sent, or ``alpha x + beta y`` of others."""

    tag: int
    w: int = 0
    blend: tuple[float, int, float, int] | None = None


@dataclass(frozen=True)
class Order:
    """What a worker is to do: make vectors, do the job on some of them, keep those still needed."""

    task: Task
    job: Callable[..., Any]
    needs: tuple[int, ...]
    program: tuple[Step, ...]
    keep: frozenset[int]
    options: dict[str, Any]
    entries: int  # of a sum that comes back, about


FORGOTTEN = object()  # what a job gives where the part lacks what it builds on


def work(
    held: Sequence[Part | Unusable],
    threads: int,
    order: Order,
    pieces: Sequence[np.ndarray] | None,
    total: bool,
    *ws: np.ndarray | None,
) -> Found:
    """What workers do, on all parts they hold, on so many threads.

    `pieces` are the parts' shares of a vector that the driver has. Sums go by the order of parts.
    """
    given: list[Any] = list(pieces) if pieces else [None] * len(held)

    def one(k: int) -> Any:
        part = held[k]
        if isinstance(part, Unusable):  # it was read again after a loss
            raise PartFailed(part.number, part.error)
        try:
            return _work_on(part, order, given[k], ws)
        except Exception as error:
            raise PartFailed(part.number, error) from error

    numbers, threads = [part.number for part in held], min(threads, len(held))
    if threads == 1:
        return _gather(zip(numbers, map(one, range(len(held)))), total)
    with ThreadPoolExecutor(threads) as executor:
        return _gather(zip(numbers, executor.map(one, range(len(held)))), total)


def work_in_task(
    held: Sequence[Part | Unusable],
    order: Order,
    pieces: Sequence[np.ndarray] | None,
    total: bool,
    *ws: np.ndarray | None,
) -> Found:
    """`work` on as many threads as the worker of the task has."""
    return work(held, _threads_here(), order, pieces, total, *ws)


def _gather(results: Iterable[tuple[int, Any]], total: bool) -> Found:
    """Results as they come, in the order of parts: their sum, or each by its number."""
    forgotten: set[int] = set()
    kept: dict[int, Any] = {}
    sums: tuple[np.ndarray, ...] | None = None
    for number, result in results:
        if result is FORGOTTEN:
            forgotten.add(number)
        elif total:
            sums = sum_up([result] if sums is None else [sums, result])
        else:
            kept[number] = result
    return Found(sums if total else kept, frozenset(forgotten))


def _work_on(
    part: Part, order: Order, piece: np.ndarray | None, ws: Sequence[np.ndarray | None]
) -> Any:
    memory = part.memory(order.task)
    with memory.lock:  # a call whose answer was lost may still be under way
        if not memory.carry_out(order.program, ws):
            return FORGOTTEN
        found = [memory.vectors.get(tag) for tag in order.needs]
        if any(vector is None for vector in found):
            return FORGOTTEN
        given = found if piece is None else [*found, piece]
        result = order.job(memory, *given, **order.options)
        memory.keep(order.keep)
        return result


def _threads_here() -> int:
    """Of the worker that this runs on."""
    _, distributed = dask_modules()
    try:
        return distributed.get_worker().state.nthreads
    except ValueError:  # none: a test calls
        return 1


def end(held: Sequence[Part], key: str) -> None:
    """Forgets a problem that is solved."""
    for part in held:
        part.end(key)


# ------------------------------------------------------------------------------------------- jobs


def touch(memory: Memory, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part's share of ``R``, ``<subgrad, p>`` and ``X^T subgrad`` at p."""
    assert memory.loss is not None
    R, subgrad = memory.loss.evaluate(p, memory.room())
    result = np.array([R, memory.rows.inner(subgrad, p)]), memory.rows.rmatvec(subgrad)
    memory.give_back(subgrad)
    return result


def dot(memory: Memory, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray]:
    """The part's share of ``<x, y>``."""
    return (np.array([memory.rows.inner(x, y)]),)


def values(memory: Memory, p: np.ndarray) -> np.ndarray:
    """The vector itself: only where the driver must see every prediction."""
    return p.copy()  # the part goes on to use its own


def rmatvec(memory: Memory, subgrad: np.ndarray) -> tuple[np.ndarray]:
    """The part's share of ``X^T subgrad`` for one that the driver sent."""
    return (memory.rows.rmatvec(subgrad),)


def n_rows(part: Part) -> int:
    return part.data.X.shape[0]
