"""Files and other sources of blocks in the place of X."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.data.dataset import Dataset
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.data.stream.source_rows import read_metadata, read_rows
from maxmargin.data.stream.sources import open_source

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import TableEncoding


ON_CLUSTERS = (  # of `maxmargin.distributed`
    *("LinearSVC", "LinearSVR", "RankSVM", "OrdinalSVC", "MeasureSVC"),
    *("KernelSVC", "KernelSVCCV"),  # in cells
)


def refuse_dask(X: Any, name: str) -> None:
    """Rows on a cluster are for the classes of `maxmargin.distributed`."""
    if type(X).__module__.split(".")[0] not in ("dask", "dask_expr"):
        return
    advice = f"use maxmargin.distributed.{name}, or " if name in ON_CLUSTERS else ""
    raise TypeError(f"X is a dask array; {advice}bring it into memory first: X.compute()")


def is_source(X: Any) -> bool:
    """Whether X is a path, a list of paths or a source of blocks, rather than an array."""
    if _is_path(X) or hasattr(X, "blocks"):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(map(_is_path, X))


def _is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def opened(
    X: Any, threads: int | None, n_features: int | None = None, **options: Any
) -> BlockSource:
    """The source that X names. With `n_features`, its rows must have, or can have, as many."""
    if hasattr(X, "blocks"):
        source = X
    else:
        source = open_source(X, threads=threads, **options)
        if source.index_base is not None and n_features not in (None, source.d):
            # svmlight text may lack the last features
            source = open_source(X, threads=threads, n_features=n_features)
    if n_features is not None and source.d != n_features:
        raise ValueError(
            f"{source.name}: has {source.d} features, but the model was trained on {n_features}"
        )
    return source


def refuse_beside(source: BlockSource, given: Any, name: str, what: str) -> None:
    """What a file holds itself must not be given beside it."""
    if given is not None:
        raise ValueError(
            f"{name} was given, but X is {source.name}, whose {what} are in it: leave {name} out"
        )


def checked_targets(source: BlockSource, y: np.ndarray | None) -> np.ndarray:
    """The targets of a source, which must have some."""
    if y is None:
        raise ValueError(
            f"{source.name}: has no labels: name their column "
            "(maxmargin.data.open_source(..., target=...))"
        )
    return y


def read_table(encoder: TableEncoding, X: Any, threads: int | None) -> Dataset:
    """A table file for a model that was trained on a table; X of the result is the table."""
    from maxmargin.data.encoding.reading import open_for  # it needs pyarrow, slow to import

    if not _is_path(X):
        raise ValueError(
            f"X is a {type(X).__name__}, but the model was trained on a table: give one table file"
        )
    return open_for(encoder, X, threads=threads)


@dataclass(frozen=True)
class Given:
    """Rows (arrays, or a source that stays on disk) and what is known of them."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None
    index_base: int | None = None


@dataclass(frozen=True)
class GivenByFile(Given):
    """The same of a file, with what it says of its columns."""

    feature_names: Any = None
    d: int = 0


def read_labelled(
    X: Any, y: Any, sample_weight: Any, qid: Any, threads: int | None, rows: bool = True
) -> GivenByFile:
    """Targets, weights and query ids of a source, and its rows unless they stay where they are.

    Targets must be its own; weights and query ids too unless others are given.
    """
    source = opened(X, threads)
    refuse_beside(source, y, "y", "labels")
    kept, metadata = read_rows(source) if rows else (source, read_metadata(source))
    return GivenByFile(
        kept,
        checked_targets(source, metadata.y),
        metadata.weight if sample_weight is None else sample_weight,
        metadata.qid if qid is None else qid,
        source.index_base,
        source.feature_names,
        source.d,
    )
