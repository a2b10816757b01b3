"""The one error of this folder."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be read or written: where, what was found, what was expected, what to do."""
