"""Several classes as binary problems that share one kernel matrix.

`labels` are the -1, 0, +1 of each binary problem (0: the row takes no part), `decide` turns their
predictions into a class.
"""

from __future__ import annotations

import itertools
from typing import Protocol

import numpy as np


class Coding(Protocol):
    n_classes: int

    def labels(self, codes: np.ndarray) -> list[np.ndarray]:
        """The labels of every binary problem, from class numbers 0 .. n_classes - 1."""

    def decide(self, f: np.ndarray) -> np.ndarray:
        """Class numbers from predictions of shape (n, number of problems)."""

    def scores(self, f: np.ndarray) -> np.ndarray:
        """One number a class, the largest for the class decided; (n,) with two classes."""


class TwoClasses:
    """One problem: the second class against the first."""

    n_classes = 2

    def labels(self, codes: np.ndarray) -> list[np.ndarray]:
        return [np.where(codes == 1, 1.0, -1.0)]

    def decide(self, f: np.ndarray) -> np.ndarray:
        return (f[:, 0] > 0).astype(np.intp)

    def scores(self, f: np.ndarray) -> np.ndarray:
        return f[:, 0]


class OneVsRest:
    """Each class against all others; the largest prediction wins."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def labels(self, codes: np.ndarray) -> list[np.ndarray]:
        return [np.where(codes == k, 1.0, -1.0) for k in range(self.n_classes)]

    def decide(self, f: np.ndarray) -> np.ndarray:
        return np.argmax(f, axis=1)

    def scores(self, f: np.ndarray) -> np.ndarray:
        return f


class OneVsOne:
    """Each class against each other on their rows alone; votes decide, sums break ties."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.pairs = list(itertools.combinations(range(n_classes), 2))

    def labels(self, codes: np.ndarray) -> list[np.ndarray]:
        return [np.where(codes == a, 1.0, np.where(codes == b, -1.0, 0.0)) for a, b in self.pairs]

    def decide(self, f: np.ndarray) -> np.ndarray:
        return np.argmax(self.scores(f), axis=1)

    def scores(self, f: np.ndarray) -> np.ndarray:
        votes = np.zeros((f.shape[0], self.n_classes))
        sums = np.zeros_like(votes)
        for k, (a, b) in enumerate(self.pairs):
            votes[:, a] += f[:, k] > 0
            votes[:, b] += f[:, k] <= 0
            sums[:, a] += f[:, k]
            sums[:, b] -= f[:, k]
        return votes + sums / (3 * (np.abs(sums) + 1))  # less than half a vote


def coding_of(n_classes: int, multi_class: str) -> Coding:
    """The coding by name: "ovr" or "ovo"; with two classes both are one problem."""
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(f"multi_class must be 'ovr' or 'ovo'; got {multi_class!r}")
    if n_classes == 2:
        return TwoClasses()
    return OneVsRest(n_classes) if multi_class == "ovr" else OneVsOne(n_classes)
