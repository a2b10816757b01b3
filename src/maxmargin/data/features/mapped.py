"""Rows of a source with the features that a map makes of them, pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.features.base import FeatureMap, Stats
from maxmargin.data.features.strings import WeightedDegree
from maxmargin.data.stream.blocks import Block, BlockSource, Strings
from maxmargin.data.stream.source_rows import ArrayBlock

SAMPLE = 256  # rows that tell how wide features are, and about how many of them a row has


def mapped(source: BlockSource, features: FeatureMap, threads: int | None = None) -> MappedSource:
    """The features of a source's rows; one pass tells the map what it has to know of them."""
    features.check_kind(source.kind, source.name)
    if features.needs_stats:
        stats = Stats(source.d)
        for block in source.blocks():
            stats.add(block.X)
        features = features.fitted(stats)
    return MappedSource(source, features, threads)


class MappedSource:
    """A source of features, which are made anew in every pass: what is kept is the compact rows.

    Parameters
    ----------
    compact : BlockSource
        Rows as they are.
    features : FeatureMap
        With what it has to know of the training rows.
    """

    feature_names: list[str] | None = None

    def __init__(
        self, compact: BlockSource, features: FeatureMap, threads: int | None = None
    ) -> None:
        self.compact, self.features = compact, features
        self.name, self.n = compact.name, compact.n
        self.index_base = compact.index_base
        self.largest_block = compact.largest_block
        self._pool = _core.Pool(threads or granted_cpus())
        first = next(iter(islice(compact.blocks(), 1))).X
        made = features.transform(_head(first, SAMPLE), self._pool)
        self.kind = "dense" if isinstance(made, np.ndarray) else "csr"
        self.d = int(made.shape[1])
        stored = made.size if isinstance(made, np.ndarray) else made.nnz
        self.entries = self.n * stored // made.shape[0]  # about

    @property
    def fingerprint(self) -> str:
        return self.compact.fingerprint

    @property
    def made_in_core(self) -> bool:
        """Whether features are finite whatever the rows are."""
        return self.features.in_core(self.compact.d) is not None

    def check_unchanged(self) -> None:
        self.compact.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        for block in self.compact.blocks():
            yield replace(block, X=self._made(block.X))

    def product_blocks(self, bias: float) -> Iterator[tuple[int, Any]]:
        """Rows block by block, as products take them."""
        for block in self.compact.blocks():
            if isinstance(self.features, WeightedDegree) and not self.features.bits:
                yield block.first, StringBlock(block.X, self.features, bias)
            else:
                yield block.first, ArrayBlock(self._made(block.X), bias)

    def _made(self, X: Any) -> Any:
        made = self.features.transform(X, self._pool)
        if made.shape[1] != self.d:
            raise ValueError(
                f"{self.name}: the feature map made {made.shape[1]} features of a block; expected "
                f"{self.d}, as of the first"
            )
        return made


class StringBlock:
    """Products with weighted degree features, which are never there as numbers."""

    def __init__(self, X: Any, features: WeightedDegree, bias: float) -> None:
        self._X, self._bias, self._features = X, bias, features
        self._core = features.in_core(0)
        self.n: int = X.shape[0]

    @property
    def X(self) -> Any:
        return self._features.transform(self._X)

    def matvec(self, w: np.ndarray, out: np.ndarray, pool: _core.Pool) -> None:
        d = self._core.d
        self._core.score(self._X.letters, self._X.starts, w[:d], out, pool)
        if self._bias:
            out += self._bias * w[d]

    def rmatvec_onto(self, v: np.ndarray, a: np.ndarray, pool: _core.Pool) -> None:
        self._core.add(self._X.letters, self._X.starts, v, a, pool)
        if self._bias:
            a[self._core.d] += self._bias * float(v.sum())

    def gram(self, h: np.ndarray, every: int, out: np.ndarray, pool: _core.Pool) -> None:
        ArrayBlock(self.X, self._bias).gram(h, every, out, pool)


def _head(X: Any, rows: int) -> Any:
    if isinstance(X, Strings):
        return Strings(X.letters, X.starts[: rows + 1])
    return X[:rows]
