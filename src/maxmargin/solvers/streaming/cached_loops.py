"""Dual cached loops (Matsushima, Vishwanathan, Smola 2012): rows that do not fit in memory.

    maximise   D(u) = sum_i C_i (t_i u_i - f*(u_i)) - 1/2 ||w||^2,   w = sum_i y_i C_i u_i x_i

f is any pointwise loss (core/losses/pointwise), u_i a slope of it: of the hinge loss, a_i = C_i u_i
with 0 <= u_i <= 1 and t_i = 1.

A reader goes over the source again and again. The trainer (core/linear/cached_loops.cpp) visits
each row when it arrives and keeps informative ones in a cache, where it visits them again and
again. This file decides how much of which, when to check the gap, and when to end.

    fresh      rows as they arrive            sweep    visits in the cache
    mean       of w over the blocks of a pass: w itself leans towards the rows it saw last
    gap check  a pass with w and u frozen: P on the line from w_b to the mean, and D of u
    w_b, P     best point so far and its exact objective       D    the best lower bound so far
    rate       rise of D for each feature visited: the trainer does what raises D faster

Algorithms 1 (reader) and 2 (trainer) of the paper, and who does each line:

    reader   for all rows, again and again                        Reader._one_pass
             evict a random row where the cache is full           row_cache.cpp: pick_victim
             read row i, Q_ii = <x_i, x_i>, store it              Packing.pack, packed.cpp
    trainer  eps shrinks where the cache is nearly full           cached_loops.cpp: tightens
             pick a row of the cache                              cache_rounds.cpp: next_round
             evict it if it is uninformative                      cached_loops.hpp: informative
             step of u_i in one variable; w += change y_i C_i x_i cached_loops.cpp: visit
             eps is the largest gradient of the pass              cached_loops.cpp: end_pass
             update the stopping criterion                        Trainer.check_due, check_gap

Deviations. Rows are visited on arrival and then decide whether they enter the cache: the
convergence proof asks that every row be visited, and rows at a bound take no room. The cache is
swept in rounds of random order rather than by random draws: no row waits for its luck. The run ends
by the duality gap of a pass over all rows, not by the spread of projected gradients. `rules.py` has
the paper's eviction and stopping, for comparisons. An iteration is a pass. tests/papers has the
trainer in plain Python; the core takes the same steps.

Problems of several classes (one against the rest) or quantiles share passes, cache and gap checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from maxmargin import _core
from maxmargin.data.stream.blocks import Block, BlockSource
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Settings, Solution, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import inner
from maxmargin.solvers.streaming.progress import StreamProgress, hardly_falls
from maxmargin.solvers.streaming.reader import Reader
from maxmargin.solvers.streaming.rounds import Rounds
from maxmargin.solvers.streaming.rules import Rules
from maxmargin.solvers.streaming.state import State

FRESH_COST = 2.0  # of a visit on arrival, in visits of the cache: it is read and packed too
SLICE = 8  # one part of so many of a block, or of a round in memory, is swept at a time
AVERAGE_COST = 4  # of taking w into the mean, in entries of rows for each of its numbers, at most
MOST_VISITS = 4  # in the cache for each row of a block, if it is there to be visited
MOST_ROUNDS = 1  # over the cache after a block: to solve it better than that is of no use
NEAR = 2.0  # a gap check is due when the estimated gap is within so many tolerances,
CHECK_SHARE = 0.3  # or after this share of all passes
LEAST_PASSES = 3  # and no fewer than so many
ROUNDS = 100_000  # without a max_iter: what needs more (C huge) is another solver's task


@dataclass
class Task:
    """What is to be solved: a source of rows, and a problem for each positive class or loss.

    `pack` makes the blocks of the source ready for the core. Where `left_out` has bits for each
    row, a problem leaves out the rows that have the bit of its fold.
    """

    source: BlockSource
    pack: Callable[[Block], _core.PackedBlock]
    format: _core.Format
    positives: list[int]
    losses: list[LossSpec]  # one for each problem
    left_out: np.ndarray | None = None
    folds: list[int] = field(default_factory=list)


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
    rules: Rules = field(default_factory=Rules)


def solve(
    task: Task, settings: Settings, options: Options, state: State, pool: _core.Pool
) -> list[Solution]:
    """Maximises D of every problem until ``P - D <= tol P``; a `Solution` for each."""
    trainer = Trainer(task, settings, options, state, pool)
    with Reader(task.source, task.pack) as reader:
        try:
            while not trainer.run.ended:
                if trainer.loops.complete:
                    reader.close()
                    trainer.train_in_memory()
                elif trainer.check_due():
                    trainer.check_gap(reader)
                else:
                    trainer.train(reader)
        except _core.Stopped:
            trainer.run.stopped()
    return trainer.solutions()


class Trainer:
    """The side of the loops that optimises."""

    def __init__(
        self, task: Task, settings: Settings, options: Options, state: State, pool: _core.Pool
    ) -> None:
        self.task, self.settings, self.options, self.state = task, settings, options, state
        self.pool, self.problems = pool, len(task.positives)
        self.run = Run(settings, self.problems, patience=math.inf)
        self.loops = _core.CachedLoops(
            task.format, task.source.n, self.problems, options.budget, settings.seed
        )
        if options.rules.paper_eviction:
            self.loops.evict_as_the_paper()
        for k, (positive, loss) in enumerate(zip(task.positives, task.losses)):
            self.loops.set_problem(k, positive, state.shares[k], state.w[k], loss.name, loss.x)
            if task.left_out is not None:
                self.loops.leave_out(k, task.left_out, task.folds[k])
        self.visits = self.cached_visits = 0
        self.since_check = self.trained = 0
        self.near = self.rule_met = False
        self.rounds = Rounds()
        self.mean = [best.copy() for best in state.best]
        self.pass_seconds = 0.0

    # ------------------------------------------------------------ training

    def train(self, reader: Reader) -> None:
        """One pass over the source: fresh rows, and sweeps as long as they pay."""
        began, blocks = self.run.clock(), 0
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
        tallies = [self.loops.pass_tally(k) for k in range(self.problems)]
        self.look_at_spread()
        self.loops.end_pass()
        self.pass_seconds = self.run.clock() - began
        self.state.passes += 1
        self.since_check += 1
        self.trained += 1
        self.near = all(self.is_near(k, *tallies[k][:2]) for k in self.run.open_problems())
        if self.loops.complete and self.passes_left == 0:
            self.check_gap_in_memory()
        else:
            self.record()

    @property
    def passes_left(self) -> float:
        """Until `max_iter`."""
        most = self.settings.max_iter
        return math.inf if most is None else max(most - self.state.passes, 0)

    @property
    def rounds_left(self) -> int:
        """In memory: until `max_iter`, or where there is none until other solvers are better."""
        most = ROUNDS if self.settings.max_iter is None else self.settings.max_iter
        return max(most - self.state.passes, 0)

    def average(self, share: float) -> None:
        """Takes w into the mean, as this share of it."""
        for k in self.run.open_problems():
            mean = self.mean[k]
            _core.axpby(1.0 - share, mean, share, self.state.w[k], mean, self.pool)

    def sweep(self, reader: Reader, rows: int, fresh_rate: float, cached_rate: float) -> None:
        """Visits in the cache while they raise D faster than fresh rows do (within reason), or
        while no fresh rows are there."""
        allowance = min(MOST_VISITS * rows, MOST_ROUNDS * self.loops.active)
        ready = None if self.options.patient else reader.ready
        slice_ = max(rows // SLICE, 64)
        tally = self.loops.sweep_while(slice_, allowance, fresh_rate, cached_rate, ready, self.pool)
        self.count(tally, cached=True)

    def is_near(self, k: int, losses: float, dual: float) -> bool:
        """Whether what was met on the way promises a gap within reach of the tolerance.

        An estimate, from the running w: it decides when the gap is checked, and nothing else.
        """
        half = 0.5 * inner(self.state.w[k], self.state.w[k])
        P, D = half + losses, dual - half
        return NEAR * self.settings.tol * P >= P - D

    def train_in_memory(self) -> None:
        """All rows are in the cache: rounds over those not set aside, until a check is due."""
        entries = 0
        for _ in range(self.rounds_left):
            self.loops.start_pass()
            entries = self.round_in_memory(entries)
            self.state.passes += 1
            self.look_at_spread()
            if self.rounds.check_due(self.violation(), entries) or entries == 0 or self.rule_met:
                break
        self.check_gap_in_memory()
        self.options.after_block(self.state)
        if self.rounds_left == 0:
            self.run.end(Status.MAX_ITER)

    def round_in_memory(self, entries_before: int) -> int:
        """One round over the cache, cut in slices so that w can be averaged; its entries.

        Not more slices than are cheap beside the round itself, by the round before.
        """
        width = self.task.format.width * self.problems
        slices = min(max(entries_before // (AVERAGE_COST * width), 1), SLICE)
        rows = -(-self.loops.longest_round // slices)
        entries = 0
        for done in range(slices):
            entries += self.count(self.loops.sweep(rows, self.pool), True)
            self.average(1.0 / (done + 1))
        return entries

    def violation(self) -> float:
        """The span of projected gradients since `start_pass`, of the problem where it is widest."""
        tallies = [self.loops.pass_tally(k) for k in self.run.open_problems()]
        return max((most - least for *_, most, least in tallies), default=0.0)

    def look_at_spread(self) -> None:
        """Whether the pass that ends here meets the paper's stopping rule, if that is asked for."""
        spread = self.options.rules.spread
        self.rule_met = spread is not None and self.violation() <= spread

    def count(self, tally: tuple[float, int, int], cached: bool) -> int:
        """Keeps account of visits; how many features they met."""
        _, visits, entries = tally
        self.visits += visits
        self.cached_visits += visits if cached else 0
        return entries

    # ------------------------------------------------------------ gap checks

    def check_due(self) -> bool:
        """Often enough to end in time, seldom enough to cost little.

        A state that was read from a checkpoint is checked before it is used: it has no w, and P and
        D of it are not known.
        """
        if not self.state.evaluated:
            return True
        if self.since_check == 0:
            return False
        passes = max(LEAST_PASSES, CHECK_SHARE * self.trained)
        due = self.near or self.rule_met or self.since_check >= passes
        return due or self.short_of_time() or self.passes_left == 1

    def short_of_time(self) -> bool:
        """Whether there is time for no more than a last gap check."""
        limit = self.options.max_time
        return limit is not None and self.run.clock() + 2.5 * self.pass_seconds > limit

    def check_gap(self, reader: Reader) -> None:
        """A pass with w and a frozen."""
        last = self.short_of_time()
        losses = self.no_losses()
        self.loops.start_check()
        while (block := reader.take(self.settings.stop)) is not None:
            self.loops.check_gap(block, self.state.best, self.mean, losses, self.pool)
        self.loops.end_check()
        self.state.passes += 1
        self.take_bounds(losses)
        if last:
            self.run.end(Status.MAX_TIME)

    def check_gap_in_memory(self) -> None:
        losses = self.no_losses()
        self.loops.start_check()
        self.loops.check_gap_in_cache(self.state.best, self.mean, losses, self.pool)
        self.loops.end_check()
        self.take_bounds(losses)

    def no_losses(self) -> np.ndarray:
        return np.zeros((self.problems, len(_core.CachedLoops.line)))

    def take_bounds(self, losses: np.ndarray) -> None:
        """The bounds that a gap check gives each problem."""
        for k in self.run.open_problems():
            self.state.move(k, self.mean[k], losses[k])
            if not self.state.raise_dual(k, self.loops.dual_sums(k)):
                self.run.end(Status.STALLED, k)
                self.loops.set_finished(k)
        self.since_check, self.near = 0, False
        self.record()
        if self.rule_met:
            self.run.end(Status.RULE_MET)
        for k in self.run.open_problems() if self.settings.max_iter is None else ():
            if hardly_falls(self.run.histories[k]):
                self.run.end(Status.MAX_ITER, k)
                self.loops.set_finished(k)

    # ------------------------------------------------------------ ends

    def record(self) -> None:
        """Notes where all problems stand; those that are done are visited no more."""
        seconds, state = self.run.clock(), self.state
        for k in self.run.open_problems():
            progress = StreamProgress(
                state.passes,
                seconds,
                state.P[k],
                state.D[k],
                rows_per_second=self.visits / max(seconds, 1e-9),
                cache_hit_rate=self.cached_visits / max(self.visits, 1),
                cached=self.loops.cached,
                problem=k,
                problems=self.problems,
            )
            if self.run.note(progress, k) and self.run.statuses[k] is Status.OPTIMAL:
                self.loops.set_finished(k)

    def solutions(self) -> list[Solution]:
        return [self.solution(k) for k in range(self.problems)]

    def solution(self, k: int) -> Solution:
        w, P = self.state.point(k)
        certificate = self.run.certify(P, self.state.D[k], problem=k, n_iter=self.state.passes)
        return Solution(w, certificate, self.run.histories[k])


def rate(tally: tuple[float, int, int]) -> float:
    """Rise of D for each feature visited."""
    gain, _, entries = tally
    return gain / max(entries, 1)
