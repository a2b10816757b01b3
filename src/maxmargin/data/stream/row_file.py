"""Rows put aside on disk in pieces, and read again in any order: groups of rows that a pass sorts.

A piece is rows that were written together; a group is a list of pieces. Dense pieces are their
values; CSR pieces the lengths of their rows, then the indices, then the values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Piece:
    """Where some rows lie in the file."""

    offset: int
    rows: int
    entries: int


@dataclass(frozen=True)
class RowForm:
    """What all rows of a file have in common."""

    d: int
    dtype: np.dtype
    sparse: bool

    @property
    def index_dtype(self) -> type:
        return np.int32 if self.d < 2**31 else np.int64

    def as_rows(self, X: Any) -> Any:
        """X in this form."""
        if not self.sparse:
            return np.ascontiguousarray(X, dtype=self.dtype)
        return sp.csr_matrix(X, dtype=self.dtype)


class RowFile:
    """A file of pieces. One thread appends; afterwards any number of threads read."""

    def __init__(self, path: str | os.PathLike[str], form: RowForm) -> None:
        self.path, self.form = path, form
        self._out: IO[bytes] | None = open(path, "wb")  # noqa: SIM115  (`finish` closes it)

    def append(self, X: Any) -> Piece:
        """Writes rows; what it returns finds them again."""
        assert self._out is not None
        X = self.form.as_rows(X)
        offset = self._out.tell()
        if not self.form.sparse:
            self._out.write(X.data)
            return Piece(offset, X.shape[0], X.size)
        self._out.write(np.diff(X.indptr).astype(np.int64))
        self._out.write(X.indices.astype(self.form.index_dtype, copy=False))
        self._out.write(X.data)
        return Piece(offset, X.shape[0], X.nnz)

    def finish(self) -> None:
        """Everything is written."""
        if self._out is not None:
            self._out.close()
            self._out = None

    def read(self, pieces: Sequence[Piece]) -> Any:
        """The rows of some pieces, in this order."""
        self.finish()
        with open(self.path, "rb") as file:
            found = [self._read_piece(file, piece) for piece in pieces]
        if len(found) == 1:
            return found[0]
        return sp.vstack(found, format="csr") if self.form.sparse else np.concatenate(found)

    def _read_piece(self, file: IO[bytes], piece: Piece) -> Any:
        form = self.form
        file.seek(piece.offset)
        if not form.sparse:
            values = np.fromfile(file, form.dtype, piece.entries)
            return values.reshape(piece.rows, form.d)
        starts = np.zeros(piece.rows + 1, dtype=np.int64)
        np.cumsum(np.fromfile(file, np.int64, piece.rows), out=starts[1:])
        indices: np.ndarray = np.fromfile(file, form.index_dtype, piece.entries)
        values = np.fromfile(file, form.dtype, piece.entries)
        return sp.csr_matrix((values, indices, starts), shape=(piece.rows, form.d))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
        os.unlink(self.path)


class Sorting:
    """Sends rows to groups of a file. Few rows of a group wait in memory for more to come."""

    def __init__(self, file: RowFile, groups: int, most_bytes: int) -> None:
        self.file, self.most_bytes = file, most_bytes
        self.pieces: list[list[Piece]] = [[] for _ in range(groups)]
        self._numbers: list[list[np.ndarray]] = [[] for _ in range(groups)]
        self._waiting: list[list[Any]] = [[] for _ in range(groups)]
        self._bytes = 0

    def add(self, X: Any, first: int, group: np.ndarray) -> None:
        """Row i of X, which is row ``first + i`` of all, goes to ``group[i]``."""
        order = np.argsort(group, kind="stable")
        used, begins = np.unique(group[order], return_index=True)
        for g, rows in zip(used.tolist(), np.split(order, begins[1:])):
            some = X[rows]
            self._waiting[g].append(some)
            self._numbers[g].append(first + rows)
            self._bytes += bytes_of(some)
        if self._bytes > self.most_bytes:
            self.flush()

    def flush(self) -> None:
        """Writes what waits."""
        for g, waiting in enumerate(self._waiting):
            if waiting:
                sparse = self.file.form.sparse
                together = sp.vstack(waiting, format="csr") if sparse else np.concatenate(waiting)
                self.pieces[g].append(self.file.append(together))
                self._waiting[g] = []
        self._bytes = 0

    def group(self, g: int) -> tuple[Any, np.ndarray]:
        """The rows of a group, once all are there, and their numbers."""
        return self.file.read(self.pieces[g]), np.concatenate(self._numbers[g])


def bytes_of(X: Any) -> int:
    """What rows take in memory."""
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes
