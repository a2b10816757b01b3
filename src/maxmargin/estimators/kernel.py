"""Kernel SVMs in scikit-learn's manner."""

from __future__ import annotations

import os
import warnings
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from maxmargin.estimators.base import Classifier, WithProbabilities, parameters
from maxmargin.estimators.kernel_base import OnKernelMatrix
from maxmargin.estimators.sources import Given
from maxmargin.models import libsvm_text
from maxmargin.models.cells import CellModel
from maxmargin.models.files import register_estimator
from maxmargin.problem import callers_line
from maxmargin.solvers.kernel.grid_problem import GridProgress, GridResult
from maxmargin.training.cells import train_cells
from maxmargin.training.each_cell import TrainedCells, Tuning, cell_reporter
from maxmargin.training.folds import Folds, folds_of
from maxmargin.training.kernel import KernelPlan, TrainedKernel, train
from maxmargin.training.kernel_search import search
from maxmargin.training.roc_front import RocFront, roc_front
from maxmargin.training.verbose import telling


def folds_by(cv: Any, given: Given, seed: int) -> Folds:
    """A number of folds of our own making, the same as in the command; else what was given."""
    if isinstance(cv, int):
        codes = np.unique(given.y, return_inverse=True)[1]
        return folds_of(cv, len(codes), seed, codes)
    return list(check_cv(cv, given.y, classifier=True).split(given.X, given.y))


@parameters
class _KernelClassifier(OnKernelMatrix, Classifier):
    """What KernelSVC and KernelSVCCV share."""

    stopping: str = "relative"
    working_set: int | str = 7
    n_neighbors: int = 10
    cold_start: str = "auto"
    multi_class: str = "ovr"
    random_state: Any = None

    _shown = ("classes",)

    def _plan(self) -> KernelPlan:
        return self._planned(KernelPlan)

    def export_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Writes the model in LIBSVM's text format, for its svm-predict."""
        libsvm_text.write(self.to_model(), path)


