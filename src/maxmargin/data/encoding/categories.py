"""Columns of categories: one feature a value, 1 in the rows that have it.

Values seen in too few rows share one feature, and so do values that were never seen. Where there
is no such feature, an unseen value is all zeros. Missing is a value like any other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.entries import Entries
from maxmargin.data.encoding.values import distinct

MOST_COUNTED = 1_000_000  # different values; beyond, those seen once so far are forgotten


@dataclass(frozen=True)
class CategoryColumn:
    """An indicator for each of some values.

    Parameters
    ----------
    name : str
    values : tuple of str
        In alphabetical order.
    rare : bool
        Whether all other values share a feature.
    missing : bool
        Whether a missing value has one.
    """

    kinds: ClassVar[tuple[str, ...]] = ("category",)

    name: str
    values: tuple[str, ...]
    rare: bool = False
    missing: bool = False
    kind: str = "category"
    fill: float = 1.0

    @property
    def width(self) -> int:
        return len(self.values) + int(self.rare) + int(self.missing)

    def feature_names(self) -> list[str]:
        names = [f"{self.name}={value}" for value in self.values]
        more = ["<rare>"] * self.rare + ["<missing>"] * self.missing
        return names + [f"{self.name}={word}" for word in more]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: at for at, value in enumerate(self.values)}

    @property
    def _others(self) -> int:
        return len(self.values) if self.rare else -1

    def entries(self, column: pa.Array) -> Entries:
        found = distinct(column)
        nothing = self.width - 1 if self.missing else -1
        places = [
            nothing if value is None else self._places.get(value, self._others)
            for value in found.values
        ]
        at = np.array([*places, nothing], dtype=np.int64)[found.codes]
        rows = np.flatnonzero(at >= 0)
        return Entries(rows, at[rows], np.ones(len(rows)))

    def described(self) -> str:
        """What is done to the column, for people."""
        names = ["one feature a value"]
        if self.rare:
            names.append("rare ones share one")
        if self.missing:
            names.append("missing has its own")
        return ", ".join(names)

    def packed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "values": list(self.values),
            "rare": self.rare,
            "missing": self.missing,
        }


class CategoryStats:
    """How often each value of a column was seen, block by block."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.missing = 0
        self.forgotten = False

    def add(self, column: pa.Array) -> None:
        found = distinct(column)
        counts = np.bincount(found.codes + 1, minlength=len(found.values) + 1).tolist()
        self.missing += counts[0]
        for value, count in zip(found.values, counts[1:]):
            if value is None:
                self.missing += count
            elif count:
                self.counts[value] += count
        if len(self.counts) > MOST_COUNTED:
            self.counts = Counter({v: c for v, c in self.counts.items() if c > 1})
            self.forgotten = True

    def column(self, name: str, min_count: int, most: int) -> CategoryColumn:
        """The encoder for what was seen: values in `min_count` rows or more, at most `most`."""
        often = [value for value, count in self.counts.items() if count >= min_count]
        if len(often) > most:
            often = sorted(often, key=lambda value: (-self.counts[value], value))[:most]
        rare = self.forgotten or len(often) < len(self.counts)
        return CategoryColumn(name, tuple(sorted(often)), rare, self.missing > 0)


def unpack_category(packed: dict[str, Any]) -> CategoryColumn:
    """The encoder of a file; ValueError where its values cannot be one."""
    values, rare, missing = (packed.get(key) for key in ("values", "rare", "missing"))
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("its encoding has categories that are no text")
    if any(a >= b for a, b in pairwise(values)):
        raise ValueError("its encoding has categories twice, or not in order")
    if not isinstance(rare, bool) or not isinstance(missing, bool):
        raise ValueError("its encoding does not say what rare values become")
    return CategoryColumn(packed["name"], tuple(values), rare, missing)
