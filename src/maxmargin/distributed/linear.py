"""Linear support vector classification on a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.distributed import prediction
from maxmargin.distributed.sources import sources_of
from maxmargin.distributed.training import Fit, client_of, fitting, solve_classes
from maxmargin.estimators import linear as local
from maxmargin.estimators.linear import plain_parameters, plan_of
from maxmargin.models.training import linear_model
from maxmargin.problem import Callback

SOLVERS = ("auto", "ocas", "cpa")


class LazyClassifier:
    """Predictions of a classifier on rows that may lie on workers; comes before the local class."""

    classes_: np.ndarray

    def decision_function(self, X) -> Any:
        """``<w_j, x> + b_j``, lazily for what is lazy (see `fit`), else at once."""
        if prediction.is_distributed(X):
            columns = len(self.classes_) if len(self.classes_) > 2 else 0
            return lazily(self, "decision_function", X, columns, np.float64)
        return super().decision_function(X)  # type: ignore[misc]

    def predict(self, X) -> Any:
        """The class of each row, lazily for what is lazy (see `fit`), else at once."""
        if prediction.is_distributed(X):
            return lazily(self, "predict", X, 0, self.classes_.dtype)
        return super().predict(X)  # type: ignore[misc]


class LinearSVC(LazyClassifier, local.LinearSVC):
    """`maxmargin.LinearSVC` on rows that lie on the workers of a Dask cluster.

        minimise   1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i (<w, x_i> + b))

    The same optimum with the same certificate, from any number of workers. An iteration moves O(d)
    numbers to and from each partition, and nothing of one number a row. A worker that dies costs
    the reading of its partitions, no more.

    Parameters
    ----------
    C, tol, max_iter, max_time, fit_intercept, intercept_scaling, class_weight, warm_start,
    verbose, callback
        As in `maxmargin.LinearSVC`.
    solver : {"auto", "ocas", "cpa"}
        Cutting planes with an exact line search ("auto" takes it), or without.
    start : {"zero", "average"}
        "average": first every partition solves its own rows by dual descent, and the average of
        the answers is where the exact method begins.
    n_jobs : int, optional
        Threads of one task; None for one, since Dask runs a task on every thread of a worker.
    random_state : int, generator or None
        Seed of the dual descent of ``start="average"``.
    client : distributed.Client, optional
        None for the current one.
    read_options : dict, optional
        For lists of files: options of `maxmargin.data.open`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, n_iter_, certificate_, certificates_, history_,
    solver_
        As in `maxmargin.LinearSVC`.
    n_samples_, n_partitions_ : int
        Rows, and the partitions they lay in.
    index_base_ : int or None
        The number svmlight text gave its first feature.
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
        start: str = "zero",
        client=None,
        read_options: dict | None = None,
    ) -> None:
        super().__init__(
            C,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.start = start
        self.client = client
        self.read_options = read_options

    def fit(self, X, y=None, sample_weight=None) -> LinearSVC:
        """Train on X: a dask array or dataframe, a list of delayed objects, or a list of files.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed, or list of paths
        y : alike; of a dataframe also the name of a column. Files hold their labels.
        sample_weight : as y

        Raises
        ------
        PartitionError
            A partition failed again and again. Its `model`, and this estimator, are the best so
            far.
        """
        if self.solver not in SOLVERS:
            raise ValueError(
                f"solver is {self.solver!r}; on a cluster expected one of {', '.join(SOLVERS)}"
            )
        if self.start not in ("zero", "average"):
            raise ValueError(f"start is {self.start!r}; expected 'zero' or 'average'")
        plan = plan_of(self, C=self.C)
        sources = sources_of(X, y, sample_weight, **(self.read_options or {}))
        starts = getattr(self, "_w", None) if self.warm_start else None
        with fitting(self.client, sources, plan.max_time) as fit:
            labels, solutions = solve_classes(fit, plan, self.start == "average", starts)
            solver = "ocas" if self.solver == "auto" else self.solver
            model = linear_model(fit.shape.d, labels.classes, solver, solutions, plan)
            note_columns(self, fit)
            self._w = [solution.w for solution in solutions]
            self.history_ = [step for solution in solutions for step in solution.history]
            self._adopt_model(model)
            raise_or_warn(self, fit)
        return self

    def score(self, X, y=None, sample_weight=None) -> float:
        """The share of rows labelled rightly, by weight; only two numbers a partition travel."""
        if not prediction.is_distributed(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        return prediction.accuracy(
            client_of(self.client),
            model_of(self),
            sources_of(X, y, sample_weight, **(self.read_options or {})),
        )

    def _saved_parameters(self) -> dict:
        return plain(plain_parameters(self))


def plain(parameters: dict) -> dict:
    """Parameters that a model file can hold: no client; options of reading belong to the files."""
    return {k: v for k, v in parameters.items() if k not in ("client", "read_options")}


def note_columns(estimator: Any, fit: Fit) -> None:
    """What a fit says about its columns and parts."""
    estimator.n_features_in_ = fit.shape.d
    estimator.n_samples_, estimator.n_partitions_ = fit.shape.n, len(fit.sizes)
    estimator.index_base_ = fit.shape.index_base
    if fit.shape.names is not None:
        estimator.feature_names_in_ = np.array(fit.shape.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def raise_or_warn(estimator: Any, fit: Fit) -> None:
    """The end of a fit: a partition's failure is raised with the model so far."""
    from maxmargin.estimators.base import warn_if_missed

    if fit.failure is not None:
        fit.failure.model = estimator.to_model()
        raise fit.failure from fit.failure.__cause__
    warn_if_missed(estimator.certificate_, estimator.tol)


def model_of(estimator: Any) -> Any:
    """The model, with what text files said about their columns."""
    return replace(estimator.to_model(), index_base=estimator.index_base_)


def lazily(estimator: Any, method: str, X: Any, columns: int, dtype: Any) -> Any:
    """A method of the model on rows that lie elsewhere; `columns` of it, 0 for one number a row."""
    check_is_fitted(estimator)
    reading = dict(estimator.read_options or {})
    return prediction.lazily(model_of(estimator), method, X, columns, np.dtype(dtype), reading)
