"""Dual cached loops (Matsushima, Vishwanathan, Smola 2012): rows that do not fit in memory.

    maximise   D(a) = sum_i a_i - 1/2 ||w||^2,   w = sum_i a_i y_i x_i,      0 <= a_i <= C_i

A reader goes over the source again and again. The trainer (core/linear/cached_loops.cpp) visits
each row when it arrives and keeps informative ones in a cache, where it visits them again and
again. This file decides how much of which, when to look at all rows, and when to end.

    fresh     rows as they arrive            sweep    visits in the cache
    mean      of w over the blocks of a pass: w itself leans towards the rows it saw last
    look      a pass with w frozen: P on the line from w_b to the mean, exactly
    w_b, P    best point so far and its exact objective         D    from a, at any time
    rate      rise of D for each feature looked at: the trainer does what raises D faster

Problems of several classes (one against the rest) share passes, cache and looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.data.blocks import Block, BlockSource
from maxmargin.problem import Certificate, Clock, Progress, Settings, Solution, Status
from maxmargin.solvers.reader import Reader
from maxmargin.solvers.vectors import inner, norm2

FRESH_COST = 2.0  # of a visit on arrival, in visits of the cache: it is read and packed too
SLICE = 8  # one part of so many of a block, or of a round in memory, is swept at a time
AVERAGE_COST = 4  # of taking w into the mean, in entries of rows for each of its numbers, at most
MOST_VISITS = 4  # in the cache for each row of a block, if it is there to be visited
MOST_ROUNDS = 1  # over the cache after a block: to solve it better than that is of no use
NEAR = 2.0  # a look is due when the estimated gap is within so many tolerances,
LOOK_SHARE = 0.3  # or after this share of all passes
LEAST_PASSES = 3  # and no fewer than so many
ROUNDS = 100_000  # a run that needs more (C huge beside the rows) is another solver's task
ROUNDS_SHARE = 0.2  # of the work in memory between two looks,
PROGRESS = 0.3  # unless the violation of optimality has fallen to this fraction before
ROUNDING = 2.0**-53


@dataclass(frozen=True)
class StreamProgress(Progress):
    """One moment of a run of the cached loops.

    `iteration` counts passes over the rows. `primal` is exact, of the best look so far, and `dual`
    of this moment.
    """

    rows_per_second: float = 0.0  # visits, wherever the rows came from
    cache_hit_rate: float = 0.0  # share of the visits that found their row in the cache
    cached: int = 0  # rows in the cache
    problem: int = 0  # which of several classes

    @property
    def note(self) -> str:
        """What a line of progress says besides."""
        return f"  {self.rows_per_second:.3g} rows/s, {self.cache_hit_rate:.0%} from the cache"


@dataclass
class Task:
    """What is to be solved: a source of rows, and a problem for each positive class.

    `pack` makes the blocks of the source ready for the core; `at_zero` is the sum of all ``C_i``.
    """

    source: BlockSource
    pack: Callable[[Block], _core.PackedBlock]
    format: _core.Format
    positives: list[int]
    at_zero: float


@dataclass
class State:
    """What a run has to remember, and what a checkpoint holds."""

    alpha: list[np.ndarray]
    w: list[np.ndarray]
    best: list[np.ndarray]
    P: list[float]
    passes: int = 0
    steps: int = 0  # changes of w, each of which may have cost a rounding error
    largest: float = 0.0  # ||w|| was never larger

    @classmethod
    def start(cls, task: Task, alpha: list[np.ndarray]) -> State:
        k, width = len(task.positives), task.format.width
        return cls(
            alpha=alpha,
            w=[np.zeros(width) for _ in range(k)],
            best=[np.zeros(width) for _ in range(k)],
            P=[task.at_zero] * k,
        )

    def dual(self, k: int) -> float:
        """D(a) of problem k, rounding errors of the running w at their worst.

        A step adds to entries of w, each with an error of half an ulp: the running w and
        ``sum_i a_i y_i x_i`` differ by no more than ``steps * rounding * ||w||``.
        """
        length = math.sqrt(norm2(self.w[k]))
        self.largest = max(self.largest, length)
        length += 2.0 * self.steps * ROUNDING * self.largest
        return float(self.alpha[k].sum(dtype=np.float64)) - 0.5 * length * length


@dataclass
class Options:
    """How a run uses the machine.

    With `patient`, the trainer waits for the reader where it has no reason of its own to sweep:
    then a run is a function of its seed. Otherwise it sweeps on while it waits.
    """

    budget: int  # bytes of the cache
    patient: bool = False
    max_time: float | None = None
    after_block: Callable[[State], None] = field(default=lambda state: None)


def solve(
    task: Task, settings: Settings, options: Options, state: State, pool: _core.Pool
) -> list[Solution]:
    """Maximises D of every problem until ``P - D <= tol P``; a `Solution` for each."""
    trainer = Trainer(task, settings, options, state, pool)
    with Reader(task.source, task.pack) as reader:
        try:
            while not trainer.ended:
                if trainer.loops.complete:
                    reader.close()
                    trainer.train_in_memory()
                elif trainer.look_due():
                    trainer.look(reader)
                else:
                    trainer.train(reader)
        except _core.Stopped:
            trainer.stopped()
    return trainer.solutions()


class Trainer:
    """The side of the loops that optimises."""

    def __init__(
        self, task: Task, settings: Settings, options: Options, state: State, pool: _core.Pool
    ) -> None:
        self.task, self.settings, self.options, self.state = task, settings, options, state
        self.pool, self.clock = pool, Clock()
        problems = len(task.positives)
        self.loops = _core.CachedLoops(
            task.format, task.source.n, problems, options.budget, settings.seed
        )
        for k, positive in enumerate(task.positives):
            self.loops.set_problem(k, positive, state.alpha[k], state.w[k])
        self.statuses: list[Status | None] = [None] * problems
        self.histories: list[list[Progress]] = [[] for _ in range(problems)]
        self.steps_before = state.steps
        self.visits = self.cached_visits = 0
        self.since_look = self.trained = 0
        self.near = False
        self.rounds = Rounds()
        self.mean = [np.zeros(task.format.width) for _ in range(problems)]
        self.pass_seconds = 0.0

    @property
    def ended(self) -> bool:
        return all(status is not None for status in self.statuses)

    def open_problems(self) -> list[int]:
        return [k for k, status in enumerate(self.statuses) if status is None]

    # ------------------------------------------------------------ training

    def train(self, reader: Reader) -> None:
        """One pass over the source: fresh rows, and sweeps as long as they pay."""
        began, blocks = self.clock(), 0
        self.loops.start_pass()
        while (block := reader.take(self.settings.stop)) is not None:
            fresh, cached = self.loops.consume(block, self.pool)
            entries = self.count(fresh, cached=False)
            self.count(cached, cached=True)
            self.rounds.pass_entries += 0 if self.trained else entries
            self.sweep(reader, block.n, rate(fresh) / FRESH_COST, rate(cached))
            blocks += 1
            self.average(1.0 / blocks)
            self.options.after_block(self.state)
        losses = [self.loops.pass_tally(k)[0] for k in range(len(self.statuses))]
        self.loops.end_pass()
        self.pass_seconds = self.clock() - began
        self.state.passes += 1
        self.since_look += 1
        self.trained += 1
        self.near = all(self.is_near(k, losses[k]) for k in self.open_problems())
        self.record()

    def average(self, share: float) -> None:
        """Takes w into the mean, as this share of it."""
        for k in self.open_problems():
            mean = self.mean[k]
            _core.blend(1.0 - share, mean, share, self.state.w[k], mean, self.pool)

    def sweep(self, reader: Reader, rows: int, fresh_rate: float, cached_rate: float) -> None:
        """Visits in the cache while they raise D faster than fresh rows do (within reason), or
        while no fresh rows are there."""
        allowance = min(MOST_VISITS * rows, MOST_ROUNDS * self.loops.active)
        ready = None if self.options.patient else reader.ready
        slice_ = max(rows // SLICE, 64)
        tally = self.loops.sweep_while(slice_, allowance, fresh_rate, cached_rate, ready, self.pool)
        self.count(tally, cached=True)

    def is_near(self, k: int, losses: float) -> bool:
        """Whether the losses met on the way promise a gap within reach of the tolerance."""
        P = 0.5 * norm2(self.state.w[k]) + losses
        return P - self.state.dual(k) <= NEAR * self.settings.tol * P

    def train_in_memory(self) -> None:
        """All rows are in the cache: rounds over those not set aside, until a look is due."""
        most = (self.settings.max_iter or ROUNDS) - self.state.passes
        entries = 0
        for _ in range(max(most, 0)):
            self.loops.start_pass()
            entries = self.round_in_memory(entries)
            self.state.passes += 1
            if self.rounds.look_due(self.violation(), entries) or entries == 0:
                break
        losses = self.no_losses()
        self.loops.look_at_cache(self.state.best, self.mean, losses, self.pool)
        self.settle(losses, self.mean)
        self.options.after_block(self.state)
        if self.state.passes >= ROUNDS:
            self.end(Status.MAX_ITER)

    def round_in_memory(self, entries_before: int) -> int:
        """One round over the cache, cut in slices so that w can be averaged; its entries.

        Not more slices than are cheap beside the round itself, by the round before.
        """
        width = self.task.format.width * len(self.statuses)
        slices = min(max(entries_before // (AVERAGE_COST * width), 1), SLICE)
        rows = -(-self.loops.longest_round // slices)
        entries = 0
        for done in range(slices):
            entries += self.count(self.loops.sweep(rows, self.pool), True)
            self.average(1.0 / (done + 1))
        return entries

    def violation(self) -> float:
        """The span of projected gradients since `start_pass`, of the problem where it is widest."""
        tallies = [self.loops.pass_tally(k) for k in self.open_problems()]
        return max((most - least for _, most, least in tallies), default=0.0)

    def note_steps(self) -> None:
        """The core counts them, also those of a call that does not come back."""
        self.state.steps = self.steps_before + self.loops.steps

    def count(self, tally: tuple[float, int, int], cached: bool) -> int:
        """Keeps account of visits; how many features they looked at."""
        _, visits, entries = tally
        self.visits += visits
        self.cached_visits += visits if cached else 0
        self.note_steps()
        return entries

    # ------------------------------------------------------------ looks

    def look_due(self) -> bool:
        """Often enough to end in time, seldom enough to cost little."""
        if self.trained == 0:
            return False
        passes = max(LEAST_PASSES, LOOK_SHARE * self.trained)
        return self.near or self.since_look >= passes or self.short_of_time()

    def short_of_time(self) -> bool:
        """Whether there is time for no more than a last look."""
        limit = self.options.max_time
        return limit is not None and self.clock() + 2.5 * self.pass_seconds > limit

    def look(self, reader: Reader) -> None:
        """A pass with w frozen."""
        last = self.short_of_time()
        losses = self.no_losses()
        while (block := reader.take(self.settings.stop)) is not None:
            self.loops.look(block, self.state.best, self.mean, losses, self.pool)
        self.state.passes += 1
        self.settle(losses, self.mean)
        if last:
            self.end(Status.MAX_TIME)

    def no_losses(self) -> np.ndarray:
        return np.zeros((len(self.statuses), len(_core.CachedLoops.line)))

    def settle(self, losses: np.ndarray, ends: list[np.ndarray]) -> None:
        """The best point of the line for each problem, given its end."""
        state = self.state
        for k in self.open_problems():
            P, along = best_on_line(state.best[k], ends[k], losses[k])
            if state.P[k] >= P:
                state.P[k] = P
                best = state.best[k]
                _core.blend(1.0 - along, best, along, ends[k], best, self.pool)
        self.since_look, self.near = 0, False
        self.record()

    # ------------------------------------------------------------ ends

    def record(self) -> None:
        """Notes where all problems stand, and ends those that are done."""
        seconds, state = self.clock(), self.state
        limits = self.settings
        for k in self.open_problems():
            progress = StreamProgress(
                state.passes,
                seconds,
                state.P[k],
                state.dual(k),
                rows_per_second=self.visits / max(seconds, 1e-9),
                cache_hit_rate=self.cached_visits / max(self.visits, 1),
                cached=self.loops.cached,
                problem=k,
            )
            self.histories[k].append(progress)
            if progress.relative_gap <= limits.tol:
                self.statuses[k] = Status.OPTIMAL
                self.loops.set_finished(k)
            elif limits.callback is not None and limits.callback(progress):
                self.end(Status.CALLBACK)
        if limits.max_iter is not None and state.passes >= limits.max_iter:
            self.end(Status.MAX_ITER)
        if limits.stop is not None and limits.stop.poll():
            self.stopped()

    def end(self, status: Status) -> None:
        self.statuses = [status if known is None else known for known in self.statuses]

    def stopped(self) -> None:
        self.note_steps()
        stop = self.settings.stop
        by_clock = stop is not None and stop.reason == _core.StopReason.time
        self.end(Status.MAX_TIME if by_clock else Status.INTERRUPTED)

    def solutions(self) -> list[Solution]:
        return [
            Solution(self.state.best[k], self.certificate(k), self.histories[k])
            for k in range(len(self.statuses))
        ]

    def certificate(self, k: int) -> Certificate:
        P, D = self.state.P[k], self.state.dual(k)
        if P < D <= P * (1 + 1e-9):
            D = P  # equal but for rounding
        status = self.statuses[k] or Status.STALLED
        if self.settings.tol * P >= P - D:
            status = Status.OPTIMAL
        return Certificate(P, D, status, self.state.passes, self.clock())


class Rounds:
    """When to look at all rows if all are in the cache: after enough work, and when the violation
    of optimality has fallen."""

    def __init__(self) -> None:
        self.pass_entries = 0  # features of all rows
        self.total = self.since_last = 0
        self.violation_at_last = math.inf

    def look_due(self, violation: float, entries: int) -> bool:
        self.total += entries
        self.since_last += entries
        worked = self.since_last >= max(self.pass_entries, ROUNDS_SHARE * self.total)
        if worked or violation <= PROGRESS * self.violation_at_last:
            self.since_last, self.violation_at_last = 0, violation
            return True
        return False


def rate(tally: tuple[float, int, int]) -> float:
    """Rise of D for each feature looked at."""
    gain, _, entries = tally
    return gain / max(entries, 1)


def best_on_line(best: np.ndarray, end: np.ndarray, losses: np.ndarray) -> tuple[float, float]:
    """The smallest ``P(w_b + k (end - w_b))`` of the points looked at, and its k."""
    bb, bw, ww = norm2(best), inner(best, end), norm2(end)
    k = np.array(_core.CachedLoops.line)
    squared = (1 - k) ** 2 * bb + 2 * k * (1 - k) * bw + k**2 * ww
    P = 0.5 * squared + losses
    at = int(np.argmin(P))
    return float(P[at]), float(k[at])
