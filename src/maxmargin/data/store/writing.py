"""`write_store`: any source of blocks to a row store, in one pass, or shuffled in two."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.errors import DataError
from maxmargin.data.store.description import Description, Summary
from maxmargin.data.store.layout import batch_of, schema_of
from maxmargin.data.store.rows import LabelCounts, entries_of
from maxmargin.data.store.shuffling import shuffled
from maxmargin.data.stream.blocks import BLOCK_BYTES, Block, BlockSource, Strings
from maxmargin.data.stream.fingerprints import as_bytes

COMPRESSIONS = (None, "lz4", "zstd")


def write_store(
    source: BlockSource,
    path: str | os.PathLike[str],
    *,
    dtype: str | np.dtype | type | None = None,
    compression: str | None = None,
    shuffle: bool = False,
    seed: int = 0,
    block_bytes: int = BLOCK_BYTES,
) -> None:
    """Write all rows of a source to a row store; the file appears whole or not at all.

    No more than a few blocks are in memory at a time; with `shuffle`, a few tens of megabytes more.
    Sparse rows of text that take fewer bytes as dense ones are written so.

    Parameters
    ----------
    source : BlockSource
        From `open_source`, say.
    path : path
    dtype : {"float32", "float64"}, optional
        Type of the values of X; by default the source's.
    compression : {None, "lz4", "zstd"}
        Uncompressed stores can be memory-mapped and need no work to read.
    shuffle, seed : bool, int
        Put the rows into a random order, every order being as likely; temporary files beside the
        target hold the rows once.
    block_bytes : int
        About how large a block is in memory.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from maxmargin import data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.arrow"
    >>> rows = data.ArraySource(np.eye(3, dtype=np.float32), np.array([1.0, -1.0, 1.0]))
    >>> data.write_store(rows, path)
    >>> data.open_source(path).n
    3
    """
    if compression not in COMPRESSIONS:
        raise DataError(f"compression is {compression!r}; expected None, 'lz4' or 'zstd'")
    if block_bytes < 1:
        raise DataError(f"block_bytes is {block_bytes}; expected at least 1")
    dense = _smaller_dense(source)
    description = Description(
        kind="dense" if dense else source.kind,
        features=source.d,
        index_base=source.index_base,
        feature_names=source.feature_names,
        source=source.fingerprint,
        shuffled=seed if shuffle else None,
        compression=compression,
    )
    rows = _as_dense(source.blocks(), block_bytes) if dense else source.blocks()
    with closing(_typed(rows, dtype)) as blocks:
        first = next(blocks, None)
        if first is None:
            raise DataError(f"{source.name}: found no rows; expected at least one")
        schema = schema_of(description, first)
        summary = Summary(description=Description.unpack(source.name, schema).checksum)
        counted = _counted(itertools.chain([first], blocks), summary)
        batches: Iterator[pa.RecordBatch] = (batch_of(schema, block) for block in counted)
        if shuffle:
            folder = os.path.dirname(os.path.realpath(path))
            size = source.largest_block * source.n // max(first.n, 1)
            batches = shuffled(batches, schema, folder=folder, bytes_in_all=size, seed=seed)
        with write_atomically(path) as file:
            _write(evenly(batches, block_bytes), schema, file, summary, compression)
            source.check_unchanged()


def _smaller_dense(source: BlockSource) -> bool:
    """Whether text whose entries are counted has so few zeros that dense rows need fewer bytes: an
    entry of a sparse row takes a number and its place."""
    entries = getattr(source, "scanned_entries", 0)
    return source.kind == "csr" and 2 * entries >= source.n * source.d > 0


def _as_dense(blocks: Iterable[Block], block_bytes: int) -> Generator[Block, None, None]:
    """The same rows, no more of them at a time than fit."""
    for block in blocks:
        X: Any = block.X
        step = max(1, block_bytes // max(8 * X.shape[1], 1))
        for begin in range(0, block.n, step):
            part = slice(begin, min(begin + step, block.n))
            sides = {k: None if v is None else v[part] for k, v in _sides(block).items()}
            yield Block(block.first + begin, X[part].toarray(), **sides)


def _sides(block: Block) -> dict[str, Any]:
    return {"y": block.y, "weight": block.weight, "qid": block.qid}


def _typed(
    blocks: Iterable[Block], dtype: str | np.dtype | type | None
) -> Generator[Block, None, None]:
    """The blocks with values of a type."""
    number = None if dtype is None else np.dtype(dtype)
    if number not in (None, np.float32, np.float64):
        raise DataError(f"dtype is {dtype!r}; expected float32 or float64")
    for block in blocks:
        X: Any = block.X
        if number is None or isinstance(X, Strings) or X.dtype == number:
            yield block
            continue
        with np.errstate(over="ignore"):
            X = X.astype(number)
        values = X.data if sp.issparse(X) else X
        if not np.isfinite(values).all():
            raise DataError(
                f"rows {block.first + 1} to {block.first + block.n} hold a value that {number} "
                "cannot hold; write float64"
            )
        yield replace(block, X=X)


def _counted(blocks: Iterable[Block], summary: Summary) -> Iterator[Block]:
    """The blocks, counted as they go by."""
    labels = LabelCounts()
    for block in blocks:
        summary.rows += block.n
        summary.entries += entries_of(block.X)
        labels.add(block.y)
        yield block
    summary.labels = labels.as_list()


def evenly(batches: Iterable[pa.RecordBatch], block_bytes: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about `block_bytes` each."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for part in _cut(batch, block_bytes):
            waiting.append(part)
            size += part.nbytes
            if size >= block_bytes * 3 // 4:
                yield _joined(waiting)
                waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _cut(batch: pa.RecordBatch, block_bytes: int) -> Iterator[pa.RecordBatch]:
    parts = min(max(1, round(batch.nbytes / block_bytes)), max(batch.num_rows, 1))
    bounds = [batch.num_rows * k // parts for k in range(parts + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield batch.slice(begin, end - begin)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


class _Checked:
    """A file that computes the checksum of what goes by."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._checksum = 0
        self._position = 0

    def write(self, data: Any) -> int:
        bytes_ = as_bytes(data)
        self._checksum = _core.crc32c(bytes_, self._checksum)
        self._file.write(data)
        self._position += len(bytes_)
        return len(bytes_)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """The file belongs to the caller."""

    def take_checksum(self) -> int:
        """Of what was written since the last time."""
        checksum, self._checksum = self._checksum, 0
        return checksum


def _write(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    file: IO[bytes],
    summary: Summary,
    compression: str | None,
) -> None:
    checked = _Checked(file)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(pa.PythonFile(checked, "w"), schema, options=options) as writer:
        for batch in batches:
            if batch.num_rows:
                writer.write_batch(batch)
                summary.checksums.append(checked.take_checksum())
                summary.largest_block = max(summary.largest_block, batch.nbytes)
        nothing = schema.empty_table().to_batches() or [_empty(schema)]
        writer.write_batch(nothing[0], custom_metadata=summary.pack())


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
