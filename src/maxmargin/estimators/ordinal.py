"""Ordinal regression: a ranking, and thresholds that turn scores into labels."""

from __future__ import annotations

import numpy as np

from maxmargin.estimators.base import Classifier, check_labels
from maxmargin.models.ordinal import places_of
from maxmargin.training.fit import LinearPlan
from maxmargin.training.scores import train_ordinal


class OrdinalSVC(Classifier):
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

    _kind = "ordinal"
    _shown = ("coef", "thresholds", "classes")

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

    def fit(self, X, y=None, sample_weight=None) -> OrdinalSVC:
        """Learns the score and the thresholds. X may be a file, which is read into memory."""
        plan = LinearPlan(
            self.C,
            loss="ranks",
            solver=self.solver,
            bias=0.0,
            class_weight=self.class_weight,
            options=self._options(),
        )
        given = self._given(X, y, sample_weight)
        check_labels(given.y)
        trained = train_ordinal(given.X, given.y, plan, self.order, given.weight, self._starts())
        return self._adopt(trained, given.index_base)

    def mean_absolute_error(self, X, y=None, sample_weight=None) -> float:
        """Mean number of places between predicted and true label."""
        given = self._scored(X, y, sample_weight)
        _, true = places_of(np.asarray(given.y), self.classes_)
        _, predicted = places_of(self.predict(given.X), self.classes_)
        return float(np.average(np.abs(predicted - true), weights=given.weight))
