"""Short rounds without tasks: workers are called, and work on the parts that they hold.

A task costs the scheduler some 10 ms, and more with every part it depends on; a call a few. What is
called is what tasks would run, on the same parts in the same order, so an answer has the same bits
either way. A worker that does not answer, or holds a part no more, is no failure of a call: tasks
do what is left, and Dask repeats those.

Dask sees no work in calls. It would take workers for idle that compute for long, and give them up
where clusters adapt or have a time limit. So long rounds are made of tasks, and a round now and
then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

SHORT = 0.5  # seconds of a round beside which the cost of tasks is small
UNSEEN = 10.0  # seconds for which the scheduler may see no task
MOST_BYTES = 64 << 20  # in and out of all workers, all of which the scheduler passes on


class CallOrTask:
    """Whether the next round may be a call."""

    def __init__(self) -> None:
        self._is_short, self._last_task = True, time.monotonic()

    def may_call(self, bytes_each: int, workers: int) -> bool:
        """Whether a round with so many bytes in and out of each of the workers may be one."""
        seen = time.monotonic() - self._last_task < UNSEEN
        return self._is_short and seen and bytes_each * workers <= MOST_BYTES

    def note(self, seconds: float, called: bool) -> None:
        """How long a round took."""
        self._is_short = seconds < SHORT
        if not called:
            self._last_task = time.monotonic()


async def on_held(
    function: Callable[..., Any],
    shares: dict[str, Sequence[str]],
    *arguments: Any,
    dask_worker: Any,
) -> tuple[Any, list[str]]:
    """What a worker answers: ``function(held, *arguments)`` for what it holds of its share, in a
    thread of those it has for tasks; and the keys it does not hold."""
    keys = shares[dask_worker.address]
    held = [dask_worker.data[key] for key in keys if key in dask_worker.data]
    missing = [key for key in keys if key not in dask_worker.data]
    if not held:
        return None, missing
    threads, loop = dask_worker.state.nthreads, asyncio.get_running_loop()
    executor = dask_worker.executors["default"]
    return await loop.run_in_executor(executor, function, held, threads, *arguments), missing
