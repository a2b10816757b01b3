"""Training cells that do not know of each other: several at a time, watched from one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.data.cpus import granted_cpus
from maxmargin.parameters import Options, ParameterError, is_whole
from maxmargin.problem import Progress
from maxmargin.solvers.kernel.certificate import KernelCertificate
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


@dataclass(frozen=True)
class TrainedCell:
    """The machine of a cell and its certificate; if it was tuned, the error (or loss) of its best
    point on rows held out. `weight` is that of its rows."""

    cell: Any
    certificate: KernelCertificate
    error: float | None = None
    weight: float = 0.0


@dataclass(frozen=True)
class TrainedCells:
    """A model in cells, and the mean over rows of what its cells' best points had in validation.

    That is None if they were not tuned, and NaN if a cell was not judged in every fold.
    """

    model: Any
    validation_error: float | None
    seconds: float

    @property
    def history(self) -> list[Progress]:
        """The sums of objectives and bounds, cell after cell."""
        return summed_history(self.model.certificates)


TrainOne = Callable[[int, Any, _core.Stop], TrainedCell]  # a cell, its plan, and when to stop


def side_by_side(options: Options, total: int) -> int:
    """How many cells are trained at a time."""
    return min(useful_threads(options.threads or granted_cpus(), total * 2**20), total)


def alone(plan: Any, at_a_time: int) -> Any:
    """The plan of one cell: a thread, and its share of the memory."""
    options = replace(plan.options, threads=1, callback=None, max_time=None)
    memory = max(1, budget_of(plan.memory) // at_a_time)
    return replace(plan, options=options, memory=memory, cells=None)


def train_each(
    train_one: TrainOne,
    sizes: Sequence[int],
    plan: Any,
    stop: _core.Stop,
    callback: Watch | None = None,
) -> list[TrainedCell]:
    """All cells, `sizes` their numbers of rows; this thread watches the stop flag.

    Once it is raised, cells that are not done end with what they have. The callback is told of
    cells in their order; if it ends the fit, later ones have not begun, whatever was under way.
    """
    at_a_time = side_by_side(plan.options, len(sizes))
    of_one = alone(plan, at_a_time)
    stops = [_core.Stop() for _ in sizes]
    if stop.poll():  # no cell begins what is over
        _interrupt(stops, stop.reason)
    watched = _Watched(sizes, callback)
    with ThreadPoolExecutor(at_a_time) as executor:
        futures: list[Future[TrainedCell]] = [
            executor.submit(train_one, k, of_one, flag) for k, flag in enumerate(stops)
        ]
        waiting = set(futures)
        while watched.told < len(futures):
            finished, waiting = wait(waiting, POLL, return_when=FIRST_COMPLETED)
            if any(future.exception() is not None for future in finished):
                _interrupt(stops, _core.StopReason.interrupted)
            ended = watched.tell(futures)
            if stop.poll():
                _interrupt(stops, stop.reason)
            elif ended:
                _interrupt(stops, _core.StopReason.callback)
                break
        for future in futures[watched.told :]:
            future.cancel()
    told = [future.result() for future in futures[: watched.told]]
    return told + [train_one(k, of_one, stops[k]) for k in range(watched.told, len(sizes))]


class _Watched:
    """What a callback knows: that so many cells are done, the first ones."""

    def __init__(self, sizes: Sequence[int], callback: Watch | None) -> None:
        self.sizes, self.callback = sizes, callback
        self.began = time.perf_counter()
        self.told = self.rows = self.constant = 0

    def tell(self, futures: Sequence[Future[Any]]) -> bool:
        """Of all that are done now; True if the callback ends the fit."""
        while self.told < len(futures) and futures[self.told].done():
            trained = futures[self.told].result()
            self.rows += self.sizes[self.told]
            self.constant += trained.cell.is_constant
            self.told += 1
            seconds = time.perf_counter() - self.began
            progress = CellProgress(self.told, len(futures), seconds, self.rows, self.constant)
            if self.callback is not None and self.callback(progress):
                return True
        return False


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
