"""Labels that have an order, on a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.distributed.base import OnCluster
from maxmargin.estimators import ordinal as local
from maxmargin.estimators.base import parameters
from maxmargin.models.ordinal import places_of


@parameters
class OrdinalSVC(OnCluster, local.OrdinalSVC):
    r"""`maxmargin.OrdinalSVC` on rows that lie on the workers of a Dask cluster.

    ``minimise 1/2 ||w||^2 + C n/m * sum over pairs y_i > y_j of max(0, 1 - <w, x_i - x_j>)``, then
    thresholds between neighbouring labels.

    Pairs are made of all rows, wherever they lie, so all predictions are needed: **they are
    gathered**, n numbers to the driver and back each iteration, and labels and weights once. Only
    the rows stay on the workers.

    Parameters
    ----------
    C, order, solver, features, tol, max_iter, max_time, class_weight, warm_start, verbose, callback
        As in `maxmargin.OrdinalSVC`.
    n_jobs, client, read_options
        As in `maxmargin.distributed.LinearSVC`.

    Attributes
    ----------
    classes_, coef_, thresholds_, certificate_, history_, n_iter_, n_features_in_
        As in `maxmargin.OrdinalSVC`.
    n_samples_, n_partitions_, index_base_
        As in `maxmargin.distributed.LinearSVC`.
    gathers_predictions_ : bool
        True.
    """

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows labelled rightly; of rows on workers the scores come here."""
        if not self._is_remote(X):
            return super().score(X, y, sample_weight)
        off, weight = self._places_off(X, y, sample_weight)
        return float(np.average(off == 0, weights=weight))

    def _places_off(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        if not self._is_remote(X):
            return super()._places_off(X, y, sample_weight)
        given = self._judged(X, y, sample_weight)
        _, true = places_of(np.asarray(given.y), self.classes_)
        predicted = np.searchsorted(self.thresholds_, np.asarray(given.X), side="left")
        return np.abs(predicted - true), given.weight
