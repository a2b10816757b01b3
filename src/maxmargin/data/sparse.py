"""Sparse matrices from anywhere, made safe to work on.

scipy's own loops trust row starts and columns, and so would ours: a matrix whose arrays were put
together by hand, or come from a file, is checked here before anything else touches it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from maxmargin import _core


def as_csr(X: Any) -> Any:
    """A sparse matrix as CSR, in native, aligned arrays of one index type; without a copy where it
    is so already. Its row starts and columns may still be wrong: see `checked_csr`."""
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}; expected rows and columns")
    if X.format != "csr":
        _check_other(X)
        X = X.tocsr()
    indices, starts = _same_type(X.indices, X.indptr)
    data = aligned(X.data)
    if len(starts) != X.shape[0] + 1:
        raise ValueError(
            f"the CSR matrix has {len(starts)} row starts; expected {X.shape[0] + 1}, one more "
            "than it has rows"
        )
    if data is X.data and indices is X.indices and starts is X.indptr:
        return X
    safe = type(X)(X.shape, dtype=data.dtype)  # whose constructor has nothing to look at yet
    safe.data, safe.indices, safe.indptr = data, indices, starts
    return safe


def checked_csr(X: Any, pool: _core.Pool | None = None) -> Any:
    """`as_csr`, all of whose entries lie inside the matrix; ValueError for any other."""
    X = as_csr(X)
    with contextlib.suppress(_core.Unordered):
        _core.check_csr(X.indices, X.indptr, len(X.data), X.shape[1], pool)
    return X


def rows_between(X: Any, begin: int, end: int) -> Any:
    """Some rows. (Slices of scipy's end the process where memory runs out.)"""
    if not hasattr(X, "indptr"):
        return X[begin:end]
    import scipy.sparse as sp

    first, last = X.indptr[begin], X.indptr[end]
    parts = (X.data[first:last], X.indices[first:last], X.indptr[begin : end + 1] - first)
    return sp.csr_array(parts, shape=(end - begin, X.shape[1]), copy=False)


def aligned(values: np.ndarray) -> np.ndarray:
    """An array whose numbers lie where the processor expects them, in its own byte order."""
    native = values.dtype.newbyteorder("=")
    good = values.flags.aligned and values.flags.c_contiguous and values.dtype == native
    return values if good else np.array(values, dtype=native, order="C")


def _same_type(indices: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    indices, starts = aligned(indices), aligned(starts)
    if indices.dtype == starts.dtype and indices.dtype in (np.int32, np.int64):
        return indices, starts
    return indices.astype(np.int64, casting="same_kind"), starts.astype(
        np.int64, casting="same_kind"
    )


def _check_other(X: Any) -> None:
    """ValueError if the entries of a CSC, BSR or COO matrix lie outside it."""
    if X.format == "coo":
        for size, places in zip(X.shape, (X.row, X.col)):
            if len(places) != len(X.data):
                raise ValueError(
                    f"the COO matrix has {len(places)} places for {len(X.data)} values"
                )
            if len(places) and not (places.min() >= 0 and places.max() < size):
                raise ValueError(
                    f"the COO matrix has an entry outside its shape {X.shape}; expected places "
                    f"from 0 to {size} - 1"
                )
    elif X.format in ("csc", "bsr"):
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        n, d = X.shape[0] // height, X.shape[1] // width
        if X.format == "csc":
            n, d = d, n
        indices, starts = _same_type(X.indices, X.indptr)
        if len(starts) != n + 1:
            raise ValueError(f"the {X.format.upper()} matrix has {len(starts)} starts, not {n + 1}")
        with contextlib.suppress(_core.Unordered):
            _core.check_csr(indices, starts, len(X.data), d)
