"""`open_source`: one door to rows that are read block by block, again and again."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import SMALL_INTEGERS, number_types, summed
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import Column, Wanted
from maxmargin.data.formats.compression import Unpacked
from maxmargin.data.formats.content import HEAD, Content
from maxmargin.data.formats.reading import float_type, recognise, refuse
from maxmargin.data.sparse import checked_csr
from maxmargin.data.stream.blocks import BLOCK_BYTES, Block, BlockSource, Strings
from maxmargin.data.stream.fingerprints import as_bytes, joint_fingerprint
from maxmargin.data.stream.text_sources import FastaSource, SvmlightSource, Width

SOURCE_FORMATS = ("svmlight", "csv", "parquet", "arrow", "fasta")

Paths = str | os.PathLike | Sequence[str | os.PathLike]


def open_source(
    source: Paths | Dataset | BlockSource,
    *,
    format: str | None = None,
    dtype: str | np.dtype | type = "float32",
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    target: Column | Literal[False] | None = None,
    qid: Column | None = None,
    weight: Column | None = None,
    text: str | None = None,
    mapped: bool = False,
    threads: int | None = None,
) -> BlockSource:
    """Rows of one or more files, read block by block: no file is ever in memory as a whole.

    Reads a row store, svmlight text, CSV, Parquet, Arrow tables and FASTA; text also if it is
    compressed (gzip, bzip2, xz, zstd). Format and compression are recognised by content.

    Parameters
    ----------
    source : path, glob, list of them, Dataset or BlockSource
        The files of a glob are taken in sorted order, those of a list as listed. A `Dataset` is
        used where it lies.
    format : {"svmlight", "csv", "parquet", "arrow", "fasta"}, optional
        Take the content for this format instead of looking.
    dtype : {"float32", "float64"}
        Type of the values of X; a row store has its own.
    zero_based, n_features, target, qid, weight
        As of `open`. ``target=False`` is also for FASTA without labels.
    text : str, optional
        Tables only: the rows are the strings of this column.
    mapped : bool
        Row stores only: map the file into memory, so that blocks are views of the file itself. Such
        a file must not be cut short or written to while it is in use.
    threads : int, optional
        For parsing text. By default all CPUs this process may use.

    Returns
    -------
    BlockSource

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> source = open_source(path)
    >>> source.n, source.d, source.kind
    (2, 3, 'csr')
    >>> [block.X.toarray().tolist() for block in source.blocks()]
    [[[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]]
    """
    if isinstance(source, Dataset):
        return _of_dataset(source)
    if hasattr(source, "blocks"):
        return cast(BlockSource, source)
    number = float_type(dtype)
    if format is not None and format not in SOURCE_FORMATS:
        raise DataError(f"format is {format!r}; expected one of {', '.join(SOURCE_FORMATS)}")
    paths = _files(cast(Paths, source))
    wanted = Wanted(target, qid, weight)
    options = {"target": target, "qid": qid, "weight": weight, "text": text}
    base = None if zero_based == "auto" else zero_based

    def opened(path: str) -> Any:
        kind = format or _recognise(path)
        if kind in ("svmlight", "fasta"):
            refuse(path, kind, **(options if kind == "svmlight" else {**options, "target": None}))
            refuse(path, kind, mapped=mapped or None)
            if kind == "svmlight":
                return SvmlightSource(path, dtype=number, threads=threads)
            refuse(path, kind, zero_based=base, n_features=n_features)
            return FastaSource(path, labelled=target is not False, threads=threads)
        refuse(path, kind, zero_based=base)
        return _table(path, kind, wanted, number, text, mapped)

    sources = [opened(path) for path in paths]
    _settle_widths(sources, base, n_features)
    joined = sources[0] if len(sources) == 1 else JoinedSource(sources)
    if n_features is not None and joined.d != n_features:
        raise DataError(
            f"{joined.name}: found {joined.d} features; expected {n_features}; check which columns "
            "are target, qid and weight"
        )
    return joined


def _table(
    path: str, kind: str, wanted: Wanted, dtype: np.dtype, text: str | None, mapped: bool
) -> BlockSource:
    if kind == "arrow":
        from maxmargin.data.store import store  # it needs pyarrow, which is slow to import

        if store.is_store(path):
            options = {"target": wanted.target, "qid": wanted.qid, "weight": wanted.weight}
            refuse(path, "a row store", **options, text=text)
            return store.StoreSource(path, mapped=mapped)
    from maxmargin.data.stream import table_sources  # it needs all of pyarrow

    refuse(path, kind, mapped=mapped or None)
    makers: dict[str, Any] = {
        "csv": table_sources.CsvSource,
        "parquet": table_sources.ParquetSource,
        "arrow": table_sources.ArrowSource,
    }
    return makers[kind](path, wanted, dtype=dtype, text=text)


def _settle_widths(sources: list[Any], zero_based: bool | None, n_features: int | None) -> None:
    """svmlight files of one source number their features alike and are as wide as the widest."""
    texts = [source for source in sources if isinstance(source, SvmlightSource)]
    width = Width(None, 0)
    for source in texts:
        width = width.with_other(source.width)
    base = width.base(zero_based)
    d = n_features
    if d is None:
        others = [source.d for source in sources if not isinstance(source, SvmlightSource)]
        d = max([width.index_end - base, *others, 0])
    for source in texts:
        source.settle(base, d)


def _files(source: Paths) -> list[str]:
    """The files meant, in order."""
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    paths: list[str] = []
    for item in source:
        path = os.fspath(item)
        if path == "-":
            raise DataError(
                "standard input can be read once only; expected files, which are read again and "
                "again; write the data to a file first"
            )
        found = [path]
        if not os.path.exists(path) and glob.has_magic(path):
            found = sorted(glob.glob(path))
        if not found:
            raise DataError(f"{path}: no file has a name like this; expected at least one")
        for file in found:
            if not os.path.isfile(file):
                what = "is a folder" if os.path.isdir(file) else "there is no such file"
                raise DataError(f"{file}: {what}; expected a file, a glob or a list of files")
        paths += found
    if not paths:
        raise DataError("found an empty list of files; expected at least one")
    return paths


def _recognise(path: str) -> str:
    with Unpacked(path) as stream:
        head = Content(path, as_bytes(stream.read(HEAD)))
    if not head.size:
        raise DataError(f"{path}: is empty; expected at least one row of data")
    return recognise(head)


class ArraySource:
    """Rows in memory, handed out in blocks that are views of them.

    Parameters
    ----------
    X : ndarray, scipy CSR matrix, Strings or list of str
    y : array, optional
    weight, qid : arrays, optional
    """

    name = "memory"
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
                raise DataError(f"{what} has shape {values.shape}; expected ({self.n},), one a row")
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
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, str) for row in X):
        rows = [row.encode() for row in X]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return Strings(as_bytes(b"".join(rows)), starts)
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"X has shape {X.shape}; expected rows and columns")
    return X if X.dtype in number_types(X) else X.astype(np.float64)


def _slice(X: Any, begin: int, end: int) -> Any:
    if isinstance(X, Strings):
        first, last = X.starts[begin], X.starts[end]
        return Strings(X.letters[first:last], X.starts[begin : end + 1] - first)
    if not sp.issparse(X):
        part = X[begin:end]
        return part.astype(np.float32) if part.dtype in SMALL_INTEGERS else part
    first, last = X.indptr[begin], X.indptr[end]
    parts = (X.data[first:last], X.indices[first:last], X.indptr[begin : end + 1] - first)
    return sp.csr_array(parts, shape=(end - begin, X.shape[1]), copy=False)


def _arrays(block: Block) -> list[np.ndarray]:
    X: Any = block.X
    if isinstance(X, Strings):
        parts = [X.letters, X.starts]
    else:
        parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    return [*parts, *(part for part in (block.y, block.weight, block.qid) if part is not None)]


class JoinedSource:
    """Several sources, one after the other."""

    def __init__(self, sources: list[BlockSource]) -> None:
        self._sources = sources
        first = sources[0]
        for other in sources[1:]:
            same = other.kind == first.kind and other.feature_names == first.feature_names
            if not same or (first.kind == "dense" and other.d != first.d):
                raise DataError(
                    f"{other.name}: holds {_shape(other)}; expected {_shape(first)}, as "
                    f"{first.name}; the files of one source must have the same columns"
                )
        self.name = f"{first.name} and {len(sources) - 1} more"
        self.kind, self.feature_names = first.kind, first.feature_names
        self.index_base = first.index_base
        self.n = sum(source.n for source in sources)
        self.d = max(source.d for source in sources)
        self.largest_block = max(source.largest_block for source in sources)

    @cached_property
    def fingerprint(self) -> str:
        return joint_fingerprint([source.fingerprint for source in self._sources])

    def check_unchanged(self) -> None:
        for source in self._sources:
            source.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        first = 0
        for source in self._sources:
            for block in source.blocks():
                yield Block(first + block.first, self._wide(block.X), *_rest(block))
            first += source.n

    def _wide(self, X: Any) -> Any:
        if self.kind != "csr" or X.shape[1] == self.d:
            return X
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.d), copy=False)


def _rest(block: Block) -> tuple[Any, Any, Any]:
    return block.y, block.weight, block.qid


def _shape(source: BlockSource) -> str:
    if source.kind == "strings":
        return "strings"
    names = source.feature_names
    called = "" if names is None else f" ({', '.join(names[:5])}{', ...' * (len(names) > 5)})"
    return f"{source.kind} rows of {source.d} features{called}"
