"""Linear support vector classification, certified."""

from __future__ import annotations

import os

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from maxmargin.estimators.base import (
    check_labels,
    progress_callback,
    seed_of,
    threads_of,
    validated,
    warn_if_missed,
)
from maxmargin.estimators.sources import is_source, labels_and_weights, opened, scores_of
from maxmargin.models.files import register_estimator, save
from maxmargin.models.linear import LinearModel
from maxmargin.models.training import Plan, Trained, train, train_from
from maxmargin.problem import Callback


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """What fitted linear classifiers do; subclasses find the model."""

    def _validated(self, X, y, sample_weight):
        X, y = validated(self, X, y)
        check_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, y, sample_weight

    def _adopt(self, trained: Trained) -> None:
        """The fitted attributes, from what training gave."""
        self._adopt_model(trained.model)
        self.history_ = trained.history
        warn_if_missed(trained.model.certificate, self.tol)

    def _adopt_model(self, model: LinearModel) -> None:
        self.coef_, self.intercept_, self.classes_ = model.coef, model.intercept, model.classes
        self.solver_ = model.solver
        self.certificates_ = list(model.certificates)
        self.certificate_ = model.certificate
        self.n_iter_ = max((c.n_iter for c in model.certificates), default=0)

    def _keep_names(self, names: list[str] | None) -> None:
        """scikit-learn's attribute, which is there only if there are names."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            delattr(self, "feature_names_in_")

    def to_model(self) -> LinearModel:
        """The model without the estimator: what `save` writes."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return LinearModel(
            coef=self.coef_,
            intercept=self.intercept_,
            classes=self.classes_,
            certificates=tuple(self.certificates_),
            solver=self.solver_,
            parameters=self._saved_parameters(),
            feature_names=None if names is None else tuple(names),
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one file, readable by `maxmargin.load` and the commands."""
        save(self, path)

    def decision_function(self, X) -> np.ndarray:
        """``<w_j, x> + b_j``: one number a row for two classes, else one a class.

        X may be a file, or a source of blocks: see `fit`.
        """
        check_is_fitted(self)
        if is_source(X):
            source = opened(X, self.n_jobs, self.n_features_in_)
            return scores_of(self.to_model(), source, threads_of(self.n_jobs))
        X = validated(self, X, reset=False)
        return self.to_model().decision_function(X, threads_of(self.n_jobs))

    def predict(self, X) -> np.ndarray:
        """The class of each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[np.argmax(scores, axis=1)]

    def score(self, X, y=None, sample_weight=None) -> float:
        """The share of rows whose class is right; of a file, by its own labels and weights."""
        if not is_source(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        source = opened(X, self.n_jobs, self.n_features_in_)
        return super().score(source, *labels_and_weights(source, y, sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearSVC(LinearClassifier):
    """Linear support vector classification with a certificate of how good the answer is.

        minimise   1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i (<w, x_i> + b))

    The fit ends when the duality gap is at most `tol` times the objective: no answer can be better
    by more. More than two classes are trained one against the rest, side by side.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
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
    class_weight : dict, "balanced" or None
    n_jobs : int, optional
        Threads; None for all CPUs granted. No answer depends on it.
    random_state : int, generator or None
        Seed of "dual"; None means 0.
    warm_start : bool
        Start from the last fit's solution (another C, say) if the rows and classes are as many.
    verbose : int
        1 prints a line a step to standard error.
    callback : callable, optional
        Called with a `Progress` a step; True ends the fit with the best model so far.

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

    def __init__(
        self,
        C: float = 1.0,
        *,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight=None,
        n_jobs: int | None = None,
        random_state=None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None) -> LinearSVC:
        """Train on rows X (array or CSR matrix, float32 or float64: used where it lies).

        `sample_weight` multiplies C row by row: a weight of 2 equals the row twice.

        X may also be a file, a glob, a list of files, or what `maxmargin.data.open_source` gives.
        The rows then stay on disk: solver "ocas" (or "cpa") reads them twice an iteration. Labels
        and weights are the file's; y must not be given.
        """
        plan = plan_of(self, C=self.C)
        if is_source(X):
            return self._fit_source(X, y, sample_weight, plan)
        X, y, sample_weight = self._validated(X, y, sample_weight)
        starts = getattr(self, "_starts", None) if self.warm_start else None
        trained = train(X, y, plan, sample_weight, starts)
        if self.warm_start:
            self._starts = trained.starts
        self._adopt(trained)
        return self

    def _fit_source(self, X, y, sample_weight, plan: Plan) -> LinearSVC:
        if self.warm_start:
            raise ValueError("warm_start=True is not for files: read the rows into memory first")
        source = opened(X, self.n_jobs)
        labels, weight = labels_and_weights(source, y, sample_weight)
        check_labels(labels)
        trained = train_from(source, labels, plan, weight)
        self.n_features_in_ = source.d
        self._keep_names(source.feature_names)
        self._adopt(trained)
        return self

    def _saved_parameters(self) -> dict:
        return plain_parameters(self)


def plan_of(estimator, C: float) -> Plan:
    """An estimator's parameters as training knows them, checked."""
    scaling = float(estimator.intercept_scaling)
    if estimator.fit_intercept and not scaling > 0:
        raise ValueError(
            f"intercept_scaling must be positive; got {estimator.intercept_scaling!r}; "
            "use fit_intercept=False for no intercept"
        )
    return Plan(
        C=C,
        solver=estimator.solver,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        max_time=estimator.max_time,
        bias=scaling if estimator.fit_intercept else 0.0,
        class_weight=estimator.class_weight,
        threads=threads_of(estimator.n_jobs),
        seed=seed_of(estimator.random_state),
        callback=progress_callback(estimator.callback, estimator.verbose),
    )


def plain_parameters(estimator) -> dict:
    """The parameters a file can hold: no callbacks, no generators."""
    parameters = {
        name: value for name, value in estimator.get_params().items() if name != "callback"
    }
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    return parameters


def _from_model(model: LinearModel) -> LinearSVC:
    known = LinearSVC().get_params()
    estimator = LinearSVC().set_params(**{k: v for k, v in model.parameters.items() if k in known})
    estimator._adopt_model(model)
    estimator.history_ = []
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator


register_estimator("linear", _from_model)
