"""What is kept of a ranking machine: the score ``f(x) = <w, x>``, the larger the further up.

An ordinal model also keeps thresholds: a score above ``thresholds[k]`` is labelled
``classes[k + 1]`` or higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.models.linear import (
    LinearScores,
    Scalar,
    pack_origin,
    pack_tensors,
    unpack_origin,
    unpack_tensors,
)
from maxmargin.problem import Certificate


@dataclass(frozen=True)
class RankModel(LinearScores):
    """A linear score, and where it came from.

    Parameters
    ----------
    coef : ndarray of shape (1, d), float64
    certificates, solver, parameters, feature_names, index_base
        As in `LinearModel`.
    """

    coef: np.ndarray
    certificates: tuple[Certificate, ...] = ()
    solver: str = "unknown"
    parameters: Mapping[str, Scalar | Mapping | Sequence] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    def __post_init__(self) -> None:
        _check_one_score(self.coef)
        self._check_origin()

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """``X w``, of shape (n,)."""
        return self.scores(X, threads)[:, 0]

    def predict(self, X, threads: int | None = None) -> np.ndarray:
        """The score of each row."""
        return self.decision_function(X, threads)


@dataclass(frozen=True)
class OrdinalModel(LinearScores):
    """A linear score cut by thresholds.

    Parameters
    ----------
    coef : ndarray of shape (1, d), float64
    thresholds : ndarray of shape (k - 1,), float64
        None falls below the one before it.
    classes : ndarray of shape (k,)
        Labels from the lowest to the highest.
    certificates, solver, parameters, feature_names, index_base
        As in `LinearModel`.
    """

    coef: np.ndarray
    thresholds: np.ndarray
    classes: np.ndarray
    certificates: tuple[Certificate, ...] = ()
    solver: str = "unknown"
    parameters: Mapping[str, Scalar | Mapping | Sequence] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    def __post_init__(self) -> None:
        _check_one_score(self.coef)
        if len(self.classes) < 2 or self.thresholds.shape != (len(self.classes) - 1,):
            raise ValueError(
                f"{len(self.classes)} classes do not fit thresholds of shape "
                f"{self.thresholds.shape}: expected one between each two neighbours"
            )
        if np.any(np.diff(self.thresholds) < 0):
            raise ValueError("the thresholds are not in increasing order")
        self._check_origin()

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """How far the score lies inside the interval of each label; with two labels, above the cut.

        Returns
        -------
        ndarray of shape (n, k), or (n,) with two labels
        """
        score = self.scores(X, threads)
        if len(self.classes) == 2:
            return score[:, 0] - self.thresholds[0]
        edges = np.concatenate(([-np.inf], self.thresholds, [np.inf]))
        return np.minimum(score - edges[:-1], edges[1:] - score)

    def predict(self, X, threads: int | None = None) -> np.ndarray:
        """The label in whose interval the score lies."""
        return self.classes[self.places(X, threads)]

    def places(self, X, threads: int | None = None) -> np.ndarray:
        """The position of each row's label in `classes`."""
        score = self.scores(X, threads)[:, 0]
        return np.searchsorted(self.thresholds, score, side="left")


def _check_one_score(coef: np.ndarray) -> None:
    if coef.ndim != 2 or len(coef) != 1 or coef.size == 0:
        raise ValueError(f"a ranking needs coef (1, d) with d at least 1; got {coef.shape}")


def _pack_rank(model: RankModel) -> tuple[Tensors, dict]:
    return pack_tensors(coef=model.coef), pack_origin(model)


def _unpack_rank(tensors: Tensors, content: dict) -> RankModel:
    return RankModel(**unpack_tensors(tensors, coef=2), **unpack_origin(content))


def _pack_ordinal(model: OrdinalModel) -> tuple[Tensors, dict]:
    tensors = pack_tensors(coef=model.coef, thresholds=model.thresholds)
    return tensors, {"classes": pack_classes(model.classes), **pack_origin(model)}


def _unpack_ordinal(tensors: Tensors, content: dict) -> OrdinalModel:
    arrays = unpack_tensors(tensors, coef=2, thresholds=1)
    classes = unpack_classes(content.get("classes"), any_order=True)
    return OrdinalModel(**arrays, classes=classes, **unpack_origin(content))


register_kind(Kind("rank", RankModel, _pack_rank, _unpack_rank))
register_kind(Kind("ordinal", OrdinalModel, _pack_ordinal, _unpack_ordinal))
