"""CSV text, read by pyarrow, with faults that name their line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import (
    QID_NAME,
    TARGET_NAMES,
    WEIGHT_NAME,
    Roles,
    Wanted,
    choose,
)
from maxmargin.data.formats.content import Content
from maxmargin.data.formats.csv_faults import Expected, fields, others_in_words
from maxmargin.data.formats.detect import delimiter_of, first_lines, lines_before
from maxmargin.data.formats.pieces import LINE_END, pieces
from maxmargin.data.formats.tables import ROWS_AT_ONCE, Filled
from maxmargin.data.formats.text_columns import text_column
from maxmargin.data.limits import line_too_long, longest_line

# A number, or a mark for a missing one.
_NUMERAL = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?|nan|n/?a|null|\?",
    re.ASCII | re.IGNORECASE,
)
# No array of Arrow's: the first one that is made of a list imports pandas, if there is one.
_MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"]
_BLOCK = 1 << 22  # bytes read at a time, unless lines are said to be longer: one must fit
_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to \w+: invalid value '(.*)'",
    re.DOTALL,
)
_WIDTH = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def read_csv(content: Content, wanted: Wanted, *, dtype: np.dtype, threads: int) -> Dataset:
    """The rows of text with commas, semicolons, tabs or bars, with or without a line of names."""
    text = CsvText(content.name, content, wanted)
    schema = text.schema()
    roles = choose(content.name, schema.names, wanted, text.likely_targets(schema.names))
    table = text.table(column_types(schema, roles, dtype), threads)
    if roles.target is not None:
        position = table.column_names.index(roles.target)
        labels = labels_as_numbers(table.column(position))
        table = table.set_column(position, roles.target, labels)
    batches = table.to_batches(max_chunksize=ROWS_AT_ONCE)
    filled = Filled(
        content.name,
        content.packed,
        table.schema,
        roles,
        table.num_rows,
        dtype,
        text.line_of_row,
    )
    return filled.dataset(batches, feature_names=roles.features if text.has_names else None)


def column_types(schema: pa.Schema, roles: Roles, dtype: np.dtype) -> dict[str, pa.DataType]:
    """How the columns are to be read: labels as text, as what they are is known at the end only."""
    number = pa.float32() if dtype == np.float32 else pa.float64()
    types: dict[str, pa.DataType] = {
        name: number for name in roles.features if not pa.types.is_boolean(schema.field(name).type)
    }
    if roles.weight is not None:
        types[roles.weight] = pa.float64()
    if roles.qid is not None:
        types[roles.qid] = pa.int64()
    if roles.target is not None:
        types[roles.target] = pa.string()
    return types


LABEL_TYPES = (pa.int64(), pa.float64(), pa.string())  # the first that all labels fit is theirs


def labels_as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Labels of a CSV file as whole numbers, else as numbers, else as the strings they are."""
    known = (labels_as(column, kind) for kind in LABEL_TYPES)
    return next(labels for labels in known if labels is not None)


def labels_as(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> Any:
    """Labels as numbers of a kind, or as strings; None if they are none of that kind."""
    trimmed = pc.utf8_trim_whitespace(column)
    if pa.types.is_string(kind):
        return trimmed
    missing = pc.is_in(trimmed, value_set=text_column(_MISSING).cast(pa.string()))
    try:
        return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed).cast(kind)
    except pa.ArrowInvalid:
        return None


