"""`open_source`: one door to rows that are read block by block, again and again."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import Column, Wanted
from maxmargin.data.formats.compression import Unpacked
from maxmargin.data.formats.content import HEAD, Content, ends_lines_in_cr, utf16_of
from maxmargin.data.formats.queries import add_queries
from maxmargin.data.formats.reading import detect_format, float_type, refuse
from maxmargin.data.stream.array_source import _of_dataset
from maxmargin.data.stream.blocks import BLOCK_BYTES, BlockSource
from maxmargin.data.stream.fingerprints import as_bytes
from maxmargin.data.stream.joined_source import JoinedSource, LabelledSource
from maxmargin.data.stream.text_sources import FastaSource, SvmlightSource, Width

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import Options, TableEncoding

SOURCE_FORMATS = ("svmlight", "csv", "parquet", "arrow", "fasta")

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


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
    drop: Sequence[str] = (),
    encode: Literal["auto"] | Options | TableEncoding | None = None,
    mapped: bool = False,
    threads: int | None = None,
    block_bytes: int = BLOCK_BYTES,
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
        As of `open`. FASTA has labels if its first header has one; ``target=False`` leaves them
        alone.
    text : str, optional
        Tables only: the rows are the strings of this column.
    drop, encode
        As of `open`: three passes find out how to encode the columns. A `TableEncoding` is used as
        it is.
    mapped : bool
        Row stores only: map the file into memory, so that blocks are views of the file itself. Such
        a file must not be cut short or written to while it is in use.
    threads : int, optional
        For parsing text. By default all CPUs this process may use.
    block_bytes : int
        Of a block, about: of text, or of numbers in a table. A row store has blocks of its own.

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
    paths = _files(source)
    wanted = Wanted(target, qid, weight, tuple(drop))
    if block_bytes < 1:
        raise DataError(f"block_bytes is {block_bytes}; expected at least 1")
    options = {"target": target, "qid": qid, "weight": weight, "text": text, "drop": drop or None}
    base = None if zero_based == "auto" else zero_based

    def opened(path: str) -> Any:
        kind = format or _detect_format(path)
        if kind in ("svmlight", "fasta"):
            refuse(path, kind, **(options if kind == "svmlight" else {**options, "target": None}))
            refuse(path, kind, mapped=mapped or None)
            if kind == "svmlight":
                return SvmlightSource(path, dtype=number, threads=threads, block_bytes=block_bytes)
            refuse(path, kind, zero_based=base, n_features=n_features)
            labelled = None if target is None else bool(target)
            return FastaSource(path, labelled=labelled, threads=threads, block_bytes=block_bytes)
        refuse(path, kind, zero_based=base)
        encoding = None if text else encode
        return _table(path, kind, wanted, number, text, mapped, encoding, block_bytes)

    sources = [opened(path) for path in paths]
    _agree_on_columns(sources, base, n_features)
    add_queries(paths, sources)
    joined = sources[0] if len(sources) == 1 else JoinedSource(sources)
    if n_features is not None and joined.d != n_features:
        raise DataError(
            f"{joined.name}: found {joined.d} features; expected {n_features}; check which columns "
            "are target, qid and weight"
        )
    return joined


def open_two_classes(positive: Paths, negative: Paths, **options: Any) -> BlockSource:
    """Rows of two files, or two lists of them, labelled +1 and -1 by where they are.

    Parameters
    ----------
    positive, negative : path, glob or list of them
        FASTA, or tables without labels.
    **options
        As of `open_source`.
    """
    options["target"] = False
    sources = [open_source(paths, **options) for paths in (positive, negative)]
    return JoinedSource([LabelledSource(source, y) for source, y in zip(sources, (1, -1))])


def _table(
    path: str,
    kind: str,
    wanted: Wanted,
    dtype: np.dtype,
    text: str | None,
    mapped: bool,
    encode: Any,
    block_bytes: int,
) -> BlockSource:
    if kind == "arrow":
        from maxmargin.data.store import store  # it needs pyarrow, which is slow to import

        if store.is_store(path):
            options = {"target": wanted.target, "qid": wanted.qid, "weight": wanted.weight}
            refuse(path, "a row store", **options, drop=wanted.drop or None, text=text)
            return store.StoreSource(path, mapped=mapped)
    from maxmargin.data.stream import csv_source, table_sources  # they need all of pyarrow

    refuse(path, kind, mapped=mapped or None)
    makers: dict[str, Any] = {
        "csv": csv_source.CsvSource,
        "parquet": table_sources.ParquetSource,
        "arrow": table_sources.ArrowSource,
    }
    if encode is None:
        return makers[kind](path, wanted, dtype=dtype, text=text, block_bytes=block_bytes)
    from maxmargin.data.encoding.source import open_encoded

    return open_encoded(makers[kind], path, wanted, encode, dtype, block_bytes)


def _agree_on_columns(sources: list[Any], zero_based: bool | None, n_features: int | None) -> None:
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
        source.set_features(base, d)


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


def _detect_format(path: str) -> str:
    with Unpacked(path) as stream:
        head = Content(path, as_bytes(stream.read(HEAD)))
    if not head.size:
        raise DataError(f"{path}: is empty; expected at least one row of data")
    if utf16_of(head) is not None:
        raise DataError(
            f"{path}: is text in UTF-16; expected UTF-8 where rows stay on disk; convert it "
            "(iconv -f UTF-16 -t UTF-8), or read it into memory"
        )
    if ends_lines_in_cr(head):
        raise DataError(
            f"{path}: ends its lines in a carriage return; expected line feeds where rows stay on "
            "disk; convert it (tr '\\r' '\\n'), or read it into memory"
        )
    return detect_format(head)
