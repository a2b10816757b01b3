"""Linear support vector classification, certified."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators.base import Classifier, Given, check_labels
from maxmargin.estimators.sources import read_labelled
from maxmargin.problem import Callback
from maxmargin.training.fit import LinearPlan
from maxmargin.training.linear import train


class LinearClassifier(Classifier):
    """What linear classifiers share: the parameters of the problem."""

    _shown = ("coef", "intercept", "classes", "solver")

    def _plan(self, C: float) -> LinearPlan:
        return LinearPlan(
            C=C,
            solver=self.solver,
            bias=self._bias(),
            class_weight=self.class_weight,
            options=self._options(),
        )


class LinearSVC(LinearClassifier):
    """Linear support vector classification with a certificate of how good the answer is.

        minimise   1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i (<w, x_i> + b))

    The fit ends when the duality gap is at most `tol` times the objective: no answer can be better
    by more. More than two classes are trained one against the rest, side by side.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
    solver : {"auto", "newton", "dual", "ocas", "cpa"}
        "newton" needs few passes at any C if there are few features, "dual" is quick with many,
        "ocas" and "cpa" are cutting plane methods. "auto" picks by the shape of the data;
        `solver_` says which.
    tol : float
        Relative duality gap to reach.
    max_iter, max_time : number, optional
        Limits on iterations of a problem, and on seconds in all. Like Ctrl-C they give the best
        model so far, with its certificate, and a ConvergenceWarning.
    fit_intercept, intercept_scaling : bool, float
        The intercept is the weight of a constant feature of value `intercept_scaling`, hence
        regularised; a larger value regularises it less.
    class_weight : dict, "balanced" or None
    n_jobs : int, optional
        Threads; None for all CPUs granted. No answer depends on it.
    random_state : int, generator or None
        Seed of "dual"; None means 0.
    warm_start : bool
        Start from the last fit's solution (another C, say) if the rows and classes are as many.
    verbose : int
        1 prints a line a step to standard error.
    callback : callable, optional
        Called with a `Progress` a step; True ends the fit with the best model so far.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, n_iter_ : as in scikit-learn
    certificate_ : Certificate
        Of the binary problem furthest from its optimum: primal, dual, gap, relative_gap, status,
        n_iter, seconds. `certificates_` has one for each problem.
    history_ : list of Progress
    solver_ : str

    Examples
    --------
    >>> from maxmargin import LinearSVC, data
    >>> train, test = data.load_demo()
    >>> model = LinearSVC(C=0.1).fit(train.X, train.y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> bool(model.score(test.X, test.y) > 0.84)
    True
    """

    _kind = "linear"

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
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None) -> LinearSVC:
        """Train on rows X (array or CSR matrix, float32 or float64: used where it lies).

        `sample_weight` multiplies C row by row: a weight of 2 equals the row twice.

        X may also be a file, a glob, a list of files, or what `maxmargin.data.open_source` gives.
        The rows then stay on disk: solver "ocas" (or "cpa") reads them twice an iteration. Labels
        and weights are the file's; y must not be given.
        """
        plan = self._plan(self.C)
        given = self._given(X, y, sample_weight)
        check_labels(given.y)
        trained = train(given.X, given.y, plan, given.weight, self._starts())
        return self._adopt(trained, given.index_base)

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, *args: Any, **options: Any
    ) -> Given:
        """Rows of a file stay where they are."""
        if not self._is_file(X):
            return super()._given(X, y, sample_weight, **options)
        if self.warm_start:
            raise ValueError("warm_start=True is not for files: read the rows into memory first")
        file = read_labelled(X, y, sample_weight, None, self._options().threads, rows=False)
        self._note_columns(file.X.d, file.feature_names)
        return Given(file.X, file.y, file.weight, index_base=file.index_base)
