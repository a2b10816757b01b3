"""What is kept of a ranking machine: the score ``f(x) = <w, x>``, the larger the further up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.linear import (
    LinearScores,
    pack_origin,
    pack_tensors,
    unpack_origin,
    unpack_tensors,
)


@dataclass(frozen=True)
class RankModel(LinearScores):
    """A linear score.

    Parameters
    ----------
    coef : ndarray of shape (1, d), float64
    certificates, solver, parameters, feature_names, index_base
        As in `LinearScores`.
    """

    def __post_init__(self) -> None:
        check_one_score(self.coef)
        self._check_origin()

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """``X w``, of shape (n,)."""
        return self.scores(X, threads)[:, 0]

    def predict(self, X, threads: int | None = None) -> np.ndarray:
        """The score of each row."""
        return self.decision_function(X, threads)


def check_one_score(coef: np.ndarray) -> None:
    """Refuse coefficients of several scores, or of none."""
    if coef.ndim != 2 or len(coef) != 1 or coef.size == 0:
        raise ValueError(f"a ranking needs coef (1, d) with d at least 1; got {coef.shape}")


def _pack(model: RankModel) -> tuple[Tensors, dict]:
    return pack_tensors(coef=model.coef), pack_origin(model)


def _unpack(tensors: Tensors, content: dict) -> RankModel:
    return RankModel(**unpack_tensors(tensors, coef=2), **unpack_origin(content))


register_kind(Kind("rank", RankModel, _pack, _unpack))
