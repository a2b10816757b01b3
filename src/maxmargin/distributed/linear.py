"""Linear classification on a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.distributed import prediction
from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.training import (
    Fit,
    check_on_cluster,
    client_of,
    solve_classes,
    solver_of,
)
from maxmargin.estimators import linear as local
from maxmargin.estimators.base import parameters
from maxmargin.parameters import one_of
from maxmargin.solvers.common.start import Start
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.linear import linear_model


@parameters
class LinearSVC(OnCluster, local.LinearSVC):
    """`maxmargin.LinearSVC` on rows that lie on the workers of a Dask cluster.

        minimise   1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i (<w, x_i> + b))

    The same optimum with the same certificate, from any number of workers. An iteration moves O(d)
    numbers to and from each partition, and nothing of one number per row. A worker that dies costs
    the reading of its partitions, no more.

    Parameters
    ----------
    C, tol, max_iter, max_time, fit_intercept, intercept_scaling, class_weight, warm_start
        As in `maxmargin.LinearSVC`.
    verbose, callback
        As in `maxmargin.LinearSVC`.
    solver : {"auto", "newton", "ocas", "cpa"}
        Newton's method (at most 3000 features), cutting planes with an exact line search, or
        without; "auto" takes Newton where features are few, which saves rounds, else "ocas".
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
    coef_, intercept_, classes_, n_features_in_, n_iter_, certificate_, certificates_
        As in `maxmargin.LinearSVC`.
    history_, solver_
        As in `maxmargin.LinearSVC`.
    n_samples_, n_partitions_ : int
        Rows, and the partitions they lay in.
    index_base_ : int or None
        The number svmlight text gave its first feature.
    """

    start: str = "zero"

    def _plan(self) -> LinearPlan:
        plan = super()._plan()
        check_on_cluster(plan)
        one_of("start", self.start, ("zero", "average"))
        return plan

    def _train_on(self, fit: Fit, plan: LinearPlan) -> Trained:
        starts, solver = self._starts(), solver_of(fit, plan)
        w0 = None if starts is None else [start.w for start in starts]
        labels, solutions = solve_classes(
            fit, replace(plan, solver=solver), self.start == "average", w0
        )
        model = linear_model(fit.shape.d, labels.classes, solver, solutions, plan)
        return Trained(model, solutions, [Start(solution.w) for solution in solutions])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows labelled rightly, by weight; only two numbers per partition travel."""
        if not self._is_remote(X):
            return super().score(X, y, sample_weight)
        sources = self._sources(X, y, sample_weight)
        return prediction.accuracy(client_of(self.client), self.to_model(), sources)
