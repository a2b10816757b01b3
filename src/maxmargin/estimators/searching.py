"""Estimators that find their own C: what they share."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from maxmargin.estimators.base import Machine, parameters
from maxmargin.estimators.scorers import scoring_of
from maxmargin.estimators.sources import Given
from maxmargin.problem import callers_line
from maxmargin.training.search import Axis, Grid, SearchResult, search


@parameters
class Searching(Machine):
    """A machine whose C is the best on rows held out.

    Every fold is solved along growing C, each solution the start of the next, and no row is copied.
    The point of best mean score (the least C of equals) is fitted again on all rows.
    """

    Cs: Any = field(default=10, kw_only=False)
    cv: Any = 5
    scoring: Any = None
    widen: bool | None = None
    random_state: Any = None

    _axis: ClassVar[tuple[str, str] | None] = None  # our parameter of values, and what it varies

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Finds the best C, and fits the machine with it.

        X, y and sample_weight are as without a search; what `maxmargin.data.open_source` gives
        stays on disk. Rows of one of `groups` (in a file, of one query) are in the same fold.
        """
        plan = self._plan()
        given = self._given(X, y, sample_weight, groups)
        return self._adopt(self._train(given, plan), given.index_base)

    def _leaves_on_disk(self, X: Any) -> bool:
        return hasattr(X, "blocks")

    def _train(self, given: Given, plan: Any) -> Any:
        task = self._task(given, plan)
        by = getattr(self, "_probabilities_by", None)
        scoring = scoring_of(self.scoring, self._wrapped, by)
        tune = bool(getattr(self, "tune_threshold", False))
        found = search(given.X, task, self._grid(), self._folds(given), scoring, tune)
        self._keep_search(found)
        return found.trained

    def _grid(self) -> Grid:
        if self._axis is None or getattr(self, self._axis[0]) is None:
            return Grid(self.Cs, None, self.widen)
        values = np.unique(np.asarray(getattr(self, self._axis[0]), dtype=np.float64))
        if values.ndim != 1 or not values.size:
            raise ValueError(f"{self._axis[0]} has no values to try")
        return Grid(self.Cs, Axis(self._axis[1], tuple(values.tolist())), self.widen)

    def _folds(self, given: Given) -> Any:
        """A number of folds of our own making, the same as in the command; else what was given."""
        if self.cv is None or isinstance(self.cv, int | np.integer):
            return 5 if self.cv is None else int(self.cv)
        splitter = check_cv(self.cv, given.y, classifier=is_classifier(self))
        return splitter.split(np.zeros(len(given.y)), given.y, given.qid)

    def _wrapped(self, model: Any) -> Any:
        """An estimator with a model, for scorers; it has the parameters of this one."""
        estimator = type(self)(**self.get_params(deep=False))
        estimator._show(model)
        estimator._note_columns(model.n_features, None)
        return estimator

    def _keep_search(self, found: SearchResult) -> None:
        self.C_, self.Cs_, self.scores_ = found.C, found.Cs, found.scores
        self.best_params_, self.best_score_ = found.best, found.score
        self.scoring_ = found.title
        if self._axis is not None and found.values:
            setattr(self, self._axis[0] + "_", np.array(found.values))
            setattr(self, self._axis[1] + "_", found.best[self._axis[1]])
        if found.threshold is not None:
            self.threshold_ = found.threshold
        if found.edge is not None:
            warnings.warn(found.edge, UserWarning, stacklevel=callers_line())


@parameters
class SearchingClasses(Searching):
    """The same for classes: the threshold between two of them can be the best one, too."""

    tune_threshold: bool = False
