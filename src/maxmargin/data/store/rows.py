"""All rows of a store in memory, filled block by block into arrays of their final size."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.store.description import INDICES_NAME, Description, Summary
from maxmargin.data.stream.blocks import Block, Strings

FEW_LABELS = 1000


def entries_of(X: Any) -> int:
    """Numbers, or letters, that rows hold."""
    return len(X.letters) if isinstance(X, Strings) else X.nnz if sp.issparse(X) else X.size


class LabelCounts:
    """How many rows have which label, as long as there are few labels."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, y: np.ndarray | None) -> None:
        if y is not None and len(self._counts) <= FEW_LABELS:
            values, counts = np.unique(y, return_counts=True)
            self._counts.update(dict(zip(values.tolist(), counts.tolist())))

    def as_list(self) -> list[list[Any]] | None:
        """[label, count] in order; None if they are many."""
        if len(self._counts) > FEW_LABELS:
            return None
        return sorted([label, count] for label, count in self._counts.items())

    def agree(self, listed: list[list[Any]]) -> bool:
        """Whether a list has the same counts."""
        own = {label: count for label, count in self._counts.items() if label == label}
        return own == {label: count for label, count in listed if label == label}


class StoredRows:
    """X, labels, weights and qid with room for as many rows as a summary says."""

    def __init__(self, description: Description, summary: Summary, dtype: np.dtype) -> None:
        self._description, self._summary, self._dtype = description, summary, np.dtype(dtype)
        self._is_sparse = description.kind == "csr"
        self.n = self.entries = 0  # filled so far
        self._X: Any = None
        self._sides: dict[str, list[np.ndarray]] = {"y": [], "qid": [], "weight": []}

    @property
    def _index(self) -> np.dtype:
        wide = self._summary.entries > np.iinfo(np.int32).max
        return np.dtype(
            np.int64 if wide or self._description.columns[INDICES_NAME] == "int64[]" else np.int32
        )

    @property
    def nbytes(self) -> int:
        """Of X, once it is there."""
        rows, entries = self._summary.rows, self._summary.entries
        if not self._is_sparse:
            return rows * self._description.features * self._dtype.itemsize
        return (rows + 1) * self._index.itemsize + entries * (
            self._index.itemsize + self._dtype.itemsize
        )

    def add(self, block: Block) -> None:
        """Take in a block, for which there must be room."""
        X: Any = block.X
        if self._X is None:
            self._X = self._room()
        with np.errstate(over="ignore"):
            filled = self._add_sparse(X) if self._is_sparse else self._add_dense(X)
        if X.dtype != self._dtype and not np.isfinite(filled).all():
            raise DataError(f"found a value that {self._dtype} cannot hold; read as float64")
        self.n, self.entries = self.n + block.n, self.entries + entries_of(X)
        for name, parts in self._sides.items():
            if (part := getattr(block, name)) is not None:
                parts.append(part.copy())  # a view would keep its whole block in memory

    def _room(self) -> Any:
        rows, entries = self._summary.rows, self._summary.entries
        if not self._is_sparse:
            return np.empty((rows, self._description.features), self._dtype)
        starts = np.zeros(rows + 1, self._index)
        return np.empty(entries, self._dtype), np.empty(entries, self._index), starts

    def _add_dense(self, X: np.ndarray) -> np.ndarray:
        filled = self._X[self.n : self.n + len(X)]
        filled[...] = X
        return filled

    def _add_sparse(self, X: Any) -> np.ndarray:
        values, indices, starts = self._X
        begin, end = self.entries, self.entries + X.nnz
        values[begin:end], indices[begin:end] = X.data, X.indices
        starts[self.n + 1 : self.n + 1 + X.shape[0]] = X.indptr[1:] + self._index.type(begin)
        return values[begin:end]

    def dataset(self, name: str) -> Dataset:
        X = self._X if self._X is not None else self._room()
        if self._is_sparse:
            shape = (self.n, self._description.features)
            X = sp.csr_matrix(X, shape, copy=False)
        known = {key: parts for key, parts in self._sides.items() if parts}
        metadata: dict[str, Any] = {key: np.concatenate(parts) for key, parts in known.items()}
        return Dataset(
            X,
            feature_names=self._description.feature_names,
            index_base=self._description.index_base,
            source=name,
            **metadata,
        )
