"""Columns of text: words and pairs of words, counted in hashed places, each row of length 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from maxmargin.data.encoding.entries import Entries
from maxmargin.data.encoding.values import type_of
from maxmargin.data.features import WordNgrams
from maxmargin.data.formats.text_columns import decoded
from maxmargin.data.store.layout import strings_of

MOST_BITS = 24


@dataclass(frozen=True)
class TextColumn:
    """Sequences of 1..n words, hashed into 2^bits features with a sign.

    Parameters
    ----------
    name : str
    n, bits : int
    fill : float
        Words a row has, about.
    """

    kinds: ClassVar[tuple[str, ...]] = ("text",)

    name: str
    n: int = 2
    bits: int = 16
    kind: str = "text"
    fill: float = 10.0

    @property
    def width(self) -> int:
        return 1 << self.bits

    def feature_names(self) -> list[str]:
        return [f"{self.name}#{place}" for place in range(self.width)]

    @cached_property
    def _map(self) -> WordNgrams:
        return WordNgrams(self.n, self.bits)

    def entries(self, column: pa.Array) -> Entries:
        column = decoded(column, f"column {self.name!r}", column.nbytes)
        if type_of(column) != pa.large_string():
            column = column.cast(pa.large_string())
        X = self._map.transform(strings_of(column.fill_null("")))
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return Entries(rows, X.indices, X.data)

    def described(self) -> str:
        """What is done to the column, for people."""
        return f"words and pairs of words, hashed into {self.width} features, length 1"

    def packed(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "n": self.n, "bits": self.bits}


def unpack_text(packed: dict[str, Any]) -> TextColumn:
    """The encoder of a file; ValueError where its values cannot be one."""
    n, bits = packed.get("n"), packed.get("bits")
    if type(n) is not int or type(bits) is not int or not 1 <= n <= 8 or not 1 <= bits <= MOST_BITS:
        raise ValueError(f"its encoding hashes {n!r} words into {bits!r} bits")
    return TextColumn(packed["name"], n, bits)
