"""Data sets of the kernel benchmarks: scaled to [-1, 1], two classes, in random order.

Files are svmlight text (or anything ``maxmargin.data.open`` reads). ``breast`` is the Wisconsin set
as UCI gives it: commas, an id first, the class last, ? where a value is missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.base import OPENERS
from maxmargin import data

OWN_SPLIT = ("a1a", "a2a")


@dataclass
class Set:
    name: str
    X: object  # dense or CSR
    y: np.ndarray
    given: int | None = None  # rows that the set itself calls training rows: the first ones

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.n} x {self.X.shape[1]})"


def read(path: str, rows: int | None, seed: int, dense: bool = True) -> Set:
    """Rows scaled to [-1, 1] (CSR rows are left as they are) and labels -1, +1.

    The two largest classes are kept, and a random subset of `rows` of them.
    """
    name = os.path.basename(path).split(".")[0]
    if name == "breast":
        X, y = wisconsin(path)
    else:
        found = data.open(path)
        X, y = found.X, np.asarray(found.y)
    classes, counts = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, classes[np.argsort(counts)[-2:]]))
    order = np.random.default_rng(seed).permutation(kept)[:rows]
    X, y = X[order], np.where(y[order] == y[kept].max(), 1.0, -1.0)
    if sp.issparse(X) and not dense:
        return Set(name, X.tocsr(), y)
    return Set(name, scaled(X.toarray() if sp.issparse(X) else np.asarray(X)), y)


def read_with_test(path: str, rows: int | None, seed: int) -> Set:
    """As `read`; a whole set is joined with the rows of NAME.t.svm beside NAME.svm, if any.

    The families of `OWN_SPLIT` keep their own division into training and test rows, others are
    divided at random, as in the paper.
    """
    stem, packed = path.rsplit(".svm", 1)
    name, test_rows = os.path.basename(stem), f"{stem}.t.svm{packed}"
    if rows is not None or not os.path.exists(test_rows):
        return read(path, rows, seed)
    train, test = data.open(path), data.open(test_rows)
    d = max(train.X.shape[1], test.X.shape[1])
    X = np.zeros((len(train.y) + len(test.y), d))
    for part, first in ((train, 0), (test, len(train.y))):
        X[first : first + len(part.y), : part.X.shape[1]] = part.X.toarray()
    y = np.concatenate([train.y, test.y])
    given = len(train.y) if name in OWN_SPLIT else None
    return Set(name, scaled(X), np.where(y == y.max(), 1.0, -1.0), given)


def scaled(X: np.ndarray) -> np.ndarray:
    """Every feature to [-1, 1]."""
    X = X.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1


def wisconsin(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Features without the id, and the class; rows with missing values are left out."""
    suffix = os.path.splitext(path)[1]
    with OPENERS[suffix if suffix in OPENERS else ""](path, "rt") as lines:
        cells = [line.strip().split(",") for line in lines if line.strip()]
    table = np.array([row for row in cells if "?" not in row], dtype=np.float64)
    return table[:, 1:-1], table[:, -1]
