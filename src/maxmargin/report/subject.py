"""What a report is about: a model, how it was found, and its predictions on labelled rows.

Whoever asks for a report (an estimator, a command) makes the predictions by its own door. So a
report needs no rows, and sections are functions of this one object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.models.files import kind_of
from maxmargin.problem import Progress


@dataclass(frozen=True)
class Rows:
    """What is known of a set of rows without holding them."""

    n: int
    d: int
    storage: str = ""
    entries: int | None = None
    name: str = ""
    trained_on: bool = False  # the rows of the fit itself, rather than others


@dataclass(frozen=True)
class Search:
    """What a cross-validation tried: `error` has shape (gammas, Cs, folds); no gamma: (1, ...)."""

    Cs: np.ndarray
    error: np.ndarray
    gammas: np.ndarray | None = None
    measure: str = "error"


@dataclass(frozen=True)
class Subject:
    """Everything that sections are computed from. Parts that are not known are None."""

    model: Any
    rows: Rows | None = None
    y: np.ndarray | None = None
    score: np.ndarray | None = None
    predicted: np.ndarray | None = None
    probability: np.ndarray | None = None
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    history: Sequence[Progress] = ()
    search: Search | None = None
    parameters: Mapping[str, Any] | None = field(default=None)
    name: str = ""

    @cached_property
    def kind(self) -> str:
        """The kind of its model files: "linear", "rank", "kernel", ..."""
        return kind_of(self.model)

    @property
    def classes(self) -> np.ndarray | None:
        return getattr(self.model, "classes", None)

    @property
    def task(self) -> str:
        """classification, ranking or regression"""
        if self.classes is not None:
            return "classification"
        return "ranking" if self.kind == "rank" else "regression"

    @property
    def judged(self) -> bool:
        """Whether there are predictions and the truth beside them."""
        return self.y is not None and self.predicted is not None

    def class_scores(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """For each class that is told from the others: its name, which rows have it, its score."""
        if self.y is None or self.score is None or self.classes is None:
            return []
        if self.score.ndim == 1:
            label = self.classes.tolist()[1]
            return [(label_text(label), np.asarray(self.y == label), self.score)]
        if self.score.shape[1] != len(self.classes):
            return []
        return [
            (label_text(label), np.asarray(self.y == label), self.score[:, j])
            for j, label in enumerate(self.classes.tolist())
        ]


def label_text(label: Any) -> str:
    """A label as it is written; 1.0 is 1."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def describe_rows(X: Any, name: str = "", trained_on: bool = False) -> Rows:
    """Rows of an array, a sparse matrix or a source on disk."""
    if hasattr(X, "blocks"):
        return Rows(X.n, X.d, f"{X.kind} rows, read block by block", None, name, trained_on)
    n, d = X.shape[0], (X.shape[1] if len(X.shape) > 1 else 1)
    if hasattr(X, "indptr"):
        storage = f"sparse ({X.data.dtype})"
        return Rows(n, d, storage, int(X.nnz), name, trained_on)
    if hasattr(X, "dtype"):
        return Rows(n, d, f"dense ({X.dtype})", None, name, trained_on)
    return Rows(n, d, type(X).__name__, None, name, trained_on)
