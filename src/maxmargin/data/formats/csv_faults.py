"""The first few faults of CSV text, once it is known to have one: people mend them together."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

MOST = 10  # that are named
FURTHEST = 3_000_000  # lines that are read: a message should not take minutes


@dataclass(frozen=True)
class Expected:
    """What CSV text is to be: so many fields, and numbers in some columns."""

    delimiter: str
    names: list[str]
    numbers: Collection[str]
    has_names: bool
    is_number: Callable[[str], bool]

    def faults(self, lines: Iterable[str]) -> list[tuple[int, str]]:
        """Lines, and what is wrong with them: too few or many fields, words for numbers."""
        try:
            return list(islice(self._faults(islice(lines, FURTHEST)), MOST + 1))
        except (csv.Error, UnicodeDecodeError):  # then one fault is named, not all
            return []

    def _faults(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        reader = csv.reader(lines, delimiter=self.delimiter)
        line, is_header = 1, self.has_names
        for record in reader:
            if record and len(record) != len(self.names):
                yield line, f"found {fields(len(record))}; expected {len(self.names)}"
            elif record and not is_header:
                for name, value in zip(self.names, record):
                    if name in self.numbers and not self.is_number(value.strip()):
                        yield line, f"column {name!r}: found {value!r}; expected a number"
            is_header = is_header and not record
            line = reader.line_num + 1


def fields(count: int | str) -> str:
    """So many fields."""
    return f"{count} field{'' if int(count) == 1 else 's'}"


def others_in_words(found: list[tuple[int, str]], first: int) -> str:
    """What a message about the fault on line `first` adds about the others."""
    others = [(line, what) for line, what in found if line != first][: MOST - 1]
    if not others:
        return ""
    more = "; and more" if len(found) > MOST else ""
    return "; also " + "; ".join(f"line {line}: {what}" for line, what in others) + more
