"""Where a table came from, so that what is wrong with a value can be said with its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class DataWarning(UserWarning):
    """Something in a table that was taken care of, and should be known."""


@dataclass(frozen=True)
class Place:
    """The name of a table, and the line each row is on where it is text."""

    name: str = "the table"
    line_of_row: Callable[[int], int] | None = None

    def of(self, row: int) -> str:
        """A row (from 0), as messages name it."""
        if self.line_of_row is not None:
            return f"{self.name}:{self.line_of_row(row)}"
        return f"{self.name}, row {row + 1}"
