"""Classifiers trained for the measure they are judged by."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score, fbeta_score, roc_auc_score
from sklearn.utils.extmath import safe_sparse_dot

from maxmargin.estimators.base import check_labels
from maxmargin.estimators.scoring import (
    ScoringEstimator,
    check_number,
    checked_weights,
    weights_by_class,
)
from maxmargin.losses.measures import MEASURES, measure_loss, number_taken
from maxmargin.models.files import register_estimator
from maxmargin.models.linear import MeasureModel
from maxmargin.problem import Solution, Status

# The bounds of these do not change when a constant is added to all scores: there is none to learn.
OF_ORDER = ("prbep", "roc_auc")
AT_K = ("precision_at_k", "recall_at_k")


class MeasureSVC(ClassifierMixin, ScoringEstimator):
    r"""Linear classifier that minimises a convex bound on a measure of all its labels at once.

    ``minimise 1/2 ||w||^2 + C max over labellings ybar of [n Delta(ybar, y) - sum of y_i <w, x_i>
    over the rows where ybar differs from y]``; Delta is one minus the measure, see
    `maxmargin.losses.measures` for each.

    Parameters
    ----------
    measure : {"f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error"}
        "prbep" is the precision/recall break-even point; with "error" this is `LinearSVC`. The
        positive class is ``classes_[1]``.
    C : float
        Multiplies the loss, which weighs as much as a sum over rows; the same C as in `LinearSVC`.
    beta : float
        Weight of recall against precision, for "fbeta".
    k : int or float
        For the measures at k: a number of rows, or a share of them between 0 and 1. Precision and
        recall at the same k count the same rows, so they are trained alike.
    fit_intercept : bool
        Learn with a constant feature (hence regularised). "prbep" and "roc_auc" depend on the order
        of the scores alone and have none. For them and the measures at k `intercept_` is the cut
        above which as many training rows lie as the measure takes (k, or the number of positives).
    intercept_scaling : float
        Value of the constant feature.
    class_weight : dict, "balanced" or None
        Multiplies the weights of rows by their class.
    solver, tol, max_iter, max_time, n_jobs, warm_start, verbose, callback
        As in `RankSVM`.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, d), or (n_classes, d) one against the rest
    intercept_ : ndarray of shape (1,) or (n_classes,)
    certificate_ : Certificate
        Of the problem with the largest gap.
    certificates_ : list of Certificate
    history_, n_iter_, n_features_in_
        As in `RankSVM`.

    Notes
    -----
    A weight is the number of times a row is there, and need not be whole.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MeasureSVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = MeasureSVC(measure="f1", C=10).fit(X, [0, 0, 0, 0, 1, 1])
    >>> float(model.score(X, [0, 0, 0, 0, 1, 1]))
    1.0
    """

    _model = MeasureModel
    _arrays = ("coef", "intercept", "classes")

    def __init__(
        self,
        measure: str = "f1",
        C: float = 1.0,
        *,
        beta: float = 1.0,
        k: int | float | None = None,
        solver: str = "ocas",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight=None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback=None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.beta = beta
        self.k = k
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y, sample_weight=None) -> MeasureSVC:
        """Learns the classifier; several classes one against the rest."""
        self._check_parameters()
        X, y = self._check_rows(X, y)
        check_labels(y)
        weight = checked_weights(sample_weight, X.shape[0])
        weight = weights_by_class(weight, self.class_weight, y)
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; expected at least two classes"
            )
        bias = self._bias()
        signs = [np.where(y == label, 1.0, -1.0) for label in self._positives()]
        width = X.shape[1] + (1 if bias else 0)
        starts = self._previous((len(signs), width))
        solutions = []
        for row, sign in enumerate(signs):
            w0 = None if starts is None else starts[row]
            solutions.append(self._solve_one(X, sign, weight, bias, w0))
        self._keep(solutions)
        self.coef_ = self._w[:, : X.shape[1]].copy()
        if self.measure in OF_ORDER + AT_K:
            self.intercept_ = np.array(
                [-self._cut(X, row, sign, weight) for row, sign in enumerate(signs)]
            )
        else:
            self.intercept_ = bias * self._w[:, -1] if bias else np.zeros(len(signs))
        return self

    def score(self, X, y, sample_weight=None) -> float:
        """The measure itself (for "error" the accuracy); with several classes, their mean."""
        scores = self.decision_function(X)
        y = np.asarray(y)
        if self.measure == "error":
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        columns = scores[:, None] if self.classes_.size == 2 else scores
        labels = self.predict(X)
        values = []
        for column, label in zip(columns.T, self._positives()):
            values.append(self._measured(y == label, column, labels == label, sample_weight))
        return float(np.mean(values))

    def _positives(self) -> np.ndarray:
        """The classes that are positive in one problem each."""
        return self.classes_[1:] if self.classes_.size == 2 else self.classes_

    def _bias(self) -> float:
        learned = self.fit_intercept and self.measure not in OF_ORDER
        return float(self.intercept_scaling) if learned else 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.measure not in MEASURES:
            raise ValueError(f"measure is {self.measure!r}; expected one of {', '.join(MEASURES)}")
        check_number("beta", self.beta, least=0.0, strict=True)
        if self.fit_intercept:
            check_number("intercept_scaling", self.intercept_scaling, least=0.0, strict=True)

    def _solve_one(self, X, sign, weight, bias: float, w0: np.ndarray | None) -> Solution:
        """Learns one class against the rest, and says so if there was nothing to learn."""
        at_zero = 0.0

        def make_loss(pool):
            nonlocal at_zero
            loss = measure_loss(
                self.measure, sign, self.C, pool, beta=self.beta, k=self.k, sample_weight=weight
            )
            at_zero = loss.at_zero
            return loss

        solution = self._solve(X, make_loss, bias=bias, w0=w0)
        certificate = solution.certificate
        if certificate.status is Status.OPTIMAL and certificate.dual >= (1 - self.tol) * at_zero:
            warnings.warn(
                f"nothing was learned: no weights are better for measure {self.measure!r} than all "
                f"zero by more than tol = {self.tol:g}. {self._remedy()}",
                UserWarning,
                stacklevel=3,
            )
        return solution

    def _remedy(self) -> str:
        if self.measure in ("f1", "fbeta"):
            return (
                "Its bound is loose where positives are rare: train for measure='roc_auc', or try "
                "a larger C or a smaller tol"
            )
        return "Try a larger C, or features that tell the classes apart"

    def _cut(self, X, row: int, sign: np.ndarray, weight: np.ndarray | None) -> float:
        """The score above which as much weight of training rows lies as the measure takes."""
        scores = safe_sparse_dot(X, self.coef_[row], dense_output=True)
        weight = np.ones(scores.size) if weight is None else weight
        taken = float(weight[sign > 0].sum())
        if self.measure in AT_K:
            taken = number_taken(self.measure, self.k, float(weight.sum()))
        return best_cut(scores[weight > 0], weight[weight > 0], taken)

    def _measured(self, true, scores, labelled, sample_weight) -> float:
        """The measure of one binary problem."""
        if self.measure in ("f1", "fbeta"):
            beta = 1.0 if self.measure == "f1" else self.beta
            return fbeta_score(
                true, labelled, beta=beta, sample_weight=sample_weight, zero_division=0.0
            )
        if not np.any(true):
            raise ValueError(f"no row is positive; measure {self.measure!r} needs positives")
        if self.measure == "roc_auc":
            return roc_auc_score(true, scores, sample_weight=sample_weight)
        weight = np.ones(true.size) if sample_weight is None else np.asarray(sample_weight, float)
        positives = float(weight[true].sum())
        taken = positives
        if self.measure != "prbep":
            taken = number_taken(self.measure, self.k, float(weight.sum()))
        found = weight_found(true, scores, weight, taken)
        return found / (taken if self.measure == "precision_at_k" else positives)


def best_cut(scores: np.ndarray, weight: np.ndarray, taken: float) -> float:
    """A cut with weight `taken` above it, or as near as rows that tie allow."""
    values, place = np.unique(scores, return_inverse=True)
    above = np.cumsum(np.bincount(place, weight)[::-1])[::-1]
    cuts = np.concatenate(([values[0] - 1.0], 0.5 * (values[:-1] + values[1:]), [values[-1] + 1.0]))
    return float(cuts[np.argmin(np.abs(np.append(above, 0.0) - taken))])


def weight_found(true: np.ndarray, scores: np.ndarray, weight: np.ndarray, taken: float) -> float:
    """Weight of positives among the `taken` highest scores; rows of equal score share a place."""
    places, place = np.unique(-scores, return_inverse=True)
    rows = np.bincount(place, weight, places.size)
    positives = np.bincount(place, weight * true, places.size)
    before = np.concatenate(([0.0], np.cumsum(rows)[:-1]))
    share = np.clip((taken - before) / np.where(rows > 0, rows, 1.0), 0.0, 1.0)
    return float(share @ positives)


register_estimator("measure", MeasureSVC.from_model)
