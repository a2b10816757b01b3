"""Kernel regressions in scikit-learn's manner."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from maxmargin.estimators.base import parameters
from maxmargin.estimators.kernel_base import OnKernelMatrix
from maxmargin.estimators.regression import RegressionScores
from maxmargin.estimators.sources import Given
from maxmargin.models.files import register_estimator
from maxmargin.models.regression_cells import RegressionCellModel
from maxmargin.problem import callers_line
from maxmargin.training.each_cell import TrainedCells, Tuning, cell_reporter
from maxmargin.training.folds import folds_of
from maxmargin.training.kernel import TrainedKernel
from maxmargin.training.kernel_regression import (
    KernelRegressionPlan,
    search_kernel_regression,
    train_kernel_regression,
)
from maxmargin.training.regression_cells import train_regression_cells


@parameters
class _KernelRegressor(OnKernelMatrix, RegressionScores):
    """What KernelSVR and KernelSVRCV share."""

    def _plan(self) -> KernelRegressionPlan:
        return self._planned(KernelRegressionPlan)

    def _train_cells(
        self, given: Given, plan: KernelRegressionPlan, tuning: Tuning | None = None
    ) -> TrainedCells:
        report = cell_reporter(self.callback, self.verbose)
        return train_regression_cells(given.X, given.y, plan, given.weight, tuning, report)


@parameters
class KernelSVR(_KernelRegressor):
    r"""Kernel regression by one of six losses, with a certificate.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \phi(t_i - f(x_i)), \qquad
              f(x) = \sum_j \beta_j k(x_j, x)

    Targets far from 0 want their mean subtracted, or an `offset` about as large as they are.

    Parameters
    ----------
    C : float
        Cost of a unit of loss, as in SVR. ("squared" is KernelRidge with ``alpha = 1 / C``.)
    loss, epsilon, quantile, delta, non_crossing
        As in `LinearSVR`. Of a list of quantiles all are fitted on one kernel matrix.
    kernel, gamma, degree, coef0, offset, memory
        As in `KernelSVC`.
    cells, cell_overlap
        As in `KernelSVC`: space is cut, and every cell gets a regression of its own. Without
        `offset`.
    tol : float
        Stop when the relative gap ``(P - D) / P`` is at most this.
    max_iter, max_time, n_jobs, random_state, verbose, callback
        As in `LinearSVC`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, gamma_, n_iter_
    certificate_, certificates_ : KernelCertificate
        Over all functions, and one for each.
    history_ : list of Progress

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelSVR
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelSVR(C=10, epsilon=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> KernelSVR(C=10, loss="quantile", quantile=[0.1, 0.9]).fit(X, y).predict(X).shape
    (200, 2)
    """

    _kind = "kernel-regression"

    C: float = field(default=1.0, kw_only=False)
    gamma: float | str = "scale"

    def _train(self, given: Given, plan: KernelRegressionPlan) -> TrainedKernel | TrainedCells:
        if plan.cells is not None:
            return self._train_cells(given, plan)
        return train_kernel_regression(given.X, given.y, plan, given.weight)


register_estimator(RegressionCellModel.kind, KernelSVR.from_model)


@parameters
class KernelSVRCV(_KernelRegressor):
    """`KernelSVR` with the C and gamma whose loss on held-out rows is least.

    A gamma has one kernel matrix, folds are weights, and along C each fit starts from the last. The
    best point is fitted again on all rows.

    Parameters
    ----------
    Cs, gammas : "auto", int or array
        "auto" is five values each, scaled by the distances of the rows and their number. Else the
        values themselves, or how many, as in `KernelSVCCV`.
    cv : int, splitter or iterable of (train, test)
        As in GridSearchCV; a number of folds draws them at random, by `random_state`. In a fold of
        m rows C is multiplied by n / m.

    The others are those of `KernelSVR`. With `cells` each has its own grid and folds (`cv` is then
    their number); `C_` and `gamma_` are lists, and `best_score_` is the mean over all rows.

    Attributes
    ----------
    C_, gamma_, best_params_, Cs_, gammas_
    best_index_ : tuple
        Row and column of the best point in `gammas_` and `Cs_`.
    scores_ : array of shape (gammas, Cs, folds)
        The negative mean of the loss that is minimised, on the rows held out.
    best_score_ : float

    All others are those of `KernelSVR`, for the refitted model.
    """

    Cs: Any = field(default="auto", kw_only=False)
    gammas: Any = field(default="auto", kw_only=False)
    cv: Any = 5

    def _train(self, given: Given, plan: KernelRegressionPlan) -> TrainedKernel | TrainedCells:
        if plan.cells is not None:
            found = self._train_cells(given, plan, Tuning(self.Cs, self.gammas, self.cv))
            self.C_: Any = [cell.C for cell in found.model.cells]
            self.best_score_ = -float(found.validation_error or 0.0)
            return found
        if isinstance(self.cv, int | np.integer):
            folds = folds_of(int(self.cv), len(given.y), plan.options.seed)
        else:
            folds = list(check_cv(self.cv, given.y, classifier=False).split(given.X, given.y))
        trained = search_kernel_regression(
            given.X, given.y, self.Cs, self.gammas, folds, plan, given.weight
        )
        grid = trained.grid
        assert grid is not None
        self.Cs_, self.gammas_, self.scores_ = grid.Cs, grid.gammas, -grid.loss
        self.best_index_ = grid.best
        self.C_ = float(grid.Cs[grid.best[1]])
        self.best_params_ = {"C": self.C_, "gamma": trained.gamma}
        self.best_score_ = float(self.scores_[grid.best].mean())
        if not grid.complete:
            warnings.warn(
                "the search ended early: some grid points were not tried in every fold",
                ConvergenceWarning,
                stacklevel=callers_line(),
            )
        return trained
