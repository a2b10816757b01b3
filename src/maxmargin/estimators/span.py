"""Regressions, rankings and ordered labels on few basis vectors: faces of `training.span_scores`.

What all machines on few basis vectors share is here too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from maxmargin.estimators.base import Machine, parameters
from maxmargin.estimators.ordinal import ForOrder
from maxmargin.estimators.rank import ForRanks
from maxmargin.estimators.regression import RegressionScores
from maxmargin.models.onnx_export import to_onnx
from maxmargin.training.span import TrainedSpan
from maxmargin.training.span_scores import SpanOrdinalPlan, SpanRankPlan, SpanRegressionPlan
from maxmargin.training.span_tasks import OrderInSpan, RanksInSpan, ValuesInSpan


@parameters
class OnSpan(Machine):
    """The basis vectors of a machine, and how they are found."""

    n_basis: int | Sequence[int] = field(default=100, kw_only=False)
    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    basis: str = "free"
    residual_rows: int = 2048
    starts: int = 32
    restarts: int = 2
    bounds: str = "auto"
    random_state: Any = None

    def _keep(self, trained: TrainedSpan, index_base: int | None = None) -> None:
        super()._keep(trained, index_base)
        self.path_ = trained.path

    def _show(self, model: Any) -> None:
        super()._show(model)
        self.path_ = [model]
        self.dual_coef_ = np.ascontiguousarray(model.coefficients.T)
        self.basis_vectors_ = model.vectors
        self.n_basis_ = model.n_basis
        self.gamma_ = model.kernel.gamma
        self.delta_ = model.delta
        self.theorem2_bound_ = model.theorem2_bound
        self.exact_gap_ = model.exact_gap
        self.bounds_are_estimates_ = model.bounds_are_estimates


@parameters
class RegressorOnSpan(OnSpan, RegressionScores):
    """What regressions on few basis vectors share."""

    span_delta: float | None = None

    _learns = ValuesInSpan

    def _plan(self) -> SpanRegressionPlan:
        return self._planned(SpanRegressionPlan)

    def export_onnx(self, path: str | os.PathLike[str], input_type: str = "float32") -> None:
        """Writes an ONNX graph: input ``X``, output ``values``."""
        to_onnx(self, path, input_type)


@parameters
class SparseKernelSVR(RegressorOnSpan):
    r"""Kernel regression with a budget of basis vectors, by cutting-plane subspace pursuit.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \phi(t_i - f(x_i)), \qquad
              f(x) = \sum_{j \le k} \beta_j k(b_j, x)

    A prediction costs k kernel values, whatever the number of rows was; training grows linearly
    with it, and needs no matrix of kernel values. There is no offset: targets far from 0 want their
    mean subtracted.

    Parameters
    ----------
    n_basis, kernel, gamma, degree, coef0, basis, residual_rows, starts, restarts, bounds
        As in `SparseKernelSVC`. Several quantiles share a basis.
    C : float
        Cost of a unit of loss, as in SVR.
    loss, epsilon, quantile, delta, non_crossing
        As in `LinearSVR`.
    span_delta : float, optional
        The `delta` of `SparseKernelSVC` (`delta` is that of the Huber loss here): keep adding basis
        vectors until every plane is within so much of their span, `n_basis` at most.
    tol, max_iter, max_time, n_jobs, random_state, verbose, callback
        As in `SparseKernelSVC`.

    Attributes
    ----------
    basis_vectors_, dual_coef_, n_basis_, gamma_, certificate_, certificates_, delta_
        As in `SparseKernelSVC`; the exact machine is `KernelSVR`.
    theorem2_bound_, exact_gap_, bounds_are_estimates_, path_, n_iter_, history_
        As in `SparseKernelSVC`; the exact machine is `KernelSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SparseKernelSVR
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = SparseKernelSVR(n_basis=10, C=10, epsilon=0.05).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _kind = "sparse-kernel-regression"

    C: float = field(default=1.0, kw_only=False)


@parameters
class RankerOnSpan(OnSpan, ForRanks):
    """What rankings on few basis vectors share."""

    delta: float | None = None

    _learns = RanksInSpan

    def _plan(self) -> SpanRankPlan:
        return self._planned(SpanRankPlan)


@parameters
class SparseKernelRankSVM(RankerOnSpan):
    r"""Kernel scores that put rows in the order of their targets, on a budget of basis vectors.

    ``minimise 1/2 ||f||^2 + C N/Q * sum_q 1/m_q * sum of max(0, 1 - (f(x_i) - f(x_j)))`` over the
    m_q pairs of query q with ``y_i > y_j``, as in `RankSVM`, with ``f(x) = sum_j beta_j k(b_j, x)``
    on k basis vectors. Pairs are never listed: an iteration costs O(n k + n log n).

    Parameters
    ----------
    n_basis, kernel, gamma, degree, coef0, basis, residual_rows, starts, restarts, bounds, delta
        As in `SparseKernelSVC`.
    C : float
        As in `RankSVM`.
    tol, max_iter, max_time, n_jobs, random_state, verbose, callback
        As in `SparseKernelSVC`.

    Attributes
    ----------
    basis_vectors_, dual_coef_, n_basis_, gamma_, certificate_, certificates_, delta_
        As in `SparseKernelSVC`; the exact machine is the ranking with all that the kernel can do.
    theorem2_bound_, exact_gap_, bounds_are_estimates_, path_, n_iter_, history_
        As in `SparseKernelSVC`; the exact machine is the ranking with all that the kernel can do.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SparseKernelRankSVM
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> grades, qid = (np.abs(X[:, 0]) * 3).astype(int), np.arange(60) % 6
    >>> ranker = SparseKernelRankSVM(n_basis=10, C=10).fit(X, grades, qid=qid)
    >>> bool(ranker.score(X, grades, qid=qid) > 0.95)
    True
    """

    _kind = "sparse-kernel-rank"

    C: float = field(default=1.0, kw_only=False)


@parameters
class OrderedOnSpan(OnSpan, ForOrder):
    """What machines of ordered labels on few basis vectors share."""

    delta: float | None = None

    _shown = ("thresholds", "classes")
    _learns = OrderInSpan

    def _plan(self) -> SpanOrdinalPlan:
        return self._planned(SpanOrdinalPlan)


@parameters
class SparseKernelOrdinalSVC(OrderedOnSpan):
    r"""Labels that have an order: one kernel score on few basis vectors, cut by thresholds.

    ``minimise 1/2 ||f||^2 + C n/m * sum over pairs y_i > y_j of max(0, 1 - (f(x_i) - f(x_j)))``,
    then thresholds as in `OrdinalSVC`.

    Parameters
    ----------
    n_basis, kernel, gamma, degree, coef0, basis, residual_rows, starts, restarts, bounds, delta
        As in `SparseKernelSVC`.
    C, order, class_weight
        As in `OrdinalSVC`.
    tol, max_iter, max_time, n_jobs, random_state, verbose, callback
        As in `SparseKernelSVC`.

    Attributes
    ----------
    classes_, thresholds_
        As in `OrdinalSVC`.
    basis_vectors_, dual_coef_, n_basis_, gamma_, certificate_, certificates_, delta_
        As in `SparseKernelSVC`.
    theorem2_bound_, exact_gap_, bounds_are_estimates_, path_, n_iter_, history_
        As in `SparseKernelSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SparseKernelOrdinalSVC
    >>> X = np.linspace(-1, 1, 90)[:, None]
    >>> stars = (np.abs(X[:, 0]) * 3).astype(int)
    >>> model = SparseKernelOrdinalSVC(n_basis=10, C=10).fit(X, stars)
    >>> model.mean_absolute_error(X, stars) < 0.1
    True
    """

    _kind = "sparse-kernel-ordinal"

    C: float = field(default=1.0, kw_only=False)
