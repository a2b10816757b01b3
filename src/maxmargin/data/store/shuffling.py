"""Rows in random order, however many: scattered over temporary pieces, each then shuffled.

Every row goes to a piece drawn at random, and each piece is permuted in memory: every order of all
rows is as likely. The pieces are files without a name, which the system removes when the process
ends, however it ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from maxmargin.data.errors import DataError

PIECE_BYTES = 32 << 20
MOST_PIECES = 256
BUFFERED_BYTES = 64 << 20


def shuffled(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    *,
    folder: str,
    bytes_in_all: int,
    seed: int,
) -> Iterator[pa.RecordBatch]:
    """All rows in random order. About a piece is in memory at a time.

    `bytes_in_all` is an estimate; it decides how many pieces there are.
    """
    rng = np.random.default_rng(seed)
    count = int(np.clip(bytes_in_all // PIECE_BYTES, 1, MOST_PIECES))
    with ExitStack() as stack:
        try:
            files = [
                stack.enter_context(tempfile.TemporaryFile(dir=folder or ".")) for _ in range(count)
            ]
            _scatter(batches, schema, files, rng)
        except OSError as error:
            raise DataError(
                f"{folder}: temporary files cannot be written: {error.strerror or error}; "
                "expected a folder with room for the rows twice"
            ) from error
        for file in files:
            yield from _gather(file, rng)
            file.close()  # its room can be used for the target


def _scatter(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    files: Sequence[IO[bytes]],
    rng: np.random.Generator,
) -> None:
    writers = [pa.ipc.new_stream(pa.PythonFile(file, "w"), schema) for file in files]
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= BUFFERED_BYTES:
            _scatter_some(waiting, writers, rng)
            waiting, size = [], 0
    if waiting:
        _scatter_some(waiting, writers, rng)
    for writer in writers:
        writer.close()


def _scatter_some(
    batches: list[pa.RecordBatch],
    writers: list[pa.RecordBatchStreamWriter],
    rng: np.random.Generator,
) -> None:
    rows = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    piece = rng.integers(len(writers), size=rows.num_rows)
    rows = rows.take(pa.array(np.argsort(piece, kind="stable")))
    ends = np.cumsum(np.bincount(piece, minlength=len(writers))).tolist()
    for writer, begin, end in zip(writers, [0, *ends[:-1]], ends):
        if begin < end:
            writer.write_batch(rows.slice(begin, end - begin))


def _gather(file: IO[bytes], rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
    file.seek(0)
    table = pa.ipc.open_stream(pa.PythonFile(file, "r")).read_all().combine_chunks()
    for rows in table.to_batches():
        yield rows.take(pa.array(rng.permutation(rows.num_rows)))