class CsvText:
    """CSV text together with what its first line tells."""

    def __init__(self, name: str, content: Content, wanted: Wanted, name_all: bool = False) -> None:
        self.name, self.content = name, content
        line = first_lines(content, 1)
        if not line:
            raise DataError(f"{name}: found no rows; expected at least one")
        _refuse_comments(name, first_lines(content, 100))
        self.delimiter = delimiter_of(line[0]) or ","
        raw = _fields(line[0], self.delimiter)
        self.fields = fields = [field.strip() for field in raw]
        self.words = [bool(field and not _NUMERAL.fullmatch(field)) for field in fields]
        known = {*TARGET_NAMES, QID_NAME, WEIGHT_NAME} | {n.lower() for n in wanted.names()}
        self.has_names = any(field.lower() in known for field in fields) or all(
            word or not field for word, field in zip(self.words, fields)
        )
        if name_all and self.has_names:  # row names of R and pandas have no name themselves
            self.fields = _named(fields)
        self._renames = self.has_names and self.fields != raw and _is_record(line[0])
        self._before = lines_before(content)

    def likely_targets(self, names: list[str]) -> list[str] | None:
        """Without a line of names: the only column that begins with a word, then from the left.

        The first column holds the label by the convention of LightGBM and XGBoost.
        """
        if self.has_names:
            return None
        words = [name for name, word in zip(names, self.words) if word]
        return words + names if len(words) == 1 else names

    def options(self, threads: int) -> dict[str, Any]:
        """How pyarrow is to read; blanks around names are no part of them."""
        given = {"column_names": self.fields, "skip_rows_after_names": self._before + 1}
        return {
            "read_options": pa.csv.ReadOptions(
                block_size=max(_BLOCK, longest_line(_BLOCK)),
                use_threads=threads > 1,
                autogenerate_column_names=not self.has_names,
                **(given if self._renames else {}),
            ),
            "parse_options": pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
        }

    def schema(self) -> pa.Schema:
        """Names, and the types the first megabyte suggests."""
        try:
            with self.reader() as reader, pa.csv.open_csv(reader, **self.options(1)) as stream:
                schema = stream.schema
                _ = schema.names  # decoded here, where it may fail
                return schema
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self.fault(error, []) from error

    def table(self, types: dict[str, pa.DataType], threads: int) -> pa.Table:
        convert = pa.csv.ConvertOptions(column_types=types, null_values=_MISSING)
        try:
            table = pa.csv.read_csv(self.reader(), convert_options=convert, **self.options(threads))
            self.check_closed(table.column(table.num_columns - 1))
            return table
        except (pa.ArrowException, UnicodeDecodeError) as error:
            if threads > 1:
                return self.table(types, 1)  # one thread knows the row of the fault
            raise self.fault(error, self.schema().names, types) from error

    def reader(self) -> Any:
        """The text from its beginning."""
        return self.content.as_arrow()

    def lines(self) -> Iterable[np.ndarray]:
        """The text in pieces that end with a line end, for counting."""
        if self.content.memory is not None:
            return iter([self.content.memory])
        return pieces(self.name, LINE_END)

    def fault(
        self, error: Exception, names: list[str], types: dict[str, pa.DataType] | None = None
    ) -> DataError:
        """What pyarrow complained about, with the line, and what else is wrong with the text."""
        name = self.name
        if found := _CONVERSION.search(str(error)):
            column = names[int(found[1])]
            line = self._line(int(found[2]))
            return DataError(
                f"{name}:{line}: column {column!r}: found {found[3]!r}; expected a number; correct "
                "the value, encode the column as numbers or drop it"
                f"{self.other_faults(line, names, types)}"
            )
        if found := _WIDTH.search(str(error)):
            line = self._line(int(found[1] or 1))
            return DataError(
                f"{name}:{line}: found {fields(found[3])}; expected {found[2]} as on the first "
                f"line; {self._remedy()}{self.other_faults(line, names, types)}"
            )
        if "Empty CSV file" in str(error):
            return DataError(f"{name}: found no rows; expected at least one")
        if "straddling object" in str(error):
            return line_too_long(name, longest_line(_BLOCK))
        return DataError(f"{name}: cannot be read as CSV: {error}; check the file")

    def check_closed(self, last: pa.ChunkedArray) -> None:
        """Refuse text that ends inside quotes, whose last field holds all lines after them.

        `last` is the last column, or its end: only text with a line break can be such a field.
        """
        value = last[-1].as_py() if len(last) else None
        line = self._open_quote() if isinstance(value, str) and "\n" in value else None
        if line is not None:
            raise DataError(
                f"{self.name}:{line}: a quote is opened and never closed, so all that follows is "
                "one field; expected a second quote; close it, or write a quote of the text twice"
            )

    def _remedy(self) -> str:
        line = self._open_quote()
        if line is not None:
            return f"close the quote that is opened on line {line}, or write it twice"
        return "correct the line (a cut-off last line means the file is incomplete)"

    def other_faults(
        self, line: int, names: list[str], types: dict[str, pa.DataType] | None
    ) -> str:
        """The faults besides the one on a line."""
        numbers = [n for n, kind in (types or {}).items() if not pa.types.is_string(kind)]
        expected = Expected(
            self.delimiter, names or self.fields, numbers, self.has_names, _is_number
        )
        pieces_of_text = (piece.tobytes().decode("utf-8-sig") for piece in self.lines())
        lines = chain.from_iterable(io.StringIO(text, newline="") for text in pieces_of_text)
        return others_in_words(expected.faults(lines), line)

    def line_of_row(self, row: int) -> int:
        """The line of a data row counted from 0."""
        return self._line(row + 1 + self.has_names)

    def _line(self, nth: int) -> int:
        """The line on which the nth record (from 1) begins: empty lines are none."""
        before, found, last, quoted = 0, 0, 1, False
        for text in self.lines():
            lines, quoted = _records(text, quoted)
            if found + len(lines) >= nth:
                return before + int(lines[nth - found - 1]) + 1
            found += len(lines)
            last = before + (int(lines[-1]) + 1 if len(lines) else 0)
            before += int(np.count_nonzero(text == ord("\n")))
        return last

    def _open_quote(self) -> int | None:
        """The line on which the last record begins, if the text ends inside quotes."""
        before, last, quoted = 0, 1, False
        for text in self.lines():
            lines, quoted = _records(text, quoted)
            last = before + int(lines[-1]) + 1 if len(lines) else last
            before += int(np.count_nonzero(text == ord("\n")))
        return last if quoted else None


