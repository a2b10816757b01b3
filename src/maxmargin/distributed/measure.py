"""Classifiers trained for a measure, on a Dask cluster."""

from __future__ import annotations

from maxmargin.distributed.base import OnCluster
from maxmargin.estimators import measure as local
from maxmargin.estimators.base import parameters


@parameters
class MeasureSVC(OnCluster, local.MeasureSVC):
    r"""`maxmargin.MeasureSVC` on rows that lie on the workers of a Dask cluster.

    ``minimise 1/2 ||w||^2 + C max over labellings ybar of [n Delta(ybar, y) - sum of y_i <w, x_i>
    over the rows where ybar differs from y]``

    A measure of all labels needs all predictions: **they are gathered**, n numbers to the driver
    and back each iteration, and labels and weights once. Only the rows stay on the workers. For
    measure "error" take `LinearSVC`, which gathers nothing.

    Parameters
    ----------
    measure, C, beta, k, solver, tol, max_iter, max_time, fit_intercept, intercept_scaling
        As in `maxmargin.MeasureSVC`.
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
