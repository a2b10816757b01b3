"""What all maps of features have, and what they may have to know of the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, view
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.stream.blocks import Strings

MOST_BITS = 31
CHUNK_ROWS = 4096  # made or scored at a time


class Stats:
    """What maps may have to know of the training rows: letters, length of the first string, d."""

    def __init__(self, d: int = 0) -> None:
        self.letters = np.zeros(256, dtype=np.int64)  # how often each byte was seen
        self.length: int | None = None
        self.d = d

    def add(self, X: Any) -> Stats:
        """One more block of rows."""
        if isinstance(X, Strings) and X.shape[0]:
            if self.length is None:
                self.length = int(X.starts[1] - X.starts[0])
            self.letters += np.bincount(X.letters[X.starts[0] : X.starts[-1]], minlength=256)
        self.d = max(self.d, X.shape[1])
        return self


@dataclass(frozen=True)
class FeatureMap:
    """What all maps have. Subclasses say what they `takes` and how they expand."""

    name: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()  # kinds of sources
    needs_stats: ClassVar[bool] = False  # whether it has to see the rows before training

    def check_kind(self, kind: str, name: str) -> None:
        """Refuse rows that the map cannot take."""
        if kind not in self.takes:
            raise ValueError(
                f"{name}: has {_SAID[kind]}, but the features {self.name!r} are for "
                f"{' or '.join(_SAID[k] for k in self.takes)}"
            )

    def fitted(self, stats: Stats) -> FeatureMap:
        """The map, with what it has to know of the training rows."""
        return self

    def transform_block(self, X: Any) -> Any:
        """Rows as they are cached."""
        return X

    def in_core(self, d: int) -> _core.FeatureMap | None:
        """The expansion of cached rows; None if they are features already."""
        return None

    def transform(self, X: Any, pool: _core.Pool | None = None) -> Any:
        """All features of X as a CSR matrix or an array."""
        X = self.transform_block(X)
        core = self.in_core(X.shape[1])
        if core is None:
            return X
        pool = _core.Pool(granted_cpus()) if pool is None else pool
        parts = [_expanded(part, core, pool) for part in _parts(X)]
        if len(parts) == 1:
            return parts[0]
        return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, core.d))

    def scores(self, X: Any, coef: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``phi(X) coef^T``, the features of a few rows at a time."""
        scores = np.empty((X.shape[0], len(coef)), order="F")
        begin = 0
        for part in _parts(X):
            made = self.transform_block(part)
            end = begin + made.shape[0]
            core = self.in_core(made.shape[1])
            packed = None if core is None else _packed(made, core)
            for j, w in enumerate(coef):
                if packed is None:
                    scores[begin:end, j] = ArrayRows(made, pool=pool).matvec(w)
                else:
                    _core.score_block(*packed, w, scores[begin:end, j], pool)
            begin = end
        return scores

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays from which `unpack` makes the map again."""
        return {"name": self.name, **asdict(self)}, {}


_SAID = {"dense": "dense rows", "csr": "sparse rows", "strings": "strings"}


def _parts(X: Any) -> Iterator[Any]:
    for begin in range(0, X.shape[0], CHUNK_ROWS):
        end = min(begin + CHUNK_ROWS, X.shape[0])
        if isinstance(X, Strings):
            yield Strings(X.letters, X.starts[begin : end + 1])
        else:
            yield X[begin:end]


def _packed(X: Any, core: _core.FeatureMap) -> tuple[_core.PackedBlock, _core.Format]:
    """Compact rows as the core takes them, without labels."""
    n = X.shape[0]
    codes, costs = np.zeros(n, np.int32), np.ones(n)
    if isinstance(X, Strings):
        format = _core.string_format(0.0, core)
        return _core.pack_strings(X.letters, X.starts, 0, codes, costs, format), format
    rows = view(X, 0.0)
    format = _core.row_format(rows, 0.0, core)
    return _core.pack_rows(rows, 0, codes, costs, format), format


def _expanded(X: Any, core: _core.FeatureMap, pool: _core.Pool) -> sp.csr_matrix:
    values, indices, starts = _core.expand_block(*_packed(X, core), pool)
    made = sp.csr_matrix((values, indices, starts), shape=(X.shape[0], core.d))
    made.has_canonical_format = True  # the core puts the features of a row in order
    return made


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse anything but a whole number in its range."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; got {value!r}")
