"""Training cells that do not know of each other: several at a time, watched from one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.data.cpus import granted_cpus
from maxmargin.parameters import Options, ParameterError, is_whole
from maxmargin.problem import Progress
from maxmargin.solvers.kernel.sources import budget_of
from maxmargin.training.verbose import telling

POLL = 0.02  # seconds between two looks at the stop flag


@dataclass(frozen=True)
class Tuning:
    """How each cell chooses its C and gamma."""

    Cs: Any = "auto"
    gammas: Any = "auto"
    folds: int = 5

    def __post_init__(self) -> None:
        if not (is_whole(self.folds) and self.folds >= 2):
            raise ParameterError(
                "cv", "a whole number >= 2 of folds (with cells, each has its own)", self.folds
            )


@dataclass(frozen=True)
class CellProgress:
    """What a callback sees after every cell."""

    done: int
    total: int
    seconds: float
    rows: int
    constant: int

    @property
    def seconds_left(self) -> float:
        return self.seconds / max(self.done, 1) * (self.total - self.done)

    def __str__(self) -> str:
        constant = f"{self.constant} of one class  " if self.constant else ""
        return (
            f"{self.seconds:8.2f} s  {self.done}/{self.total} cells  {self.rows} rows  "
            f"{constant}{self.seconds_left:.0f} s left"
        )


def cell_reporter(callback: Any, verbose: int) -> Any:
    """A callback that also tells how many cells are done."""
    return telling(callback, str, share_of_cells) if verbose else callback


def share_of_cells(progress: CellProgress) -> float:
    return progress.done / progress.total


Watch = Callable[[CellProgress], bool | None]


class Trained(Protocol):
    """A cell that is done."""

    @property
    def cell(self) -> Any: ...


T = TypeVar("T", bound=Trained)


def side_by_side(options: Options, total: int) -> int:
    """How many cells are trained at a time."""
    return min(useful_threads(options.threads or granted_cpus(), total * 2**20), total)


def alone(plan: Any, at_a_time: int) -> Any:
    """The plan of one cell: a thread, and its share of the memory."""
    options = replace(plan.options, threads=1, callback=None, max_time=None)
    memory = max(1, budget_of(plan.memory) // at_a_time)
    return replace(plan, options=options, memory=memory, cells=None)


def train_each(
    train_one: Callable[[int, _core.Stop], T],
    sizes: Sequence[int],
    at_a_time: int,
    stop: _core.Stop,
    callback: Watch | None = None,
) -> list[T]:
    """All cells, `sizes` their numbers of rows; this thread watches the stop flag.

    Once it is raised, cells that are not done end with what they have.
    """
    stops = [_core.Stop() for _ in sizes]
    if stop.poll():  # no cell begins what is over
        _interrupt(stops, stop.reason)
    began, ended, rows, constant = time.perf_counter(), False, 0, 0
    with ThreadPoolExecutor(at_a_time) as executor:
        futures: list[Future[T]] = [
            executor.submit(train_one, k, flag) for k, flag in enumerate(stops)
        ]
        numbers = {future: k for k, future in enumerate(futures)}
        waiting, done = set(futures), 0
        while waiting:
            finished, waiting = wait(waiting, POLL, return_when=FIRST_COMPLETED)
            for future in finished:
                if future.exception() is not None:
                    _interrupt(stops, _core.StopReason.interrupted)
                trained = future.result()
                done, rows = done + 1, rows + sizes[numbers[future]]
                constant += trained.cell.is_constant
                seconds = time.perf_counter() - began
                progress = CellProgress(done, len(sizes), seconds, rows, constant)
                ended = ended or bool(callback is not None and callback(progress))
            if ended or stop.poll():
                _interrupt(stops, _core.StopReason.callback if ended else stop.reason)
    return [future.result() for future in futures]


def _interrupt(stops: Sequence[_core.Stop], reason: _core.StopReason) -> None:
    for stop in stops:
        stop.interrupt(reason)


def summed_history(certificates: Sequence[Any]) -> list[Progress]:
    """The sums of objectives and bounds, cell after cell."""
    moments, primal, dual = [], 0.0, 0.0
    for k, certificate in enumerate(certificates):
        primal, dual = primal + certificate.primal, dual + certificate.dual
        moments.append(Progress(k + 1, certificate.seconds, primal, dual))
    return moments
