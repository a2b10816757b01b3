"""A column that says what the label is: most likely the label again, which prediction lacks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from maxmargin.data.dataset import Dataset
from maxmargin.data.encoding.places import DataWarning
from maxmargin.data.encoding.values import distinct, is_plain, type_of

FEW_ROWS = 10  # in which anything can happen


def warn_of_leakage(blocks: Iterable[Dataset], name: str, target: str | None) -> None:
    """Point out columns whose values and the labels are one-to-one, in tables with labels."""
    suspects = leaks(blocks)
    for column in suspects:
        warnings.warn(
            f"{name}: the column {column!r} tells the label {target!r} in every row: if it is not "
            f"known before the label is, leave it out (--drop {column})",
            DataWarning,
            stacklevel=3,
        )


def leaks(blocks: Iterable[Dataset]) -> list[str]:
    """Columns of which each value goes with one label, and each label with one value."""
    maps: dict[str, dict[str | None, str]] | None = None
    rows = 0
    for block in blocks:
        if block.y is None:
            return []
        table: pa.Table = block.X
        rows += table.num_rows
        classes, codes = np.unique(block.y, return_inverse=True)
        labels = [str(label) for label in classes.tolist()]
        if maps is None:
            maps = {column: {} for column in table.column_names}
        for column in list(maps):
            pairs = _pairs(table.column(column), codes, labels)
            if pairs is None or not _agree(maps[column], pairs):
                del maps[column]
        if not maps:
            return []
    several = {column for column, pairs in (maps or {}).items() if len(pairs) > 1}
    return sorted(several) if rows >= FEW_ROWS else []


def _pairs(
    column: pa.ChunkedArray, codes: np.ndarray, labels: list[str]
) -> dict[str | None, str] | None:
    """Label of each value; None if a value has several, or a label."""
    if not is_plain(type_of(column)):
        return None  # the fit refuses it by name
    found = distinct(column.combine_chunks())
    if len(found.values) > len(labels) + 1:
        return None
    values = found.codes + 1
    together = np.unique(values * len(labels) + codes)
    if len(together) != len(labels) or len(np.unique(together // len(labels))) != len(labels):
        return None
    named = [None, *found.values]
    return {named[pair // len(labels)]: labels[pair % len(labels)] for pair in together.tolist()}


def _agree(known: dict[str | None, str], pairs: dict[str | None, str]) -> bool:
    """Whether two maps are parts of one that is one-to-one; the first takes in the second."""
    known |= {value: label for value, label in pairs.items() if value not in known}
    same = all(known[value] == label for value, label in pairs.items())
    return same and len(set(known.values())) == len(known)
