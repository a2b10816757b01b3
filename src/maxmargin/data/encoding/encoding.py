"""A table as rows of numbers: what is done to each column, found in training and then kept.

    fit        two passes over the rows: what kind each column is, then its scale or its values
    transform  each column's features side by side, a CSR matrix or an array

Nothing here depends on how the rows are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from maxmargin.data.encoding.categories import CategoryColumn, CategoryStats
from maxmargin.data.encoding.columns_in import Batch, as_table
from maxmargin.data.encoding.entries import Entries, bytes_of, rows_of
from maxmargin.data.encoding.kinds import KINDS, Profile
from maxmargin.data.encoding.numbers import FoundInfinity, NumberColumn, NumberStats
from maxmargin.data.encoding.places import Place
from maxmargin.data.encoding.text import TextColumn
from maxmargin.data.encoding.values import check_type, type_of
from maxmargin.data.encoding.words import Words
from maxmargin.data.errors import DataError
from maxmargin.data.limits import check_unpacked

ROWS_AT_ONCE = 1 << 14
DENSE = 0.3  # share of entries from which rows are an array

Column = NumberColumn | CategoryColumn | TextColumn
Batches = Callable[[], Iterable[Batch]]


@dataclass(frozen=True)
class Options:
    """How columns are encoded.

    Parameters
    ----------
    kinds : mapping of names to kinds
        For columns whose kind should not be found out: "number", "date", "boolean", "category",
        "text" or "drop".
    min_count : int
        Values of a category in fewer rows share a feature.
    max_categories : int
        Values of a column with a feature of their own, the most frequent ones.
    text_bits : int
        A column of text has 2^text_bits features.
    sparse : bool or None
        Whether rows are sparse; None: if most entries would be zero.
    target : "number" or None
        "number": labels of a file are numbers, in whatever way they are written; None: as they are.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    min_count: int = 2
    max_categories: int = 10_000
    text_bits: int = 16
    sparse: bool | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        for name, kind in self.kinds.items():
            if kind not in KINDS:
                raise ValueError(
                    f"kinds: column {name!r} is to be {kind!r}; expected one of {', '.join(KINDS)}"
                )
        for name, least, most in (
            ("min_count", 1, 1 << 31),
            ("max_categories", 1, 1 << 20),
            ("text_bits", 4, 24),
        ):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ValueError(
                    f"{name} is {value!r}; expected a whole number from {least} to {most}"
                )


