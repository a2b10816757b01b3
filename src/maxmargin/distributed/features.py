"""Features that workers make of the rows they hold, pass by pass, and strings as rows.

A part holds its rows as they are; the products make the features block by block, so that a worker
needs room for one block of them. What a map must know of the training rows is added up over parts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.cpus import new_pool
from maxmargin.data.dataset import Dataset
from maxmargin.data.features import FeatureMap, MappedSource, Stats
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.data.stream.blocks import Strings
from maxmargin.data.stream.source_rows import Passes, SourceRows
from maxmargin.data.stream.sources import open_source
from maxmargin.distributed.describe import Shape
from maxmargin.distributed.parts import Part

HEAD = 16  # rows that tell how wide features are


class MadeRows(SourceRows):
    """Rows of features, with vectors in arrays that are lent."""

    def matvec(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return _into(out, super().matvec(w))

    def axpby(
        self,
        alpha: float,
        x: np.ndarray,
        beta: float,
        y: np.ndarray,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        return _into(out, super().axpby(alpha, x, beta, y))


def _into(out: np.ndarray | None, made: np.ndarray) -> np.ndarray:
    if out is None:
        return made
    out[:] = made
    return out


def made_rows(X: Any, features: FeatureMap, bias: float, pool: Any) -> MadeRows:
    """The features of rows that are in memory."""
    source = MappedSource(ArraySource(X), features, pool.threads)
    return MadeRows(Passes(source, bias, pool), pool)


# ---------------------------------------------------------------- what a map has to know


def featured(cluster: Any, shape: Shape, features: FeatureMap) -> Shape:
    """The shape of the features that a map makes of all parts."""
    features.check_kind(shape.kind, "X")
    if features.needs_stats:
        stats = Stats(shape.d)
        for found in cluster.ask(stats_of):
            stats.length = found.length if stats.length is None else stats.length
            stats.letters += found.letters
        features = features.fitted(stats)
    rows = shape.layout(0.0, 1)
    widths = {width for width in cluster.ask(width_of, features, rows) if width is not None}
    if len(widths) != 1:
        raise ValueError(
            f"the feature map made {sorted(widths)} features of rows of different partitions; "
            "expected the same number of all"
        )
    return replace(shape, d=widths.pop(), d_in=shape.d, features=features)


def stats_of(part: Part) -> Stats:
    """What a map may have to know of a part's rows."""
    return Stats().add(part.data.X)


def width_of(part: Part, features: FeatureMap, layout: Any) -> int | None:
    """How many features a part's rows have; None where there are no rows."""
    X: Any = part.columns(layout)
    if X.shape[0] == 0:
        return None
    head = Strings(X.letters, X.starts[: HEAD + 1]) if isinstance(X, Strings) else X[:HEAD]
    return int(features.transform(head, new_pool(1)).shape[1])


# ---------------------------------------------------------------- strings


def is_texts(block: Any) -> bool:
    """Whether a block is a column of strings."""
    if isinstance(block, Strings):
        return True
    if isinstance(block, list | tuple):
        return len(block) > 0 and all(isinstance(row, str) for row in block)
    values = np.asarray(block) if getattr(block, "ndim", 0) == 1 else None
    return values is not None and values.dtype.kind in "OUT"


def strings_of(block: Any) -> Strings:
    """A column of strings as rows."""
    if isinstance(block, Strings):
        return block
    rows = list(block)
    wrong = next((row for row in rows if not isinstance(row, str)), None)
    if wrong is not None:
        raise ValueError(f"a column of strings holds {wrong!r}; expected strings only")
    if not rows:
        return Strings(np.empty(0, np.uint8), np.zeros(1, np.int64))
    made = next(ArraySource(rows, block_bytes=1 << 62).blocks()).X
    assert isinstance(made, Strings)
    return made


def read_as_it_is(path: str, options: dict[str, Any]) -> Dataset:
    """The rows of a file of which features are made: strings of FASTA or of a column of text."""
    source = open_source(os.fspath(path), **{"threads": 1, "block_bytes": 1 << 30, **options})
    blocks = list(source.blocks())
    if source.kind == "strings":
        X: Any = joined([block.X for block in blocks])
    elif source.kind == "csr":
        X = sp.csr_matrix(sp.vstack([block.X for block in blocks], format="csr"))
    else:
        X = np.concatenate([block.X for block in blocks])
    sides: dict[str, Any] = {}
    for name in ("y", "weight", "qid"):
        known = [getattr(block, name) for block in blocks]
        sides[name] = None if any(side is None for side in known) else np.concatenate(known)
    names = source.feature_names
    return Dataset(X, feature_names=names, index_base=source.index_base, **sides)


def joined(blocks: list[Any]) -> Strings:
    """Blocks of strings as one."""
    lengths = [np.diff(block.starts) for block in blocks]
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    letters = [block.letters[block.starts[0] : block.starts[-1]] for block in blocks]
    return Strings(np.concatenate(letters), starts)
