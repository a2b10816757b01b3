"""What is kept of a ranking machine: the score ``f(x) = <w, x>``, the larger the further up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.linear import LinearScores


@dataclass(frozen=True)
class RankModel(LinearScores):
    """A linear score.

    Parameters
    ----------
    coef : ndarray of shape (1, d), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "rank"
    task = "ranking"

    def __post_init__(self) -> None:
        check_one_score(self.coef)
        self._check_problems(1)

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X w``, of shape (n,)."""
        return self.scores(X, threads)[:, 0]

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The score of each row."""
        return self.decision_function(X, threads)


def check_one_score(coef: np.ndarray) -> None:
    """Refuse coefficients of several scores, or of none."""
    if coef.ndim != 2 or len(coef) != 1 or coef.size == 0:
        raise ValueError(f"a ranking needs coef (1, d) with d at least 1; got {coef.shape}")
