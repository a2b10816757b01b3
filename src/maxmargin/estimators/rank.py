"""Ranking support vector machine."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, Self

from maxmargin.estimators.base import Machine, parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.sources import Given
from maxmargin.metrics import pairwise_accuracy
from maxmargin.problem import callers_line
from maxmargin.training.fit import LinearPlan
from maxmargin.training.targets import numbers_in
from maxmargin.training.tasks import OfRanks


@parameters
class ForRanks(Machine):
    """What all rankings share: targets in queries, and how scores are judged."""

    # Query ids are meant for every method that can take them.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learns the scores.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or a file
            Rows of a file (a path, a glob, a list of paths, or what `maxmargin.data.open_source`
            gives) stay on disk and are read twice an iteration; targets and queries are its own.
        y : array of shape (n,)
            Grades or real values; only their order within a query counts.
        qid : array of shape (n,), optional
            Which query each row belongs to, in any order. Queries without two different targets
            are left out; the others count equally.
        sample_weight : array of shape (n,), optional
            A weight of 2 counts as the row twice.
        """
        plan = self._plan()
        if y is not None:
            numbers_in(y, type(self).__name__)
        given = self._given(X, y, sample_weight, qid, y_numeric=True)
        self._note_queries(given.qid is not None, self._is_file(X))
        return self._adopt(self._train(given, plan), given.index_base)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Share of pairs in the right order, averaged over queries; ties count one half.

        X may be a file, which has its own targets and queries.
        """
        given = self._judged(X, y, sample_weight, qid)
        self._check_queries(given)
        return pairwise_accuracy(given.y, given.X, qid=given.qid, sample_weight=given.weight)

    def _note_queries(self, found: bool, in_file: bool) -> None:
        """Remember whether there were queries; say so where a file might have had some."""
        self._has_queries = found
        if in_file and not found:
            warnings.warn(
                "the file has no queries: all rows are one", UserWarning, stacklevel=callers_line()
            )

    def _check_queries(self, given: Given) -> None:
        """Say so where rows are judged without the queries that others were fitted with."""
        if given.qid is None and getattr(self, "_has_queries", False):
            warnings.warn(
                "scored without qid, though fitted with it: all rows count as one query",
                UserWarning,
                stacklevel=callers_line(),
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@parameters
class Ranker(ForRanks):
    """What rankings by linear scores share."""

    _shown = ("coef",)
    _learns = OfRanks

    solver: str = "ocas"

    def _plan(self) -> LinearPlan:
        return self._planned(LinearPlan, loss="ranks", bias=0.0)


@parameters
class RankSVM(Ranker, MakesFeatures):
    r"""Linear scores that put rows in the order of their targets, query by query.

    ``minimise 1/2 ||w||^2 + C N/Q * sum_q 1/m_q * sum of max(0, 1 - <w, x_i - x_j>)`` over the m_q
    pairs of query q with ``y_i > y_j``; N rows in Q queries. Without `qid` all rows are one query.

    Any number of grades, or a real-valued target, costs O(n log n) an iteration.

    Parameters
    ----------
    C : float
        Multiplies the loss, which weighs as much as a sum over rows. SVM-perf's ``-c`` is
        ``C n / 100``; SVM-rank's is ``C n / m`` where every query has m pairs.
    solver : {"ocas", "cpa"}
        Cutting planes with an exact line search, or without (for comparison).
    features : str, map or callable, optional
        Features made of the rows in every pass, as in `StreamSVC`: "weighted_degree:8",
        "spectrum:6", "word_ngrams:2", ... X may then hold texts.
    tol : float
        The fit ends when the objective is proved within a share `tol` of the best.
    max_iter : int, optional
    max_time : float, optional
        Seconds after which the best answer so far is returned.
    n_jobs : int, optional
        Threads; None or -1 for all available CPUs. The answer does not depend on it.
    warm_start : bool
        Start from the last solution.
    verbose : int
        If not 0, progress is written to standard error.
    callback : callable, optional
        Called with a `Progress` every iteration; the fit ends when it returns True.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d)
    certificate_ : Certificate
        Proved bounds on the objective, and why the fit ended.
    history_ : list of Progress
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import RankSVM
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [5.0, 1.0], [4.0, 0.0]])
    >>> ranker = RankSVM().fit(X, [0, 1, 2, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> float(ranker.score(X, [0, 1, 2, 1, 0], qid=["a", "a", "a", "b", "b"]))
    1.0
    """

    _kind = "rank"
    _rows_stay_on_disk = True

    C: float = field(default=1.0, kw_only=False)
    warm_start: bool = False
