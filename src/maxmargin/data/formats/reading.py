"""`open`: one door to every format, which looks at the content, not at the name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats import svmlight
from maxmargin.data.formats.columns import Column, Wanted
from maxmargin.data.formats.content import Content, Source
from maxmargin.data.formats.content import read as read_content
from maxmargin.data.formats.detect import (
    delimiter_of,
    first_lines,
    named_as_csv,
    refuse_others,
)
from maxmargin.data.formats.queries import with_queries

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import Options, TableEncoding

FORMATS = ("svmlight", "csv", "parquet", "arrow")


def open(
    source: Source,
    *,
    format: str | None = None,
    dtype: str | np.dtype | type = "float32",
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    target: Column | Literal[False] | None = None,
    qid: Column | None = None,
    weight: Column | None = None,
    drop: Sequence[str] = (),
    encode: Literal["auto"] | Options | TableEncoding | None = None,
    threads: int | None = None,
    watch: Callable[[str, float], object] | None = None,
) -> Dataset:
    """Read a data file: svmlight/LIBSVM text, CSV, Parquet or Arrow, compressed or not.

    Format and compression (gzip, bzip2, xz, zstd) are recognised by content, whatever the name.

    Parameters
    ----------
    source : path, ``"-"`` or binary file
        ``"-"`` is standard input.
    format : {"svmlight", "csv", "parquet", "arrow"}, optional
        Take the content for this format instead of looking.
    dtype : {"float32", "float64"}
        Type of the values of X.
    zero_based : bool or "auto"
        svmlight only: whether the first feature is number 0. "auto": it is if any index is 0.
    n_features : int, optional
        Columns X must have. svmlight text may name fewer; otherwise the largest index decides.
    target : str, int or False, optional
        Tables only: the column of labels, by name or by position (0 the first, -1 the last);
        False if there is none. By default the column named label, target, y, class or response (in
        any case); in CSV without a line of names the only column that begins with a word, or else
        the first. Other tables must be told.
    qid, weight : str or int, optional
        Tables only: the columns of query numbers and of row weights. By default those named ``qid``
        and ``sample_weight``, if there are such. Queries may also be told by a file beside this one
        with a number of rows a line, ``FILE.query`` or ``FILE.group``.
    drop : list of str
        Tables only: columns that are not looked at.
    encode : "auto", optional
        Tables only: columns may hold anything, and become numbers as `TableEncoder` does it; the
        result has the `encoder`. A `TableEncoding` encodes as other rows were. By default all
        features must be numbers.
    threads : int, optional
        By default all CPUs this process may use. The result does not depend on it.
    watch : callable, optional
        Tables whose columns are encoded: called with what is done, "reading" or "encoding", and
        the share of that work that is done.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        With the file, the line, what was found, what was expected and what to do.

    Examples
    --------
    >>> import io
    >>> rows = open(io.BytesIO(b"+1 1:0.5 3:2  # a comment\\n-1 2:1\\n"))
    >>> rows.X.toarray().tolist(), rows.y.tolist(), rows.index_base
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0], 1)
    """
    number = float_type(dtype)
    _check_options(format, zero_based, n_features, threads)
    threads = threads or granted_cpus()

    content = read_content(source)
    if not content.size:
        raise DataError(f"{content.name}: is empty; expected at least one row of data")
    kind = format or detect_format(content)
    if kind == "fasta":
        raise DataError(
            f"{content.name}: is FASTA, whose rows are strings; expected rows of numbers; train on "
            "it with a feature map (features=...)"
        )
    if kind == "svmlight":
        refuse(content.name, kind, target=target, qid=qid, weight=weight, drop=drop or None)
        dataset = svmlight.read(
            content,
            dtype=number,
            zero_based=None if zero_based == "auto" else bool(zero_based),
            n_features=n_features,
            pool=_core.Pool(threads, _core.Stop()),
        )
        if not dataset.X.shape[0]:
            raise DataError(f"{content.name}: found no rows; expected at least one")
        return with_queries(dataset, source)

    refuse(content.name, kind, zero_based=None if zero_based == "auto" else zero_based)
    wanted = Wanted(target, qid, weight, tuple(drop))
    dataset = _read_table(content, kind, wanted, encode, number, threads, watch)
    if encode is None and n_features is not None and dataset.X.shape[1] != n_features:
        raise DataError(
            f"{content.name}: found {dataset.X.shape[1]} feature columns; expected {n_features}; "
            "check which columns are target, qid and weight"
        )
    return with_queries(dataset, source)


def _check_options(
    format: str | None, zero_based: object, n_features: int | None, threads: int | None
) -> None:
    """Refuses values that mean nothing."""
    if format is not None and format not in FORMATS:
        raise DataError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
    if zero_based not in (True, False, "auto"):
        raise DataError(f"zero_based is {zero_based!r}; expected True, False or 'auto'")
    if n_features is not None and n_features < 1:
        raise DataError(f"n_features is {n_features}; expected at least 1")
    if threads is not None and threads < 1:
        raise DataError(f"threads is {threads}; expected at least 1")


def _read_table(
    content: Content,
    kind: str,
    wanted: Wanted,
    encode: Literal["auto"] | Options | TableEncoding | None,
    dtype: np.dtype,
    threads: int,
    watch: Callable[[str, float], object] | None,
) -> Dataset:
    """A table with named columns: as it is, or encoded."""
    from maxmargin.data.formats import (
        csv_text,
        tables,  # they need pyarrow, which is slow to import
    )

    if encode is not None and not is_store(content, kind):
        from maxmargin.data.encoding.reading import read_encoded

        return read_encoded(content, kind, wanted, encode, threads, dtype.name, watch)
    if kind == "csv":
        return csv_text.read_csv(content, wanted, dtype=dtype, threads=threads)
    if kind == "parquet":
        return tables.read_parquet(content, wanted, dtype=dtype, threads=threads)
    return _read_arrow(content, wanted, dtype=dtype)


def is_store(content: Content, kind: str) -> bool:
    """Whether an Arrow file is a row store, rather than a table."""
    if kind != "arrow":
        return False
    from maxmargin.data.store import store

    return store.is_store(content)


def _read_arrow(content: Content, wanted: Wanted, dtype: np.dtype) -> Dataset:
    from maxmargin.data.formats import tables
    from maxmargin.data.store import store

    if not store.is_store(content):
        return tables.read_arrow(content, wanted, dtype=dtype)
    options: dict[str, Any] = {"target": wanted.target, "qid": wanted.qid, "weight": wanted.weight}
    options["drop"] = wanted.drop or None
    refuse(content.name, "a row store", **options)
    return store.read_store(content, dtype=dtype)


# "label index:value", where the label may be anything: the parser says what is wrong with it.
_SVMLIGHT_LINE = re.compile(r"\s*[^\s:]+\s+(qid|\d+):[^\s:,;]*(\s|$)")
_ENTRY_LIKE = re.compile(r"\s*\S+\s+[^\s:]+:\S*(\s|$)")


def detect_format(content: Content) -> str:
    """The format of some bytes."""
    first = content.head[:8].tobytes()
    if first.startswith(b"PAR1"):
        return "parquet"
    if first.startswith(b"ARROW1"):
        return "arrow"
    refuse_others(content)
    fasta = [line for line in first_lines(content, 100) if not line.startswith(";")]
    if fasta and fasta[0].startswith(">"):
        return "fasta"
    lines = [line for line in first_lines(content, 100) if not line.lstrip().startswith("#")]
    for line in lines:
        if _SVMLIGHT_LINE.match(line):
            return "svmlight"
        if delimiter_of(line) is not None:
            return "csv"
        if _ENTRY_LIKE.match(line):
            return "svmlight"
    if all(len(line.split("#")[0].split()) == 1 for line in lines):
        # One column; or rows with a label and no features, or a fault the parser explains.
        return "csv" if named_as_csv(content.name) else "svmlight"
    raise DataError(
        f"{content.name}: found {lines[0][:60]!r} on the first line; expected svmlight text (label "
        "index:value ...), CSV (fields parted by a comma, semicolon, tab or bar), Parquet, Arrow "
        "or FASTA; if it is one of these, say which (format=...)"
    )


def float_type(dtype: str | np.dtype | type) -> np.dtype:
    """float32 or float64, however it is spelled."""
    try:
        number = np.dtype(dtype)
    except TypeError:
        number = None
    if number not in (np.float32, np.float64):
        raise DataError(f"dtype is {dtype!r}; expected float32 or float64")
    return number


def refuse(name: str, kind: str, **options: object) -> None:
    """Options that mean nothing for a format are refused rather than ignored."""
    for option, value in options.items():
        if value is not None:
            raise DataError(
                f"{name}: {option}={value!r} was given, but the file is {kind}, which has "
                "no use for it; leave it out, or say the right format (format=...)"
            )
