"""What the estimators that learn one linear score by a loss of predictions share."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import progress_callback, threads_of, validated, warn_if_missed
from maxmargin.models.files import save
from maxmargin.problem import Callback, Certificate, Progress, Solution
from maxmargin.solvers.scores import fit_scores


class ScoringEstimator(BaseEstimator):
    """Parameters, checks, the call of the solver, and files."""

    C: float
    solver: str
    tol: float
    max_iter: int | None
    max_time: float | None
    n_jobs: int | None
    warm_start: bool
    verbose: int
    callback: Callback | None

    _model: type  # what is kept of a fit
    _arrays: tuple[str, ...] = ("coef",)  # its arrays, which a fit has with an underscore

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        check_number("C", self.C, least=0.0, strict=True)
        check_number("tol", self.tol, least=0.0)
        if self.max_iter is not None:
            check_number("max_iter", self.max_iter, least=0.0, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, least=0.0)
        if self.solver not in ("ocas", "cpa"):
            raise ValueError(f"solver is {self.solver!r}; expected 'ocas' or 'cpa'")

    def _check_rows(self, X, y="no_validation", **options):
        """Rows as they are, float32 or float64, dense or CSR; nothing is copied without need."""
        return validated(self, X, y, **options)

    def _solve(self, X, make_loss, bias: float = 0.0, w0: np.ndarray | None = None) -> Solution:
        solution = fit_scores(
            X,
            make_loss,
            bias=bias,
            method=self.solver,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            threads=threads_of(self.n_jobs),
            callback=progress_callback(self.callback, self.verbose),
            w0=w0,
        )
        warn_if_missed(solution.certificate, self.tol)
        return solution

    def _previous(self, shape: tuple[int, int]) -> np.ndarray | None:
        """The last solutions, one a row, where a warm start is asked for and they fit."""
        w = getattr(self, "_w", None) if self.warm_start else None
        return w if w is not None and w.shape == shape else None

    def _keep(self, solutions: list[Solution]) -> None:
        """What is known of the solved problems; the worst certificate speaks for all."""
        self._w = np.array([solution.w for solution in solutions])
        worst = max(solutions, key=lambda solution: solution.certificate.relative_gap)
        self._keep_certificates([solution.certificate for solution in solutions], worst.history)

    def _keep_certificates(self, certificates: list[Certificate], history: list[Progress]) -> None:
        self.certificates_ = certificates
        self.certificate_ = max(certificates, key=lambda c: c.relative_gap, default=None)
        self.history_ = history
        self.n_iter_ = max((certificate.n_iter for certificate in certificates), default=0)

    def _learn_ranking(self, X, loss) -> None:
        """One linear score without a constant."""
        width = X.shape[1]
        start = self._previous((1, width))
        self._keep([self._solve(X, loss, w0=None if start is None else start[0])])
        self.coef_ = self._w.copy()

    def decision_function(self, X) -> np.ndarray:
        """Scores: of each row, or one column a class if there are several."""
        return self._predicted_by("decision_function", X)

    def predict(self, X) -> np.ndarray:
        """The label of each row; of a ranking its score, the larger the further up."""
        return self._predicted_by("predict", X)

    def to_model(self) -> Any:
        """The model without the estimator: what `save` writes."""
        check_is_fitted(self)
        arrays = {name: getattr(self, name + "_") for name in self._arrays}
        return self._model(**arrays, **self._origin())

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one file, readable by `maxmargin.load` and the commands."""
        save(self, path)

    def _origin(self) -> dict[str, Any]:
        """What a model file says about the fit; callbacks are left out."""
        names = getattr(self, "feature_names_in_", None)
        parameters = self.get_params()
        del parameters["callback"]
        return {
            "certificates": tuple(self.certificates_),
            "solver": self.solver,
            "parameters": parameters,
            "feature_names": None if names is None else tuple(names),
        }

    @classmethod
    def from_model(cls, model: Any):
        """The fitted estimator that `to_model` was called on, without its history."""
        known = cls().get_params()
        estimator = cls(**{k: v for k, v in model.parameters.items() if k in known})
        estimator._keep_certificates(list(model.certificates), [])
        for name in cls._arrays:
            setattr(estimator, name + "_", getattr(model, name))
        estimator.n_features_in_ = model.n_features
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return estimator

    def _predicted_by(self, method: str, X) -> np.ndarray:
        """What a method of the model says about rows, once they are checked."""
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        return getattr(self.to_model(), method)(X, threads_of(self.n_jobs))


def checked_weights(sample_weight, n: int) -> np.ndarray | None:
    """Weights as float64, finite and not negative, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n, sample_weight)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n},), one a row")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        wrong = weight[~(np.isfinite(weight) & (weight >= 0))][0]
        raise ValueError(f"sample_weight has {wrong:g}; expected finite weights, none negative")
    if not np.any(weight > 0):
        raise ValueError("every sample_weight is zero; expected some rows of positive weight")
    return weight


def weights_by_class(weight: np.ndarray | None, class_weight, y) -> np.ndarray | None:
    """Weights of rows times those of their classes."""
    if class_weight is None:
        return weight
    by_class = compute_sample_weight(class_weight, y)
    return by_class if weight is None else weight * by_class


def checked_queries(qid, n: int) -> np.ndarray | None:
    """Query ids, one a row, in any order."""
    if qid is None:
        return None
    qid = np.asarray(qid)
    if qid.shape != (n,):
        raise ValueError(f"qid has shape {qid.shape}; expected ({n},), one query id a row")
    missing = qid.dtype.kind == "f" and not np.all(np.isfinite(qid))
    if missing or (qid.dtype.kind == "O" and any(q is None or q != q for q in qid.tolist())):
        raise ValueError("qid has a value that is not a number; expected a query id in every row")
    return qid


def _is_whole(value) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_number(name: str, value, least: float, strict: bool = False, whole: bool = False):
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    good = (
        good and (value > least if strict else value >= least) and (not whole or _is_whole(value))
    )
    if not good:
        kind = "a whole number" if whole else "a finite number"
        bound = f"above {least:g}" if strict else f"of at least {least:g}"
        raise ValueError(f"{name} is {value!r}; expected {kind} {bound}")
