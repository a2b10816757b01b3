"""Kernel SVMs without offset in scikit-learn's manner."""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor, wait
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin import _core
from maxmargin.models.kernel import KernelModel, write_libsvm
from maxmargin.problem import Progress, Settings, Status
from maxmargin.solvers import kernel_grid, kernels
from maxmargin.solvers.coding import coding_of
from maxmargin.solvers.kernels import KERNELS, Kernel
from maxmargin.solvers.run import interruptible
from maxmargin.solvers.two_variable import (
    BinaryProblem,
    KernelCertificate,
    KernelSolution,
    Method,
    solve,
)

WARN_SECONDS = 600  # a cached fit that will take longer than this is announced


class _KernelClassifier(ClassifierMixin, BaseEstimator):
    """What KernelSVC and KernelSVCCV share: validation, predictions, attributes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ------------------------------------------------------------ what the data are

    def _data(self, X, y, sample_weight):
        """Checked rows, class numbers and weights; sets classes_ and n_features_in_."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y holds one class: "
                f"{self.classes_[0]!r}"
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            by_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=weights
            )
            weights = weights * by_class[codes]
        seen = np.unique(codes[weights > 0])
        if len(seen) < 2:
            raise ValueError(
                f"rows of positive weight must belong to at least two classes; got {len(seen)}"
            )
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the square matrix of kernel values between training "
                f"rows; got shape {X.shape}"
            )
        return X, codes, weights

    def _kernel(self, gamma: float):
        """The kernel with this gamma; functions and "precomputed" as they are."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return self.kernel
        if self.kernel not in KERNELS:
            raise ValueError(
                f"kernel must be one of {', '.join(KERNELS)}, precomputed, or a function of two arrays "
                f"of rows; got {self.kernel!r}"
            )
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    def _method(self) -> Method:
        if self.stopping not in ("clipped", "plain"):
            raise ValueError(f"stopping must be 'clipped' or 'plain'; got {self.stopping!r}")
        working_set = -1 if self.working_set == "1d" else self.working_set
        if not isinstance(working_set, Integral) or not -1 <= working_set <= 4095:
            raise ValueError(
                f"working_set must be '1d' or a sum of 1, 2, 4, ..., 2048 (0: all pairs); "
                f"got {self.working_set!r}"
            )
        if not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be a positive integer; got {self.n_neighbors!r}")
        return Method(
            working_set=int(working_set),
            n_neighbours=int(self.n_neighbors),
            clipped=self.stopping == "clipped",
            cold=self.cold_start,
        )

    def _check_numbers(self) -> None:
        if not isinstance(self.tol, Real) or not self.tol > 0:
            raise ValueError(f"tol must be a positive number; got {self.tol!r}")
        for name in ("max_iter", "max_time"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and value >= 0):
                raise ValueError(f"{name} must be None or not negative; got {value!r}")

    def _threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return _core.available_cpus()
        if not isinstance(self.n_jobs, Integral) or self.n_jobs < 1:
            raise ValueError(f"n_jobs must be None, -1 or a positive integer; got {self.n_jobs!r}")
        return int(self.n_jobs)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # ------------------------------------------------------------ what a fit leaves behind

    def _keep(self, X, solutions: list[KernelSolution], kernel, coding) -> None:
        beta = np.column_stack([solution.beta for solution in solutions])
        self.support_ = np.flatnonzero(np.any(beta != 0, axis=1)).astype(np.int32)
        vectors = None if self.kernel == "precomputed" else X[self.support_]
        self.support_vectors_ = np.empty((0, 0)) if vectors is None else vectors
        self.dual_coef_ = np.ascontiguousarray(beta[self.support_].T)
        self.intercept_ = np.zeros(len(solutions))
        self.model_ = KernelModel(
            kernel,
            vectors,
            np.ascontiguousarray(beta[self.support_]),
            self.support_,
            self.classes_,
            coding,
            X.shape[0],
        )
        self.certificates_ = [solution.certificate for solution in solutions]
        self.certificate_ = combined(self.certificates_)
        self.history_ = [progress for solution in solutions for progress in solution.history]
        self.n_iter_ = self.certificate_.n_iter
        if self.certificate_.status is not Status.OPTIMAL:
            warnings.warn(
                f"the gap did not reach tol={self.tol:g} ({self.certificate_.status} after "
                f"{self.n_iter_} iterations): {self.certificate_}. The best model so far is kept; "
                f"allow more iterations or time, or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------ predictions

    def decision_function(self, X) -> np.ndarray:
        """``f(x) = sum_j beta_j k(z_j, x)``; one column a class with more than two classes."""
        check_is_fitted(self)
        return self.model_.scores(self._test_rows(X), _core.Pool(self._threads()))

    def predict(self, X) -> np.ndarray:
        """The class of every row."""
        check_is_fitted(self)
        return self.model_.decide(self._test_rows(X), _core.Pool(self._threads()))

    def _test_rows(self, X):
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def export_libsvm(self, path: str | os.PathLike) -> None:
        """Writes the model in LIBSVM's text format, for its svm-predict (rho = 0)."""
        check_is_fitted(self)
        write_libsvm(self.model_, path)


