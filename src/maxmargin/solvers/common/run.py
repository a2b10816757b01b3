"""What every run of a solver has in common: when to stop, what to remember, what to certify."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Iterator
from typing import Any

from maxmargin import _core
from maxmargin.problem import Certificate, Clock, Progress, Settings, Status, enclose

Stopped = _core.Stopped  # raised by products and sums when the stop flag is
BY_CALLBACK = _core.StopReason.callback  # why a run ends that a callback ended

PATIENCE = 500  # records without any progress of the gap: rounding errors rule


class RowsLost(_core.Stopped):
    """Rows that were there before can no longer be read: the run ends with its best point."""


class Interrupts:
    """The stop flags of computations that run side by side: an interrupt reaches all of them."""

    def __init__(self) -> None:
        self._stops: list[_core.Stop | Interrupts] = []
        self._reason = _core.StopReason.none

    @property
    def requested(self) -> bool:
        return self._reason != _core.StopReason.none

    def new_stop(self, max_time: float | None = None) -> _core.Stop:
        """A flag that the clock raises after `max_time` seconds, and `interrupt` at any time."""
        stop = _core.Stop()
        if max_time is not None:
            stop.set_deadline(float(max_time))
        self._add(stop)
        return stop

    def nested(self) -> Interrupts:
        """Those of a part of the work: what interrupts the whole interrupts the part."""
        inner = Interrupts()
        self._add(inner)
        return inner

    def _add(self, stop: _core.Stop | Interrupts) -> None:
        self._stops.append(stop)
        if self.requested:
            stop.interrupt(self._reason)

    def interrupt(self, reason: _core.StopReason = _core.StopReason.interrupted) -> None:
        """Raises all flags. The first reason stays."""
        if not self.requested:
            self._reason = reason
        for stop in self._stops:
            stop.interrupt(reason)


class _Handler:
    """Of SIGINT: passes it on."""

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts

    def __call__(self, *_: object) -> None:
        self.interrupts.interrupt()


@contextlib.contextmanager
def catch_interrupts() -> Iterator[Interrupts]:
    """While the block runs, Ctrl-C does not raise KeyboardInterrupt: computations end by themselves
    and give what they have.

    Blocks nest: a search that catches interrupts around all its fits knows of one that came between
    two of them, or as one ended. Signals reach the main thread only, and a handler the user
    installed is left alone.
    """
    interrupts = Interrupts()
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
    elif isinstance(handler, _Handler):
        yield handler.interrupts.nested()
    elif handler is not signal.default_int_handler:
        yield interrupts
    else:
        signal.signal(signal.SIGINT, _Handler(interrupts))
        try:
            yield interrupts
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def interruptible(max_time: float | None = None) -> Iterator[_core.Stop]:
    """The stop flag of one computation, raised by Ctrl-C or after `max_time` seconds."""
    with catch_interrupts() as interrupts:
        yield interrupts.new_stop(max_time)


def ended_by(stop: _core.Stop | None) -> Status:
    """What a raised flag says; without a reason of its own it shares a pass whose time is over."""
    if stop is None or stop.reason == _core.StopReason.interrupted:
        return Status.INTERRUPTED
    return Status.CALLBACK if stop.reason == _core.StopReason.callback else Status.MAX_TIME


class Run:
    """Problems solved side by side, most often one: their clock, histories, and why each ended.

    The tolerance is relative to P, or to `scale` if that is given: a rule other than the relative
    gap, which the certificate then says. A problem ends a share `margin` below the tolerance, so
    that bounds computed afresh still are within it, and as stalled after `patience` records without
    progress. Where `owns_stop` is False another thread polls the stop flag.
    """

    def __init__(
        self,
        settings: Settings,
        problems: int = 1,
        *,
        scale: float | None = None,
        margin: float = 0.0,
        patience: float = PATIENCE,
        owns_stop: bool = True,
    ) -> None:
        self.settings, self.scale, self.margin = settings, scale, margin
        self.patience, self.owns_stop = patience, owns_stop
        self.clock = Clock()
        self.statuses: list[Status | None] = [None] * problems
        self.histories: list[list[Progress]] = [[] for _ in range(problems)]
        self._least_gaps, self._records_at_progress = [math.inf] * problems, [0] * problems

    @property
    def status(self) -> Status | None:
        """Of the only problem, or the first."""
        return self.statuses[0]

    @property
    def history(self) -> list[Progress]:
        """Of the only problem, or the first."""
        return self.histories[0]

    def open_problems(self) -> list[int]:
        return [k for k, status in enumerate(self.statuses) if status is None]

    @property
    def ended(self) -> bool:
        return not self.open_problems()

    def restart(self) -> None:
        """The problem has changed: what the gap was before says nothing about progress now."""
        self.statuses[0] = None
        self._least_gaps[0], self._records_at_progress[0] = math.inf, len(self.history)

    def record(
        self, iteration: int, primal: float, dual: float, *, solved: bool | None = None
    ) -> bool:
        """Notes a pair of bounds and shows them to the callback; True if the run should end here.

        `solved` says whether the stopping rule holds, where these bounds do not decide that.
        """
        return self.note(Progress(iteration, self.clock(), primal, dual), solved=solved)

    def note(self, progress: Progress, problem: int = 0, *, solved: bool | None = None) -> bool:
        """`record` for one of several problems, with more to tell than bounds."""
        self.histories[problem].append(progress)
        stalled = self._stalls(problem, progress)
        limit = self.settings.max_iter
        asked_to_stop = self.tell(progress)
        if solved is None:
            solved = self.within_tolerance(progress.primal, progress.dual, self.margin)
        if solved:
            self.statuses[problem] = Status.OPTIMAL
        elif not asked_to_stop:
            if limit is not None and progress.iteration >= limit:
                self.end(Status.MAX_ITER, problem)
            elif not self.poll() and stalled:
                self.end(Status.STALLED, problem)
        return self.statuses[problem] is not None

    def _stalls(self, problem: int, progress: Progress) -> bool:
        """Whether the gap has not shrunk for long."""
        gap = max(progress.primal - progress.dual, 0.0)  # rounding may make it less
        records = len(self.histories[problem])
        if gap < 0.999 * self._least_gaps[problem]:
            self._least_gaps[problem], self._records_at_progress[problem] = gap, records
        return records - self._records_at_progress[problem] > self.patience

    def tell(self, progress: Any) -> bool:
        """Shows progress to the callback; True if it asks to stop, which ends all problems."""
        callback = self.settings.callback
        if callback is None or not callback(progress):
            return False
        self.end(Status.CALLBACK)
        return True

    def poll(self) -> bool:
        """Looks at the stop flag; True if it is raised, which ends all problems."""
        stop = self.settings.stop
        raised = stop is not None and (
            stop.poll() if self.owns_stop else stop.reason != _core.StopReason.none
        )
        if raised:
            self.stopped()
        return raised

    def raise_if_stopped(self) -> None:
        if self.poll():
            raise Stopped

    def end(self, status: Status, problem: int | None = None) -> None:
        """Ends one problem, or all. What ended a problem before stays; "optimal" need not: that
        is for the certificate to say."""
        for k in range(len(self.statuses)) if problem is None else [problem]:
            if self.statuses[k] in (None, Status.OPTIMAL):
                self.statuses[k] = status

    def stopped(self, reason: BaseException | None = None) -> None:
        """The stop flag was raised, or rows were lost: say which, and by whom."""
        is_lost = isinstance(reason, RowsLost)
        self.end(Status.ROWS_LOST if is_lost else ended_by(self.settings.stop))

    def within_tolerance(self, primal: float, dual: float, margin: float = 0.0) -> bool:
        if not enclose(primal, dual):
            return False
        scale = primal if self.scale is None else self.scale
        return scale <= 0 or (primal - dual) / scale <= (1 - margin) * self.settings.tol

    def certify(
        self,
        primal: float,
        dual: float,
        *,
        problem: int = 0,
        n_iter: int | None = None,
        rule_met: bool = False,
    ) -> Certificate:
        """The certificate of the answer returned; its status is what the numbers say.

        A `dual` that cannot be a lower bound is none: what is left is that no loss is below 0.
        `n_iter` counts iterations since the last record too; `rule_met` says that a stopping rule
        other than the gap holds.
        """
        if not math.isfinite(primal):
            raise ValueError(f"the objective is {primal} in float64. Scale the features or lower C")
        dual = min(dual, primal) if enclose(primal, dual) else 0.0
        history, status = self.histories[problem], self.statuses[problem]
        if n_iter is None:
            n_iter = history[-1].iteration if history else 0
        if self.within_tolerance(primal, dual):
            status = Status.OPTIMAL if self.scale is None else Status.RULE_MET
        elif rule_met:
            status = Status.RULE_MET
        elif status is None or status is Status.OPTIMAL:
            status = Status.STALLED
        tol = self.settings.tol if self.scale is None else None
        return Certificate(primal, dual, status, n_iter, self.clock(), tol=tol)
