"""A first look at text, to tell its format."""

from __future__ import annotations

import re

from maxmargin.data.errors import DataError
from maxmargin.data.formats.content import Content

# How files begin that people take for tables: what they are, and what helps.
_OTHERS = {
    rb"PK\x03\x04": ("an Excel workbook or a zip archive", "save the sheet as CSV, or unpack it"),
    rb"\xd0\xcf\x11\xe0": ("a workbook of an old Excel", "save the sheet as CSV"),
    rb"\s*(\{\s*\"|\[\s*[\[{\"])": ("JSON", "write it as CSV or Parquet"),
    rb"\x93NUMPY": ("an array of numpy", "load it in Python (numpy.load)"),
    rb"\x80[\x02-\x05]": ("a pickle", "load it in Python, and write it as Parquet"),
    rb"\x89HDF": ("HDF5", "write it as Parquet"),
    rb"SQLite format 3": ("a database of SQLite", "write the table as CSV"),
    rb"%PDF": ("a PDF document", "write its table as CSV"),
    rb"(?i:\s*<(!doctype )?html)": ("a web page", "download the data themselves"),
}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some programs begin a file with it; it says nothing


def refuse_others(content: Content) -> None:
    """Refuse known formats that are none of ours by their names."""
    start = content.head[:512].tobytes().removeprefix(BYTE_ORDER_MARK)
    found = [told for pattern, told in _OTHERS.items() if re.match(pattern, start)]
    if start[257:262] == b"ustar":
        found = [("a tar archive", "unpack it")]
    if found:
        what, remedy = found[0]
        raise DataError(
            f"{content.name}: is {what}; expected svmlight text, CSV, Parquet, Arrow or FASTA; "
            f"{remedy}"
        )


def named_as_csv(name: str) -> bool:
    """Whether a name says that the file is a table of text, compressed or not."""
    return re.search(r"\.(csv|tsv)(\.\w+)?$", name, re.IGNORECASE) is not None


def first_lines(content: Content, count: int) -> list[str]:
    """The first lines that are not blank, among the first 256 KB, for a look at the format."""
    start = content.head.tobytes().removeprefix(BYTE_ORDER_MARK)
    lines = start.decode("utf-8", "replace").split("\n")
    if len(content.head) < content.size and len(lines) > 1:
        lines.pop()  # it may be cut
    return [line for line in lines if line.strip()][:count]


def lines_before(content: Content) -> int:
    """How many empty lines there are before the first other one."""
    start = content.head.tobytes().removeprefix(BYTE_ORDER_MARK)
    return start[: len(start) - len(start.lstrip(b"\r\n"))].count(b"\n")


def delimiter_of(line: str) -> str | None:
    """The delimiter that cuts a line into most fields, if any does.

    A bar after a blank begins a namespace of Vowpal Wabbit, and is none.
    """
    best = max(",;\t", key=line.count)
    if best in line:
        return best
    return "|" if "|" in line and " |" not in line else None
