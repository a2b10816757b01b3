"""Arrays in memory (or memory-mapped) as a source of blocks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blocks import Block, Strings
from maxmargin.data.errors import DataError

BLOCK_BYTES = 4 << 20


class ArraySource:
    """Rows of a dense array, a CSR matrix or `Strings`, handed out where they lie.

    Parameters
    ----------
    X : ndarray of shape (n, d), CSR matrix, Strings, or sequence of str or bytes
    y : array of n labels
    weight : array of n numbers >= 0, optional
    block_bytes : int
        About how large a block may be.
    """

    def __init__(self, X, y, weight=None, block_bytes: int = BLOCK_BYTES) -> None:
        self._X = X if isinstance(X, Strings) or hasattr(X, "shape") else strings_of(X)
        if isinstance(self._X, np.ndarray) and self._X.dtype.kind in "UOS":
            self._X = strings_of(self._X)
        if sp.issparse(self._X):
            self._X = sp.csr_array(self._X)
        self._y = np.asarray(y)
        self._weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        self.n = self._X.shape[0]
        if len(self._y) != self.n:
            raise DataError(
                f"{self.n} rows and {len(self._y)} labels; expected one label for each row"
            )
        self.d = self._X.shape[1]
        self.kind = kind_of(self._X)
        row_bytes = max(_bytes(self._X) // max(self.n, 1), 1)
        self._step = max(1, block_bytes // row_bytes)
        self.largest_block = max(
            (_bytes(self._part(first)) for first in range(0, self.n, self._step)), default=0
        )

    @property
    def fingerprint(self) -> str:
        """Sizes, and a checksum of all the numbers."""
        parts = [self._X.letters, self._X.starts] if isinstance(self._X, Strings) else []
        if sp.issparse(self._X):
            parts = [self._X.data, self._X.indices, self._X.indptr]
        elif not parts:
            parts = [self._X]
        parts += [self._y if self._y.dtype.kind != "O" else self._y.astype(str)]
        parts += [] if self._weight is None else [self._weight]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).reshape(-1), checksum)
        return f"arrays {self.n} x {self.d} {checksum:08x}"

    def _part(self, first: int):
        end = min(first + self._step, self.n)
        if isinstance(self._X, Strings):
            return Strings(self._X.letters, self._X.starts[first : end + 1])
        return self._X[first:end]

    def blocks(self) -> Iterator[Block]:
        """One pass over all rows in order."""
        for first in range(0, self.n, self._step):
            rows = slice(first, min(first + self._step, self.n))
            weight = None if self._weight is None else self._weight[rows]
            yield Block(first, self._part(first), self._y[rows], weight)

    def check_unchanged(self) -> None:
        """Arrays are the caller's: nothing is checked."""


def strings_of(texts: Sequence[str | bytes]) -> Strings:
    """A sequence of texts as `Strings`, in UTF-8."""
    packed = [text.encode() if isinstance(text, str) else bytes(text) for text in texts]
    starts = np.zeros(len(packed) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in packed], out=starts[1:])
    return Strings(np.frombuffer(b"".join(packed), dtype=np.uint8), starts)


def kind_of(X) -> str:
    """`dense`, `csr` or `strings`."""
    if isinstance(X, Strings):
        return "strings"
    return "csr" if sp.issparse(X) else "dense"


def _bytes(X) -> int:
    if isinstance(X, Strings):
        return int(X.starts[-1] - X.starts[0]) + X.starts.nbytes
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes
