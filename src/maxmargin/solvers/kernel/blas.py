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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from maxmargin import _core

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Blas:
    """BLAS on one thread while any of our computations asks for it.

    The first sets it and the last puts it back, whatever order they end in. A fork copies the lock
    as it is, and the thread that would open it is not there in the child: it starts with a new one,
    and with the number of threads put back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None
        os.register_at_fork(after_in_child=self._after_fork)

    @functools.cached_property
    def _libraries(self) -> ThreadpoolController:
        """Looking for them takes longer than many a fit, so it is done once."""
        return ThreadpoolController()

    @contextlib.contextmanager
    def on_one_thread(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = self._libraries.limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._put_back()

    def _put_back(self) -> None:
        self._limit.restore_original_limits()
        self._limit = None

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        if self._limit is not None:
            self._put_back()


_BLAS = _Blas()


class OneBlasThread:
    """Small products on the caller's thread: the same sums for any number of threads."""

    def __call__(self) -> contextlib.AbstractContextManager[None]:
        return _BLAS.on_one_thread()


def in_threads(
    work: Callable[[Task], Result], tasks: Sequence[Task], pool: _core.Pool
) -> list[Result]:
    """``work(task)`` for every task, by as many threads as the pool has, BLAS on one thread each.

    Results are in the order of the tasks. Work that calls the core uses a pool of one thread. The
    stop flag of the pool is looked at between tasks, and ends them with `Stopped`.
    """
    with _BLAS.on_one_thread():
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


def made_ahead(
    make: Callable[[Task, int], Result], tasks: Sequence[Task], pool: _core.Pool
) -> Iterator[Result]:
    """``make(task, place)`` for every task, in their order, made by threads while the caller works
    on the one before.

    A result is the caller's until it asks for the next: `place` counts results that exist at a
    time, at most one more than the pool has threads, so that memory is used again. Otherwise as
    `in_threads`.
    """
    places = pool.threads + 1
    with _BLAS.on_one_thread():
        if pool.threads == 1 or len(tasks) <= 1:
            for task in tasks:
                pool.raise_if_stopped()
                yield make(task, 0)
            return
        with ThreadPoolExecutor(min(pool.threads, len(tasks))) as executor:
            ahead = deque(
                executor.submit(make, tasks[t], t) for t in range(min(places, len(tasks)))
            )
            try:
                for t in range(len(tasks)):
                    pool.raise_if_stopped()
                    yield ahead.popleft().result()
                    if t + places < len(tasks):
                        ahead.append(executor.submit(make, tasks[t + places], t % places))
            finally:
                for future in ahead:
                    future.cancel()
