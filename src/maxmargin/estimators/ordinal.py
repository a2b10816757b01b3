"""Ordinal regression: a ranking, and thresholds that turn scores into labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from maxmargin.estimators.base import Classifier, parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.sources import Given
from maxmargin.models.ordinal import places_of
from maxmargin.training.fit import LinearPlan
from maxmargin.training.tasks import OfOrder, Task


@parameters
class ForOrder(Classifier):
    """What all machines of ordered labels share: the order, and how labels are judged."""

    order: Sequence[Any] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn scores it on labels without an order
        return tags

    def mean_absolute_error(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean number of places between predicted and true label."""
        off, weight = self._places_off(X, y, sample_weight)
        return float(np.average(off, weights=weight))

    def _places_off(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        """How many places each row is off, and what the rows weigh."""
        given = self._scored(X, y, sample_weight)
        _, true = places_of(np.asarray(given.y), self.classes_)
        _, predicted = places_of(self.predict(given.X), self.classes_)
        return np.abs(predicted - true), given.weight


@parameters
class OrderedClassifier(ForOrder):
    """What machines of ordered labels by linear scores share."""

    solver: str = "ocas"

    _shown = ("coef", "thresholds", "classes")

    def _plan(self) -> LinearPlan:
        return self._planned(LinearPlan, loss="ranks", bias=0.0)

    def _task(self, given: Given, plan: LinearPlan) -> Task:
        return OfOrder(given.y, plan, given.weight, given.qid, order=self.order)


@parameters
class OrdinalSVC(OrderedClassifier, MakesFeatures):
    r"""Labels that have an order: one linear score for all of them, cut by thresholds.

    ``minimise 1/2 ||w||^2 + C n/m * sum over pairs y_i > y_j of max(0, 1 - <w, x_i - x_j>)``, then
    thresholds between neighbouring labels such that the mean absolute error in places is least on
    the training rows.

    Parameters
    ----------
    C : float
        Multiplies the loss, which weighs as much as a sum over rows.
    order : sequence of labels, optional
        All labels from the lowest to the highest. Without it they are sorted: numbers by size.
    features : str, map or callable, optional
        Features made of the rows in every pass, as in `StreamSVC`: "weighted_degree:8",
        "spectrum:6", "word_ngrams:2", ... X may then hold texts.
    solver, tol, max_iter, max_time, n_jobs, warm_start, verbose, callback
        As in `RankSVM`.
    class_weight : dict, "balanced" or None
        Multiplies the weights of rows by their label.

    Attributes
    ----------
    classes_ : ndarray
        Labels from the lowest to the highest.
    coef_ : ndarray of shape (1, d)
    thresholds_ : ndarray of shape (n_classes - 1,)
        A score above ``thresholds_[k]`` is labelled ``classes_[k + 1]`` or higher.
    certificate_, history_, n_iter_, n_features_in_
        As in `RankSVM`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OrdinalSVC
    >>> X = np.arange(9.0)[:, None]
    >>> stars = ["bad", "bad", "bad", "fair", "fair", "fair", "good", "good", "good"]
    >>> model = OrdinalSVC(order=["bad", "fair", "good"]).fit(X, stars)
    >>> [str(label) for label in model.predict([[1.0], [4.0], [7.0]])]
    ['bad', 'fair', 'good']
    """

    _kind = "ordinal"
    _rows_stay_on_disk = True

    C: float = field(default=1.0, kw_only=False)
    warm_start: bool = False
