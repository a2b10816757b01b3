"""The best C by cross-validation, for every kind of machine, each solution the start of the next.

A fold is a vector of weights, 0 for the rows held out: no row is copied, and the predictions of
held-out rows come with those of the others. `tasks` says how each kind is trained and judged.

points   C along a path; beside it, if wanted, values of one more parameter (epsilon, k, gamma)
score    of rows held out, more is better; the mean over folds decides, and the least C of equals
edge     where the best C is the least or the largest, the path goes on while it gets better
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin.metrics.named import HeldOut, Named, measure_of
from maxmargin.solvers.common.run import Interrupts, catch_interrupts
from maxmargin.training.folds import checked_folds
from maxmargin.training.tasks import Task

C_LEAST, C_MOST = 1e-4, 1e4  # ends of the default grid, as scikit-learn's
C_BOUNDS = 1e-9, 1e9  # however good it gets beyond, C stays between
MOST_STEPS = 12  # beyond an end of the grid
MOST_CUTS = 256  # thresholds that are tried

Scoring = Callable[[HeldOut], float]


@dataclass(frozen=True)
class Axis:
    """Values of a parameter beside C."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Grid:
    """What to try. `widen`: go on beyond an end where the best C is one; None: where the values are
    our choice."""

    Cs: int | Sequence[float] = 10
    axis: Axis | None = None
    widen: bool | None = None

    def __post_init__(self) -> None:
        grid_of(self.Cs)

    @property
    def may_grow(self) -> bool:
        return _is_count(self.Cs) if self.widen is None else self.widen


@dataclass(frozen=True)
class SearchResult:
    """What was tried, the score by (fold, C) or (value, C, fold), and the model of the best point.

    `edge` says that the best C is an end of what was tried; `widened` are values of C that the grid
    did not have at first.
    """

    best: dict[str, float]
    Cs: np.ndarray
    values: tuple[float, ...]
    scores: np.ndarray
    trained: Any
    title: str
    edge: str | None = None
    widened: list[float] = field(default_factory=list)
    threshold: float | None = None

    @property
    def C(self) -> float:
        return self.best["C"]

    @property
    def score(self) -> float:
        """The best mean."""
        means = self.scores.mean(axis=-1 if self.scores.ndim == 3 else 0)
        return float(means.max())


def search(
    X: Any,
    task: Task,
    grid: Grid,
    folds: int | Iterable[tuple[np.ndarray, np.ndarray]] = 5,
    scoring: Scoring | str | None = None,
    tune_threshold: bool = False,
    watch: Callable[[SearchProgress], object] | None = None,
) -> SearchResult:
    """Try all points on all `folds` (a number of them, or pairs of training and test rows), and
    train the best one on all rows.

    Interrupting ends the search with an error: half a search has no winner. `watch` is called when
    a fit begins.
    """
    task = task.along_C()
    axis = None if grid.axis is None else grid.axis.name
    judge = task.scoring(axis) if scoring is None else scoring
    judge = scoring_of(judge) if isinstance(judge, str) else judge
    if tune_threshold:
        task.check_threshold(judge)
    if isinstance(folds, int | np.integer):
        splits = task.splits(folds)
    else:
        splits = checked_folds(folds, len(task.y))
    if not splits:
        raise ValueError("there are no folds: cv gave no pair of training and test rows")
    with catch_interrupts() as interrupts:
        first = grid_of(grid.Cs)
        points = len(first) * (1 if grid.axis is None else len(grid.axis.values))
        counter = FitCounter(watch, len(splits), points * len(splits) + 1)
        table = ScoreTable(X, task, grid, splits, judge, tune_threshold, interrupts, counter)
        for C in first:
            table.column(float(C))
        if grid.may_grow and len(first) > 1:
            table.widen()
        value, C = table.best()
        point = table.point(value, C)
        counter.begins(len(splits), C)
        trained = task.at(point).train(X)
        threshold = None
        if tune_threshold:
            threshold = table.best_threshold(value, C)
            trained = trained.with_model(with_threshold(trained.model, threshold))
    Cs = table.Cs
    scores = np.array([[table.scores[v, C] for C in Cs] for v in range(len(table.paths))])
    return SearchResult(
        point,
        np.array(Cs),
        () if grid.axis is None else grid.axis.values,
        scores[0].T if grid.axis is None else scores,
        trained,
        str(getattr(judge, "title", getattr(judge, "__name__", "score"))),
        table.edge(C),
        sorted(table.beyond),
        threshold,
    )


