"""Linear regression, certified: support vector regression, quantiles, expectiles, Huber."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score

from maxmargin.estimators.base import Machine, WithIntercept, parameters
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.sources import Given
from maxmargin.training.regression import RegressionPlan
from maxmargin.training.targets import numbers_in
from maxmargin.training.tasks import OfValues


@parameters
class RegressionScores(RegressorMixin, Machine):
    """What all regressions share: the loss, and how predictions are judged."""

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    quantile: Any = 0.5
    delta: float = 1.0
    non_crossing: bool = False
    random_state: Any = None

    def _given(self, X: Any, y: Any, *more: Any, **options: Any) -> Given:
        if y is not None:
            numbers_in(y, type(self).__name__)
        return super()._given(X, y, *more, y_numeric=True, **options)

    @property
    def decision_function(self) -> Any:
        """A regression predicts values."""
        raise AttributeError(f"{type(self).__name__} has no decision_function: use predict")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 of the predictions, the mean over several expectiles; of several quantiles the mean
        D^2, the share of the pinball loss of a constant that is gone. X may be a file."""
        given = self._judged(X, y, sample_weight)
        predicted = given.X.reshape(len(given.y), -1).T
        levels = self.quantile if len(predicted) > 1 else ()
        if self.loss == "quantile" and len(predicted) > 1:
            scores = [
                d2_pinball_score(given.y, column, sample_weight=given.weight, alpha=level)
                for level, column in zip(levels, predicted)
            ]
        else:
            scores = [r2_score(given.y, column, sample_weight=given.weight) for column in predicted]
        return float(np.mean(scores))


@parameters
class Regressor(RegressionScores, WithIntercept):
    """What regressions by linear functions share."""

    def _show(self, model: Any) -> None:
        super()._show(model)
        one = len(model.coef) == 1
        self.coef_ = model.coef[0] if one else model.coef
        self.intercept_ = float(model.intercept[0]) if one else model.intercept


@parameters
class LinearRegressor(Regressor):
    """A regression on rows in memory, by a solver of choice."""

    solver: str = "auto"
    intercept: str = "regularised"

    _shown = ("solver",)
    _learns = OfValues

    def _plan(self) -> RegressionPlan:
        return self._planned(RegressionPlan, bias=self._bias())


@parameters
class LinearSVR(LinearRegressor, MakesFeatures):
    """Linear regression by one of six losses, with a certificate of how good the answer is.

        minimise   1/2 ||w||^2 + C sum_i s_i f(t_i - <w, x_i> - b)

    The fit ends when the duality gap is at most `tol` times the objective: no answer can be better
    by more.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
    loss : str
        ``f(r)``: "epsilon_insensitive" ``max(0, |r| - epsilon)``, "squared_epsilon_insensitive" its
        square, "huber" ``r^2 / 2`` up to ``|r| = delta`` and linear beyond, "squared" ``r^2 / 2``
        (ridge regression), "quantile" ``quantile r`` for positive and ``(quantile - 1) r`` for
        negative r, "expectile" the same of squares.
    epsilon : float
        Residuals up to here cost nothing ("epsilon_insensitive" and its square).
    quantile : float or list of float
        Which quantile or expectile to fit. Of a list all are fitted, sharing passes over the data,
        and `predict` gives a column for each.
    delta : float
        Where the Huber loss becomes linear.
    non_crossing : bool
        With several quantiles: sort the predictions of each row, so that a higher quantile is never
        below a lower one. (Sorted predictions are never further from the true quantiles in the
        mean: Chernozhukov, Fernandez-Val, Galichon 2010.)
    solver : {"auto", "newton", "dual", "ocas", "cpa"}
        As in `LinearSVC`.
    features : str, map or callable, optional
        Features made of the rows in every pass, as in `StreamSVC`: "weighted_degree:8",
        "spectrum:6", "word_ngrams:2", ... X may then hold texts.
    tol, max_iter, max_time, n_jobs, random_state, warm_start, verbose, callback
        As in `LinearSVC`.
    fit_intercept, intercept_scaling : bool, float
        The intercept is the weight of a constant feature of value `intercept_scaling`, hence
        regularised; a larger value regularises it less. Targets far from 0 want a large one, a
        free intercept, or their mean subtracted.
    intercept : {"regularised", "free"}
        "free": the intercept is not part of ``||w||^2``. Not by solver "dual".

    Attributes
    ----------
    coef_ : ndarray of shape (d,), or (k, d) with k quantiles
    intercept_ : float, or ndarray of shape (k,)
    certificate_, certificates_, history_, n_iter_, solver_, n_features_in_
        As in `LinearSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVR
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = 2 * X[:, 0] + 0.1 * np.sin(50 * X[:, 0])
    >>> model = LinearSVR(C=10, epsilon=0.1).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> bands = LinearSVR(C=10, loss="quantile", quantile=[0.1, 0.9]).fit(X, y)
    >>> bands.predict(X).shape
    (200, 2)
    """

    _kind = "regression"
    _rows_stay_on_disk = True  # solver "ocas" (or "cpa") reads them twice an iteration

    C: float = field(default=1.0, kw_only=False)
    warm_start: bool = False
