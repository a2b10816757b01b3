"""Values that are not of their column's kind: counted, and said once a column with an example."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.numbers import FoundInfinity, NumberColumn
from maxmargin.data.encoding.places import DataWarning, Place
from maxmargin.data.errors import DataError


@dataclass
class _Found:
    expected: str
    value: str
    row: int
    count: int = 0


class Words:
    """What was found in the columns of one table."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._found: dict[str, _Found] = {}

    def add(
        self, encoder: NumberColumn, column: pa.Array, words: np.ndarray | None, first: int
    ) -> None:
        """Rows of a block, which begins at row `first`, whose values are no numbers or dates."""
        if words is None:
            return
        name = encoder.name
        if name not in self._found:
            row = int(np.argmax(words))
            value = str(column[row].as_py())
            self._found[name] = _Found(encoder.expected(), value, first + row)
        self._found[name].count += int(words.sum())

    @contextmanager
    def at(self, name: str, first: int) -> Iterator[None]:
        """Says where a number is that cannot be used."""
        try:
            yield
        except FoundInfinity as found:
            raise DataError(
                f"{self.place.of(first + found.row)}: column {name!r}: found {found.value}; "
                "expected a finite number; replace the value, or leave it empty"
            ) from None

    def warn(self) -> None:
        """One warning a column."""
        for name, found in self._found.items():
            more = f" and {found.count - 1} more" if found.count > 1 else ""
            warnings.warn(
                f"{self.place.of(found.row)}: column {name!r}: found {found.value!r}{more}; "
                f"expected {found.expected}; such values count as missing",
                DataWarning,
                stacklevel=4,
            )