@dataclass(frozen=True)
class TableEncoding:
    """What is done to the columns of a table.

    Parameters
    ----------
    columns : tuple of column encoders
        In the order of the training table.
    left_out : mapping of names to reasons
        Columns of the training table that are no features.
    sparse : bool
        Whether rows are a CSR matrix, rather than an array.
    roles : mapping
        The columns that were "target", "weight" and "qid".
    dtype : {"float32", "float64"}
    target_format : str or None
        How numbers to predict are written, where that is not as programs do it.
    """

    columns: tuple[Column, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    sparse: bool = True
    roles: Mapping[str, str] = field(default_factory=dict)
    dtype: str = "float32"
    target_format: str | None = None

    @property
    def inputs(self) -> list[str]:
        """Names of the columns it needs."""
        return [column.name for column in self.columns]

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(column.width for column in self.columns)

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features, as in ``city=Rome``."""
        return [name for column in self.columns for name in column.feature_names()]

    def as_type(self, dtype: Any) -> TableEncoding:
        """The encoding with rows of float32 or float64."""
        return replace(self, dtype=np.dtype(dtype).name)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Columns of a table that the training table did not have."""
        known = {*self.inputs, *self.left_out, *self.roles.values()}
        return [name for name in names if name not in known]

    def check_columns(self, names: Iterable[str], place: str) -> None:
        """Refuse a table that lacks columns, naming them all."""
        there = set(names)
        lacking = [name for name in self.inputs if name not in there]
        if lacking:
            some = ", ".join(map(repr, lacking))
            raise DataError(
                f"{place}: found no column{'s' * (len(lacking) > 1)} {some}, which the model was "
                "trained on; expected every one of them, in any order; add them (an empty value "
                "counts as missing)"
            )

    def transform(self, table: Any, place: Place | None = None, warn: bool = True) -> Any:
        """The features of a table: Arrow, pandas, polars, or an array with columns by position.

        Columns are found by name, in any order; others are not looked at.
        """
        place = place or Place()
        table = as_table(table, self.inputs)
        self.check_columns(table.column_names, place.name)
        return self.transform_batches(batches_of(table.select(self.inputs)), place, warn)

    def transform_batches(
        self,
        batches: Iterable[Batch],
        place: Place,
        warn: bool = True,
        packed: int | None = None,
    ) -> Any:
        """The features of all rows of a table, which comes from a file of `packed` bytes."""
        words, parts, size = Words(place), [], 0
        for batch in batches:
            parts.append(self.transform_batch(batch, words))
            size += bytes_of(parts[-1])
            if packed is not None:
                check_unpacked(place.name, size, packed)
        if warn:
            words.warn()
        if not parts:
            parts = [rows_of([], [self.width], 0, self.sparse, np.dtype(self.dtype))]
        return sp.vstack(parts, format="csr") if self.sparse else np.concatenate(parts)

    def transform_batch(self, batch: Batch, words: Words) -> Any:
        """The features of some rows that begin at row `batch.first` of their table."""
        parts = []
        for column in self.columns:
            values = batch.column(column.name)
            check_type(column.name, type_of(values), words.place.name)
            with words.at(column.name, batch.first):
                part = column.entries(values)
            if isinstance(column, NumberColumn):
                words.add(column, values, part.words, batch.first)
            parts.append(part)
        widths = [column.width for column in self.columns]
        return rows_of(parts, widths, batch.rows, self.sparse, np.dtype(self.dtype))


def batches_of(table: pa.Table, rows: int = ROWS_AT_ONCE) -> Iterator[Batch]:
    """Some rows at a time."""
    first = 0
    for batch in table.to_batches(max_chunksize=rows):
        yield Batch(first, batch)
        first += batch.num_rows


def fit(
    names: Iterable[str], batches: Batches, options: Options, place: Place | None = None
) -> TableEncoding:
    """The encoding that the rows of a table ask for, in two passes over them.

    Parameters
    ----------
    names : of the columns that may become features
    batches : called for each pass
    options, place
    """
    place = place or Place()
    names = list(names)
    _check_kinds(names, options, place)
    profiles = _profiles(names, batches, options, place)
    kinds = {name: options.kinds.get(name) or profile.kind() for name, profile in profiles.items()}
    stats = _stats(kinds, profiles, batches, place)
    columns: list[Column] = []
    left_out: dict[str, str] = {}
    for name in names:
        column = _column(name, kinds[name], profiles[name], stats.get(name), options)
        if isinstance(column, str):
            left_out[name] = column
        else:
            columns.append(column)
    sparse = options.sparse
    if sparse is None:
        fill, width = sum(c.fill for c in columns), sum(c.width for c in columns)
        sparse = fill < DENSE * width
    return TableEncoding(tuple(columns), left_out, sparse)


def _check_kinds(names: list[str], options: Options, place: Place) -> None:
    unknown = [name for name in options.kinds if name not in names]
    if unknown:
        some = ", ".join(map(repr, unknown))
        raise DataError(f"{place.name}: found no column {some}; expected those named in kinds")


def _profiles(
    names: list[str], batches: Batches, options: Options, place: Place
) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    rows = 0
    for batch in batches():
        rows += batch.rows
        for name in names:
            column = batch.column(name)
            if name not in profiles:
                if options.kinds.get(name) != "drop":
                    check_type(name, type_of(column), place.name)
                profiles[name] = Profile(type_of(column))
            if options.kinds.get(name) in (None, "date", "number"):
                profiles[name].add(column)
    if not rows:
        raise DataError(f"{place.name}: found no rows; expected at least one")
    return profiles


def _stats(
    kinds: dict[str, str], profiles: dict[str, Profile], batches: Batches, place: Place
) -> dict[str, Any]:
    """Scales and counts, and a warning for each column with values of another kind."""
    stats: dict[str, Any] = {}
    readers: dict[str, NumberColumn] = {}
    for name, kind in kinds.items():
        if kind in NumberColumn.kinds:
            formats = profiles[name].formats_of(kind)
            stats[name], readers[name] = NumberStats(), NumberColumn(name, kind, formats=formats)
        elif kind == "category":
            stats[name] = CategoryStats()
    words = Words(place)
    for batch in batches():
        for name, stat in stats.items():
            column = batch.column(name)
            if name not in readers:
                stat.add(column)
                continue
            numbers, strange = readers[name].numbers(column)
            with words.at(name, batch.first):
                stat.add(numbers)
            words.add(readers[name], column, strange, batch.first)
    words.warn()
    return stats


def _column(name: str, kind: str, profile: Profile, stats: Any, options: Options) -> Column | str:
    """The encoder of a column, or why there is none."""
    if kind == "drop":
        return "dropped" if name in options.kinds else "no value in any row"
    if kind == "text":
        words = profile.words / profile.known if profile.known else TextColumn(name).fill
        return TextColumn(name, bits=options.text_bits, fill=2 * words)
    if isinstance(stats, NumberStats):
        if stats.missing == stats.rows:
            return "no value in any row"
        if stats.row_numbers and stats.rows > 2 and name not in options.kinds:
            return "numbers the rows"
        number = stats.column(name, kind, profile.formats_of(kind))
        return number if number.width else "the same value in every row"
    category = stats.column(name, options.min_count, options.max_categories)
    if not category.values:
        return "no value in any row" if not stats.counts else "hardly any value twice"
    if category.width == 1:
        return "the same value in every row"
    return category


__all__ = ["Entries", "FoundInfinity", "Options", "TableEncoding", "batches_of", "fit"]
