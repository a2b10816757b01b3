"""What every run of a solver has in common: when to stop, what to remember, what to certify."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Iterator

from maxmargin import _core
from maxmargin.problem import Certificate, Clock, Progress, Settings, Status

PATIENCE = 500  # records without any progress of the gap: rounding errors rule


class Interrupts:
    """The stop flags of computations that run side by side: an interrupt reaches all of them."""

    def __init__(self) -> None:
        self._stops: list[_core.Stop] = []
        self.requested = False

    def new_stop(self, max_time: float | None = None) -> _core.Stop:
        """A flag that the clock raises after `max_time` seconds, and `interrupt` at any time."""
        stop = _core.Stop()
        if max_time is not None:
            stop.set_deadline(float(max_time))
        self._stops.append(stop)
        if self.requested:
            stop.interrupt()
        return stop

    def interrupt(self) -> None:
        self.requested = True
        for stop in self._stops:
            stop.interrupt()


@contextlib.contextmanager
def catch_interrupts() -> Iterator[Interrupts]:
    """While the block runs, Ctrl-C does not raise KeyboardInterrupt: computations end by themselves
    and give what they have.

    Signals reach the main thread only, and a handler the user installed is left alone.
    """
    interrupts = Interrupts()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, lambda *_: interrupts.interrupt())
    try:
        yield interrupts
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def interruptible(max_time: float | None = None) -> Iterator[_core.Stop]:
    """The stop flag of one computation, raised by Ctrl-C or after `max_time` seconds."""
    with catch_interrupts() as interrupts:
        yield interrupts.new_stop(max_time)


class Run:
    """One run: its clock, its history, and why it ended.

    The tolerance is relative to P, or to `scale` if that is given. The run ends a share `margin`
    below it, so that bounds computed afresh still are within it.
    """

    def __init__(self, settings: Settings, scale: float | None = None, margin: float = 0.0) -> None:
        self.settings, self.scale, self.margin = settings, scale, margin
        self.clock = Clock()
        self.history: list[Progress] = []
        self.status: Status | None = None
        self._gap, self._records_at_progress = math.inf, 0

    def restart(self) -> None:
        """The problem has changed: what the gap was before says nothing about progress now."""
        self.status = None
        self._gap, self._records_at_progress = math.inf, len(self.history)

    def record(self, iteration: int, primal: float, dual: float) -> bool:
        """Notes a certified pair of bounds; True if the run should end here."""
        progress = Progress(iteration, self.clock(), primal, dual)
        self.history.append(progress)
        if primal - dual < 0.999 * self._gap:
            self._gap, self._records_at_progress = primal - dual, len(self.history)
        if self.within_tolerance(primal, dual, self.margin):
            self.status = Status.OPTIMAL
        elif self.settings.callback is not None and self.settings.callback(progress):
            self.status = Status.CALLBACK
        elif self.settings.max_iter is not None and iteration >= self.settings.max_iter:
            self.status = Status.MAX_ITER
        elif self.settings.stop is not None and self.settings.stop.poll():
            self.stopped()
        elif len(self.history) - self._records_at_progress > PATIENCE:
            self.status = Status.STALLED
        return self.status is not None

    def within_tolerance(self, primal: float, dual: float, margin: float = 0.0) -> bool:
        scale = primal if self.scale is None else self.scale
        return scale <= 0 or (primal - dual) / scale <= (1 - margin) * self.settings.tol

    def stopped(self) -> None:
        """The stop flag was raised: say by whom."""
        stop = self.settings.stop
        by_clock = stop is not None and stop.reason == _core.StopReason.time
        self.status = Status.MAX_TIME if by_clock else Status.INTERRUPTED

    def certify(self, primal: float, dual: float) -> Certificate:
        """The certificate of the answer returned; its status is what the numbers say."""
        if primal < dual <= primal * (1 + 1e-9):
            dual = primal  # equal but for rounding
        iterations = self.history[-1].iteration if self.history else 0
        certificate = Certificate(primal, dual, Status.OPTIMAL, iterations, self.clock())
        if self.within_tolerance(primal, dual):
            return certificate
        status = self.status if self.status not in (None, Status.OPTIMAL) else Status.STALLED
        return Certificate(primal, dual, status, iterations, certificate.seconds)
