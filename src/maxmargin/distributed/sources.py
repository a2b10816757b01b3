"""Where the parts of a fit come from: dask arrays, dataframes, delayed objects or files.

Each part is a delayed computation that can be repeated: that is all a lost worker costs.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.dataset import Dataset
from maxmargin.data.formats.reading import open as open_file
from maxmargin.data.sparse import checked_csr
from maxmargin.distributed.asking import Unusable
from maxmargin.distributed.errors import CERTAIN, dask_modules
from maxmargin.distributed.parts import Part
from maxmargin.training.targets import check_one_column


@dataclass(frozen=True)
class Source:
    """One part: its name for messages, and what makes it of which (delayed) arguments."""

    name: str
    make: Callable[..., Dataset]
    arguments: tuple[Any, ...]

    def delayed(self, number: int) -> Any:
        """The computation of the part, under a name of its own each time."""
        dask, _ = dask_modules()
        key = f"maxmargin-part-{uuid.uuid4().hex}"
        return dask.delayed(make_part, pure=False)(
            self.make, self.name, number, *self.arguments, dask_key_name=key
        )


def make_part(
    make: Callable[..., Dataset], name: str, number: int, *arguments: Any
) -> Part | Unusable:
    """A part, its rows as solvers need them; or why there is none, which trying again would not
    change."""
    try:
        data = make(*arguments)
    except CERTAIN as error:
        return Unusable(number, error)
    data.source = name
    return Part(data, number)


def sources_of(
    X: Any,
    y: Any = None,
    weight: Any = None,
    qid: Any = None,
    made: bool = False,
    **reading: Any,
) -> list[Source]:
    """The parts of X, with the labels, weights and queries that go with them.

    Parameters
    ----------
    X : dask array, dask dataframe, list of delayed, or list of paths
        Blocks of a dask array may be dense or sparse. Delayed objects give rows, pairs of rows and
        labels, or a `Dataset`.
    y, weight, qid : alike, or None
        Dask arrays or series cut as X is, lists of delayed; of a dataframe also names of columns.
        Files have them inside.
    made : bool
        Whether features are made of the rows, which may then be strings: a column of a dask array
        or dataframe, FASTA, or a column of a table (``text=``).
    reading : options of `maxmargin.data.open`, for files
    """
    dask_modules()
    if is_collection(X, "dask.dataframe", "dask_expr"):
        return _of_dataframe(X, {"y": y, "weight": weight, "qid": qid})
    if is_collection(X, "dask.array"):
        if reading:
            raise ValueError(f"options {sorted(reading)} are for files; X is a dask array")
        return _of_blocks(_row_blocks(X), _columns(X, y=y, weight=weight, qid=qid))
    if isinstance(X, (str, os.PathLike)):
        X = [X]
    if not isinstance(X, Sequence) or not len(X):
        raise TypeError(
            f"X is a {type(X).__name__}; expected a dask array or dataframe, a list of delayed "
            "objects or a list of files; maxmargin.LinearSVC and its like take arrays in memory"
        )
    if all(isinstance(item, (str, os.PathLike)) for item in X):
        if any(column is not None for column in (y, weight, qid)):
            raise ValueError(
                "files hold their labels, weights and queries; name the columns with "
                "target=, weight= and qid= of read_options, and leave y out"
            )
        return [_of_file(os.fspath(path), reading, made) for path in X]
    if all(is_collection(item, "dask.delayed") for item in X):
        return _of_blocks(list(X), _columns(X, y=y, weight=weight, qid=qid))
    raise TypeError(
        f"X is a list that holds a {type(X[0]).__name__}; expected paths or delayed objects"
    )


def is_collection(X: Any, *modules: str) -> bool:
    """Whether X is a collection of Dask's, without importing what it may come from."""
    return type(X).__module__.startswith(modules) and hasattr(X, "__dask_graph__")


def _row_blocks(X: Any) -> list[Any]:
    if X.ndim == 1 and X.dtype.kind in "OUT":  # strings
        return list(X.to_delayed())
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; expected rows and columns")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed()[:, 0])


