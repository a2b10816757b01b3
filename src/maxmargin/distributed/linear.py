"""Linear classification on a Dask cluster."""

from __future__ import annotations

from maxmargin.distributed import prediction
from maxmargin.distributed.base import OnCluster
from maxmargin.distributed.training import client_of, fitting, solve_classes
from maxmargin.estimators import linear as local
from maxmargin.parameters import one_of
from maxmargin.problem import Callback
from maxmargin.training.choice import CLUSTER, Start, check_solver
from maxmargin.training.fit import Trained
from maxmargin.training.linear import linear_model


class LinearSVC(OnCluster, local.LinearSVC):
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
        plan = self._plan(self.C)
        check_solver(plan.solver, CLUSTER)
        one_of("start", self.start, ("zero", "average"))
        sources, starts = self._sources(X, y, sample_weight), self._starts()
        with fitting(self.client, sources, plan.options.max_time) as fit:
            w0 = None if starts is None else [start.w for start in starts]
            labels, solutions = solve_classes(fit, plan, self.start == "average", w0)
            solver = "ocas" if plan.solver == "auto" else plan.solver
            model = linear_model(fit.shape.d, labels.classes, solver, solutions, plan)
            ends = [Start(solution.w) for solution in solutions]
            return self._finish(Trained(model, solutions, ends), fit)

    def score(self, X, y=None, sample_weight=None) -> float:
        """The share of rows labelled rightly, by weight; only two numbers a partition travel."""
        if not prediction.is_distributed(X):
            return super().score(X, y, sample_weight)
        sources = self._sources(X, y, sample_weight)
        return prediction.accuracy(client_of(self.client), self.to_model(), sources)
