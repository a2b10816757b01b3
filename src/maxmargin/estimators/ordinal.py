"""Ordinal regression: a ranking, and thresholds that turn scores into labels."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import threads_of
from maxmargin.estimators.scoring import ScoringEstimator, checked_weights
from maxmargin.losses.ranks import Ranks
from maxmargin.models.files import register_estimator
from maxmargin.models.ranking import OrdinalModel, RankModel


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
        check_classification_targets(y)
        n = X.shape[0]
        weight = checked_weights(sample_weight, n)
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            weight = by_class if weight is None else weight * by_class
        self.classes_, place = _places(y, self.order)
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

    def predict(self, X) -> np.ndarray:
        """The label in whose interval the score lies."""
        return self._predicted_by("predict", X)

    def to_model(self) -> OrdinalModel:
        """The model without the estimator: what `save` writes."""
        origin = self._origin()
        return OrdinalModel(self.coef_, self.thresholds_, self.classes_, **origin)

    @classmethod
    def from_model(cls, model: OrdinalModel) -> OrdinalSVC:
        """The fitted estimator that `to_model` was called on, without its history."""
        estimator = super().from_model(model)
        estimator.classes_, estimator.thresholds_ = model.classes, model.thresholds
        return estimator

    def mean_absolute_error(self, X, y, sample_weight=None) -> float:
        """Mean number of places between predicted and true label."""
        check_is_fitted(self)
        _, true = _places(np.asarray(y), self.classes_)
        _, predicted = _places(self.predict(X), self.classes_)
        return float(np.average(np.abs(predicted - true), weights=sample_weight))


def best_thresholds(
    score: np.ndarray, place: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Thresholds of least ``sum_i s_i |predicted place - place|``.

    The places between two labels are a sum over thresholds of 0-1 errors, so each threshold k is
    the best cut between places <= k and > k by itself; first best cuts never fall with k.
    """
    weight = np.ones(score.size) if weight is None else weight
    order = np.argsort(score, kind="stable")
    order = order[weight[order] > 0]
    score, place, weight = score[order], place[order], weight[order]
    # A cut before row r of the order; only between different scores.
    possible = np.concatenate(([True], score[1:] > score[:-1], [True]))
    middle = np.empty(score.size + 1)
    middle[1:-1] = score[:-1] + 0.5 * (score[1:] - score[:-1])
    middle[0], middle[-1] = score[0] - 1.0, score[-1] + 1.0
    # Scores a rounding apart have no middle between them.
    middle[1:-1] = np.where(middle[1:-1] < score[1:], middle[1:-1], score[:-1])
    thresholds = np.empty(n_classes - 1)
    for k in range(n_classes - 1):
        # Moving the cut past a row: one error more if it belongs above, one less if below.
        errors = np.concatenate(([0.0], np.cumsum(np.where(place > k, weight, -weight))))
        errors[~possible] = np.inf
        thresholds[k] = middle[int(np.argmin(errors))]
    return np.maximum.accumulate(thresholds)


def _places(y: np.ndarray, order) -> tuple[np.ndarray, np.ndarray]:
    """Labels from lowest to highest, and the place of each row's label among them."""
    if order is None:
        classes, place = np.unique(y, return_inverse=True)
        return classes, place.astype(np.float64)
    classes = np.asarray(order)
    index = {label: k for k, label in enumerate(classes.tolist())}
    if len(index) != classes.size:
        raise ValueError(f"order has a label twice: {classes.tolist()}")
    unknown = [label for label in np.unique(y).tolist() if label not in index]
    if unknown:
        raise ValueError(f"y has the label {unknown[0]!r}; expected one of {classes.tolist()}")
    return classes, np.array([index[label] for label in y.tolist()], dtype=np.float64)


register_estimator("ordinal", OrdinalSVC.from_model)
