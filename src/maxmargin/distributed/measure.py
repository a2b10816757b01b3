"""Classifiers trained for a measure, on a Dask cluster."""

from __future__ import annotations

from maxmargin.distributed import prediction
from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.gathering import RemoteRows
from maxmargin.distributed.training import fitting
from maxmargin.estimators import measure as local
from maxmargin.problem import Callback
from maxmargin.training.scores import Measure, train_measure


class MeasureSVC(OnCluster, local.MeasureSVC):
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
        plan, measure = self._plan(), Measure(self.measure, self.beta, self.k)
        self.gathers_predictions_ = True
        sources = self._sources(X, y, sample_weight)
        with fitting(self.client, sources, plan.options.max_time) as fit:
            rows = RemoteRows(fit)
            y, weight = rows.column("y"), rows.column("weight")
            assert y is not None
            left = fit.with_time_left(plan)
            return self._finish(train_measure(rows, y, left, measure, weight, self._starts()), fit)

    def score(self, X, y=None, sample_weight=None) -> float:
        """The measure itself; gathers scores and labels."""
        if not prediction.is_distributed(X):
            return super().score(X, y, sample_weight)
        given = self._gathered_scores(X, y, sample_weight)
        return self._judge(given.X, given.y, given.weight)
