"""Rows of a source whose labels and weights are in memory already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.stream.blocks import Block, BlockSource


class KnownMetadata:
    """The rows of `source` with labels `y` and weights (None: 1) in the place of its own."""

    def __init__(self, source: BlockSource, y: np.ndarray, weight: np.ndarray | None) -> None:
        self._source, self.y, self.weight = source, y, weight
        self.name, self.n, self.d, self.kind = source.name, source.n, source.d, source.kind
        self.feature_names, self.index_base = source.feature_names, source.index_base
        self.largest_block = source.largest_block

    @property
    def fingerprint(self) -> str:
        return self._source.fingerprint

    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        for block in self._source.blocks():
            own = slice(block.first, block.first + block.n)
            weight = None if self.weight is None else self.weight[own]
            yield Block(block.first, block.X, self.y[own], weight=weight, qid=block.qid)

    def weights(self) -> Any:
        """One a row."""
        return np.ones(self.n) if self.weight is None else self.weight
