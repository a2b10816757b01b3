"""What the cached loops are given: classes and costs of a source's labels, and packed blocks.

Every pass is held against the one before it: rows that change while they are in use, and files that
hold other rows than they say, end a run before a bound is taken from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.data.errors import DataError
from maxmargin.data.features import FeatureMap, Stats
from maxmargin.data.stream.blocks import Block, BlockSource, Strings
from maxmargin.data.stream.known_metadata import KnownMetadata
from maxmargin.losses.pointwise import LossSpec
from maxmargin.solvers.streaming.checkpoint import RowsSeen
from maxmargin.training.targets import check_classes

SAME = 1e-9  # sums of weights that differ by less may be of the same weights, added otherwise


@dataclass
class Labels:
    """The classes of a source, the sum of the weights of each, and what maps have to know."""

    classes: np.ndarray
    totals: np.ndarray
    stats: Stats

    def __post_init__(self) -> None:
        check_classes(self.classes)
        check_classes(self.classes[self.totals > 0], " among rows of positive weight")

    @classmethod
    def known(
        cls, source: BlockSource, features: FeatureMap | None, stats: Stats | None = None
    ) -> Labels | None:
        """What is in memory, or what a row store says about itself, if that is enough: it saves a
        pass.

        The first pass over the rows tells whether it is true.
        """
        if isinstance(source, KnownMetadata):
            stats = stats or stats_of(source, features)
            if stats is None:
                return None
            found, codes = np.unique(source.y, return_inverse=True)
            return cls(found, np.bincount(codes, source.weights()), stats)
        summary: Any = getattr(source, "summary", None)
        description: Any = getattr(source, "description", None)
        if summary is None or "sample_weight" in description.columns:
            return None
        if features is not None and features.needs_stats and source.kind == "strings":
            return None
        if not _make_sense(summary.labels, source.n):
            return None
        classes, counts = zip(*summary.labels)
        return cls(np.array(classes), np.array(counts, dtype=np.float64), Stats(source.d))

    @classmethod
    def scanned(cls, source: BlockSource, features: FeatureMap | None, stop: _core.Stop) -> Labels:
        """One pass over the source."""
        totals: dict[Any, float] = {}
        stats, dtype = Stats(source.d), np.dtype(np.int64)
        for block in source.blocks():
            check_not_interrupted(source, stop)
            found, codes = np.unique(labels_of(block, source.name), return_inverse=True)
            for label, total in zip(found.tolist(), np.bincount(codes, weights_of(block))):
                totals[label] = totals.get(label, 0.0) + float(total)
            dtype = found.dtype if dtype.kind != "U" else dtype
            if features is not None and features.needs_stats:
                stats.add(block.X)
        classes = np.array(sorted(totals))
        if classes.dtype.kind != "U" and dtype.kind != "O":
            classes = classes.astype(dtype)
        return cls(classes, np.array([totals[label] for label in classes.tolist()]), stats)

    def of(self, block: Block, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Class numbers and weights of a block; KeyError where it has a class that is new."""
        y = labels_of(block, name)
        codes = np.searchsorted(self.classes, y)
        codes = np.minimum(codes, len(self.classes) - 1).astype(np.int32)
        if (self.classes[codes] != y).any():
            raise KeyError("labels")
        return codes, weights_of(block)

    def add_up(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weights of a block's rows by class."""
        return np.bincount(codes, weights, minlength=len(self.classes))

    @property
    def described(self) -> str:
        return f"weights of classes {self.classes.tolist()}"


@dataclass
class Values:
    """The targets of a regression: the sum of the weights, and the losses at w = 0 by problem."""

    totals: np.ndarray
    at_zero: list[float]
    stats: Stats

    @classmethod
    def known(
        cls,
        source: BlockSource,
        features: FeatureMap | None,
        C: float,
        losses: list[LossSpec],
        stats: Stats | None,
    ) -> Values | None:
        """Of targets in memory, without a pass."""
        if not isinstance(source, KnownMetadata):
            return None
        stats = stats or stats_of(source, features)
        if stats is None:
            return None
        t, weight, pool = np.asarray(source.y, np.float64), source.weights(), _core.Pool(1)
        at_zero = [spec.on_targets(t, C * weight, pool).at_zero for spec in losses]
        return cls(np.array([weight.sum()]), at_zero, stats)

    @classmethod
    def scanned(
        cls,
        source: BlockSource,
        features: FeatureMap | None,
        C: float,
        losses: list[LossSpec],
        stop: _core.Stop,
    ) -> Values:
        """One pass over the source."""
        total, at_zero, stats, pool = 0.0, np.zeros(len(losses)), Stats(source.d), _core.Pool(1)
        for block in source.blocks():
            check_not_interrupted(source, stop)
            t, weight = values_of(block, source.name), weights_of(block)
            total += float(weight.sum())
            at_zero += [spec.on_targets(t, C * weight, pool).at_zero for spec in losses]
            if features is not None and features.needs_stats:
                stats.add(block.X)
        if total == 0:
            raise ValueError(f"{source.name}: every weight is zero; expected rows that count")
        return cls(np.array([total]), at_zero.tolist(), stats)

    def of(self, block: Block, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Targets and weights of a block."""
        return values_of(block, name), weights_of(block)

    def add_up(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weights of a block's rows."""
        return np.array([weights.sum()])

    @property
    def described(self) -> str:
        return "weights of rows"


def stats_of(source: BlockSource, features: FeatureMap | None) -> Stats | None:
    """What maps have to know of the rows, where no pass is needed to know it."""
    scans = features is not None and features.needs_stats and source.kind == "strings"
    return None if scans else Stats(source.d)


def values_of(block: Block, name: str) -> np.ndarray:
    """The targets of a block's rows, which must be finite numbers."""
    y = labels_of(block, name)
    try:
        return np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: has the label {y.ravel()[0]!r}; regression needs a number for each row"
        ) from None


def check_not_interrupted(source: BlockSource, stop: _core.Stop) -> None:
    """Before the rows have been seen once there is nothing to give back."""
    if stop.poll() and stop.reason == _core.StopReason.interrupted:
        raise KeyboardInterrupt(
            f"{source.name}: stopped before all rows had been seen once: there is no model"
        )


def _make_sense(labels: list[list[Any]] | None, n: int) -> bool:
    """Whether these labels and their counts are in order, of one kind, and those of n rows."""
    if not labels:
        return False
    names, counts = zip(*labels)
    alike = len({isinstance(name, str) for name in names}) == 1
    return alike and list(names) == sorted(set(names)) and sum(counts) == n


def labels_of(block: Block, name: str) -> np.ndarray:
    """The labels of a block's rows, which must be there and be equal to themselves."""
    if block.y is None:
        raise ValueError(
            f"{name}: has no labels; training needs one for each row (of FASTA in its header)"
        )
    y = np.asarray(block.y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{name}: row {block.first + bad + 1} has label {y[bad]}; expected a class")
    return y


def weights_of(block: Block) -> np.ndarray:
    """The weights of a block's rows, 1 where it has none."""
    if block.weight is None:
        return np.ones(block.n)
    weight = np.asarray(block.weight, dtype=np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any():
        bad = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise DataError(
            f"row {block.first + bad + 1} has weight {weight[bad]}; expected a finite number >= 0"
        )
    return weight


class Packing:
    """Makes blocks ready for the core, and compares the rows of each pass with those before."""

    def __init__(
        self,
        source: BlockSource,
        features: FeatureMap | None,
        bias: float,
        labels: Labels | Values,
        costs: np.ndarray,
    ) -> None:
        self.name, self.n, self.features = source.name, source.n, features
        self.labels, self.costs = labels, costs
        self._totals = np.zeros(len(labels.totals))  # of this pass so far
        self._checksum = 0  # of the rows of this pass so far
        self._checksums: dict[int, int] = {}  # by number of rows, from passes before
        self._seen = self._promised = RowsSeen(0, 0)
        self._checkpoint = ""
        blocks = source.blocks()
        first = next(blocks, None)
        if hasattr(blocks, "close"):
            blocks.close()
        if first is None:
            raise DataError(f"{self.name}: has no rows left; expected {self.n}; open it again")
        X: Any = self._compact(first.X)
        core = features.in_core(X.shape[1]) if features is not None else None
        if isinstance(X, Strings):
            assert core is not None  # `check_source` refuses strings without a feature map
            self.format = _core.string_format(bias, core, isinstance(labels, Values))
        else:
            targets = isinstance(labels, Values)
            self.format = _core.row_format(view(X, bias), bias, core, targets)

    def _compact(self, X: Any) -> Any:
        return X if self.features is None else self.features.transform_block(X)

    # ------------------------------------------------------------ called by the reader's thread

    def pack(self, block: Block) -> _core.PackedBlock:
        """A block as the core takes it."""
        if block.first == 0:
            self._totals[:] = 0.0
            self._checksum = 0
        try:
            labels, weights = self.labels.of(block, self.name)
        except KeyError:
            raise self._changed(
                f"rows from number {block.first + 1} on have labels that were not"
            ) from None
        factors = self.costs[labels] if isinstance(self.labels, Labels) else self.costs[0]
        packed = self._packed(block, labels, factors * weights)
        self._count(block, labels, weights)
        self._compare(block, packed)
        return packed

    def _packed(self, block: Block, labels: np.ndarray, costs: np.ndarray) -> _core.PackedBlock:
        X = self._compact(block.X)
        if isinstance(X, Strings):
            return _core.pack_strings(X.letters, X.starts, block.first, labels, costs, self.format)
        return _core.pack_rows(view(X, 0.0), block.first, labels, costs, self.format)

    def _count(self, block: Block, labels: np.ndarray, weights: np.ndarray) -> None:
        self._totals += self.labels.add_up(labels, weights)
        ends = block.first + block.n == self.n
        if ends and not np.allclose(self._totals, self.labels.totals, rtol=SAME, atol=0):
            raise DataError(
                f"{self.name}: the {self.labels.described} add up to "
                f"{self._totals.tolist()}; expected {self.labels.totals.tolist()}, as its summary "
                "says or as in an earlier pass: the data changed while it was in use, or the "
                "summary is false; train again on data that stays as it is, or convert it again"
            )

    def _compare(self, block: Block, packed: _core.PackedBlock) -> None:
        end, promised = block.first + block.n, self._promised
        if block.first < promised.rows <= end:
            rows = promised.rows - block.first
            if packed.checksum(self._checksum, rows) != promised.checksum:
                raise DataError(
                    f"{self.name}: its rows are not those that the checkpoint {self._checkpoint} "
                    "was made with; bring back the data as it was, or delete the checkpoint to "
                    "start anew"
                )
        self._checksum = packed.checksum(self._checksum, block.n)
        if self._checksums.setdefault(end, self._checksum) != self._checksum:
            raise self._changed(f"the rows up to number {end} are not what they were")
        self._seen = max(self._seen, RowsSeen(end, self._checksum))

    def _changed(self, found: str) -> DataError:
        return DataError(
            f"{self.name}: {found} in an earlier pass: the data changed while it was in use; train "
            "again on data that stays as it is"
        )

    # ------------------------------------------------------------ checkpoints

    def expect(self, promised: RowsSeen, checkpoint: str) -> None:
        """The first pass is to find the rows that a checkpoint was made with."""
        if promised.rows > self.n:
            raise DataError(
                f"{checkpoint}: the checkpoint was made with {promised.rows} rows, and {self.name} "
                f"has {self.n}; delete it to start anew, or name another file"
            )
        self._promised, self._checkpoint = promised, checkpoint

    def seen(self) -> RowsSeen:
        """The rows that dual variables may depend on."""
        return max(self._seen, self._promised)
