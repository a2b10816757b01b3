"""What a column adds to encoded rows, and how columns are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Entries:
    """Entries of the features of one column, by row, feature (from 0) and value.

    `words` marks the rows whose value was not of the column's kind, and so counts as missing.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    words: np.ndarray | None = None


def bytes_of(X: Any) -> int:
    """What rows take in memory."""
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(array.nbytes for array in arrays)


def rows_of(parts: list[Entries], widths: list[int], n: int, sparse: bool, dtype: np.dtype) -> Any:
    """Features side by side: a CSR matrix, or an array."""
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    if not sparse:
        X = np.zeros((n, int(starts[-1])), dtype)
        for part, start in zip(parts, starts):
            X[part.rows, start + part.columns] = part.values
        return X
    empty = np.zeros(0)
    rows = np.concatenate([empty, *(part.rows for part in parts)]).astype(np.int32)
    columns = [start + part.columns for part, start in zip(parts, starts)]
    values = np.concatenate([empty, *(part.values for part in parts)]).astype(dtype)
    where = (rows, np.concatenate([empty, *columns]).astype(np.int32))
    X = sp.coo_matrix((values, where), shape=(n, int(starts[-1]))).tocsr()
    X.sort_indices()
    return X
