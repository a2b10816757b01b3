"""What is kept of a linear machine: ``f_j(x) = <w_j, x> + b_j``, one row of `coef` a problem.

Two classes have one row, positive for ``classes[1]``. More classes have a row each, and the largest
``f_j`` wins.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.cpus import granted_cpus
from maxmargin.models.base import Labelling, Model
from maxmargin.models.contents import Classes, Floats, stored

SMALL = 1000  # rows


@dataclass(frozen=True)
class LinearScores(Model):
    """What models of linear scores ``<w_j, x>`` share.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    coef: np.ndarray = stored(Floats(2))

    @property
    def n_features(self) -> int:
        return self.coef.shape[1]

    def scores(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X coef^T``, (n, k). X is used where it lies."""
        X = self.rows_of(X)
        if X.shape[0] < SMALL:  # starting threads would take longer than the work
            threads = 1
        rows = ArrayRows(X, pool=_core.Pool(threads or granted_cpus()))
        scores = np.empty((rows.n, len(self.coef)), order="F")
        for j, w in enumerate(self.coef):
            scores[:, j] = rows.matvec(w)
        return scores


@dataclass(frozen=True)
class LinearFunctions(LinearScores):
    """What models of linear functions ``<w_j, x> + b_j`` share.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    intercept: np.ndarray = stored(Floats(1))

    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``X coef^T + intercept``, (n, k). X is used where it lies."""
        return self.scores(X, threads) + self.intercept

    def _check_functions(self) -> None:
        k = len(self.coef)
        if self.coef.ndim != 2 or self.coef.size == 0 or self.intercept.shape != (k,):
            raise ValueError(
                f"a {self.kind} model needs coef (k, d) and intercept (k,), k and d at least 1; "
                f"got {self.coef.shape} and {self.intercept.shape}"
            )
        self._check_problems(k)


@dataclass(frozen=True)
class LinearModel(LinearFunctions, Labelling):
    """A linear classifier.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    classes : ndarray of shape (2,) if k = 1, else (k,)
        Numbers or strings, increasing.
    certificates, solver, parameters, feature_names, index_base
        As in `Model`.
    """

    kind = "linear"

    classes: np.ndarray = stored(Classes())

    def __post_init__(self) -> None:
        self._check_functions()
        k = len(self.coef)
        if len(self.classes) != max(k, 2) or k == 2:
            raise ValueError(f"{len(self.classes)} classes do not fit {k} rows of coefficients")

    def margins(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, k)."""
        scores = self.functions(X, threads)
        return scores.ravel() if len(self.coef) == 1 else scores


@dataclass(frozen=True)
class MeasureModel(LinearModel):
    """A linear classifier trained for a measure of all labels, which its parameters name.

    Parameters
    ----------
    learned_intercept : ndarray of shape (k,), float64
        Of the scores that the certificates are about. `intercept` differs where it is a cut; None
        in files of earlier versions.
    """

    kind = "measure"

    _: KW_ONLY
    learned_intercept: np.ndarray | None = stored(Floats(1, optional=True), None)

    def __post_init__(self) -> None:
        super().__post_init__()
        learned = self.learned_intercept
        if learned is not None and learned.shape != self.intercept.shape:
            raise ValueError(
                f"{learned.size} learned intercepts do not fit {len(self.coef)} rows of "
                "coefficients"
            )


def check_classifier(model: object, format: str) -> None:
    """Refuse to write anything but a linear classifier in another system's format."""
    if not isinstance(model, LinearModel):
        kind = getattr(model, "kind", type(model).__name__)
        raise ValueError(
            f"{kind} models cannot be written as {format}, which here holds linear classifiers: "
            "save it as .safetensors"
        )
    if model.encoder is not None:
        raise ValueError(
            f"a model of a table cannot be written as {format}, which holds coefficients only: "
            "export it as .onnx, or train with --encode none"
        )
    check_features(model, format)


def check_features(model: object, format: str) -> None:
    """Refuse to write a model without the features that it makes."""
    if getattr(model, "features", None) is not None:
        raise ValueError(
            f"a model that makes features on the fly cannot be written as {format}, which holds "
            "coefficients only: save it as .safetensors"
        )
