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

from maxmargin.metrics.named import ERRORS
from maxmargin.models.files import kind_of
from maxmargin.problem import Progress


@dataclass(frozen=True)
class Rows:
    """What is known of a set of rows without holding them."""

    n: int
    d: int  # 0: of texts
    storage: str = ""
    entries: int | None = None
    name: str = ""
    trained_on: bool = False  # the rows of the fit itself, rather than others


@dataclass(frozen=True)
class Search:
    """What a cross-validation tried: `error` has shape (gammas, Cs, folds); no gamma: (1, ...).

    The least error is the best, and points that were not tried are NaN. `measure` is "error", a
    share of the rows, or the name of a number; `negative` says that the number is the better the
    larger, so that `error` holds it with a minus. `axis` names the values in `gammas`.
    """

    Cs: np.ndarray
    error: np.ndarray
    gammas: np.ndarray | None = None
    measure: str = "error"
    negative: bool = False
    axis: str = "gamma"


def search_by(
    scoring: str, Cs: Any, scores: Any, values: Any = None, axis: str = "gamma"
) -> Search:
    """What a search tried, of scores (more is better) and the name of what they are.

    `scores` are by (fold, C) or, with `values` of another parameter, by (value, C, fold).
    """
    scores, tried = np.asarray(scores, dtype=np.float64), np.asarray(Cs, dtype=np.float64)
    scores = scores.T[None] if scores.ndim == 2 else scores
    given = None if values is None else np.asarray(values, dtype=np.float64)
    if scoring == "accuracy":
        return Search(tried, 1.0 - scores, given, axis=axis)
    name = scoring.removeprefix("neg_").removeprefix("negative_")
    measure = name.replace("_", " ")
    is_score = name == scoring and name not in ERRORS
    return Search(tried, -scores, given, measure, is_score, axis)


@dataclass(frozen=True)
class Subject:
    """Everything that sections are computed from. Parts that are not known are None.

    Of several labels a row, `y`, `predicted`, `score` and `probability` have a column a label.
    """

    model: Any
    rows: Rows | None = None
    y: np.ndarray | None = None
    score: np.ndarray | None = None
    predicted: np.ndarray | None = None
    probability: np.ndarray | None = None
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    cell: np.ndarray | None = None  # which cell decides each row
    history: Sequence[Progress] = ()
    search: Search | None = None
    parameters: Mapping[str, Any] | None = field(default=None)
    name: str = ""
    label_names: Sequence[str] | None = None  # of the columns of y
    encoder: Any = None  # what made features of the columns of a table

    @cached_property
    def kind(self) -> str:
        """The kind of its model files: "linear", "rank", "kernel", ..."""
        return kind_of(self.model)

    @property
    def classes(self) -> np.ndarray | None:
        return getattr(self.model, "classes", None)

    @property
    def task(self) -> str:
        """classification, labels (several a row), ranking or regression"""
        if self.classes is not None:
            return "labels" if self.model.task == "labels" else "classification"
        return "ranking" if self.model.task == "ranking" else "regression"

    @property
    def judged(self) -> bool:
        """Whether there are predictions and the truth beside them."""
        return self.y is not None and self.predicted is not None

    @property
    def class_names(self) -> list[str]:
        """The classes, or the labels of which a row may have several, as they are written."""
        if self.label_names is not None:
            return list(self.label_names)
        return [] if self.classes is None else list(map(label_text, self.classes.tolist()))

    def level_names(self, n: int) -> list[str] | None:
        """Names of n functions fitted to as many quantiles or expectiles; None if they are not."""
        known = (self.model.parameters if self.parameters is None else self.parameters) or {}
        levels = known.get("quantile")
        if self.task != "regression" or not isinstance(levels, list | tuple | np.ndarray):
            return None
        if len(levels) != n:
            return None
        return [f"{known.get('loss', 'quantile')} {level:g}" for level in levels]

    def class_scores(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """For each class that is told from the others: its name, which rows have it, its score."""
        if self.y is None or self.score is None or self.classes is None:
            return []
        if self.score.ndim == 1:
            return [(self.class_names[1], np.asarray(self.y == self.classes[1]), self.score)]
        if self.score.shape[1] != len(self.classes):
            return []
        several = self.task == "labels"
        return [
            (name, self.y[:, j] != 0 if several else np.asarray(self.y == label), self.score[:, j])
            for j, (name, label) in enumerate(zip(self.class_names, self.classes))
        ]


def label_text(label: Any) -> str:
    """A label as it is written; 1.0 is 1."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def describe_rows(X: Any, name: str = "", trained_on: bool = False) -> Rows:
    """Rows of an array, a sparse matrix or a source on disk."""
    if hasattr(X, "blocks"):
        return Rows(X.n, X.d, f"{X.kind} rows, read block by block", None, name, trained_on)
    n, d = X.shape[0], (X.shape[1] if len(X.shape) > 1 else 1)
    if getattr(X, "dtype", np.dtype(float)).kind in "OUST":
        return Rows(n, 0, "texts", None, name, trained_on)
    if hasattr(X, "indptr"):
        storage = f"sparse ({X.data.dtype})"
        return Rows(n, d, storage, int(X.nnz), name, trained_on)
    if hasattr(X, "dtype"):
        return Rows(n, d, f"dense ({X.dtype})", None, name, trained_on)
    return Rows(n, d, type(X).__name__, None, name, trained_on)
