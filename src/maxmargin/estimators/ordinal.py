"""Ordinal regression: a ranking, and thresholds that turn scores into labels."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import check_labels, threads_of
from maxmargin.estimators.scoring import ScoringEstimator, checked_weights, weights_by_class
from maxmargin.losses.ranks import Ranks
from maxmargin.models.files import register_estimator
from maxmargin.models.ordinal import OrdinalModel, best_thresholds, places_of
from maxmargin.models.ranking import RankModel


class OrdinalSVC(ClassifierMixin, ScoringEstimator):
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

    _model = OrdinalModel
    _arrays = ("coef", "thresholds", "classes")

    def __init__(
        self,
        C: float = 1.0,
        *,
        order=None,
        solver: str = "ocas",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        class_weight=None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback=None,
    ) -> None:
        self.C = C
        self.order = order
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn scores it on labels without an order
        return tags

    def fit(self, X, y, sample_weight=None) -> OrdinalSVC:
        """Learns the score and the thresholds."""
        self._check_parameters()
        X, y = self._check_rows(X, y)
        check_labels(y)
        n = X.shape[0]
        weight = weights_by_class(checked_weights(sample_weight, n), self.class_weight, y)
        self.classes_, place = places_of(y, self.order)
        counted = place if weight is None else place[weight > 0]
        if np.unique(counted).size < 2:
            raise ValueError(
                "rows of positive weight have labels of one class only; expected at least two "
                f"classes, got {self.classes_.tolist()}"
            )
        self._learn_ranking(X, lambda pool: Ranks(place, self.C, pool, sample_weight=weight))
        score = RankModel(self.coef_).predict(X, threads_of(self.n_jobs))
        self.thresholds_ = best_thresholds(score, place, self.classes_.size, weight)
        return self

    def decision_function(self, X) -> np.ndarray:
        """How far the score lies inside the interval of each label; with two labels, above the cut.

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) with two labels
        """
        return self._predicted_by("decision_function", X)

    def mean_absolute_error(self, X, y, sample_weight=None) -> float:
        """Mean number of places between predicted and true label."""
        check_is_fitted(self)
        _, true = places_of(np.asarray(y), self.classes_)
        _, predicted = places_of(self.predict(X), self.classes_)
        return float(np.average(np.abs(predicted - true), weights=sample_weight))


register_estimator("ordinal", OrdinalSVC.from_model)
