"""Tables that stay on disk: the columns of a block are encoded when it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from maxmargin.data.dataset import Dataset
from maxmargin.data.encoding.columns_in import Batch
from maxmargin.data.encoding.encoding import Options, TableEncoding, fit
from maxmargin.data.encoding.entries import bytes_of
from maxmargin.data.encoding.leakage import warn_of_leakage
from maxmargin.data.encoding.packing import pack
from maxmargin.data.encoding.places import Place
from maxmargin.data.encoding.reading import check_some, with_roles
from maxmargin.data.encoding.targets import as_numbers, format_of
from maxmargin.data.encoding.words import Words
from maxmargin.data.errors import DataError, other_rows
from maxmargin.data.formats.columns import Wanted
from maxmargin.data.stream.blocks import Block
from maxmargin.data.stream.reading_ahead import read_ahead
from maxmargin.data.stream.sources import open_source
from maxmargin.data.stream.table_sources import TableSource


class EncodedSource:
    """A table file as a source of encoded rows.

    Parameters
    ----------
    source : TableSource
        Of columns as they are.
    encoding : TableEncoding
    """

    index_base: int | None = None

    def __init__(self, source: TableSource, encoding: TableEncoding) -> None:
        self._source, self.encoder = source, encoding
        self.name, self.n, self.d = source.name, source.n, encoding.width
        self.feature_names = encoding.feature_names
        self.kind = "csr" if encoding.sparse else "dense"
        self.largest_block = source.largest_block + self._bytes_of_a_block()

    def _bytes_of_a_block(self) -> int:
        with closing(self._source.batches()) as batches:
            return 2 * bytes_of(self._encoded(*next(batches)))

    @cached_property
    def fingerprint(self) -> str:
        told = json.dumps(pack(self.encoder), sort_keys=True).encode()
        return f"{self._source.fingerprint}-{hashlib.sha256(told).hexdigest()[:16]}"

    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    def blocks(self) -> Iterator[Block]:
        self.check_unchanged()
        rows = 0
        for block in read_ahead(self._read()):
            rows += block.n
            yield block
        self.check_unchanged()
        if rows != self.n:
            raise other_rows(self.name, rows, self.n)

    def _read(self) -> Iterator[Block]:
        for first, batch in self._source.batches():
            known = self._metadata(first, batch)
            X = self._encoded(first, batch)
            yield Block(first, X, known.y, weight=known.weight, qid=known.qid)

    def _metadata(self, first: int, batch: pa.RecordBatch) -> Dataset:
        known, target = self._source.metadata(first, batch), self._source.roles.target
        if known.y is not None and target is not None:
            place = place_of(self._source)
            known.y = as_numbers(
                known.y, self.encoder.target_format, lambda row: place.of(first + row), target
            )
        return known

    def _encoded(self, first: int, batch: pa.RecordBatch) -> Any:
        words = Words(place_of(self._source))  # the fit has warned of what they are
        return self.encoder.transform_batch(Batch(first, batch), words)

    def warned(self) -> Iterator[Block]:
        """The blocks of one pass, then a warning of values that are not of their column's kind."""
        words = Words(place_of(self._source))
        for first, batch in self._source.batches():
            known = self._metadata(first, batch)
            X = self.encoder.transform_batch(Batch(first, batch), words)
            yield Block(first, X, known.y, weight=known.weight, qid=known.qid)
        words.warn()


def open_encoded(
    kind: type[TableSource],
    path: str,
    wanted: Wanted,
    encode: Options | TableEncoding | Literal["auto"],
    dtype: np.dtype,
    block_bytes: int,
) -> EncodedSource | TableSource:
    """A table file of a kind, encoded as a model does it, or as its own rows ask for."""
    common: dict[str, Any] = {"dtype": dtype, "text": None, "any_columns": True}
    common["block_bytes"] = block_bytes
    if encode == AS_THEY_ARE:
        return kind(path, wanted, **common)
    if isinstance(encode, TableEncoding):
        return EncodedSource(kind(path, wanted, **common, encoding=encode), encode)
    return encoded_source(kind(path, wanted, **common), encode, wanted.drop, dtype)


def encoded_source(
    source: TableSource, options: Options | Literal["auto"], drop: tuple[str, ...], dtype: Any
) -> EncodedSource:
    """A source that is encoded by what its own rows ask for: three passes find that out."""
    return EncodedSource(source, fitted([source], options, drop, dtype))


def fitted(
    sources: list[TableSource],
    options: Options | Literal["auto"],
    drop: tuple[str, ...],
    dtype: Any,
) -> TableEncoding:
    """The encoding that the rows of some files, which have the same columns, ask for."""

    def batches() -> Iterator[Batch]:
        rows = 0
        for source in sources:
            for first, batch in source.batches():
                yield Batch(rows + first, batch)
            rows += source.n

    def labels() -> Iterator[np.ndarray]:
        for source in sources:
            for row, batch in source.batches():
                y = source.metadata(row, batch).y
                if y is None or y.dtype.kind not in "OU":
                    break  # the labels of a file are all numbers, or all text
                yield y

    first = sources[0]
    features, target = first.roles.features, first.roles.target
    for source in sources:
        if source.roles != first.roles:
            raise DataError(
                f"{source.name}: has the columns {source.roles.features}; expected "
                f"{features}, as {first.name}; the files of one source must have the same columns"
            )
    with closing(first.batches()) as found:
        blocks = (with_table(first, *block, features) for block in found)
        warn_of_leakage(blocks, first.name, target)
    options = Options() if isinstance(options, str) else options
    target_format = format_of(labels()) if options.target == "number" else None
    place = place_of(first) if len(sources) == 1 else Place(f"{first.name} and others")
    encoding = fit(features, batches, options, place)
    encoding = with_roles(encoding, first.roles, drop, target_format).as_type(dtype)
    check_some(encoding, first.name)
    return encoding


def encoding_of_files(
    paths: list[str],
    options: Options | Literal["auto"] = "auto",
    *,
    drop: Sequence[str] = (),
    dtype: str = "float32",
    **reading: Any,
) -> TableEncoding | None:
    """The encoding of some table files; None for files whose rows are numbers already."""
    found = [open_source(path, encode=AS_THEY_ARE, drop=drop, **reading) for path in paths]
    tables = [source for source in found if isinstance(source, TableSource)]
    if len(tables) < len(found):
        return None
    return fitted(tables, options, tuple(drop), dtype)


AS_THEY_ARE: Any = "as they are"  # columns are not to be encoded yet


def place_of(source: TableSource) -> Place:
    return Place(source.name, source.line_of_row())


def with_table(
    source: TableSource, first: int, batch: pa.RecordBatch, columns: list[str]
) -> Dataset:
    known = source.metadata(first, batch)
    known.X = pa.Table.from_batches([batch]).select(columns)
    return known
