"""Table files as Arrow columns: CSV, Parquet and Arrow, with the rows' labels, weights, queries."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from maxmargin.data.cpus import granted_cpus
from maxmargin.data.dataset import Dataset
from maxmargin.data.encoding.columns_in import Batch
from maxmargin.data.encoding.encoding import Column as EncodedColumn
from maxmargin.data.encoding.encoding import Options, TableEncoding, batches_of, fit
from maxmargin.data.encoding.leakage import warn_of_leakage
from maxmargin.data.encoding.numbers import NumberColumn
from maxmargin.data.encoding.places import DataWarning, Place
from maxmargin.data.encoding.targets import as_numbers, format_of
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import Column, Roles, Wanted, choose
from maxmargin.data.formats.content import Content, Source
from maxmargin.data.formats.content import read as read_content
from maxmargin.data.formats.csv_text import CsvText, column_types, labels_as_numbers
from maxmargin.data.formats.parquet_pages import rows_that_fit
from maxmargin.data.formats.reading import detect_format, is_store
from maxmargin.data.formats.tables import (
    ROWS_AT_ONCE,
    Filled,
    check_types,
    readable,
    reading,
    rows_of_arrow,
    sound,
)
from maxmargin.data.limits import check_unpacked

Watch = Callable[[str, float], object]
PASSES = 3  # over the rows of a table: two of `fit`, one that encodes
AS_TEXT = ("category", "text")  # kinds of columns that are never numbers, whatever they look like


@dataclass(frozen=True)
class TableFile:
    """A table in memory: its columns as they are, and what each is for."""

    table: pa.Table
    roles: Roles
    place: Place
    has_names: bool
    packed: int

    def dataset(self, target_format: str | None = None) -> Dataset:
        """Labels, weights and queries of the rows; X is the table itself.

        Labels in a `target_format` become numbers.
        """
        rows = self.table.num_rows
        if rows == 0:
            raise DataError(f"{self.place.name}: found no rows; expected at least one")
        others = replace(self.roles, features=[])
        filled = Filled(
            self.place.name,
            self.packed,
            self.table.schema,
            others,
            rows,
            pa.float32().to_pandas_dtype(),
            self.place.line_of_row,
        )
        found = filled.dataset(self.table.to_batches(max_chunksize=ROWS_AT_ONCE), None)
        found.X = self.table.select(self.roles.features)
        return self.with_numbers(found, target_format)

    def with_numbers(self, dataset: Dataset, target_format: str | None) -> Dataset:
        """The same, labels in a `target_format` as numbers."""
        if dataset.y is not None and self.roles.target is not None:
            target = self.roles.target
            dataset.y = as_numbers(dataset.y, target_format, self.place.of, target)
        return dataset


def read_encoded(
    content: Content,
    kind: str,
    wanted: Wanted,
    options: Options | TableEncoding | Literal["auto"],
    threads: int,
    dtype: str,
    watch: Watch | None = None,
) -> Dataset:
    """The rows of a table file, encoded by what they ask for, or as others were."""
    known = options if isinstance(options, TableEncoding) else None
    file = read_table(content, kind, wanted, threads, known, watch)
    dataset = file.dataset(None if known is None else known.target_format)
    if isinstance(options, TableEncoding):
        return _with_rows(dataset, file, options, watch, passes=1)
    options = Options() if isinstance(options, str) else options
    target_format = None
    if options.target == "number" and dataset.y is not None:
        target_format = format_of([dataset.y])
        dataset = file.with_numbers(dataset, target_format)
    warn_of_leakage(_blocks(dataset), file.place.name, file.roles.target)
    names = file.roles.features
    number = itertools.count()
    encoding = fit(
        names,
        lambda: _watched(batches_of(file.table), file.table, watch, next(number), PASSES),
        options,
        file.place,
    )
    encoding = with_roles(encoding, file.roles, wanted.drop, target_format).as_type(dtype)
    check_some(encoding, file.place.name)
    return _with_rows(dataset, file, encoding, watch, PASSES)


def _blocks(dataset: Dataset) -> Iterator[Dataset]:
    """Some rows at a time: the first tell that most columns do not give the label away."""
    table: Any = dataset.X
    for begin in range(0, table.num_rows, ROWS_AT_ONCE):
        end = begin + ROWS_AT_ONCE
        yield Dataset(
            table.slice(begin, ROWS_AT_ONCE), None if dataset.y is None else dataset.y[begin:end]
        )


def _with_rows(
    dataset: Dataset, file: TableFile, encoding: TableEncoding, watch: Watch | None, passes: int
) -> Dataset:
    """Rows encoded in the last of some passes; the fit has warned of strange values already."""
    table = file.table.select(encoding.inputs)
    batches = _watched(batches_of(table), table, watch, passes - 1, passes)
    dataset.X = encoding.transform_batches(
        batches, file.place, warn=passes == 1, packed=file.packed
    )
    dataset.encoder, dataset.feature_names = encoding, encoding.feature_names
    return dataset


def _watched(
    batches: Iterable[Batch], table: pa.Table, watch: Watch | None, number: int, passes: int
) -> Iterator[Batch]:
    """The batches of one of some passes; `watch` hears which share of them all is done."""
    for batch in batches:
        if watch is not None:
            watch("encoding", (number + batch.first / table.num_rows) / passes)
        yield batch


def with_roles(
    encoding: TableEncoding, roles: Roles, drop: Iterable[str], target_format: str | None
) -> TableEncoding:
    """The encoding, remembering which columns were no features."""
    named = {"target": roles.target, "weight": roles.weight, "qid": roles.qid}
    known = {role: column for role, column in named.items() if column is not None}
    left_out = {**encoding.left_out, **dict.fromkeys(drop, "dropped")}
    return replace(encoding, roles=known, left_out=left_out, target_format=target_format)


def check_some(encoding: TableEncoding, name: str) -> None:
    """Refuse a table of which nothing is left."""
    if encoding.columns:
        return
    why = "; ".join(f"{column!r}: {reason}" for column, reason in encoding.left_out.items())
    raise DataError(f"{name}: found no column to learn from ({why}); expected at least one")


def open_for(
    encoding: TableEncoding,
    source: Source,
    *,
    format: str | None = None,
    target: Column | Literal[False] | None = None,
    qid: Column | None = None,
    weight: Column | None = None,
    threads: int | None = None,
    encoded: bool = False,
    watch: Watch | None = None,
) -> Dataset:
    """A table file for a model that was trained on a table: X is the table, `encoded` or not yet.

    Columns are found by name, and what was the target, weight and qid in training is so again, if
    the file has it. The other parameters are those of `maxmargin.data.open`.
    """
    content = read_content(source)
    kind = format or detect_format(content)
    check_table(content, kind)
    wanted, threads = Wanted(target, qid, weight), threads or granted_cpus()
    if encoded:
        return read_encoded(content, kind, wanted, encoding, threads, encoding.dtype, watch)
    return read_table(content, kind, wanted, threads, encoding).dataset(encoding.target_format)


def check_table(content: Content, kind: str) -> None:
    """Refuse files whose rows have no columns."""
    if kind not in ("csv", "parquet", "arrow") or is_store(content, kind):
        what = "a row store" if kind == "arrow" else kind
        raise DataError(
            f"{content.name}: is {what}, and the model was trained on the columns of a table; "
            "expected CSV, Parquet or Arrow with these columns"
        )


# ---------------------------------------------------------------- files


def read_table(
    content: Content,
    kind: str,
    wanted: Wanted,
    threads: int,
    encoding: TableEncoding | None = None,
    watch: Watch | None = None,
) -> TableFile:
    """A table file of a known format; for a model, the columns its encoding knows."""
    if kind == "csv":
        return _read_csv(content, wanted, threads, encoding, watch)
    with reading(content, kind.capitalize()), content.as_arrow() as opened:
        schema, batches = (
            _parquet(content, opened) if kind == "parquet" else _arrow(content, opened)
        )
        roles = roles_of(content.name, schema.names, wanted, encoding)
        check_types(content.name, schema, replace(roles, features=[]))
        kept, size = [], 0
        for batch in batches:
            wanted_columns = batch.select(roles.features + roles.others)
            kept.append(sound(wanted_columns, content.name, content.packed))
            size += kept[-1].nbytes
            check_unpacked(content.name, size, content.packed)
        schema = kept[0].schema if kept else schema
        table = pa.Table.from_batches(kept, schema).unify_dictionaries()
    return TableFile(table, roles, Place(content.name), True, content.packed)


def _parquet(content: Content, opened: pa.NativeFile) -> tuple[pa.Schema, Iterator[Any]]:
    file = pa.parquet.ParquetFile(opened, pre_buffer=False)
    rows = rows_that_fit(content.name, opened, ROWS_AT_ONCE)
    return readable(file.schema_arrow), file.iter_batches(rows)


def _arrow(content: Content, opened: pa.NativeFile) -> tuple[pa.Schema, Iterator[Any]]:
    rows_of_arrow(content.name, opened)
    file = pa.ipc.open_file(opened)
    return readable(file.schema), (file.get_batch(k) for k in range(file.num_record_batches))


def _read_csv(
    content: Content,
    wanted: Wanted,
    threads: int,
    encoding: TableEncoding | None,
    watch: Watch | None,
) -> TableFile:
    text = CsvText(content.name, content, wanted, name_all=True)
    schema = text.schema()
    names, renamed = schema.names, {}
    if encoding is not None and not text.has_names:
        renamed = names_by_position(names, encoding)
        names = [renamed.get(name, name) for name in names]
    roles = roles_of(content.name, names, wanted, encoding, text.likely_targets(names))
    types = column_types(schema, replace(roles, features=[]), pa.float32().to_pandas_dtype())
    if encoding is not None:
        types |= {c.name: pa.string() for c in encoding.columns if _as_text(c)}
    back = {new: old for old, new in renamed.items()}
    if watch is not None:
        watch("reading", 0.0)  # the beginning of the text was looked at before
    table = text.table({back.get(name, name): kind for name, kind in types.items()}, threads)
    table = table.rename_columns(names)
    if roles.target is not None and (encoding is None or encoding.target_format is None):
        at = table.column_names.index(roles.target)
        table = table.set_column(at, roles.target, labels_as_numbers(table.column(at)))
    place = Place(content.name, text.line_of_row)
    return TableFile(table, roles, place, text.has_names, content.packed)


def _as_text(column: EncodedColumn) -> bool:
    """Whether values are to be read as they are written: "1.234" may be a thousand and more."""
    written = isinstance(column, NumberColumn) and column.kind == "number" and column.formats
    return column.kind in AS_TEXT or bool(written)


def names_by_position(names: list[str], encoding: TableEncoding) -> dict[str, str]:
    """Names for columns of a file that has none and no labels: those of training, in order."""
    trained = {*encoding.inputs, *encoding.left_out}
    if not all(re.fullmatch(r"f\d+", name) for name in trained) or len(trained) != len(names):
        return {}
    return dict(zip(names, sorted(trained, key=lambda name: int(name[1:]))))


def roles_of(
    place: str,
    names: list[str],
    wanted: Wanted,
    encoding: TableEncoding | None,
    likely_targets: list[str] | None = None,
) -> Roles:
    """What each column is for: as asked for, or as the model knows it."""
    if encoding is None:
        return choose(place, names, wanted, likely_targets)
    asked = {"target": wanted.target, "qid": wanted.qid, "weight": wanted.weight}
    remembered = {role: column for role, column in encoding.roles.items() if column in names}
    known = {
        role: remembered.get(role) if column is None else column for role, column in asked.items()
    }
    encoding.check_columns(names, place)
    target = False if known["target"] is None else known["target"]
    found = choose(place, names, Wanted(target, known["qid"], known["weight"]), likely_targets)
    extra = [name for name in encoding.unknown(names) if name not in found.others]
    if extra:
        some = ", ".join(map(repr, extra[:10])) + ", ..." * (len(extra) > 10)
        warnings.warn(
            f"{place}: the column {some} was not in the training table and is ignored"
            if len(extra) == 1
            else f"{place}: the columns {some} were not in the training table and are ignored",
            DataWarning,
            stacklevel=3,
        )
    return replace(found, features=encoding.inputs)
