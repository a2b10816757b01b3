"""Text read block by block: svmlight rows, and strings in FASTA files.

Text is cut into pieces where a row ends; one thread reads (and unpacks) pieces, another parses
them. A quick scan when a source is opened tells how many rows there are and how wide they are.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.errors import DataError, other_rows
from maxmargin.data.formats.pieces import ENTRY_END, LINE_END, pieces
from maxmargin.data.stream.blocks import BLOCK_BYTES, Block, Strings
from maxmargin.data.stream.fingerprints import WatchedFile
from maxmargin.data.stream.reading_ahead import read_ahead


class TextSource(ABC):
    """What text files have in common."""

    feature_names: list[str] | None = None
    index_base: int | None = None

    def __init__(
        self, path: str | os.PathLike[str], ends: bytes, threads: int | None, block_bytes: int
    ) -> None:
        self._file = WatchedFile(path)
        self._ends, self._block_bytes = ends, block_bytes
        self._threads = threads or granted_cpus()
        self._lines: list[int] = []  # line ends in each piece
        self.n = 0
        self.largest_block = 0

    @property
    def name(self) -> str:
        return self._file.path

    @property
    def fingerprint(self) -> str:
        return self._file.fingerprint

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def _pieces(self) -> Generator[np.ndarray, None, None]:
        return read_ahead(pieces(self.name, self._ends, self._block_bytes))

    def _check_some(self) -> None:
        if self.n == 0:
            raise DataError(f"{self.name}: found no rows; expected at least one")

    def blocks(self) -> Iterator[Block]:
        self.check_unchanged()
        rows = 0
        for block in read_ahead(self._parsed()):
            rows += block.n
            if rows > self.n:
                raise other_rows(self.name, rows, self.n)
            yield block
        self.check_unchanged()
        if rows != self.n:
            raise other_rows(self.name, rows, self.n)

    def _parsed(self) -> Iterator[Block]:
        pool = _core.Pool(self._threads, _core.Stop())
        first = 0
        with closing(self._pieces()) as texts:
            for k, text in enumerate(texts):
                try:
                    block = self._parse(first, text, pool)
                except _core.InvalidInput as error:
                    line, _, message = str(error).partition(": ")
                    line_of_file = sum(self._lines[:k]) + int(line)
                    raise DataError(f"{self.name}:{line_of_file}: {message}") from None
                if block.n:
                    first += block.n
                    yield block

    @abstractmethod
    def _parse(self, first: int, text: np.ndarray, pool: _core.Pool) -> Block:
        """A piece of whole rows as a block; `first` is the number of its first row."""


@dataclass(frozen=True)
class Width:
    """What an svmlight file, or several together, say about their features."""

    least_index: int | None  # None: no feature at all
    index_end: int

    def with_other(self, other: Width) -> Width:
        known = [w.least_index for w in (self, other) if w.least_index is not None]
        return Width(min(known, default=None), max(self.index_end, other.index_end))

    def base(self, zero_based: bool | None) -> int:
        """The number of the first feature: 0 if any index is, unless it is known."""
        return int(self.least_index != 0) if zero_based is None else int(not zero_based)


class SvmlightSource(TextSource):
    """svmlight text, block by block. `set_features` must be called before the first pass."""

    kind = "csr"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: np.dtype,
        threads: int | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(path, LINE_END, threads, block_bytes)
        self._read = (
            _core.read_svmlight_float32 if dtype == np.float32 else _core.read_svmlight_float64
        )
        self._has_qid: bool | None = None
        self.d = self.scanned_entries = 0
        self.width = self._scan(np.dtype(dtype).itemsize)
        self._check_some()

    def _scan(self, value_bytes: int) -> Width:
        pool = _core.Pool(self._threads, _core.Stop())
        width = Width(None, 0)
        with closing(self._pieces()) as texts:
            for text in texts:
                rows, entries, lines, least, index_end = _core.scan_svmlight(text, pool)
                self.n += rows
                self.scanned_entries += entries
                self._lines.append(lines)
                width = width.with_other(Width(least, index_end))
                size = entries * (value_bytes + 4) + 20 * rows + len(text)
                self.largest_block = max(self.largest_block, size)
        return width

    def set_features(self, base: int, d: int | None) -> None:
        """The number of the first feature, and of all features (None: as the text needs)."""
        self.index_base = base
        self.d = max(self.width.index_end - base, 0) if d is None else d

    def _parse(self, first: int, text: np.ndarray, pool: _core.Pool) -> Block:
        parts = self._read(text, self.index_base, self.d, pool)
        values, indices, starts, d, labels, qid, _ = parts
        if first == 0 and len(labels):
            self._has_qid = qid is not None
        if len(labels) and (qid is not None) != self._has_qid:
            raise _core.InvalidInput(
                f"1: {'found a qid' if qid is not None else 'found no qid'} here, unlike on the "
                "first row; expected one on every row or on none; correct the file"
            )
        X = sp.csr_array((values, indices, starts), shape=(len(labels), d), copy=False)
        X.has_canonical_format = True  # the parser has checked that the indices of a row increase
        return Block(first, X, labels, qid=qid)


LABEL_KINDS: tuple[Any, ...] = (np.int64, np.float64, str)


class FastaSource(TextSource):
    """The strings of a FASTA file, block by block; labels as their header lines say.

    `labelled` None: if the first header has a label, all must.
    """

    kind = "strings"
    d = 0

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        labelled: bool | None = None,
        threads: int | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(path, ENTRY_END, threads, block_bytes)
        self._labelled = labelled
        self._label_kind = 0  # the first of LABEL_KINDS that fits all
        self._scanned = False
        for block in self._parsed():
            self.n += block.n
            size = block.X.letters.nbytes + 16 * block.n  # type: ignore[union-attr]
            self.largest_block = max(self.largest_block, size)
        self._scanned = True
        self._check_some()

    def _parse(self, first: int, text: np.ndarray, pool: _core.Pool) -> Block:
        if self._labelled is None:
            self._labelled = _core.has_fasta_label(text)
        if not self._scanned:
            self._lines.append(int(np.count_nonzero(text == ord("\n"))))
        letters, starts, labels, label_starts = _core.read_fasta(text, self._labelled)
        y = self._labels(labels, label_starts) if self._labelled else None
        return Block(first, Strings(letters, starts), y)

    def _labels(self, letters: np.ndarray, starts: np.ndarray) -> np.ndarray:
        words, bounds = bytes(letters), starts.tolist()
        texts = [words[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)]
        while True:
            try:
                return np.array(texts).astype(LABEL_KINDS[self._label_kind])
            except ValueError:
                self._label_kind += 1  # found in the scan, so passes agree
            except OverflowError:  # more digits than float64 tells apart, either
                self._label_kind = LABEL_KINDS.index(str)
