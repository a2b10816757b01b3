"""How good predictions are, counted by weight (1 for each row unless the data says otherwise)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scores:
    """Counts and ratios over test rows. A ratio with nothing to count is nan."""

    labels: list[str]
    confusion: np.ndarray  # [true, predicted]

    @property
    def total(self) -> float:
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return ratio(float(np.trace(self.confusion)), self.total)

    def precision(self, j: int) -> float:
        return ratio(self.confusion[j, j], self.confusion[:, j].sum())

    def recall(self, j: int) -> float:
        return ratio(self.confusion[j, j], self.confusion[j].sum())

    def f1(self, j: int) -> float:
        return ratio(2 * self.confusion[j, j], self.confusion[:, j].sum() + self.confusion[j].sum())

    def support(self, j: int) -> float:
        return float(self.confusion[j].sum())


def ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole > 0 else float("nan")


def confusion(
    true: list[str], predicted: np.ndarray, classes: list[str], weight: np.ndarray | None = None
) -> Scores:
    """Scores of predictions (positions in `classes`); labels the model never saw come last."""
    labels = classes + sorted(set(true) - set(classes))
    position = {label: j for j, label in enumerate(labels)}
    rows = np.array([position[label] for label in true], dtype=np.intp)
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (rows, predicted), 1.0 if weight is None else weight)
    return Scores(labels, counts)
