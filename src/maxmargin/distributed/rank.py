"""Ranking on a Dask cluster."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin.distributed import describe, prediction
from maxmargin.distributed.gathering import RemoteRows, solve_gathered
from maxmargin.distributed.linear import lazily, note_columns, plain, raise_or_warn
from maxmargin.distributed.sources import sources_of
from maxmargin.distributed.training import Fit, blaming, fitting, solve_ranking
from maxmargin.estimators import rank as local
from maxmargin.estimators.base import progress_callback, threads_of
from maxmargin.losses.ranks import Ranks
from maxmargin.metrics import pairwise_accuracy
from maxmargin.models.training import Plan
from maxmargin.problem import Callback, Solution


class RankSVM(local.RankSVM):
    r"""`maxmargin.RankSVM` on rows that lie on the workers of a Dask cluster.

    ``minimise 1/2 ||w||^2 + C N/Q * sum_q 1/m_q * sum of max(0, 1 - <w, x_i - x_j>)`` over the m_q
    pairs of query q with ``y_i > y_j``; N rows in Q queries.

    Where no query has rows in two partitions every query is dealt with where it lies, and O(d)
    numbers a partition travel each iteration. Otherwise (and without `qid`, which makes all rows
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

    def __init__(
        self,
        C: float = 1.0,
        *,
        solver: str = "ocas",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        client=None,
        read_options: dict | None = None,
    ) -> None:
        super().__init__(
            C,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            n_jobs=n_jobs,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.client = client
        self.read_options = read_options

    def fit(self, X, y=None, qid=None, sample_weight=None) -> RankSVM:
        """Learns the scores. Data as in `maxmargin.distributed.LinearSVC`, with query ids.

        Raises
        ------
        PartitionError
            A partition failed again and again. Its `model`, and this estimator, are the best so
            far.
        """
        self._check_parameters()
        sources = sources_of(X, y, sample_weight, qid, **(self.read_options or {}))
        with fitting(self.client, sources, self.max_time) as fit:
            start = self._previous((1, fit.shape.d))
            solution = self._rank(fit, None if start is None else start[0])
            note_columns(self, fit)
            self._keep([solution])
            self.coef_ = self._w.copy()
            raise_or_warn(self, fit)
        return self

    def predict(self, X) -> Any:
        """Scores: the larger, the further up. Lazily for what is lazy, else at once."""
        if prediction.is_distributed(X):
            return lazily(self, "predict", X, 0, np.float64)
        return super().predict(X)

    def decision_function(self, X) -> Any:
        """Scores, as `predict`."""
        return self.predict(X)

    def score(self, X, y=None, qid=None, sample_weight=None) -> float:
        """Share of pairs in the right order, averaged over queries. Gathers scores and targets."""
        if not prediction.is_distributed(X):
            return super().score(X, y, qid=qid, sample_weight=sample_weight)
        sources = sources_of(X, y, sample_weight, qid, **(self.read_options or {}))
        with fitting(self.client, sources, None) as fit:
            rows = RemoteRows(fit)
            scores = rows @ self.coef_[0]
            return pairwise_accuracy(
                rows.column("y"),
                scores,
                qid=rows.column("qid"),
                sample_weight=rows.column("weight"),
            )

    def _rank(self, fit: Fit, w0: np.ndarray | None) -> Solution:
        plan = scoring_plan(self, bias=0.0)
        with blaming(fit.cluster):
            found = fit.cluster.ask(describe.queries_of)
        across = describe.crossing(found)
        self.gathers_predictions_ = across > 0
        if not across:
            return solve_ranking(fit, plan, w0)
        if all(queries.ids is not None for queries in found):
            warnings.warn(
                f"{across} queries have rows in more than one partition, so all predictions are "
                f"gathered, {8e-6 * fit.shape.n:.3g} MB an iteration: cut the data where queries "
                "end and they stay on the workers",
                UserWarning,
                stacklevel=3,
            )
        rows = RemoteRows(fit)
        y, qid, weight = (rows.column(name) for name in ("y", "qid", "weight"))
        assert y is not None

        def make_loss(pool: Any) -> Ranks:
            return Ranks(y, self.C, pool, qid=qid, sample_weight=weight)

        return solve_gathered(rows, make_loss, plan, w0)

    def _origin(self) -> dict[str, Any]:
        origin = super()._origin()
        return origin | {"parameters": plain(origin["parameters"])}


def scoring_plan(estimator: Any, bias: float) -> Plan:
    """The parameters of an estimator of scores, as solvers know them."""
    return Plan(
        C=estimator.C,
        solver=estimator.solver,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        max_time=estimator.max_time,
        bias=bias,
        threads=threads_of(estimator.n_jobs),
        callback=progress_callback(estimator.callback, estimator.verbose),
    )