def _is_number(text: str) -> bool:
    return text in _MISSING or _NUMERAL.fullmatch(text) is not None


def _refuse_comments(name: str, lines: list[str]) -> None:
    """Lines before those of the table, which programs write and CSV does not have."""
    first = lines[0].strip()
    if re.fullmatch("sep=.?", first, re.IGNORECASE):
        what = "a line that only Excel understands"
    elif first.startswith("#") and not delimiter_of(first) and any(map(delimiter_of, lines)):
        what = "a comment"
    else:
        return
    raise DataError(f"{name}:1: found {first[:60]!r}, {what}; expected names or values; delete it")


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of one line, without the quotes around them."""
    line = line.removesuffix("\r")
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error:  # what is no CSV is said where it is read
        return line.split(delimiter)


def _named(fields: list[str]) -> list[str]:
    """Names for all columns: those without one are called by their place."""
    return [field or f"column {at}" for at, field in enumerate(fields, 1)]


def _is_record(line: str) -> bool:
    """Whether no field goes on in the next line, and all is text in UTF-8."""
    return line.count('"') % 2 == 0 and "\N{REPLACEMENT CHARACTER}" not in line


def _records(text: np.ndarray, quoted: bool) -> tuple[np.ndarray, bool]:
    """The lines, counted from 0, on which records begin, and whether the text ends in quotes.

    A line end inside quotes belongs to a field.
    """
    ends = np.flatnonzero(text == ord("\n"))
    odd = np.cumsum(text == ord('"'), dtype=np.uint8) % 2 != quoted
    outside = ends[~odd[ends]]
    begins = np.append(outside + 1, len(text)) if quoted else np.append(0, outside + 1)
    begins = begins[begins < len(text)]
    length = np.searchsorted(outside, begins)
    length = np.append(outside, len(text))[length] - begins
    carriage = text[begins] == ord("\r")
    filled = begins[(length > 1) | ((length == 1) & ~carriage)]
    return np.searchsorted(ends, filled), bool(odd[-1]) if len(text) else quoted
