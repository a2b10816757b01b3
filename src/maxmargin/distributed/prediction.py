"""Predictions block by block: lazy, in parallel, where the rows are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.distributed.asking import Unusable
from maxmargin.distributed.errors import dask_modules
from maxmargin.distributed.features import read_as_it_is
from maxmargin.distributed.sources import (
    Source,
    is_collection,
    read_file,
    rows_in_memory,
    sources_of,
)


def is_distributed(X: Any) -> bool:
    """Whether X is something to be predicted lazily, rather than an array in memory."""
    return is_collection(X, "dask.") or (
        isinstance(X, Sequence) and len(X) > 0 and (_are_paths(X) or is_collection(X[0], "dask."))
    )


def lazily(
    model: Any, method: str, X: Any, columns: int, dtype: Any, reading: dict[str, Any]
) -> Any:
    """``model.method(X)``: a dask array for dask arrays and dataframes, else a list of delayed.

    `columns` is the number of columns of what the method gives, 0 for one number per row.
    """
    dask, _ = dask_modules()
    if model.encoder is not None and is_collection(X, "dask.dataframe", "dask_expr"):
        return _of_tables(model, method, X, columns, dtype)
    if is_collection(X, "dask.dataframe", "dask_expr"):
        names = model.feature_names
        if names is not None and X.ndim == 2 and [str(name) for name in X.columns] != list(names):
            raise ValueError(
                f"the dataframe has the columns {list(X.columns)[:5]}...; the model was trained on "
                f"{list(names)[:5]}...: give the same columns in the same order"
            )
        X = X.to_dask_array()
    whole = dask.delayed(model)
    if is_collection(X, "dask.array"):
        texts = X.ndim == 1
        X = X.rechunk({1: -1}) if not texts and X.numblocks[1] > 1 else X
        shape: dict[str, Any] = {"chunks": (X.chunks[0], (columns,))}
        if not columns:
            shape = {} if texts else {"drop_axis": 1}
        elif texts:
            shape["new_axis"] = 1
        empty = np.empty((0, columns) if columns else 0, dtype=dtype)
        return X.map_blocks(apply, whole, method, dtype=dtype, meta=empty, **shape)
    if _are_paths(X):
        X = [
            dask.delayed(_rows_of_file)(source.arguments, whole)
            for source in sources_of(X, **reading)
        ]
    return [dask.delayed(apply)(block, whole, method) for block in X]


def _of_tables(model: Any, method: str, X: Any, columns: int, dtype: Any) -> Any:
    """Partitions of a dataframe as the tables they are, each encoded by the model."""
    import dask.array

    dask_, _ = dask_modules()
    whole = dask_.delayed(model)
    shape = (np.nan, columns) if columns else (np.nan,)
    parts = [
        dask.array.from_delayed(dask_.delayed(apply)(part, whole, method), shape, dtype)
        for part in X.to_delayed()
    ]
    return dask.array.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


def apply(block: Any, model: Any, method: str) -> np.ndarray:
    """One block's predictions; of a table, the model makes rows itself."""
    rows = rows_in_memory(block) if model.encoder is None else block
    return getattr(model, method)(rows, 1)


def accuracy(client: Any, model: Any, sources: Sequence[Source]) -> float:
    """The share of weight labelled rightly; two numbers per part come back."""
    dask, _ = dask_modules()
    whole = dask.delayed(model)
    counts = [
        dask.delayed(_count_right)(source.delayed(number), whole)
        for number, source in enumerate(sources)
    ]
    right, total = np.sum(client.gather(client.compute(counts)), axis=0)
    return float(right / total)


def _count_right(part: Any, model: Any) -> np.ndarray:
    if isinstance(part, Unusable):
        raise part.error
    data = part.data
    if data.y is None:
        raise ValueError(f"{data.source}: has no labels; give y, or name their column")
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    right = model.predict(as_wide_as(model, data), 1) == data.y
    return np.array([weight[right].sum(), weight.sum()])


def _are_paths(X: Any) -> bool:
    return not isinstance(X, str) and all(isinstance(item, (str, os.PathLike)) for item in X)


def _rows_of_file(arguments: tuple[Any, ...], model: Any) -> Any:
    if model.encoder is not None:
        from maxmargin.data.encoding.reading import open_for

        return open_for(model.encoder, arguments[0], threads=1).X
    read = read_file if getattr(model, "features", None) is None else read_as_it_is
    return as_wide_as(model, read(*arguments))


def as_wide_as(model: Any, data: Any) -> Any:
    """Rows with the columns of the model: text may name fewer, or ones never seen."""
    X = data.X
    if not sp.issparse(X):
        return X
    shift = data.index_base == 1 and model.index_base == 0
    shape = (X.shape[0], X.shape[1] + shift)
    X = sp.csr_matrix((X.data, X.indices + shift, X.indptr), shape=shape, copy=False)
    if X.shape[1] > model.n_features:
        return X[:, : model.n_features]
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], model.n_features))
