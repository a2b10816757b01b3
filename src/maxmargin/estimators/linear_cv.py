"""Linear support vector classification that finds its own C."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from sklearn.model_selection import check_cv

from maxmargin.estimators.base import Given, parameters
from maxmargin.estimators.linear import LinearClassifier
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.search import search_C


@parameters
class LinearSVCCV(LinearClassifier):
    """`LinearSVC` with the C that classifies held-out rows best.

    Every fold is solved along growing C, each solution the start of the next, and no row is copied.
    The model is refitted on all rows with the least C of best mean accuracy.

    Parameters
    ----------
    Cs : int or list of float
        Values to try, or how many between 1e-4 and 1e4 at even ratios.
    cv : int, splitter or iterable
        As in scikit-learn: a number of stratified folds, a splitter, or pairs of index arrays.

    The others are those of `LinearSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_ : float
        The best C.
    Cs_ : ndarray
    scores_ : ndarray of shape (folds, number of Cs)
        Accuracy on the rows held out.

    All others are those of `LinearSVC`, for the refitted model.
    """

    Cs: Any = field(default=10, kw_only=False)
    cv: Any = 5

    def _train(self, given: Given, plan: LinearPlan) -> Trained:
        splits = check_cv(self.cv, given.y, classifier=True).split(given.X, given.y)
        found = search_C(given.X, given.y, plan, self.Cs, splits, given.weight)
        self.C_, self.Cs_, self.scores_ = found.C, found.Cs, found.scores
        return found.trained