class KernelSVC(_KernelClassifier):
    r"""Kernel SVM classifier without offset, by steps in two dual variables.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i)), \qquad
              f(x) = \sum_j \beta_j k(x_j, x)

    A universal kernel (rbf, laplacian) needs no offset, and without it the dual has no equality
    constraint: steps, starts and gap are simpler and cheaper than in SVC.

    Parameters
    ----------
    C : float
        Cost of a unit of loss, as in SVC.
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable
        "laplacian" is ``exp(-gamma ||x - z||)`` with the Euclidean norm. A callable takes two arrays of
        rows and returns the array of kernel values.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * variance of X)``, "auto" ``1 / n_features``.
    degree, coef0
        Of the polynomial kernel ``(gamma <x, z> + coef0)^degree``.
    tol : float
        Stop when the gap is at most ``tol * C * sum_i s_i``.
    stopping : {"clipped", "plain"}
        The gap of predictions clipped to [-1, 1] (rule 9 of the paper), or the duality gap itself.
    working_set : int or "1d"
        How pairs are chosen: a sum of 1, 2, 4, ..., 2048 as in the paper; 0 tries all pairs.
    n_neighbors : int
        Neighbours that working set 4 tries.
    cold_start : {"auto", "I0", "I1"}
        Start at zero or at the kernel rule ``a = C``; "auto" is the latter when the matrix is in memory.
    multi_class : {"ovr", "ovo"}
        Several classes by one-vs-rest or one-vs-one; all problems share the kernel matrix.
    memory : int, str or None
        Byte budget of the kernel matrix ("2GB"). Above it rows are computed when needed and cached.
        None: seven tenths of what is available.
    class_weight, n_jobs, random_state, max_iter, max_time, verbose, callback
        As in LinearSVC: n_jobs=None uses every CPU granted, a callback that returns True ends the fit.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, classes_, gamma_, n_iter_
    certificate_, certificates_ : KernelCertificate
        Over all binary problems, and one a problem.
    history_ : list of Progress

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin.estimators.kernel import KernelSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelSVC(C=10, gamma=2.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        tol=1e-3,
        stopping="clipped",
        working_set=7,
        n_neighbors=10,
        cold_start="auto",
        max_iter=None,
        max_time=None,
        multi_class="ovr",
        class_weight=None,
        memory=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.stopping = stopping
        self.working_set = working_set
        self.n_neighbors = n_neighbors
        self.cold_start = cold_start
        self.max_iter = max_iter
        self.max_time = max_time
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y, sample_weight=None):
        """Fits the model to rows X (dense or CSR) and labels y."""
        X, codes, weights = self._data(X, y, sample_weight)
        self._check_numbers()
        if not (isinstance(self.C, Real) and self.C > 0 and np.isfinite(self.C)):
            raise ValueError(f"C must be a positive number; got {self.C!r}")
        method = self._method()
        coding = coding_of(len(self.classes_), self.multi_class)
        self.gamma_ = gamma_of(self.gamma, X, weights)
        kernel = self._kernel(self.gamma_)
        budget = kernels.budget_of(self.memory)
        with interruptible(self.max_time) as stop:
            pool = _core.Pool(self._threads(), stop)
            source = self._source(X, kernel, budget, pool)
            settings = Settings(
                tol=self.tol,
                max_iter=self.max_iter,
                seed=self._seed(),
                callback=self._reporter(),
                stop=stop,
            )
            problems = [BinaryProblem(source, y_b, weights) for y_b in coding.labels(codes)]
            solutions = solve_all(problems, float(self.C), settings, pool, method)
        self._keep(X, solutions, kernel, coding)
        return self

    def _source(self, X, kernel, budget: int, pool: _core.Pool):
        """The kernel rows; a fit that will take long for want of memory says so before it starts."""
        size = kernels.matrix_bytes(X.shape[0])
        if isinstance(kernel, Kernel) and size > budget:
            seconds = kernels.seconds_of_cached_fit(X, kernel, budget, pool)
            if seconds > WARN_SECONDS:
                warnings.warn(
                    f"the kernel matrix of {X.shape[0]} rows takes {size / 2**30:.1f} GiB and the "
                    f"budget is {budget / 2**30:.1f} GiB: rows will be computed again and again, for "
                    f"about {seconds / 60:.0f} minutes. Allow more memory, or use SparseKernelSVC",
                    UserWarning,
                    stacklevel=3,
                )
        try:
            return kernels.source_of(X, kernel, budget, pool, self.n_neighbors)
        except _core.Stopped:
            raise TimeoutError(
                f"max_time={self.max_time} was over, or the fit was interrupted, before the kernel "
                f"matrix of {X.shape[0]} rows was computed: there is no model yet"
            ) from None

    def _reporter(self):
        if not self.verbose:
            return self.callback

        def report(progress: Progress):
            print(
                f"{progress.seconds:8.2f} s  iteration {progress.iteration:9d}  "
                f"primal {progress.primal:.6g}  dual {progress.dual:.6g}",
                file=sys.stderr,
            )
            return self.callback(progress) if self.callback is not None else None

        return report


class KernelSVCCV(_KernelClassifier):
    r"""Kernel SVM whose C and gamma are chosen by cross-validation on a grid of warm-started fits.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i))

    Distances are computed once, the kernel once a gamma; all folds share its rows, and along C each fit
    starts from the one before. The best point is fitted again on all rows.

    Parameters
    ----------
    Cs, gammas : int or array
        Values, or how many: then the grid of the no-offset paper, ``lambda = 1 / (2 n C)`` geometric in
        [10 / n^2, 1] and sigma in [0.1, 2 n^(1/d)], ``gamma = sigma^2`` (laplacian: sigma).
    cv : int, splitter or iterable of (train, test)
        As in GridSearchCV. In a fold of m rows C is multiplied by n / m, so that lambda stays the same.
    kernel, degree, coef0, tol, stopping, working_set, n_neighbors, cold_start, multi_class, memory, ...
        As in KernelSVC. A precomputed or callable kernel has no gamma: the grid is a line of C.
    callback : callable
        Called with a GridProgress after every fold of every gamma; True ends the search, and the best
        point so far is fitted.

    Attributes
    ----------
    C_, gamma_, best_params_, best_score_
    Cs_, gammas_ : arrays
    scores_, losses_ : arrays of shape (gammas, Cs, folds)
        Accuracy, and mean hinge loss of clipped predictions, on the validation rows.
    cv_results_ : dict of arrays, as in GridSearchCV
    support_, support_vectors_, dual_coef_, certificate_, ... : of the last fit, as in KernelSVC

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin.estimators.kernel import KernelSVCCV
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelSVCCV(Cs=5, gammas=5).fit(X, y)
    >>> bool(model.best_score_ > 0.98)
    True
    """

    def __init__(
        self,
        Cs=10,
        gammas=10,
        *,
        cv=5,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        tol=1e-3,
        stopping="clipped",
        working_set=7,
        n_neighbors=10,
        cold_start="auto",
        max_iter=None,
        max_time=None,
        multi_class="ovr",
        class_weight=None,
        memory=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.stopping = stopping
        self.working_set = working_set
        self.n_neighbors = n_neighbors
        self.cold_start = cold_start
        self.max_iter = max_iter
        self.max_time = max_time
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y, sample_weight=None):
        """Searches the grid and fits the best point to all rows."""
        X, codes, weights = self._data(X, y, sample_weight)
        self._check_numbers()
        method = self._method()
        coding = coding_of(len(self.classes_), self.multi_class)
        self.Cs_ = self._values("Cs", kernel_grid.paper_Cs, X.shape[0])
        self.gammas_ = self._gammas(X)
        folds = list(check_cv(self.cv, codes, classifier=True).split(X, codes))
        with interruptible(self.max_time) as stop:
            pool = _core.Pool(self._threads(), stop)
            settings = Settings(tol=self.tol, max_iter=self.max_iter, seed=self._seed(), stop=stop)
            problem = kernel_grid.GridProblem(
                X,
                codes,
                weights,
                folds,
                coding,
                self._kernel(float(self.gammas_[0])),
                self.Cs_,
                self.gammas_,
            )
            try:
                result = kernel_grid.search(
                    problem,
                    settings,
                    pool,
                    method=method,
                    memory=self.memory,
                    callback=self._reporter(),
                )
            except _core.Stopped:
                raise TimeoutError(
                    f"max_time={self.max_time} was over, or the fit was interrupted, before the kernel "
                    f"matrix of {X.shape[0]} rows was computed: there is no model yet"
                ) from None
        self._keep_grid(result, len(folds))
        self._keep(X, result.solutions, self._kernel(self.gamma_), coding)
        return self

    def _values(self, name: str, default, *args) -> np.ndarray:
        """A parameter that is a list of positive numbers or how many of the paper's are wanted."""
        given = getattr(self, name)
        if isinstance(given, Integral):
            if given < 1:
                raise ValueError(
                    f"{name} must be at least 1 or a list of positive numbers; got {given}"
                )
            return default(*args, count=int(given))
        values = np.unique(np.asarray(given, dtype=np.float64))
        if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
            raise ValueError(f"{name} must be a count or positive numbers; got {given!r}")
        return values

    def _gammas(self, X) -> np.ndarray:
        if callable(self.kernel) or self.kernel in ("precomputed", "linear"):
            return np.array([1.0])
        return self._values("gammas", kernel_grid.paper_gammas, *X.shape, self.kernel)

    def _keep_grid(self, result: kernel_grid.GridResult, n_folds: int) -> None:
        self.scores_, self.losses_ = 1.0 - result.error, result.loss
        self.C_, self.gamma_ = result.C, result.gamma
        self.best_params_ = {"C": self.C_, "gamma": self.gamma_}
        self.best_score_ = float(self.scores_[result.best].mean())
        self.search_seconds_ = result.seconds
        self.search_complete_ = result.complete
        gammas, Cs = np.meshgrid(self.gammas_, self.Cs_, indexing="ij")
        scores = self.scores_.reshape(-1, n_folds)
        mean = scores.mean(axis=1)
        rank = np.argsort(np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")) + 1
        self.cv_results_ = {
            "param_C": Cs.ravel(),
            "param_gamma": gammas.ravel(),
            "params": [{"C": c, "gamma": g} for c, g in zip(Cs.ravel(), gammas.ravel())],
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rank.astype(np.int32),
            "mean_test_loss": self.losses_.reshape(-1, n_folds).mean(axis=1),
            "n_iter": result.iterations.reshape(-1, n_folds).sum(axis=1),
        }
        for k in range(n_folds):
            self.cv_results_[f"split{k}_test_score"] = scores[:, k]
        if not result.complete:
            warnings.warn(
                f"the search ended early: {int(np.isnan(mean).sum())} of {mean.size} grid points were "
                f"not tried in every fold",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _reporter(self):
        if not self.verbose:
            return self.callback

        def report(progress: kernel_grid.GridProgress):
            print(
                f"{progress.seconds:8.2f} s  {progress.done}/{progress.total} folds of widths  "
                f"best error {progress.best_error:.4f} at C={progress.best_C:.4g}, "
                f"gamma={progress.best_gamma:.4g}  {progress.seconds_left:.0f} s left",
                file=sys.stderr,
            )
            return self.callback(progress) if self.callback is not None else None

        return report


# ---------------------------------------------------------------- helpers


def gamma_of(gamma, X, weights: np.ndarray) -> float:
    """The number that "scale", "auto" or a number stands for. Weights count as repetitions."""
    if isinstance(gamma, Real) and not isinstance(gamma, bool):
        if not (gamma > 0 and np.isfinite(gamma)):
            raise ValueError(f"gamma must be a positive number, 'scale' or 'auto'; got {gamma!r}")
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        raise ValueError(f"gamma must be a positive number, 'scale' or 'auto'; got {gamma!r}")
    share = weights / weights.sum()
    squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
    mean = float(np.sum(share @ X)) / X.shape[1]
    variance = float(np.sum(share @ squares)) / X.shape[1] - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * max(mean**2, 1e-300) else 1.0


def solve_all(
    problems: list[BinaryProblem], C: float, settings: Settings, pool: _core.Pool, method: Method
) -> list[KernelSolution]:
    """Binary problems on one kernel: side by side if the matrix is in memory, else one by one."""
    if len(problems) == 1 or not problems[0].source.rows.whole or pool.threads == 1:
        return [solve(problem, C, settings, pool, method) for problem in problems]
    with ThreadPoolExecutor(pool.threads) as executor:
        futures = [
            executor.submit(solve, problem, C, settings, _core.Pool(1), method, owns_stop=False)
            for problem in problems
        ]
        while wait(futures, timeout=0.02).not_done:
            if settings.stop is not None:
                settings.stop.poll()
    return [future.result() for future in futures]


def combined(certificates: list[KernelCertificate]) -> KernelCertificate:
    """All binary problems as one: objectives add up, the first status that is not optimal stands."""
    status = next(
        (c.status for c in certificates if c.status is not Status.OPTIMAL), Status.OPTIMAL
    )
    return KernelCertificate(
        sum(c.primal for c in certificates),
        sum(c.dual for c in certificates),
        status,
        sum(c.n_iter for c in certificates),
        max(c.seconds for c in certificates),
        clipped_gap=sum(c.clipped_gap for c in certificates),
        scale=sum(c.scale for c in certificates),
    )
