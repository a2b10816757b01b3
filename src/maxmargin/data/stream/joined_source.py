"""Several files as one source of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.errors import DataError
from maxmargin.data.stream.blocks import Block, BlockSource
from maxmargin.data.stream.fingerprints import joint_fingerprint


class JoinedSource:
    """Several sources, one after the other."""

    def __init__(self, sources: list[BlockSource]) -> None:
        self._sources = sources
        first = sources[0]
        for other in sources[1:]:
            same = other.kind == first.kind and other.feature_names == first.feature_names
            if not same or (first.kind == "dense" and other.d != first.d):
                raise DataError(
                    f"{other.name}: holds {_shape(other)}; expected {_shape(first)}, as "
                    f"{first.name}; the files of one source must have the same columns"
                )
        self.name = f"{first.name} and {len(sources) - 1} more"
        self.kind, self.feature_names = first.kind, first.feature_names
        self.index_base = first.index_base
        self.n = sum(source.n for source in sources)
        self.d = max(source.d for source in sources)
        self.largest_block = max(source.largest_block for source in sources)

    @cached_property
    def fingerprint(self) -> str:
        return joint_fingerprint([source.fingerprint for source in self._sources])

    def check_unchanged(self) -> None:
        for source in self._sources:
            source.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        first = 0
        for source in self._sources:
            for block in source.blocks():
                yield Block(first + block.first, self._wide(block.X), *_rest(block))
            first += source.n

    def _wide(self, X: Any) -> Any:
        if self.kind != "csr" or X.shape[1] == self.d:
            return X
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.d), copy=False)


class LabelledSource:
    """A source whose rows all have one label."""

    def __init__(self, source: BlockSource, label: int) -> None:
        self._source, self._label = source, label

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    @property
    def fingerprint(self) -> str:
        return f"{self._source.fingerprint}:{self._label}"

    def blocks(self) -> Iterator[Block]:
        for block in self._source.blocks():
            yield replace(block, y=np.full(block.n, self._label, np.int64))


def _rest(block: Block) -> tuple[Any, Any, Any]:
    return block.y, block.weight, block.qid


def _shape(source: BlockSource) -> str:
    if source.kind == "strings":
        return "strings"
    names = source.feature_names
    called = "" if names is None else f" ({', '.join(names[:5])}{', ...' * (len(names) > 5)})"
    return f"{source.kind} rows of {source.d} features{called}"
