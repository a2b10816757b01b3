"""Linear regression on a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.training import Fit, check_on_cluster, solve_values, solver_of
from maxmargin.estimators import regression as local
from maxmargin.estimators.base import parameters
from maxmargin.solvers.common.start import Start
from maxmargin.training.fit import Trained
from maxmargin.training.regression import RegressionPlan, regression_model


@parameters
class LinearSVR(OnCluster, local.LinearSVR):
    """`maxmargin.LinearSVR` on rows that lie on the workers of a Dask cluster.

        minimise   1/2 ||w||^2 + C sum_i s_i f(t_i - <w, x_i> - b)

    The same optimum with the same certificate, from any number of workers. An iteration moves O(d)
    numbers to and from each partition, and nothing of one number a row.

    Parameters
    ----------
    C, loss, epsilon, quantile, delta, non_crossing, tol, max_iter, max_time, fit_intercept
        As in `maxmargin.LinearSVR`.
    intercept_scaling, warm_start, verbose, callback
        As in `maxmargin.LinearSVR`.
    solver, n_jobs, client, read_options
        As in `maxmargin.distributed.LinearSVC`.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, n_iter_, certificate_, certificates_, history_, solver_
        As in `maxmargin.LinearSVR`.
    n_samples_, n_partitions_, index_base_
        As in `maxmargin.distributed.LinearSVC`.
    """

    def _plan(self) -> RegressionPlan:
        plan = super()._plan()
        check_on_cluster(plan)
        return plan

    def _train_on(self, fit: Fit, plan: RegressionPlan) -> Trained:
        starts, solver = self._starts(), solver_of(fit, plan)
        w0 = None if starts is None else [start.w for start in starts]
        solutions = solve_values(fit, replace(plan, solver=solver), w0)
        model = regression_model(fit.shape.d, solver, solutions, plan)
        return Trained(model, solutions, [Start(solution.w) for solution in solutions])

    @property
    def decision_function(self) -> Any:
        """A regression predicts values."""
        raise AttributeError(f"{type(self).__name__} has no decision_function: use predict")

    def predict(self, X: Any) -> Any:
        """Predictions, lazily for what is lazy (see `fit`), else at once."""
        if not self._is_remote(X):
            return local.LinearSVR.predict(self, X)
        check_is_fitted(self)
        columns = len(self.to_model().coef)
        return self._lazily("predict", X, columns if columns > 1 else 0, np.float64)
