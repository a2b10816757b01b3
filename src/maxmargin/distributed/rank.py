"""Ranking on a Dask cluster."""

from __future__ import annotations

import warnings
from typing import Any, Self

from maxmargin.data.features import feature_map
from maxmargin.data.limits import spell_bytes
from maxmargin.distributed import describe
from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.training import Fit, blaming, fitting, solve_ranking
from maxmargin.estimators import rank as local
from maxmargin.estimators.base import parameters
from maxmargin.estimators.sources import is_source
from maxmargin.models.ranking import RankModel
from maxmargin.problem import callers_line
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.scores import trained_scores


@parameters
class RankSVM(OnCluster, local.RankSVM):
    r"""`maxmargin.RankSVM` on rows that lie on the workers of a Dask cluster.

    ``minimise 1/2 ||w||^2 + C N/Q * sum_q 1/m_q * sum of max(0, 1 - <w, x_i - x_j>)`` over the m_q
    pairs of query q with ``y_i > y_j``; N rows in Q queries.

    Where no query has rows in two partitions every query is dealt with where it lies, and O(d)
    numbers per partition travel each iteration. Otherwise (and without `qid`, which makes all rows
    one query) the loss must see all predictions: n numbers travel to the driver and back each
    iteration, `gathers_predictions_` is True, and a warning says so if cutting the data at queries
    would avoid it.

    Parameters
    ----------
    C, solver, tol, max_iter, max_time, warm_start, verbose, callback
        As in `maxmargin.RankSVM`.
    n_jobs, client, read_options
        As in `maxmargin.distributed.LinearSVC`.

    Attributes
    ----------
    coef_, certificate_, history_, n_iter_, n_features_in_
        As in `maxmargin.RankSVM`.
    n_samples_, n_partitions_, index_base_
        As in `maxmargin.distributed.LinearSVC`.
    gathers_predictions_ : bool
    """

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learns the scores. Data as in `maxmargin.distributed.LinearSVC`, with query ids.

        Raises
        ------
        PartitionError
            A partition failed again and again. Its `model`, and this estimator, are the best so
            far.
        """
        plan, sources = self._plan(), self._sources(X, y, sample_weight, qid)
        features = feature_map(self.features)
        with fitting(self.client, sources, plan.options.max_time, features) as fit:
            trained = self._train_on(fit, plan)
            of_files = not hasattr(X, "__dask_graph__") and is_source(X)
            self._note_queries(self._has_queries, of_files)
            return self._finish(trained, fit)

    def _train_on(self, fit: Fit, plan: LinearPlan) -> Trained:
        with blaming(fit.cluster):
            found = fit.cluster.ask(describe.queries_of)
        self._has_queries = any(queries.ids is not None for queries in found)
        across = describe.crossing(found)
        if not across:
            self.gathers_predictions_, starts = False, self._starts()
            fits = starts is not None and len(starts[0].w) == fit.shape.d
            solution = solve_ranking(fit, plan, starts[0].w if fits else None)
            return trained_scores(RankModel, [solution], plan)
        if all(queries.ids is not None for queries in found):
            warnings.warn(
                f"{across} queries have rows in more than one partition, so all predictions are "
                f"gathered, {spell_bytes(8.0 * fit.shape.n)} an iteration: cut the data where "
                "queries end and they stay on the workers",
                UserWarning,
                stacklevel=callers_line(),
            )
        return super()._train_on(fit, plan)
