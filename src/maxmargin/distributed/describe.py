"""What the driver must know of the rows before it can state the problem: sizes, labels, queries.

Each part is looked at once. Nothing of one number per row comes back, but for a ranking the query
ids, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.features import FeatureMap
from maxmargin.data.stream.blocks import Strings
from maxmargin.distributed.parts import Layout, Part
from maxmargin.training import targets


@dataclass(frozen=True)
class Shape:
    """Rows and columns of a part, or of all."""

    n: int
    d: int
    nnz: int
    index_base: int | None
    names: tuple[str, ...] | None
    kind: str = "dense"  # or "csr", "strings"
    d_in: int | None = None  # columns of the rows, where d counts the features made of them
    features: FeatureMap | None = None

    def layout(self, bias: float, threads: int) -> Layout:
        return Layout(self.d, float(bias), self.index_base, threads, self.d_in, self.features)

    @property
    def columns(self) -> int:
        """Of the rows as they are."""
        return self.d if self.d_in is None else self.d_in


@dataclass(frozen=True)
class Labels:
    """The classes in a part, how many rows each has, and what they weigh."""

    classes: np.ndarray
    rows: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Queries:
    """The queries of a part (None: no ids)."""

    ids: np.ndarray | None


def shape_of(part: Part) -> Shape:
    """Sizes of a part whose numbers are all finite."""
    X: Any = part.data.X
    where = part.data.source
    cells = np.empty(0) if isinstance(X, Strings) else X.data if sp.issparse(X) else X
    if not np.isfinite(cells.sum(dtype=np.float64)) and not np.isfinite(cells).all():
        raise ValueError(f"{where}: X holds NaN or infinity; expected finite numbers")
    weight = part.data.weight
    if weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"{where}: sample weights must be finite numbers >= 0")
    if part.data.y is None:
        raise ValueError(f"{where}: has no labels; give y, or name their column")
    if part.data.y.dtype.kind == "f" and not np.isfinite(part.data.y).all():
        raise ValueError(f"{where}: y holds NaN or infinity; expected labels or finite numbers")
    kind = "strings" if isinstance(X, Strings) else "csr" if sp.issparse(X) else "dense"
    nnz = X.nnz if kind == "csr" else cells.size
    known = None if kind == "strings" else part.data.feature_names
    names = None if known is None else tuple(known)
    return Shape(X.shape[0], X.shape[1], nnz, part.data.index_base, names, kind)


def whole_shape(shapes: Sequence[Shape], sources: Sequence[str]) -> Shape:
    """The shape of all parts together, which must fit."""
    for shape, source in zip(shapes, sources):
        if shape.names != shapes[0].names:
            raise ValueError(
                f"{source}: its columns are not those of {sources[0]}; expected the same names in "
                "the same order"
            )
    bases = {shape.index_base for shape in shapes}
    base = min((b for b in bases if b is not None), default=None)
    # Text that names no feature 0 passes for one-based: beside a part that does, it is one column
    # wider than it looks.
    d = max(shape.d + (1 if base == 0 and shape.index_base == 1 else 0) for shape in shapes)
    n = sum(shape.n for shape in shapes)
    if n == 0:
        raise ValueError("the parts hold no rows; expected at least one")
    kinds = {shape.kind for shape in shapes if shape.n}
    if "strings" in kinds and len(kinds) > 1:
        raise ValueError("some parts hold strings and some numbers; expected one or the other")
    kind = kinds.pop() if len(kinds) == 1 else "csr"
    return Shape(n, d, sum(shape.nnz for shape in shapes), base, shapes[0].names, kind)


def labels_of(part: Part) -> Labels:
    y = part.data.y
    assert y is not None
    if y.dtype.kind == "O":
        y = y.astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    codes = codes.ravel()
    weight = np.bincount(codes, part.data.weight, minlength=len(classes)).astype(float)
    return Labels(classes, np.bincount(codes, minlength=len(classes)), weight)


def all_labels(found: Sequence[Labels]) -> Labels:
    """The classes of all parts, of which there must be two."""
    found = [labels for labels in found if len(labels.classes)]
    classes = np.unique(np.concatenate([labels.classes for labels in found]))
    rows, weight = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
    for labels in found:
        at = np.searchsorted(classes, labels.classes)
        rows[at] += labels.rows
        weight[at] += labels.weight
    if len(classes) < 2:
        raise ValueError(
            f"training needs two classes or more, but y has one class only: {classes[0]!s} in all "
            f"{int(rows.sum())} rows"
        )
    return Labels(classes, rows, weight)


def queries_of(part: Part) -> Queries:
    qid = part.data.qid
    return Queries(None if qid is None else np.unique(qid))


def crossing(found: Sequence[Queries]) -> int:
    """How many queries have rows in more than one part."""
    if any(queries.ids is None for queries in found):
        return 1 if len(found) > 1 else 0  # without ids all rows are one query
    ids = np.concatenate([queries.ids for queries in found])
    _, counts = np.unique(ids, return_counts=True)
    return int(np.sum(counts > 1))


def column_of(part: Part, name: str) -> np.ndarray | None:
    """A column of one number per row: only for losses that the driver evaluates."""
    return getattr(part.data, name)


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the classes."""
    if classes.dtype.kind == "U" and y.dtype.kind != "U":
        y = y.astype(str)
    return targets.codes_of(y, classes)
