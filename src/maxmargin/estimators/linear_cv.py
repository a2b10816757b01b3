"""Linear machines that find their own C."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators.base import parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.linear import LinearClassifier
from maxmargin.estimators.regression import LinearRegressor
from maxmargin.estimators.searching import Searching, SearchingClasses


@parameters
class LinearSVCCV(SearchingClasses, LinearClassifier, MakesFeatures):
    """`LinearSVC` with the C that classifies held-out rows best.

    Every fold is solved along growing C, each solution the start of the next, and no row is copied.
    The model is refitted on all rows with the least C of best mean score.

    Parameters
    ----------
    Cs : int or list of float
        Values to try, or how many between 1e-4 and 1e4 at even ratios.
    cv : int, splitter or iterable
        A number of stratified folds, shuffled by `random_state` (None: 0) as ``maxmargin cv`` does;
        or, as in scikit-learn, a splitter or pairs of index arrays.
    scoring : str or callable, optional
        What decides, on rows held out: "accuracy" (the default), "f1", "f2", "precision", "recall",
        "roc_auc", "prbep", "precision@100", "recall@0.1" (a share of the rows), any scorer of
        scikit-learn by name, or a function of an estimator, X and y.
    widen : bool, optional
        Whether to go on beyond the grid where the best C is an end of it, as long as that is
        better; None: if `Cs` is a number. A best C at the end of all that was tried is a warning.
    tune_threshold : bool
        With two classes, cut scores where that maximises the mean score of held-out rows; the
        threshold becomes part of `intercept_`.

    The others are those of `LinearSVC`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_ : float
        The best C.
    Cs_ : ndarray
    scores_ : ndarray of shape (folds, number of Cs)
        Scores of the rows held out.
    best_score_, best_params_, scoring_ : float, dict, str
    threshold_ : float
        Where `tune_threshold` is set.

    All others are those of `LinearSVC`, for the refitted model.
    """


@parameters
class LinearSVRCV(Searching, LinearRegressor, MakesFeatures):
    """`LinearSVR` with the C (and epsilon) that predicts held-out rows best.

    Every fold is solved along growing C, each solution the start of the next, and no row is copied.
    The model is refitted on all rows with the least C of best mean score.

    Parameters
    ----------
    Cs : int or list of float
        Values to try, or how many between 1e-4 and 1e4 at even ratios.
    epsilons : list of float, optional
        Values of epsilon to try each C with.
    scoring : str or callable, optional
        Unless told, the loss that is minimised (negative, so that more is better); with `epsilons`
        "mean_absolute_error". Also "mean_squared_error", "r2", or as in `LinearSVCCV`.
    cv, widen
        As in `LinearSVCCV`; folds are not stratified.

    The others are those of `LinearSVR`; `max_time` is a limit for each fit.

    Attributes
    ----------
    C_, epsilon_ : float
        The best ones.
    Cs_, epsilons_ : ndarray
    scores_ : ndarray of shape (folds, number of Cs), or (epsilons, Cs, folds)
        Scores of the rows held out, more is better.
    best_score_, best_params_, scoring_ : float, dict, str

    All others are those of `LinearSVR`, for the refitted model.
    """

    epsilons: Any = None

    _axis = ("epsilons", "epsilon")