def _columns(X: Any, **columns: Any) -> dict[str, list[Any]]:
    """Labels and their like, cut as X is."""
    blocks = X.numblocks[0] if hasattr(X, "numblocks") else len(X)
    cut: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if column is None:
            continue
        if name == "y":
            check_one_column(column, "a cluster")
        if is_collection(column, "dask.array"):
            known = hasattr(X, "chunks") and not np.isnan(sum(X.chunks[0]))
            if known and not np.isnan(sum(column.chunks[0])):
                if column.shape[0] != X.shape[0]:
                    raise ValueError(
                        f"{name} has {column.shape[0]} entries; expected {X.shape[0]}, one per row"
                    )
                column = column.rechunk({0: X.chunks[0]})
            found = list(column.to_delayed().ravel())
        elif is_collection(column, "dask.dataframe", "dask_expr"):
            found = list(column.to_delayed())
        elif isinstance(column, Sequence) and not isinstance(column, str):
            found = list(column)
        else:
            raise TypeError(
                f"{name} is a {type(column).__name__}; expected it as X is: a dask array or "
                "series, or a list of delayed objects"
            )
        if len(found) != blocks:
            raise ValueError(f"{name} has {len(found)} blocks, X has {blocks}; cut both alike")
        cut[name] = found
    return cut


def _of_blocks(blocks: list[Any], columns: dict[str, list[Any]]) -> list[Source]:
    names = tuple(columns)
    return [
        Source(f"block {k}", _from_block, (block, names, *(columns[name][k] for name in names)))
        for k, block in enumerate(blocks)
    ]


def _of_dataframe(X: Any, columns: dict[str, Any]) -> list[Source]:
    named = {name: column for name, column in columns.items() if isinstance(column, str)}
    if named and X.ndim == 1:
        raise ValueError(f"X is one column; give {next(iter(named))} as another, not by name")
    for name, column in named.items():
        if column not in X.columns:
            raise ValueError(f"{name} is the column {column!r}, which the dataframe does not have")
    taken = {name: X[column] for name, column in named.items()}
    rows = X.drop(columns=list(named.values())) if named else X
    blocks = list(rows.to_delayed())
    others = {name: column for name, column in columns.items() if name not in named}
    return _of_blocks(blocks, _columns(blocks, **{**others, **taken}))


def _of_file(path: str, reading: dict[str, Any], made: bool) -> Source:
    """A file under its full name: workers may have been started in another folder."""
    from maxmargin.distributed.features import read_as_it_is

    read = read_as_it_is if made else read_file
    return Source(path, read, (os.path.abspath(path), dict(reading)))


def read_file(path: str, options: dict[str, Any]) -> Dataset:
    """The rows of a file, read by the worker that will hold them."""
    return open_file(path, **{"threads": 1, **options})


def _from_block(block: Any, names: tuple[str, ...], *columns: Any) -> Dataset:
    """A block with its columns as a data set."""
    if isinstance(block, tuple) and len(block) == 2:
        block, names, columns = block[0], ("y", *names), (block[1], *columns)
    if not isinstance(block, Dataset):
        feature_names = [str(name) for name in getattr(block, "columns", [])] or None
        block = Dataset(rows_in_memory(block), feature_names=feature_names)
    given = {name: np.asarray(column).ravel() for name, column in zip(names, columns)}
    n = block.X.shape[0]
    for name, column in given.items():
        if len(column) != n:
            raise ValueError(f"{name} has {len(column)} entries for {n} rows")
        setattr(block, name, column)
    if block.weight is not None:
        block.weight = np.ascontiguousarray(block.weight, dtype=np.float64)
    return block


def rows_in_memory(block: Any) -> Any:
    """Rows as CSR or dense, float32 or float64, or strings; only other types are converted."""
    from maxmargin.distributed.features import is_texts, strings_of

    if is_texts(block):
        return strings_of(block)
    if not sp.issparse(block) and hasattr(block, "tocsr"):  # pydata/sparse
        block = block.tocsr()
    if sp.issparse(block):
        block = checked_csr(block)
        return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)
    check_columns(block)
    X = np.asarray(block)
    if X.dtype.kind not in "biuf":
        X = X.astype(np.float64)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def check_columns(block: Any) -> None:
    """Refuses a column of a dataframe that holds no numbers, by its name."""
    for name in getattr(block, "columns", ()):
        column = np.asarray(block[name])
        if column.dtype.kind in "biuf" or not len(column):
            continue
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            found = next(value for value in column.tolist() if not isinstance(value, int | float))
            raise ValueError(
                f"the column {name!r} holds {found!r}; expected numbers: drop it, make numbers of "
                "it (data.TableEncoder), or train on files (maxmargin train --encode auto)"
            ) from None
