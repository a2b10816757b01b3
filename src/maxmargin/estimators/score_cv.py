"""Rankings, ordered labels, measures and sparse kernel machines that find their own C."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators.base import parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.measure import ForMeasure
from maxmargin.estimators.ordinal import OrderedClassifier
from maxmargin.estimators.rank import Ranker
from maxmargin.estimators.searching import Searching, SearchingClasses
from maxmargin.estimators.span import OrderedOnSpan, RankerOnSpan, RegressorOnSpan
from maxmargin.estimators.sparse_kernel import OnBasis


@parameters
class RankSVMCV(Ranker, Searching, MakesFeatures):  # type: ignore[misc]  # queries, where others have groups
    """`RankSVM` with the C that ranks the rows of held-out queries best.

    Folds keep queries whole. Every fold is solved along growing C, each solution the start of the
    next, and no row is copied.

    Parameters
    ----------
    Cs : int or list of float
        Values to try, or how many between 1e-4 and 1e4 at even ratios.
    cv : int, splitter or iterable
        A number of folds of queries, shuffled by `random_state`; or as in scikit-learn, where query
        ids are the groups.
    scoring : str or callable, optional
        "ndcg@10" (the default for grades), "ndcg", "map", "precision@5", "recall@20",
        "pairwise_accuracy" (the default for other targets), a scorer of scikit-learn, or a function
        of an estimator, X and y.
    widen
        As in `LinearSVCCV`.

    The others are those of `RankSVM`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_params_, scoring_
        As in `LinearSVCCV`.

    All others are those of `RankSVM`, for the refitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import RankSVMCV
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6)
    >>> grades = (X[:, 0] > 0).astype(int)
    >>> model = RankSVMCV(Cs=[0.01, 0.1, 1], cv=2).fit(X, grades, qid=qid)
    >>> model.scoring_
    'ndcg@10'
    """


@parameters
class OrdinalSVCCV(Searching, OrderedClassifier, MakesFeatures):
    """`OrdinalSVC` with the C whose labels of held-out rows are the fewest places off.

    Parameters
    ----------
    Cs, cv, widen
        As in `LinearSVCCV`.
    scoring : str or callable, optional
        "mean_absolute_error" in places (the default), "accuracy", a scorer of scikit-learn, or a
        function of an estimator, X and y.

    The others are those of `OrdinalSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_params_, scoring_
        As in `LinearSVCCV`; errors are negative.

    All others are those of `OrdinalSVC`, for the refitted model.
    """


@parameters
class MeasureSVCCV(SearchingClasses, ForMeasure, MakesFeatures):
    """`MeasureSVC` with the C (and k) whose measure of held-out rows is best.

    Parameters
    ----------
    Cs, cv, widen, tune_threshold
        As in `LinearSVCCV`.
    ks : list of number, optional
        For the measures at k: values of k to train for. Then `scoring` says which one judges.
    scoring : str or callable, optional
        The measure itself unless told; else as in `LinearSVCCV`.

    The others are those of `MeasureSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_params_, scoring_, threshold_
        As in `LinearSVCCV`.
    k_, ks_
        Where `ks` were given.

    All others are those of `MeasureSVC`, for the refitted model.
    """

    ks: Any = None

    _axis = ("ks", "k")


@parameters
class _SearchingGamma(Searching):
    """A search of C and gamma, for machines that seek their own basis vectors at every point."""

    gammas: Any = None

    _axis = ("gammas", "gamma")

    def _leaves_on_disk(self, X: Any) -> bool:
        return False


@parameters
class SparseKernelSVCCV(_SearchingGamma, SearchingClasses, OnBasis):
    """`SparseKernelSVC` with the C and gamma that classify held-out rows best.

    Every point seeks its own basis vectors; those of `n_basis` that are the most.

    Parameters
    ----------
    Cs, cv, scoring, widen, tune_threshold
        As in `LinearSVCCV`; a machine for a measure is judged by it unless told.
    gammas : list of float, optional
        Values to try each C with; else `gamma`.

    The others are those of `SparseKernelSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, best_score_, best_params_, scoring_, threshold_
        As in `LinearSVCCV`.
    gamma_, gammas_
        The best one, and what was tried.
    scores_ : ndarray of shape (folds, number of Cs), or (gammas, Cs, folds)

    All others are those of `SparseKernelSVC`, for the refitted model.
    """


@parameters
class SparseKernelSVRCV(_SearchingGamma, RegressorOnSpan):
    """`SparseKernelSVR` with the C and gamma whose loss on held-out rows is least.

    Parameters
    ----------
    Cs, cv, widen
        As in `LinearSVRCV`.
    scoring : str or callable, optional
        As in `LinearSVRCV`.
    gammas : list of float, optional
        Values to try each C with; else `gamma`.

    The others are those of `SparseKernelSVR`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, gamma_, gammas_, scores_, best_score_, best_params_, scoring_
        As in `SparseKernelSVCCV`.

    All others are those of `SparseKernelSVR`, for the refitted model.
    """


@parameters
class SparseKernelRankSVMCV(RankerOnSpan, _SearchingGamma):  # type: ignore[misc]  # queries, where others have groups
    """`SparseKernelRankSVM` with the C and gamma that rank the rows of held-out queries best.

    Parameters
    ----------
    Cs, cv, widen
        As in `RankSVMCV`.
    scoring : str or callable, optional
        As in `RankSVMCV`.
    gammas : list of float, optional
        Values to try each C with; else `gamma`.

    The others are those of `SparseKernelRankSVM`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, gamma_, gammas_, scores_, best_score_, best_params_, scoring_
        As in `SparseKernelSVCCV`.

    All others are those of `SparseKernelRankSVM`, for the refitted model.
    """


@parameters
class SparseKernelOrdinalSVCCV(_SearchingGamma, OrderedOnSpan):
    """`SparseKernelOrdinalSVC` with the C and gamma whose labels are the fewest places off.

    Parameters
    ----------
    Cs, cv, widen
        As in `OrdinalSVCCV`.
    scoring : str or callable, optional
        As in `OrdinalSVCCV`.
    gammas : list of float, optional
        Values to try each C with; else `gamma`.

    The others are those of `SparseKernelOrdinalSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, Cs_, gamma_, gammas_, scores_, best_score_, best_params_, scoring_
        As in `SparseKernelSVCCV`.

    All others are those of `SparseKernelOrdinalSVC`, for the refitted model.
    """
