"""The first few faults of CSV text, once it is known to have one: people mend them together."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any

from maxmargin.data.formats.content import Content

MOST = 10  # that are told
Test = Callable[[str], bool]


def faults(
    content: Content, delimiter: str, names: list[str], numbers: Collection[str], is_number: Test
) -> list[tuple[int, str]]:
    """Lines, and what is wrong with them: too few or many fields, words where numbers belong."""
    with _text(content) as text:
        found = _faults(csv.reader(text, delimiter=delimiter), names, set(numbers), is_number)
        try:
            return list(islice(found, MOST + 1))
        except (csv.Error, UnicodeDecodeError):  # then one fault is told, not all
            return []


def _text(content: Content) -> io.TextIOWrapper:
    if content.memory is None:
        return open(content.name, encoding="utf-8-sig", newline="")
    return io.TextIOWrapper(io.BytesIO(content.memory.tobytes()), "utf-8-sig", newline="")


def _faults(
    reader: Any, names: list[str], numbers: set[str], is_number: Test
) -> Iterator[tuple[int, str]]:
    line = 1
    for number, record in enumerate(reader):
        if record and len(record) != len(names):
            yield line, f"found {len(record)} fields; expected {len(names)}"
        elif record and (number or not set(record) & set(names)):
            for name, value in zip(names, record):
                if name in numbers and not is_number(value.strip()):
                    yield line, f"column {name!r}: found {value!r}; expected a number"
        line = reader.line_num + 1


def told(found: list[tuple[int, str]], first: int) -> str:
    """What a message about the fault on line `first` adds about the others."""
    others = [(line, what) for line, what in found if line != first][: MOST - 1]
    if not others:
        return ""
    more = "; and more" if len(found) > MOST else ""
    return "; also " + "; ".join(f"line {line}: {what}" for line, what in others) + more
