"""Threads of BLAS, and ours around it.

BLAS has its own threads, whose number belongs to the whole process. They spin while they wait for
each other: on a busy machine, or beside threads of ours, that takes many times what the products
take. So products of tiles are made by our threads, each calling BLAS on one. Tiles do not depend on
the number of threads, hence neither does any sum.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from maxmargin import _core

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Blas:
    """The number of threads of BLAS: the least that any of our computations asks for.

    The first sets it and the last puts it back, whatever order they end in. A fork copies the lock
    as it is, and the thread that would open it is not there in the child: it starts with a new one,
    and with the number of threads put back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: list[int] = []
        self._first: Any = None
        os.register_at_fork(after_in_child=self._after_fork)

    @functools.cached_property
    def _libraries(self) -> ThreadpoolController:
        """Looking for them takes longer than many a fit, so it is done once."""
        return ThreadpoolController()

    @contextlib.contextmanager
    def limited(self, threads: int) -> Iterator[None]:
        with self._lock:
            self._asked.append(threads)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._asked.remove(threads)
                self._apply()

    def _apply(self) -> None:
        if not self._asked:
            self._first.restore_original_limits()
            self._first = None
            return
        limit = self._libraries.limit(limits=min(self._asked), user_api="blas")
        self._first = limit if self._first is None else self._first

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._asked = []
        if self._first is not None:
            self._apply()


_BLAS = _Blas()


def blas_threads(pool: _core.Pool) -> contextlib.AbstractContextManager[None]:
    """BLAS uses as many threads as the pool has."""
    return _BLAS.limited(pool.threads)


class OneBlasThread:
    """Small products on the caller's thread: the same sums for any number of threads."""

    def __call__(self) -> contextlib.AbstractContextManager[None]:
        return _BLAS.limited(1)


def in_threads(
    work: Callable[[Task], Result], tasks: Sequence[Task], pool: _core.Pool
) -> list[Result]:
    """``work(task)`` for every task, by as many threads as the pool has, BLAS on one thread each.

    Results are in the order of the tasks. Work that calls the core uses a pool of one thread. The
    stop flag of the pool is looked at between tasks, and ends them with `Stopped`.
    """
    with _BLAS.limited(1):
        if pool.threads == 1 or len(tasks) <= 1:
            results = []
            for task in tasks:
                pool.raise_if_stopped()
                results.append(work(task))
            return results
        with ThreadPoolExecutor(pool.threads) as executor:
            futures = [executor.submit(work, task) for task in tasks]
            try:
                while wait(futures, timeout=0.02).not_done:
                    pool.raise_if_stopped()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return [future.result() for future in futures]
