"""Linear support vector classification that finds its own C."""

from __future__ import annotations

from sklearn.model_selection import check_cv

from maxmargin.estimators.base import check_labels
from maxmargin.estimators.linear import LinearClassifier
from maxmargin.problem import Callback
from maxmargin.training.search import search_C


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
    scores_ : ndarray of shape (folds, len(Cs_))
        Accuracy on the rows held out.

    All others are those of `LinearSVC`, for the refitted model.
    """

    def __init__(
        self,
        Cs=10,
        *,
        cv=5,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight=None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None) -> LinearSVCCV:
        """Search and refit. X may be a file, which is read into memory."""
        plan = self._plan(C=1.0)
        given = self._given(X, y, sample_weight)
        check_labels(given.y)
        splits = check_cv(self.cv, given.y, classifier=True).split(given.X, given.y)
        found = search_C(given.X, given.y, plan, self.Cs, splits, given.weight)
        self.C_, self.Cs_, self.scores_ = found.C, found.Cs, found.scores
        return self._adopt(found.trained, given.index_base)
