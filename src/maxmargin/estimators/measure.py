"""Classifiers trained for the measure they are judged by."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from maxmargin.estimators.base import Classifier, WithIntercept, parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.sources import Given
from maxmargin.metrics.named import HeldOut, judged
from maxmargin.training.fit import LinearPlan
from maxmargin.training.scores import Measure
from maxmargin.training.tasks import OfMeasure, Task


@parameters
class ForMeasure(WithIntercept, Classifier):
    """What linear classifiers trained for a measure share."""

    measure: str = field(default="f1", kw_only=False)
    beta: float = 1.0
    k: int | float | None = None
    pos_label: Any = None
    solver: str = "ocas"

    _shown = ("coef", "intercept", "learned_intercept", "classes")

    def _measure(self) -> Measure:
        return Measure(self.measure, self.beta, self.k, self.pos_label)

    def _plan(self) -> LinearPlan:
        self._measure()
        return self._planned(LinearPlan, loss="measures", bias=self._bias())

    def _task(self, given: Given, plan: LinearPlan) -> Task:
        return OfMeasure(given.y, plan, given.weight, given.qid, measure=self._measure())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The measure itself (for "error" the accuracy); with several classes, their mean.

        X may be a file, which has its own labels and weights.
        """
        return judge(self._measure(), self.model_, self._judged(X, y, sample_weight))


def judge(measure: Measure, model: Any, given: Given) -> float:
    """The measure of a model's scores beside true labels; with several classes, their mean."""
    weight = None if given.weight is None else np.asarray(given.weight, dtype=np.float64)
    held = HeldOut(model, given.X, np.asarray(given.y), weight)
    return judged(measure.name, held, measure.beta, measure.k)


@parameters
class MeasureSVC(ForMeasure, MakesFeatures):
    r"""Linear classifier that minimises a convex bound on a measure of all its labels at once.

    ``minimise 1/2 ||w||^2 + C max over labellings ybar of [n Delta(ybar, y) - sum of y_i <w, x_i>
    over the rows where ybar differs from y]``; Delta is one minus the measure, see
    `maxmargin.losses.measures` for each.

    Parameters
    ----------
    measure : {"f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error"}
        "prbep" is the precision/recall break-even point; with "error" this is `LinearSVC`.
    pos_label : label, optional
        The positive one of two classes; None for ``classes_[1]``. Scores are those of
        ``classes_[1]`` all the same, as everywhere in scikit-learn.
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
    features : str, map or callable, optional
        Features made of the rows in every pass, as in `StreamSVC`: "weighted_degree:8",
        "spectrum:6", "word_ngrams:2", ... X may then hold texts.
    solver, tol, max_iter, max_time, n_jobs, warm_start, verbose, callback
        As in `RankSVM`.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, d), or (n_classes, d) one against the rest
    intercept_ : ndarray of shape (1,) or (n_classes,)
    learned_intercept_ : ndarray of shape (1,) or (n_classes,)
        `intercept_scaling` times the weight of the constant feature, 0 where there is none. With
        it the scores ``<w, x> + learned_intercept_`` are those of the objective; `intercept_` is
        the same but where it is the cut.
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

    _kind = "measure"
    _rows_stay_on_disk = True

    C: float = field(default=1.0, kw_only=False)
    warm_start: bool = False
