"""Losses as sums over parts. The driver sees a few numbers of each part and never a prediction.

pointwise   R = sum of the parts' R; piecewise linear losses are searched along a line by summaries
            of kinks (`losses.kink_parts`), the others by evaluations
ranks       where no query crosses parts: R = sum of the parts' R; line search by evaluations
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.arrays import ArrayRows
from maxmargin.distributed import parts
from maxmargin.distributed.describe import codes_of
from maxmargin.distributed.parts import Layout, Memory, Part
from maxmargin.distributed.rows import DaskRows
from maxmargin.distributed.vectors import Subgradient, Vector
from maxmargin.losses import kink_parts
from maxmargin.losses.line_search import SearchPoint, minimise
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.losses.ranks import MANY_PAIRS, Ranks
from maxmargin.training.targets import numbers_in


@dataclass(frozen=True)
class ClassTask:
    """One class against the rest: ``C_i = (cost of the class of row i) (weight of row i)``."""

    key: str
    layout: Layout
    spec: LossSpec
    classes: np.ndarray
    cost: np.ndarray
    positive: int

    def loss(self, part: Part, rows: ArrayRows) -> Pointwise:
        assert part.data.y is not None
        codes = codes_of(part.data.y, self.classes)
        cost = self.cost[codes]
        if part.data.weight is not None:
            cost = cost * part.data.weight
        return self.spec.on_margins(np.where(codes == self.positive, 1.0, -1.0), cost, rows.pool)


@dataclass(frozen=True)
class ValueTask:
    """Real-valued targets: ``C_i = C (weight of row i)``."""

    key: str
    layout: Layout
    spec: LossSpec
    C: float

    def loss(self, part: Part, rows: ArrayRows) -> Pointwise:
        y = numbers_in(part.data.y)
        weight = 1.0 if part.data.weight is None else part.data.weight
        return self.spec.on_targets(y, self.C * weight, rows.pool)


def loss_at_zero(part: Part, task: ValueTask) -> float:
    """A part's loss where every prediction is 0."""
    return task.loss(part, part.rows(task.layout)).at_zero


class SummedLoss:
    """What losses that are sums over parts share."""

    def __init__(self, rows: DaskRows, at_zero: float) -> None:
        self.rows, self.n, self.at_zero = rows, rows.n, at_zero

    def evaluate(self, p: Vector) -> tuple[float, Subgradient]:
        """R, and a subgradient whose plane comes with it: one round for both."""
        sums, a = self.rows.total(parts.touch, p)
        return float(sums[0]), Subgradient(p, float(sums[1]), a)

    def value(self, p: Vector) -> float:
        """R alone, which is never negative but for rounding."""
        return max(self.evaluate(p)[0], 0.0)

    def known_subgradient(self) -> Subgradient | None:
        """None: the next plane touches the loss a little further."""
        return None


class DaskKinks(SummedLoss):
    """A piecewise linear loss of all parts."""

    def search(self, p: Vector, dp: Vector, A0: float, B0: float) -> tuple[float, float]:
        most = kink_parts.edges_of_each(self.rows.cluster.n_parts)
        density, line = (A0 / self.n, B0 / self.n), uuid.uuid4().hex

        def ask(low: float, high: float) -> list[kink_parts.Summary]:
            options = {"line": line, "bracket": (low, high), "density": density, "most": most}
            return self.rows.each(summarise_line, p, dp, **options)

        return kink_parts.search(ask, A0, B0)


def pointwise_loss(rows: DaskRows, spec: LossSpec, at_zero: float) -> SummedLoss:
    """The loss of all parts, with the line search that suits it."""
    linear = spec.is_piecewise_linear
    return DaskKinks(rows, at_zero) if linear else DaskSearched(rows, at_zero)


def summarise_line(
    memory: Memory,
    p: np.ndarray,
    dp: np.ndarray,
    line: str,
    bracket: tuple[float, float],
    density: tuple[float, float],
    most: int,
) -> kink_parts.Summary:
    """A part's kinks within the bracket, in a few numbers.

    `density` is A0 and B0 a row; `line` names the search, in which a part looks at its rows once.
    """
    loss: Any = memory.loss
    if memory.note is None or memory.note[0] != line:
        share = (density[0] * loss.n, density[1] * loss.n)
        memory.note = line, kink_parts.PartLine(loss, p, dp, share)
    return memory.note[1].summary(*bracket, most)


