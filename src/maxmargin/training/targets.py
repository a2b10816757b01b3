"""What is to be learned: labels, weights and query ids, checked and turned into problems.

s_i      weight of row i: its sample weight times the weight of its class
C_i      C s_i, what a unit of loss costs there
coding   two classes are one problem; more are one against the rest each, or one a pair
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from maxmargin.training.weights import checked_weights, class_factors


def check_one_column(y: Any, name: str) -> None:
    """Refuses a y of several columns, where a machine learns one target a row."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple)):
        shape = (len(y), len(y[0]))
    if shape is not None and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {tuple(shape)} instead: {name} learns "
            "one target a row. Several labels a row, as zeros and ones, are for "
            "maxmargin.LinearSVC and rows in memory; otherwise fit a machine for each column, as "
            "sklearn.multioutput does"
        )


class Weighed:
    """What is to be learned of each row, and what each row weighs (None: 1)."""

    weight: np.ndarray | None

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows there are."""

    def weights(self) -> np.ndarray:
        """``s_i``, always as an array."""
        return np.ones(self.n) if self.weight is None else self.weight

    def costs(self, C: float) -> np.ndarray:
        """``C_i = C s_i``"""
        return np.full(self.n, float(C)) if self.weight is None else C * self.weight

    def without(self, rows: np.ndarray) -> Self:
        """The same with these rows left out: they weigh nothing."""
        weight = self.weights().copy()
        weight[rows] = 0.0
        return replace(self, weight=weight)  # type: ignore[type-var]  # those below are dataclasses


@dataclass(frozen=True)
class Labels(Weighed):
    """The classes of the rows."""

    classes: np.ndarray
    codes: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def positives(self) -> list[int]:
        """The positive class of each problem: one problem for two classes, else one each."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    def signs(self, k: int) -> np.ndarray:
        """+1 for the rows of the k-th problem's class, -1 for the others."""
        return np.where(self.codes == self.positives[k], 1.0, -1.0)


def labels_of(
    y: np.ndarray,
    sample_weight: Any = None,
    class_weight: Mapping[Any, Any] | str | None = None,
) -> Labels:
    """Classes, codes and weights of rows, of which two classes must weigh something."""
    classes = classes_in(y)
    check_classes(classes)
    codes = codes_of(y, classes)
    weight = checked_weights(sample_weight, len(codes))
    total = np.bincount(codes, weight, minlength=len(classes))
    check_classes(classes[total > 0], " among rows of positive weight")
    if class_weight is not None:
        factors = class_factors(classes, total, class_weight)[codes]
        weight = factors if weight is None else weight * factors
    return Labels(classes, codes, weight)


@dataclass(frozen=True)
class Targets(Weighed):
    """Real-valued targets of the rows."""

    values: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n(self) -> int:
        return len(self.values)


def numbers_in(y: Any, what: str = "regression") -> np.ndarray:
    """Targets as float64. The first that is no number is named, with `what` needs them."""
    try:
        return np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        found = next(value for value in np.asarray(y).ravel().tolist() if not _is_numeral(value))
        raise ValueError(f"y holds {found!r}; {what} needs a number for each row") from None


def _is_numeral(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def targets_of(y: Any, sample_weight: Any = None) -> Targets:
    """One finite number for each row."""
    values = numbers_in(y)
    if values.ndim != 1:
        raise ValueError(f"y has shape {values.shape}; expected one number for each row")
    good = np.isfinite(values)
    if not good.all():
        bad = int(np.argmin(good))
        raise ValueError(f"y[{bad}] is {values[bad]}; expected finite numbers")
    return Targets(values, checked_weights(sample_weight, len(values)))


def check_classes(classes: np.ndarray, where: str = "") -> None:
    """Refuse fewer than two."""
    if len(classes) >= 2:
        return
    found = f"no class{where}"
    if len(classes):
        one = repr(str(classes[0])) if isinstance(classes[0], str) else classes[0]
        found = f"one class only{where}, {one}"
    raise ValueError(f"y has {found}; training needs at least two classes")


def classes_in(y: np.ndarray) -> np.ndarray:
    """``np.unique(y)``; of two classes of numbers without sorting or hashing all rows."""
    if y.dtype.kind in "biuf" and len(y) > 0:
        low, high = y.min(), y.max()
        if low < high and bool(((y == low) | (y == high)).all()):  # never with NaN among them
            return np.array([low, high], dtype=y.dtype)
    return np.unique(y)


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the classes; faster than the inverse that unique gives."""
    return (y == classes[1]).astype(np.intp) if len(classes) == 2 else np.searchsorted(classes, y)


def checked_queries(qid: Any, n: int) -> np.ndarray | None:
    """Query ids, one per row, in any order."""
    if qid is None:
        return None
    qid = np.asarray(qid)
    if qid.shape != (n,):
        raise ValueError(f"qid has shape {qid.shape}; expected ({n},), one query id per row")
    missing = qid.dtype.kind == "f" and not np.all(np.isfinite(qid))
    if missing or (qid.dtype.kind == "O" and any(q is None or q != q for q in qid.tolist())):
        raise ValueError("qid has a value that is not a number; expected a query id in every row")
    return qid
