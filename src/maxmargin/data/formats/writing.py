"""`save`: a data set to svmlight text, CSV, Parquet or a row store, packed as the name says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO

from maxmargin import _core
from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats import svmlight
from maxmargin.data.formats.compression import COMPRESSIONS, Compression
from maxmargin.data.stream.sources import open_source

_SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".txt": "svmlight",
    ".dat": "svmlight",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
}


def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    zero_based: bool = False,
    threads: int | None = None,
    watch: Callable[[int], object] = lambda rows: None,
) -> None:
    """Write a data set; the file appears whole or not at all.

    Parameters
    ----------
    dataset : Dataset
    path : path or ``"-"``
        Its ending names the format (``.svm .svmlight .libsvm .txt .dat``, ``.csv``, ``.parquet
        .pq``, ``.arrow``), and after it the compression, if any (``.gz .bz2 .xz .zst``). ``"-"`` is
        standard output.
    format : {"svmlight", "csv", "parquet", "arrow"}, optional
        The format, whatever the ending.
    zero_based : bool
        svmlight only: number the first feature 0 instead of 1. A reader may not be able to tell, so
        it must be told.
    threads : int, optional
        By default all CPUs this process may use.
    watch : callable
        Called with the number of rows written so far.

    Notes
    -----
    svmlight text holds neither feature names (they are left out) nor weights nor labels that are
    not numbers (both are refused). Tables hold labels as ``label``, query numbers as ``qid`` and
    weights as ``sample_weight``; `open` knows these names. Arrow means a row store: see
    `write_store`, which also writes what does not fit in memory.
    """
    kind, compression = _format_of(path, format)
    if kind != "svmlight" and zero_based:
        raise DataError(f"zero_based=True was given, but {kind} has no index base; leave it out")
    if kind == "arrow":
        _save_store(dataset, path, compression)
        watch(dataset.X.shape[0])
        return
    with _target(path) as raw, _packed(raw, compression) as file:
        if kind == "svmlight":
            pool = _core.Pool(threads or granted_cpus(), _core.Stop())
            svmlight.write(dataset, file, zero_based=zero_based, pool=pool, watch=watch)
        else:
            from maxmargin.data.formats import (
                table_writing,  # it needs pyarrow, which is slow to import
            )

            write_table = table_writing.write_csv if kind == "csv" else table_writing.write_parquet
            write_table(dataset, file, watch)


def _save_store(
    dataset: Dataset, path: str | os.PathLike[str], compression: Compression | None
) -> None:
    from maxmargin.data.store.writing import write_store  # it needs pyarrow

    if compression is not None or path == "-":
        raise DataError(
            f"{os.fspath(path)}: a row store is a file of its own, which packs its blocks; "
            "expected a name that ends in .arrow (write_store(..., compression=...))"
        )
    write_store(open_source(dataset), path)


def _format_of(path: str | os.PathLike[str], format: str | None) -> tuple[str, Compression | None]:
    known = sorted(set(_SUFFIXES.values()))
    if format is not None and format not in known:
        raise DataError(f"format is {format!r}; expected one of {', '.join(known)}")
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    compression = next((c for c in COMPRESSIONS if suffixes[-1:] == [c.suffix]), None)
    if compression is not None:
        suffixes.pop()
    kind = format or _SUFFIXES.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise DataError(
            f"{os.fspath(path)}: the name does not tell the format; expected one that ends in "
            f"{' '.join(_SUFFIXES)}; rename it or say the format (format=...)"
        )
    return kind, compression


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with write_atomically(path) as file:
            yield file


@contextmanager
def _packed(raw: IO[bytes], compression: Compression | None) -> Iterator[IO[bytes]]:
    if compression is None:
        yield raw
    else:
        with compression.writer(raw) as file:
            yield file