# ------------------------------------------------------------------------------------------ ranks


@dataclass(frozen=True)
class RankTask:
    """Ranking within queries: each query with pairs has the same share of the whole loss."""

    key: str
    layout: Layout
    share: float  # C N / Q

    def loss(self, part: Part, rows: ArrayRows) -> Ranks | NoPairs:
        loss = ranks_of(part, rows.pool)
        if loss is None:
            return NoPairs()
        loss.rescale(self.share * loss.queries)
        return loss


class NoPairs:
    """The loss of a part in which there is nothing to rank."""

    def evaluate(self, p: np.ndarray, out: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        return 0.0, np.zeros(len(p))


def ranks_of(part: Part, pool: Any) -> Ranks | None:
    data = part.data
    assert data.y is not None
    if len(data.y) == 0 or (data.weight is not None and not np.any(data.weight > 0)):
        return None
    y = numbers_in(data.y, "a ranking")
    try:
        return Ranks(y, 1.0, pool, qid=data.qid, sample_weight=data.weight)
    except ValueError:  # every query of the part has one grade only
        return None


def pairs_of(part: Part, layout: Layout) -> np.ndarray:
    """N, Q and the weight of the pairs of a part (see `maxmargin.losses.ranks`)."""
    loss = ranks_of(part, part.rows(layout).pool)
    return np.zeros(3) if loss is None else np.array([loss.total, loss.queries, loss.pairs])


class DaskSearched(SummedLoss):
    """A loss of all parts that is searched along a line by evaluating it."""

    def __init__(self, rows: DaskRows, at_zero: float) -> None:
        super().__init__(rows, at_zero)
        self._step = 1.0
        self._end: Vector | None = None

    def search(self, p: Vector, dp: Vector, A0: float, B0: float) -> tuple[float, float]:
        """As `losses.line_search`, each evaluation a round."""
        line = _Line(self.rows, p, dp, A0, B0)
        line.look_at(0.0, self._step)  # both in one round
        best = minimise(line, line(0.0), self._step)
        self._end = None
        if best.k > 0:
            self._step = best.k
            self._end = self.rows.axpby(1.0, p, best.k, dp)
        return best.k, best.R


class DaskRanks(DaskSearched):
    """The ranking loss of all parts, none of whose queries crosses parts."""

    def __init__(self, rows: DaskRows, at_zero: float, pairs: float) -> None:
        super().__init__(rows, at_zero)
        self.pairs = pairs

    def known_subgradient(self) -> Subgradient | None:
        """Where pairs are very many the plane at the best point serves (see `Ranks`)."""
        if self._end is None or self.pairs < MANY_PAIRS:
            return None
        return self.evaluate(self._end)[1]


class _Line:
    """G along one direction, evaluated on the workers."""

    def __init__(self, rows: DaskRows, p: Vector, dp: Vector, A0: float, B0: float) -> None:
        self.rows, self.p, self.dp, self.A0, self.B0 = rows, p, dp, A0, B0
        self._seen: dict[float, SearchPoint] = {}

    def look_at(self, *ks: float) -> None:
        """Evaluates G at some places in one round."""
        (sums,) = self.rows.total(along, self.p, self.dp, ks=ks)
        for k, (R, slope) in zip(ks, sums.tolist()):
            G = 0.5 * k * k * self.A0 + k * self.B0 + R
            self._seen[k] = SearchPoint(k, G, k * self.A0 + self.B0 + slope, R)

    def __call__(self, k: float) -> SearchPoint:
        if k not in self._seen:
            self.look_at(k)
        return self._seen[k]


def along(
    memory: Memory, p: np.ndarray, dp: np.ndarray, ks: tuple[float, ...]
) -> tuple[np.ndarray]:
    """A part's share of R and of its slope at ``p + k dp``, for some k."""
    assert memory.loss is not None
    found = []
    at = memory.room()
    for k in ks:
        memory.rows.axpby(1.0, p, k, dp, at)
        R, subgrad = memory.loss.evaluate(at, memory.room())
        found.append((R, memory.rows.inner(subgrad, dp)))
        memory.give_back(subgrad)
    memory.give_back(at)
    return (np.array(found),)
