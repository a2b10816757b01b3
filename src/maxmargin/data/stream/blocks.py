"""Rows in blocks: the seam between files larger than memory and the methods that read them.

A source hands out its rows as blocks of a few megabytes, in the order of the file, as often as
asked. Whoever trains on it sees blocks only; where they come from (arrays, the row store, text,
several files) is the source's affair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

BLOCK_BYTES = 4 << 20  # of a block, about: many to a budget of memory, few to a pass


@dataclass(frozen=True)
class Strings:
    """Rows that are strings: row i is `letters[starts[i]:starts[i + 1]]`, one byte a letter."""

    letters: np.ndarray  # uint8
    starts: np.ndarray  # int64, one more than rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of strings, and 0: how many features they have is up to a feature map."""
        return len(self.starts) - 1, 0


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a source: X and what is known of each row."""

    first: int  # number of the block's first row in the source
    X: np.ndarray | sp.csr_array | Strings
    y: np.ndarray | None  # float64 targets, or labels as the file has them; None if it has none
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]


class BlockSource(Protocol):
    """Rows that can be read again and again, block by block, in a fixed order.

    `blocks` may be called from a thread of its own and closed early. `check_unchanged` raises
    `DataError` if what lies under the source is no longer what it was when it was opened.
    """

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def d(self) -> int:
        """Number of features (0 for strings)."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, where the file has names."""

    @property
    def index_base(self) -> int | None:
        """The number svmlight text gives to its first feature; None for other files."""

    @property
    def kind(self) -> str:
        """`dense`, `csr` or `strings`."""

    @property
    def fingerprint(self) -> str:
        """A short text that changes when the rows do: a checkpoint remembers it."""

    @property
    def largest_block(self) -> int:
        """Bytes of the largest block in memory."""

    def blocks(self) -> Iterator[Block]:
        """One pass over all rows in order."""

    def check_unchanged(self) -> None:
        """Raise `DataError` if the rows changed since the source was opened."""
