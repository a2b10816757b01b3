"""Classifiers trained for a measure, on a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.distributed import prediction
from maxmargin.distributed.gathering import RemoteRows, solve_gathered
from maxmargin.distributed.linear import LazyClassifier, note_columns, plain, raise_or_warn
from maxmargin.distributed.rank import scoring_plan
from maxmargin.distributed.sources import sources_of
from maxmargin.distributed.training import fitting
from maxmargin.estimators import measure as local
from maxmargin.problem import Callback, Solution


class MeasureSVC(LazyClassifier, local.MeasureSVC):
    r"""`maxmargin.MeasureSVC` on rows that lie on the workers of a Dask cluster.

    ``minimise 1/2 ||w||^2 + C max over labellings ybar of [n Delta(ybar, y) - sum of y_i <w, x_i>
    over the rows where ybar differs from y]``

    A measure of all labels needs all predictions: **they are gathered**, n numbers to the driver
    and back each iteration, and labels and weights once. Only the rows stay on the workers. For
    measure "error" take `LinearSVC`, which gathers nothing.

    Parameters
    ----------
    measure, C, beta, k, solver, tol, max_iter, max_time, fit_intercept, intercept_scaling,
    class_weight, warm_start, verbose, callback
        As in `maxmargin.MeasureSVC`.
    n_jobs, client, read_options
        As in `maxmargin.distributed.LinearSVC`.

    Attributes
    ----------
    classes_, coef_, intercept_, certificate_, certificates_, history_, n_iter_, n_features_in_
        As in `maxmargin.MeasureSVC`.
    n_samples_, n_partitions_, index_base_
        As in `maxmargin.distributed.LinearSVC`.
    gathers_predictions_ : bool
        True.
    """

    def __init__(
        self,
        measure: str = "f1",
        C: float = 1.0,
        *,
        beta: float = 1.0,
        k: int | float | None = None,
        solver: str = "ocas",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight=None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        client=None,
        read_options: dict | None = None,
    ) -> None:
        super().__init__(
            measure,
            C,
            beta=beta,
            k=k,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            n_jobs=n_jobs,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.client = client
        self.read_options = read_options

    def fit(self, X, y=None, sample_weight=None) -> MeasureSVC:
        """Learns the classifier. Data as in `maxmargin.distributed.LinearSVC`.

        Raises
        ------
        PartitionError
            A partition failed again and again. Its `model`, and this estimator, are the best so
            far.
        """
        self._check_parameters()
        sources = sources_of(X, y, sample_weight, **(self.read_options or {}))
        self.gathers_predictions_ = True
        with fitting(self.client, sources, self.max_time) as fit:
            rows = RemoteRows(fit)
            note_columns(self, fit)
            super().fit(rows, rows.column("y"), rows.column("weight"))
            raise_or_warn(self, fit)
        return self

    def _check_rows(self, X, y="no_validation", **options) -> Any:
        """Rows on workers were checked there."""
        return (X, y) if isinstance(X, RemoteRows) else super()._check_rows(X, y, **options)

    def _solve(self, X, make_loss, bias: float = 0.0, w0: np.ndarray | None = None) -> Solution:
        return solve_gathered(X, make_loss, scoring_plan(self, bias), w0)

    def _cut(self, X, row: int, sign: np.ndarray, weight: np.ndarray | None) -> float:
        """Without all rows there is no cut."""
        return 0.0 if X.fit.failure else super()._cut(X, row, sign, weight)

    def score(self, X, y=None, sample_weight=None) -> float:
        """The measure itself; gathers scores and labels."""
        if not prediction.is_distributed(X):
            return super().score(X, y, sample_weight)
        sources = sources_of(X, y, sample_weight, **(self.read_options or {}))
        with fitting(self.client, sources, None) as fit:
            rows = RemoteRows(fit)
            truth, weight = rows.column("y"), rows.column("weight")
            scores = np.column_stack([rows @ w for w in self.coef_]) + self.intercept_
        judge = _Judge(self, scores if len(self.classes_) > 2 else scores[:, 0])
        return judge.score(None, truth, weight)

    def _origin(self) -> dict[str, Any]:
        origin = super()._origin()
        return origin | {"parameters": plain(origin["parameters"])}


class _Judge(local.MeasureSVC):
    """The local estimator, its scores known."""

    def __init__(self, estimator: MeasureSVC, scores: np.ndarray) -> None:
        super().__init__(estimator.measure, beta=estimator.beta, k=estimator.k)
        self.classes_, self._scores = estimator.classes_, scores

    def decision_function(self, X) -> np.ndarray:
        return self._scores

    def predict(self, X) -> np.ndarray:
        if self._scores.ndim == 1:
            return self.classes_[(self._scores > 0).astype(np.intp)]
        return self.classes_[np.argmax(self._scores, axis=1)]
