"""The one error of this folder."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be read or written: where, what was found, what was expected, what to do."""


def other_rows(name: str, found: int, expected: int) -> DataError:
    """A file has more rows than when it was opened, or fewer."""
    return DataError(
        f"{name}: found {found} rows; expected {expected} as when it was opened; it changed while "
        "it was in use: open it again"
    )
