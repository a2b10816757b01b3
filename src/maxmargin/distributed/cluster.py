"""Parts on the workers of a Dask cluster, and rounds of tasks on them.

A round is one call of every worker, or one task (`calls` says when), for all parts it holds, and
takes back a few numbers of each part, or one sum: what a round costs does not grow with the number
of parts. Parts are futures that Dask computes anew from their source, one by one, when their worker
dies. Tasks prefer the worker that holds their parts and may run on any other.

Sums go by the numbers of the parts, on a worker and then over workers by their first part, not by
who finishes first: the same parts on the same workers give the same answer, to the last bit.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from maxmargin.distributed import calls, parts
from maxmargin.distributed.asking import Unusable, ask_each, ask_once
from maxmargin.distributed.errors import ClusterError, PartitionError, SchedulerError, dask_modules
from maxmargin.distributed.parts import Order, PartFailed
from maxmargin.distributed.sources import Source
from maxmargin.distributed.sums import Found, add, tree
from maxmargin.solvers.common.run import RowsLost, Stopped

RETRIES = 3  # of a task that fails; a task whose worker dies is Dask's to repeat
INLINE = 16_384  # bytes that travel within tasks; more goes to one worker, and on to the others
POLL = 0.05  # seconds between looks at the stop flag
LOST_AFTER = 3.0  # seconds without a scheduler; Dask itself would go on trying for half a minute
GONE_AFTER = 0.5  # seconds without an answer, after which to look whether a worker is still there
LOOK_AROUND = 2.0  # seconds between looks for workers that have nothing to do

Sent = tuple[Order, list[np.ndarray | None]]


class Cluster:
    """The parts of one fit. A raised stop flag ends the waiting for any round with `Stopped`.

    Once rows are lost the error is in `failure`, and every round raises `RowsLost`.
    """

    def __init__(self, client: Any, sources: Sequence[Source], stop: Any = None) -> None:
        self.client, self.sources, self.stop = client, list(sources), stop
        self.failure: ClusterError | None = None
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._parts = [self._read(number) for number in range(len(self.sources))]
        self._homes: list[tuple[str, ...]] = [()] * len(self._parts)
        self._rounds = calls.CallOrTask()

    @property
    def n_parts(self) -> int:
        return len(self._parts)

    def wait_until_read(self) -> None:
        """Waits until every part is read, and notes where."""
        self.ask(parts.n_rows)
        self._find_homes()

    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """``function(part, *arguments)`` of every part."""
        answers, left = self._call(ask_each, range(self.n_parts), self.stop, function, *arguments)
        found = {number: result for _, answer in answers for number, result in answer.items()}
        futures = [self._submit(partial(ask_once, function), k, *arguments) for k in left]
        found |= zip(left, self._fetch(futures, self.stop, dict(zip(left, futures))))
        for number, result in sorted(found.items()):
            if isinstance(result, Unusable):
                self._lose_part(number, result.error, certain=True)
        return [found[number] for number in range(self.n_parts)]

    def send(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """A future of ``function(part, *arguments)`` for every part."""
        return [self._submit(function, k, *arguments) for k in range(len(self._parts))]

    def fetch(self, futures: list[Any]) -> list[Any]:
        """What futures give, once it is there."""
        return self._fetch(futures, self.stop)

    def run(
        self,
        sent: Sent,
        again: Callable[[], Sent],
        total: bool,
        stop: Any,
        pieces: Sequence[np.ndarray] | None = None,
    ) -> Any:
        """One round: the results of an order on all parts, or their sum.

        Parts that have forgotten what the order builds on get the order that `again` gives.
        """
        self.wait_for_scheduler(stop)
        self._look_around()
        small = total and sent[0].entries * 8 <= INLINE
        found = self._work(range(len(self._parts)), sent, total, small, stop, pieces)
        while found.forgotten:
            self._find_homes()
            rest = self._work(sorted(found.forgotten), again(), total, small, stop, pieces)
            found = add(replace(found, forgotten=frozenset()), rest)
        if total:
            return found.results
        return [found.results[number] for number in range(len(self._parts))]

    def _work(
        self,
        numbers: Sequence[int],
        sent: Sent,
        total: bool,
        small: bool,
        stop: Any,
        pieces: Sequence[np.ndarray] | None,
    ) -> Found:
        """An order on some parts, a call or a task for each worker that holds any of them."""
        order, ws = sent
        began, left = time.monotonic(), list(numbers)
        found: list[tuple[int, Any]] = []
        bytes_each = 8 * order.entries + sum(w.nbytes for w in ws if w is not None)
        if pieces is None and self._rounds.may_call(bytes_each, len(self._groups(numbers))):
            found, left = self._call(parts.work, numbers, stop, order, None, total, *ws)
            if left:
                self._find_homes()
        if left:
            added_there = total and not small and not found
            found += self._work_by_tasks(left, sent, total, added_there, stop, pieces)
        self._rounds.note(time.monotonic() - began, called=not left)
        return tree([result for _, result in sorted(found, key=itemgetter(0))], add)

    def _work_by_tasks(
        self,
        numbers: Sequence[int],
        sent: Sent,
        total: bool,
        added_there: bool,
        stop: Any,
        pieces: Sequence[np.ndarray] | None,
    ) -> list[tuple[int, Found]]:
        """What tasks find, each with the first of its parts; or their sum, added on workers."""
        order, ws = sent
        ws_sent, groups = [self._send(w) for w in ws], self._groups(numbers)
        futures = []
        for group in groups:
            shares = None if pieces is None else [pieces[number] for number in group]
            futures.append(
                self._submit_group(parts.work_in_task, group, order, shares, total, *ws_sent)
            )
        tops = [tree(futures, self._add)] if added_there else futures
        return list(zip([group[0] for group in groups], self._fetch(tops, stop)))

    def _call(
        self, function: Callable[..., Any], numbers: Iterable[int], stop: Any, *arguments: Any
    ) -> tuple[list[tuple[int, Any]], list[int]]:
        """``function(held, threads, *arguments)`` by calls of the workers that hold parts, each
        with the first of its parts; and the parts that are left for tasks."""
        groups = [group for group in self._groups(numbers) if self._homes[group[0]]]
        shares = {self._homes[g[0]][0]: [self._parts[k].key for k in g] for g in groups}
        left = {number for number in numbers if not self._homes[number]}
        if not groups:
            return [], sorted(left)
        coming = self.client.run(
            calls.on_held,
            function,
            shares,
            *arguments,
            workers=list(shares),
            on_error="return",
            asynchronous=True,
        )
        try:
            answers = self._wait(coming, stop, shares)
        except (Stopped, RowsLost):
            raise
        except Exception:  # a worker is gone, or the scheduler does not pass calls on
            answers = {}
        found = []
        for group in groups:
            answer = answers.get(self._homes[group[0]][0])
            if isinstance(answer, tuple):  # no error
                result, missing = answer
                left |= {number for number in group if self._parts[number].key in missing}
                if len(missing) < len(group):
                    found.append((group[0], result))
            else:
                left |= set(group)
        return found, sorted(left)

    def end(self, key: str) -> None:
        """Lets workers forget a problem."""
        _, distributed = dask_modules()
        for group in self._groups(range(len(self._parts))):
            distributed.fire_and_forget(self._submit_group(parts.end, group, key))

    def _groups(self, numbers: Iterable[int]) -> list[list[int]]:
        """Parts by the worker that holds them; those nobody holds one by one."""
        groups: dict[Any, list[int]] = {}
        for number in numbers:
            home = self._homes[number]
            groups.setdefault(home[0] if home else number, []).append(number)
        return list(groups.values())

    def _submit_group(self, function: Callable[..., Any], group: list[int], *arguments: Any) -> Any:
        return self._send_task(
            function, [self._parts[number] for number in group], self._homes[group[0]], *arguments
        )

    def _read(self, number: int, **where: Any) -> Any:
        return self.client.compute(
            self.sources[number].delayed(number), retries=RETRIES, traverse=False, **where
        )

    def _submit(self, function: Callable[..., Any], number: int, *arguments: Any) -> Any:
        return self._send_task(function, self._parts[number], self._homes[number], *arguments)

    def _send_task(
        self, function: Callable[..., Any], held: Any, homes: tuple[str, ...], *arguments: Any
    ) -> Any:
        return self.client.submit(
            function,
            held,
            *arguments,
            key=f"maxmargin-{name_of(function, arguments)}-{uuid.uuid4().hex}",
            workers=list(homes[:1]) or None,
            allow_other_workers=bool(homes),
            retries=RETRIES,
        )

    def _send(self, w: np.ndarray | None) -> Any:
        """w as an argument of tasks. Where it is large one worker gets it and others from there; a
        task, unlike data that is merely scattered, can be repeated if that worker dies."""
        if w is None or w.nbytes <= INLINE:
            return w
        dask, _ = dask_modules()
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            return self.client.submit(np.asarray, w, key=f"maxmargin-send-{uuid.uuid4().hex}")

    def _add(self, *results: Any) -> Any:
        return self.client.submit(add, *results, key=f"maxmargin-add-{uuid.uuid4().hex}")

    def _fetch(
        self, futures: list[Any], stop: Any, by_part: dict[int, Any] | None = None
    ) -> list[Any]:
        """Results, with an eye on the stop flag."""
        if not futures:
            return []
        try:
            return self._wait(self.client.gather(futures, asynchronous=True), stop)
        except Stopped:
            raise
        except Exception as error:
            self._blame(error, by_part or dict(enumerate(self._parts)))
            raise

    def _wait(self, coming: Any, stop: Any, called: Iterable[str] = ()) -> Any:
        """What the client was asked for, with an eye on the stop flag, on the scheduler, and on
        workers that are called: Dask tries half a minute to reach one that is no more."""
        loop, looked = self.client.loop.asyncio_loop, time.monotonic()
        pending = asyncio.run_coroutine_threadsafe(coming, loop)
        try:
            while not wait([pending], POLL).done:
                self.wait_for_scheduler(stop)
                if stop is not None and stop.poll():
                    raise Stopped("stopped before the end")
                if called and time.monotonic() - looked > GONE_AFTER:
                    looked = time.monotonic()
                    if not set(called) <= set(self._ask_scheduler(self.client.nthreads)):
                        raise ConnectionError("a worker that was called is gone")
        finally:
            pending.cancel()  # which does nothing to what is done
        try:
            return pending.result()
        except CancelledError:  # the scheduler went, and all futures with it
            self._lose_scheduler()

    def wait_for_scheduler(self, stop: Any) -> None:
        """Returns when the scheduler is there; it is lost if it does not come back soon."""
        if self.failure is not None:
            raise RowsLost(str(self.failure))
        gone = time.monotonic()
        while self.client.status != "running":
            if stop is not None and stop.poll():
                raise Stopped("stopped before the end")
            if self.client.status != "connecting" or time.monotonic() - gone > LOST_AFTER:
                self._lose_scheduler()
            time.sleep(POLL)

    def _ask_scheduler(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """What it answers at once. A client that lost it cancels futures, even if it returns."""
        try:
            return question(*arguments)
        except (CancelledError, OSError):
            self._lose_scheduler()

    def _lose_scheduler(self) -> NoReturn:
        self.failure = SchedulerError(self.client.scheduler.address)
        raise RowsLost(str(self.failure))

    def _blame(self, error: Exception, by_part: dict[int, Any]) -> None:
        """Names the partition that failed; the fit ends with it."""
        if isinstance(error, PartFailed):
            self._lose_part(error.number, error.cause)
        for number, future in by_part.items():
            if future.status == "error":
                self._lose_part(number, future.exception() or error)

    def _lose_part(self, number: int, cause: BaseException, certain: bool = False) -> NoReturn:
        self.failure = PartitionError(number, self.sources[number].name, cause, certain)
        raise RowsLost(str(self.failure)) from cause

    def _find_homes(self) -> None:
        who = self._ask_scheduler(self.client.who_has, self._parts)
        self._homes = [tuple(who.get(part.key, ())) for part in self._parts]

    def _look_around(self) -> None:
        """Gives a part to a worker that has room: one that came later, or in another's place."""
        with self._lock:
            if time.monotonic() - self._looked < LOOK_AROUND:
                return
            self._looked = time.monotonic()
            threads = self._ask_scheduler(self.client.nthreads)
            self._find_homes()
            held = dict.fromkeys(threads, 0)
            for home in self._homes:
                if home and home[0] in held:
                    held[home[0]] += 1
            if not held:
                return
            idle = min(held, key=lambda address: held[address] / threads[address])
            busy = max(held, key=lambda address: held[address] / threads[address])
            if held[busy] / threads[busy] <= (held[idle] + 1) / threads[idle]:
                return
            number = next(k for k, home in enumerate(self._homes) if home[:1] == (busy,))
            self._parts[number] = self._read(number, workers=[idle], allow_other_workers=True)
            self._homes[number] = (idle,)


def name_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """What a dashboard shows."""
    if arguments and isinstance(arguments[0], Order):
        return arguments[0].job.__name__
    return getattr(function, "args", (function,))[0].__name__  # of what is asked once
