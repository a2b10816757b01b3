"""Files and other sources of blocks in the place of X."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from maxmargin.data.blocks import BlockSource
from maxmargin.data.source_rows import read_sides
from maxmargin.data.sources import open_source
from maxmargin.estimators.base import threads_of


def is_source(X: Any) -> bool:
    """Whether X is a path, a list of paths or a source of blocks, rather than an array."""
    if isinstance(X, (str, os.PathLike)) or hasattr(X, "blocks"):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(map(_is_path, X))


def _is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def opened(X: Any, n_jobs: int | None, n_features: int | None = None) -> BlockSource:
    """The source that X names. With `n_features`, its rows must have, or can have, as many."""
    if hasattr(X, "blocks"):
        source = X
    else:
        source = open_source(X, threads=threads_of(n_jobs))
        if source.index_base is not None and n_features not in (None, source.d):
            # svmlight text may lack the last features
            source = open_source(X, threads=threads_of(n_jobs), n_features=n_features)
    if n_features is not None and source.d != n_features:
        raise ValueError(
            f"{source.name}: has {source.d} features, but the model was trained on {n_features}"
        )
    return source


def labels_and_weights(
    source: BlockSource, y: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Of a source, whose labels must be its own; weights too unless others are given."""
    if y is not None:
        raise ValueError(
            f"y was given, but X is {source.name}, whose labels are in it: leave y out"
        )
    sides = read_sides(source)
    if sides.y is None:
        raise ValueError(
            f"{source.name}: has no labels: name their column "
            "(maxmargin.data.open_source(..., target=...))"
        )
    if sample_weight is None:
        return sides.y, sides.weight
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (source.n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({source.n},), one a row"
        )
    return sides.y, weight


def scores_of(model: Any, source: BlockSource, threads: int | None) -> np.ndarray:
    """The decision values of all rows, block by block."""
    return np.concatenate([model.decision_function(block.X, threads) for block in source.blocks()])