@parameters
class KernelSVC(WithProbabilities, _KernelClassifier):
    r"""Kernel SVM classifier, by steps in two dual variables.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i)), \qquad
              f(x) = \sum_j \beta_j k(x_j, x)

    A universal kernel (rbf, laplacian) needs no offset, and without it the dual has no equality
    constraint: steps, starts and gap are simpler and cheaper than in SVC.

    Parameters
    ----------
    C : float
        Cost of a unit of loss, as in SVC.
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable
        "laplacian" is ``exp(-gamma ||x - z||)`` with the Euclidean norm. A callable takes two
        arrays of rows and returns the array of kernel values.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * variance of X)``, "auto" ``1 / n_features``.
    degree, coef0
        Of the polynomial kernel ``(gamma <x, z> + coef0)^degree``.
    offset : float
        B > 0 adds B^2 to the kernel: f gains an offset b that costs ``b^2 / (2 B^2)``, in
        `intercept_`. For linear and precomputed kernels on data that are not centred.
    tol : float
        Stop when the relative gap ``(P - D) / P`` is at most this.
    stopping : {"relative", "clipped", "plain"}
        "clipped" and "plain" stop when the gap is at most ``tol * C * sum_i s_i`` instead: the gap
        of predictions clipped to [-1, 1] (rule 9 of the paper), or the duality gap itself. An
        answer that satisfies only them has the status "rule_met", not "optimal".
    working_set : int or "1d"
        How pairs are chosen: a sum of 1, 2, 4, ..., 2048 as in the paper; 0 tries all pairs.
    n_neighbors : int
        Neighbours that working set 4 tries.
    cold_start : {"auto", "I0", "I1"}
        Start at zero or at the kernel rule ``a = C``; "auto" is the latter when the matrix is in
        memory and C is so small that most points would stay there.
    multi_class : {"ovr", "ovo"}
        Several classes by one-vs-rest or one-vs-one; all problems share the kernel matrix.
    cells : int or None
        Cut space into cells of at most so many rows (2000, say) and train a machine in each: for
        more rows than a kernel matrix holds. A row is predicted by the machine of its cell. A cell
        whose rows are of one class predicts that class.
    cell_overlap : float
        Each side of a cut also learns from that share more rows, the nearest beyond the cut.
    memory : int, str or None
        Byte budget of the kernel matrix ("2GB"). Above it rows are computed when needed and cached.
        None: seven tenths of what is available.
    probability : bool, "sigmoid" or "isotonic"
        Whether to calibrate probabilities, as in LinearSVC.
    class_weight, n_jobs, random_state, max_iter, max_time, verbose, callback
        As in LinearSVC: n_jobs=None uses all available CPUs, a callback that returns True ends the
        fit.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, classes_, gamma_, n_iter_
    certificate_, certificates_ : KernelCertificate
        Over all binary problems, and one per problem.
    history_ : list of Progress

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import KernelSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelSVC(C=10, gamma=2.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _kind = "kernel"

    C: float = field(default=1.0, kw_only=False)
    gamma: float | str = "scale"

    def _train(self, given: Given, plan: KernelPlan) -> TrainedKernel | TrainedCells:
        if plan.cells is not None:
            report = cell_reporter(self.callback, self.verbose)
            return train_cells(given.X, given.y, plan, given.weight, callback=report)
        return train(given.X, given.y, plan, given.weight)

    def roc_front(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, odds: Any = 13, cv: Any = 5
    ) -> RocFront:
        """Rates of false and true positives for many weights of the positive (second) class.

        The machines of a fold start from one another along the weight, on one kernel matrix.
        ``front.class_weight(max_false_positive_rate)`` is the `class_weight` of the
        Neyman-Pearson machine: most true positives at no more than that rate of false ones.

        Parameters
        ----------
        odds : int or array
            What all positives weigh over what all negatives weigh: how many values from 1/64 to
            64, or the values.
        cv : int, splitter or iterable of (train, test)
            As in KernelSVCCV.

        Returns
        -------
        RocFront
            With arrays `odds`, `false_positive_rate` and `true_positive_rate`, from held-out rows.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from maxmargin import KernelSVC
        >>> X, y = make_moons(300, noise=0.3, random_state=0)
        >>> front = KernelSVC(C=10, gamma=1.0).roc_front(X, y)
        >>> model = KernelSVC(C=10, gamma=1.0, class_weight=front.class_weight(0.05)).fit(X, y)
        >>> bool(model.predict(X[y == 0]).mean() < 0.1)
        True
        """
        plan = self._plan()
        given = self._given(X, y, sample_weight)
        folds = folds_by(cv, given, plan.options.seed)
        return roc_front(given.X, given.y, plan, odds, folds, given.weight)


register_estimator(CellModel.kind, KernelSVC.from_model)


@parameters
class KernelSVCCV(_KernelClassifier):
    r"""Kernel SVM whose C and gamma are chosen by cross-validation on a grid of warm-started fits.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i))

    Distances are computed once, the kernel once a gamma; all folds share its rows, and along C each
    fit starts from the one before. The best point is fitted again on all rows.

    Parameters
    ----------
    Cs, gammas : "auto", int or array
        "auto" begins with five values each, scaled by the distances of the rows and their number,
        goes on beyond an edge where the best point lies on one, and tries the points half way to
        its neighbours. What the first fold shows to be worse than chance explains is not tried in
        the others. Else the values themselves, or how many: then the grid of the no-offset
        paper, ``lambda = 1 / (2 n C)`` geometric in [10 / n^2, 1] and sigma in [0.1, 2 n^(1/d)],
        ``gamma = sigma^2`` (laplacian: sigma), which suits features scaled to [-1, 1].
    cells, cell_overlap
        As in KernelSVC: every cell chooses its own C and gamma in `cv` folds of its rows; `C_` and
        `gamma_` are lists, and `best_score_` is the mean over all rows.
    cv : int, splitter or iterable of (train, test)
        A number of stratified folds, shuffled by `random_state`, or as in GridSearchCV. In a fold
        of m rows C is multiplied by n / m, so that lambda stays the same.
    path_start : {"auto", "W0", "W1", "W2", "W3", "W4", "W5", "W6", "hybrid"}
        How a fit starts from the one before it on the regularisation path. Where C grows: at zero
        (W0), at the kernel rule (W1), where it ended (W2), scaled with C (W3), or with the bounded
        variables at their new bounds (W4, the paper's choice and "auto"). Where C falls: scaled
        with C (W5), or cut to the new bounds (W6). "hybrid" begins with the middle C and goes on
        to the larger by W4 and to the smaller by W6.
    kernel, degree, coef0, offset, tol, stopping, working_set, n_neighbors, cold_start, multi_class
    memory
        As in KernelSVC. A precomputed or callable kernel has no gamma: the grid is a line of C.
    callback : callable
        Called with a GridProgress after every fold of every gamma; True ends the search, and the
        best point so far is fitted.

    Attributes
    ----------
    C_, gamma_, best_params_, best_score_
    best_index_ : tuple
        Row and column of the best point in `Cs_` and `gammas_`; ties of errors are broken by the
        loss
    Cs_, gammas_ : arrays
    scores_, losses_ : arrays of shape (gammas, Cs, folds)
        Accuracy, and mean hinge loss of clipped predictions, on the validation rows, which count
        by their sample weights.
    cv_results_ : dict of arrays, as in GridSearchCV
    support_, support_vectors_, dual_coef_, certificate_, ... : of the last fit, as in KernelSVC

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import KernelSVCCV
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelSVCCV(Cs=5, gammas=5).fit(X, y)
    >>> bool(model.best_score_ > 0.98)
    True
    """

    Cs: Any = field(default="auto", kw_only=False)
    gammas: Any = field(default="auto", kw_only=False)
    cv: Any = 5
    path_start: str = "auto"

    def _train(self, given: Given, plan: KernelPlan) -> TrainedKernel | TrainedCells:
        if plan.cells is not None:
            return self._train_cells(given, plan)
        report = self._reporter()
        folds = folds_by(self.cv, given, plan.options.seed)
        trained = search(given.X, given.y, self.Cs, self.gammas, folds, plan, given.weight, report)
        assert trained.grid is not None
        self._keep_grid(trained.grid)
        return trained

    def _train_cells(self, given: Given, plan: KernelPlan) -> TrainedCells:
        tuning = Tuning(self.Cs, self.gammas, self.cv)
        report = cell_reporter(self.callback, self.verbose)
        return self._keep_tuned(train_cells(given.X, given.y, plan, given.weight, tuning, report))

    def _keep_tuned(self, trained: TrainedCells) -> TrainedCells:
        self.C_: Any = [cell.C for cell in trained.model.cells]
        error = trained.validation_error
        self.best_score_ = float("nan") if error is None else 1.0 - error
        self.search_seconds_ = trained.seconds
        return trained

    def _keep_grid(self, grid: GridResult) -> None:
        self.Cs_, self.gammas_ = grid.Cs, grid.gammas
        self.scores_, self.losses_ = 1.0 - grid.error, grid.loss
        self.C_ = grid.C
        self.best_index_ = grid.best
        self.best_params_ = {"C": grid.C, "gamma": grid.gamma}
        self.best_score_ = float(self.scores_[grid.best].mean())
        self.search_seconds_ = grid.seconds
        self.cv_results_ = results_table(grid)
        if not grid.complete:
            missed = int(np.isnan(self.cv_results_["mean_test_score"]).sum())
            points = grid.Cs.size * grid.gammas.size
            warnings.warn(
                f"the search ended early: {missed} of {points} grid points "
                f"were not tried in every fold",
                ConvergenceWarning,
                stacklevel=callers_line(),
            )

    def _reporter(self) -> Any:
        callback: Any = self.callback
        return telling(callback, _line, _share) if self.verbose else callback


def _line(progress: GridProgress) -> str:
    return (
        f"{progress.seconds:8.2f} s  {progress.done}/{progress.total} (gamma, fold) pairs  "
        f"best error {progress.best_error:.4f} at C={progress.best_C:.4g}, "
        f"gamma={progress.best_gamma:.4g}  {progress.seconds_left:.0f} s left"
    )


def _share(progress: GridProgress) -> float:
    return progress.done / progress.total


def results_table(grid: GridResult) -> dict[str, Any]:
    """The grid as GridSearchCV's cv_results_: one entry per point, gamma by gamma."""
    gammas, Cs = np.meshgrid(grid.gammas, grid.Cs, indexing="ij")
    # A search that was not cut short left out what it had no need to try.
    tried = ~np.isnan(grid.error).any(axis=2) if grid.complete else np.ones(Cs.shape, dtype=bool)
    gammas, Cs = gammas[tried], Cs[tried]
    scores = 1.0 - grid.error[tried]
    mean = scores.mean(axis=1)
    known = np.nan_to_num(mean, nan=-1.0)
    table = {
        "param_C": Cs,
        "param_gamma": gammas,
        "params": [{"C": C, "gamma": g} for C, g in zip(Cs, gammas)],
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": np.array([1 + np.sum(known > v) for v in known], dtype=np.int32),
        "mean_test_loss": grid.loss[tried].mean(axis=1),
        "n_iter": grid.iterations[tried].sum(axis=1),
    }
    for k in range(scores.shape[1]):
        table[f"split{k}_test_score"] = scores[:, k]
    return table