@dataclass(frozen=True)
class SearchProgress:
    """The fit that begins: of a fold (from 0; the last number: of all rows), for a C."""

    fold: int
    folds: int
    C: float
    done: int
    total: int

    def __str__(self) -> str:
        where = "all rows" if self.fold == self.folds else f"fold {self.fold + 1} of {self.folds}"
        return f"{where}, C = {self.C:.4g}"


class FitCounter:
    """Counts the fits that begin, and reports each to `watch`."""

    def __init__(
        self, watch: Callable[[SearchProgress], object] | None, folds: int, total: int
    ) -> None:
        self.watch, self.folds, self.total, self.done = watch, folds, total, 0

    def begins(self, fold: int, C: float) -> None:
        if self.watch is not None:
            self.watch(SearchProgress(fold, self.folds, C, self.done, self.total))
        self.done += 1


@contextlib.contextmanager
def naming(fold: int, deed: str) -> Iterator[None]:
    """Refusals say which fold they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"fold {fold + 1} cannot be {deed}: {error}") from error


class FoldPath:
    """The machines of one fold along C; each starts from the nearest that was kept."""

    def __init__(self, X: Any, task: Task, test: np.ndarray) -> None:
        self.X, self.task, self.test = X, task.without(test), test
        self.starts: dict[float, Any] = {}  # those of the least and the largest C

    def held_out(self, C: float) -> HeldOut:
        """Train for a C, and predict what was held out."""
        near = min(self.starts, key=lambda known: abs(np.log(known / C)), default=None)
        trained = self.task.at({"C": C}).train(self.X, None if near is None else self.starts[near])
        self.starts[C] = trained.starts
        for inner in set(self.starts) - {min(self.starts), max(self.starts)}:
            del self.starts[inner]
        return self.task.held_out(self.X, trained.model, self.test)


def paths_of(X: Any, task: Task, tests: list[np.ndarray]) -> list[Any]:
    """What trains each fold along C."""
    return task.paths(X, tests) or [FoldPath(X, task, test) for test in tests]


class ScoreTable:
    """The scores of all points in all folds, filled column by column of C."""

    def __init__(
        self,
        X: Any,
        task: Task,
        grid: Grid,
        splits: list[Any],
        judge: Scoring,
        keep: bool,
        interrupts: Interrupts,
        counter: FitCounter,
    ) -> None:
        self.counter = counter
        self.axis, self.judge, self.keep, self.interrupts = grid.axis, judge, keep, interrupts
        points = [{}] if grid.axis is None else [{grid.axis.name: v} for v in grid.axis.values]
        self.points: list[dict[str, float]] = points
        self.paths = [paths_of(X, task.at(p), [test for _, test in splits]) for p in points]
        self.scores: dict[tuple[int, float], list[float]] = {}
        self.beyond: set[float] = set()  # values of C that the grid did not have
        self.kept: dict[tuple[int, float], list[HeldOut]] = {}

    @property
    def Cs(self) -> list[float]:
        return sorted({C for _, C in self.scores})

    def column(self, C: float) -> None:
        """Try a C."""
        for value, paths in enumerate(self.paths):
            held = []
            self.scores[value, C] = []
            for fold, path in enumerate(paths):
                self.counter.begins(fold, C)
                with naming(fold, "trained"):
                    held.append(path.held_out(C))
                if self.interrupts.requested:
                    raise KeyboardInterrupt(f"interrupted while trying C = {C:g}")
                self.scores[value, C].append(self._judged(held[-1], fold))
            if self.keep:
                self.kept[value, C] = held

    def _judged(self, held: HeldOut, fold: int) -> float:
        with naming(fold, "judged"):
            score = float(self.judge(held))
        if not np.isfinite(score):
            raise ValueError(
                f"fold {fold + 1} cannot be judged: its score is {score}, as where a class is "
                "missing from it; ask for fewer folds, or for another scoring"
            )
        return score

    def mean(self, value: int, C: float) -> float:
        return float(np.mean(self.scores[value, C]))

    def best(self) -> tuple[int, float]:
        """The point of best mean score; of equal ones the least C that was in the grid at first."""
        order = sorted(self.scores, key=lambda p: (p[1] in self.beyond, p[1], p[0]))
        return max(order, key=lambda p: self.mean(*p))

    def point(self, value: int, C: float) -> dict[str, float]:
        return {"C": C, **self.points[value]}

    def widen(self) -> None:
        """Go on beyond the end that is best, as long as that is better."""
        for _ in range(MOST_STEPS):
            value, C = self.best()
            Cs, before = self.Cs, self.mean(value, C)
            if C not in (Cs[0], Cs[-1]):
                return
            if self.mean(value, C) <= self.mean(value, Cs[1] if Cs[0] == C else Cs[-2]):
                return  # as good as its neighbour: nothing says that it gets better
            beyond = C * (Cs[0] / Cs[1] if Cs[0] == C else Cs[-1] / Cs[-2])
            if not C_BOUNDS[0] <= beyond <= C_BOUNDS[1]:
                return
            self.beyond.add(beyond)
            self.counter.total += sum(len(paths) for paths in self.paths)
            self.column(beyond)
            if max(self.mean(v, beyond) for v in range(len(self.paths))) <= before:
                return

    def edge(self, C: float) -> str | None:
        Cs = self.Cs
        if len(Cs) < 2 or Cs[0] < C < Cs[-1]:
            return None
        way = "smallest" if Cs[0] == C else "largest"
        return f"the best C, {C:.4g}, is the {way} that was tried: a better one may lie beyond"

    def best_threshold(self, value: int, C: float) -> float:
        """Where decision values of held-out rows are best cut, over all folds together."""
        held = self.kept[value, C]
        values = np.concatenate([one.values for one in held])
        cuts = np.append(0.0, cuts_between(values))

        def mean(cut: float) -> float:
            return float(np.mean([self.judge(h.shifted(cut)) for h in held]))

        return float(max(cuts, key=mean))


def cuts_between(values: np.ndarray) -> np.ndarray:
    """Numbers between neighbouring values; of many values some, at even shares of the rows."""
    distinct = np.unique(values)
    if len(distinct) > MOST_CUTS:
        distinct = np.unique(np.quantile(values, np.linspace(0, 1, MOST_CUTS)))
    return 0.5 * (distinct[:-1] + distinct[1:])


def with_threshold(model: Any, threshold: float) -> Any:
    """The model that labels positive what scores above the threshold."""
    intercept = np.zeros(1) if model.intercept is None else model.intercept
    parameters = model.parameters | {"threshold": threshold}
    return replace(model, intercept=intercept - threshold, parameters=parameters)


def scoring_of(text: str) -> Named:
    """A measure of ours by its name."""
    found = measure_of(text)
    if found is None:
        from maxmargin.metrics.named import NAMES

        raise ValueError(
            f"scoring is {text!r}; expected one of {', '.join(NAMES)}, with @k where places are "
            "counted, or a scorer of scikit-learn"
        )
    return found


def _is_count(Cs: Any) -> bool:
    return isinstance(Cs, int | np.integer)


def grid_of(Cs: int | Sequence[float]) -> np.ndarray:
    """Increasing values of C: `Cs` of them at even ratios, or those given."""
    if isinstance(Cs, int | np.integer):
        if Cs < 1:
            raise ValueError(f"Cs must be at least 1; got {Cs}")
        return np.geomspace(C_LEAST, C_MOST, Cs) if Cs > 1 else np.ones(1)
    try:
        grid = np.unique(np.asarray(Cs, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"Cs must be positive numbers; got {Cs!r}") from None
    if grid.size == 0 or not (grid > 0).all() or not np.isfinite(grid).all():
        raise ValueError(f"Cs must be positive numbers; got {Cs!r}")
    return grid
