"""Tasks in processes of their own, which may hang or crash without stopping the others."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

LIMIT = 60.0  # seconds for a task: many times what its own limits allow
LOOK = 1.0  # seconds between two looks at the workers


class Lost(Exception):
    """A task that did not come back: its process hung or died."""


class AwakeClock:
    """Seconds that were seen to pass: while the machine sleeps, or stops us, tasks wait too."""

    def __init__(self) -> None:
        self.seconds, self._last = 0.0, time.monotonic()

    def look(self) -> float:
        now = time.monotonic()
        self.seconds += min(now - self._last, 2 * LOOK)
        self._last = now
        return self.seconds


class Worker:
    """A process that runs one task at a time."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Any = None
        self.began = 0.0

    def begin(self, task: Any, now: float) -> None:
        self.task, self.began = task, now
        self.connection.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(work: Callable[[Any], Any], connection: Connection) -> None:
    while True:
        task = connection.recv()
        connection.send(work(task))


def run(
    work: Callable[[Any], Any], tasks: Iterable[Any], jobs: int, limit: float = LIMIT
) -> Iterator[tuple[Any, Any]]:
    """Every task with its result, or with `Lost`, in the order they end."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # workers are the parallelism
    waiting, clock = deque(tasks), AwakeClock()
    workers = [Worker(work) for _ in range(min(jobs, len(waiting)))]
    try:
        for worker in workers:
            worker.begin(waiting.popleft(), clock.look())
        busy = list(workers)
        while busy:
            ready = wait([worker.connection for worker in busy], timeout=LOOK)
            now = clock.look()
            for worker in list(busy):
                result = _result(worker, worker.connection in ready, now - worker.began > limit)
                if result is None:
                    continue
                yield worker.task, result
                if isinstance(result, Lost):
                    worker.end()
                    workers.remove(worker)
                    busy[busy.index(worker)] = worker = Worker(work)
                    workers.append(worker)
                if waiting:
                    worker.begin(waiting.popleft(), now)
                else:
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


def _result(worker: Worker, ready: bool, is_late: bool) -> Any:
    """What a worker has found; `Lost` if it never will; None if it is still at work."""
    if ready:
        try:
            return worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            return Lost(f"the process ended with exit code {worker.process.exitcode}")
    return Lost("no answer in time") if is_late else None
