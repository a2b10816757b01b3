"""Linear support vector classification, certified."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from maxmargin.estimators.base import Probabilistic, WithIntercept, parameters
from maxmargin.estimators.conventions import is_indicator
from maxmargin.estimators.features import MakesFeatures
from maxmargin.estimators.sources import Given
from maxmargin.losses.table import losses_for
from maxmargin.models.files import register_estimator
from maxmargin.models.multi_label import MultiLabelModel
from maxmargin.parameters import one_of
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.multi_label import train_labels
from maxmargin.training.tasks import OfClasses


@parameters
class LinearClassifier(WithIntercept, Probabilistic):
    """What linear classifiers share: the parameters of the problem."""

    loss: str = "hinge"
    solver: str = "auto"
    intercept: str = "regularised"
    random_state: Any = None

    _shown = ("coef", "intercept", "classes", "solver")
    _learns = OfClasses
    _probabilities_by = "loss='logistic'"

    def _plan(self) -> LinearPlan:
        one_of("loss", self.loss, losses_for("classification"))
        return self._planned(LinearPlan, bias=self._bias())


@parameters
class LinearSVC(LinearClassifier, MakesFeatures):
    """Linear support vector classification with a certificate of how good the answer is.

        minimise   1/2 ||w||^2 + C sum_i s_i f(y_i (<w, x_i> + b)),      f(m) = max(0, 1 - m)

    The fit ends when the duality gap is at most `tol` times the objective: no answer can be better
    by more. More than two classes are trained one against the rest, side by side. So are several
    labels a row: y is then an indicator matrix, (n, labels) of zeros and ones, dense or sparse, and
    X holds numbers in memory.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
    loss : {"hinge", "squared_hinge", "logistic"}
        ``f(m)``: "hinge" ``max(0, 1 - m)``, "squared_hinge" ``max(0, 1 - m)^2`` (scikit-learn's
        default), "logistic" ``log(1 + exp(-m))``, which has `predict_proba`.
    solver : {"auto", "newton", "dual", "ocas", "cpa"}
        "newton" needs few passes at any C if there are few features, "dual" is quick with many,
        "ocas" and "cpa" are cutting plane methods. "auto" picks by the shape of the data;
        `solver_` says which.
    tol : float
        Relative duality gap to reach.
    max_iter, max_time : number, optional
        Limits on iterations of a problem, and on seconds in all. Like Ctrl-C they give the best
        model so far, with its certificate, and a ConvergenceWarning.
    fit_intercept, intercept_scaling : bool, float
        The intercept is the weight of a constant feature of value `intercept_scaling`, hence
        regularised; a larger value regularises it less.
    intercept : {"regularised", "free"}
        "free": the intercept is not part of ``||w||^2``, as in LIBSVM and `sklearn.svm.SVC`, so
        that a shift of the features changes nothing else. Not by solver "dual".
    features : str, map or callable, optional
        Features made of the rows in every pass, as in `StreamSVC`: "weighted_degree:8",
        "spectrum:6", "word_ngrams:2", ... X may then hold texts.
    class_weight : dict, "balanced" or None
    probability : bool, "sigmoid" or "isotonic"
        Whether to calibrate probabilities on the scores of rows left out, for about the cost of
        another fit at most; True lets rows choose between the two. `decision_function` then gives
        log-odds, and `predict` the most probable class.
    n_jobs : int, optional
        Threads; None for all available CPUs. No answer depends on it.
    random_state : int, generator or None
        Seed of "dual"; None means 0.
    warm_start : bool
        Start from the last fit's solution (another C, say) if the rows and classes are as many.
    verbose : int
        1 prints one line per iteration to standard error; a notebook shows a bar instead.
    callback : callable, optional
        Called with a `Progress` after each iteration; True ends the fit with the best model so far.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, n_iter_ : as in scikit-learn
    certificate_ : Certificate
        Of the binary problem furthest from its optimum: primal, dual, gap, relative_gap, status,
        n_iter, seconds. `certificates_` has one for each problem.
    history_ : list of Progress
    solver_ : str

    Examples
    --------
    >>> from maxmargin import LinearSVC, data
    >>> train, test = data.load_demo()
    >>> model = LinearSVC(C=0.1).fit(train.X, train.y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> bool(model.score(test.X, test.y) > 0.84)
    True
    """

    _kind = "linear"
    _rows_stay_on_disk = True  # solver "ocas" (or "cpa") reads them twice an iteration

    C: float = field(default=1.0, kw_only=False)
    probability: bool | str = False
    warm_start: bool = False

    _probabilities_by = "probability=True, or with loss='logistic'"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = not self.probability
        return tags

    def _given(self, X: Any, y: Any, *more: Any, **options: Any) -> Given:
        several = is_indicator(y)
        if several and (self.features is not None or self._is_file(X)):
            raise ValueError(
                "several labels a row are learned from numbers in memory: read a file first "
                "(maxmargin.data.open(...).X), and make features before (their map's transform)"
            )
        return super()._given(X, y, *more, multi_output=several, **options)

    def _train(self, given: Given, plan: LinearPlan) -> Trained:
        if np.ndim(given.y) == 2:
            return train_labels(given.X, given.y, plan, given.weight, self._starts())
        return super()._train(given, plan)


register_estimator(MultiLabelModel.kind, LinearSVC.from_model)
