"""Arrays and texts in memory as a source of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import SMALL_INTEGERS, number_types, summed
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.sparse import aligned, checked_csr, rows_between
from maxmargin.data.stream.blocks import BLOCK_BYTES, Block, Strings
from maxmargin.data.stream.fingerprints import as_bytes


class ArraySource:
    """Rows in memory, handed out in blocks that are views of them.

    Parameters
    ----------
    X : ndarray, scipy CSR matrix, Strings or list of str
    y : array, optional
    weight, qid : arrays, optional
    """

    name = "X"
    feature_names: list[str] | None = None
    index_base: int | None = None

    def __init__(
        self,
        X: Any,
        y: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        qid: np.ndarray | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._X = _as_rows(X)
        self._y = None if y is None else np.asarray(y)
        self._weight = None if weight is None else np.asarray(weight, np.float64)
        self._qid = None if qid is None else np.asarray(qid, np.int64)
        self.n, self.d = self._X.shape
        for what, values in (("y", self._y), ("weight", self._weight), ("qid", self._qid)):
            if values is not None and values.shape != (self.n,):
                raise DataError(
                    f"{what} has shape {values.shape}; expected ({self.n},), one per row"
                )
        self._bounds = self._cut(block_bytes)

    def _cut(self, block_bytes: int) -> list[int]:
        """Where blocks begin and end: after as many rows as fit."""
        X = self._X
        if isinstance(X, Strings):
            size = X.starts + 8 * np.arange(self.n + 1)
        elif sp.issparse(X):
            entry = X.data.itemsize + X.indices.itemsize
            size = X.indptr.astype(np.int64) * entry + 16 * np.arange(self.n + 1)
        else:
            size = np.arange(self.n + 1) * (self.d * max(X.itemsize, 4) + 8)
        bounds = [0]
        while bounds[-1] < self.n:
            full = np.searchsorted(size, size[bounds[-1]] + block_bytes, side="right") - 1
            bounds.append(max(int(full), bounds[-1] + 1))
        self._largest = int(np.diff(size[bounds]).max(initial=0))
        return bounds

    @property
    def kind(self) -> str:
        if isinstance(self._X, Strings):
            return "strings"
        return "csr" if sp.issparse(self._X) else "dense"

    @property
    def largest_block(self) -> int:
        return self._largest

    @cached_property
    def fingerprint(self) -> str:
        checksum = 0
        for block in self.blocks():
            for part in _arrays(block):
                values = part.astype(str) if part.dtype.kind == "O" else part
                checksum = _core.crc32c(
                    np.ascontiguousarray(values).ravel().view(np.uint8), checksum
                )
        return f"{self.n:x}-{checksum:08x}"

    def check_unchanged(self) -> None:
        """Arrays are the caller's: nobody else writes to them."""

    def blocks(self) -> Iterator[Block]:
        for begin, end in zip(self._bounds[:-1], self._bounds[1:]):
            yield Block(
                begin,
                _slice(self._X, begin, end),
                None if self._y is None else self._y[begin:end],
                weight=None if self._weight is None else self._weight[begin:end],
                qid=None if self._qid is None else self._qid[begin:end],
            )


def _of_dataset(dataset: Dataset) -> ArraySource:
    source = ArraySource(dataset.X, dataset.y, weight=dataset.weight, qid=dataset.qid)
    source.name = dataset.source
    source.feature_names, source.index_base = dataset.feature_names, dataset.index_base
    return source


def _as_rows(X: Any) -> Any:
    if isinstance(X, Strings):
        return X
    if sp.issparse(X):
        X = checked_csr(X)
        X = X if X.has_canonical_format else summed(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    texts = texts_of(X)
    if texts:
        rows = [row.encode() if isinstance(row, str) else row for row in texts]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return Strings(as_bytes(b"".join(rows)), starts)
    check_texts(X)
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"X has shape {X.shape}; expected rows and columns")
    X = X if X.dtype.isnative else aligned(X)
    return X if X.dtype in number_types(X) else X.astype(np.float64)


def texts_of(X: Any) -> list[str | bytes]:
    """The rows of a list, an array or a column that holds texts alone; else nothing."""
    if not isinstance(X, (list, tuple)):
        if sp.issparse(X) or getattr(X, "ndim", 0) != 1:
            return []
        X = np.asarray(X).tolist()
    return list(X) if all(isinstance(row, str | bytes) for row in X) else []


def check_texts(X: Any) -> None:
    """Name a row that is no text among rows that are."""
    if not isinstance(X, (list, tuple)) and getattr(X, "ndim", 0) != 1:
        return
    for i, row in enumerate(X) if len(X) and isinstance(X[0], str | bytes) else ():
        if not isinstance(row, str | bytes):
            raise DataError(f"X[{i}] is {row!r}; expected a text in every row")


def _slice(X: Any, begin: int, end: int) -> Any:
    if isinstance(X, Strings):
        first, last = X.starts[begin], X.starts[end]
        return Strings(X.letters[first:last], X.starts[begin : end + 1] - first)
    if not sp.issparse(X):
        part = X[begin:end]
        return part.astype(np.float32) if part.dtype in SMALL_INTEGERS else part
    return rows_between(X, begin, end)


def _arrays(block: Block) -> list[np.ndarray]:
    X: Any = block.X
    if isinstance(X, Strings):
        parts = [X.letters, X.starts]
    else:
        parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    return [*parts, *(part for part in (block.y, block.weight, block.qid) if part is not None)]
