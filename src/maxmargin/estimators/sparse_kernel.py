"""Kernel machines on few basis vectors: the face of `training.subspace`."""

from __future__ import annotations

import os
from dataclasses import field
from typing import Any

import numpy as np

from maxmargin.estimators.base import WithProbabilities, parameters
from maxmargin.estimators.measure import judge
from maxmargin.estimators.span import OnSpan
from maxmargin.models.onnx_export import to_onnx
from maxmargin.training.span_tasks import OfBasis
from maxmargin.training.subspace import SparseKernelPlan


@parameters
class OnBasis(OnSpan, WithProbabilities):
    """What classifiers on few basis vectors share."""

    loss: str = "hinge"
    beta: float = 1.0
    k: int | float | None = None
    pos_label: Any = None
    delta: float | None = None

    _learns = OfBasis
    _shown = ("classes",)

    def _plan(self) -> SparseKernelPlan:
        return self._planned(SparseKernelPlan)

    def _show(self, model: Any) -> None:
        super()._show(model)
        problems = len(self.dual_coef_)
        self.intercept_ = np.zeros(problems) if model.intercept is None else model.intercept

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy, or the measure it was trained for; of a file by its own labels."""
        measure = self._plan().measure
        if measure is None:
            return super().score(X, y, sample_weight)
        return judge(measure, self.model_, self._judged(X, y, sample_weight))

    def export_onnx(self, path: str | os.PathLike[str], input_type: str = "float32") -> None:
        """Writes an ONNX graph: input ``X``, outputs ``label`` and ``scores``."""
        to_onnx(self, path, input_type)


@parameters
class SparseKernelSVC(OnBasis):
    r"""Kernel SVM classifier with a budget of basis vectors, by cutting-plane subspace pursuit.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i)), \qquad
              f(x) = \sum_{j \le k} \beta_j k(b_j, x)

    The basis vectors :math:`b_j` are found while training and need not be training rows. A
    prediction costs k kernel values, whatever the number of rows was; training grows linearly with
    it. There is no offset.

    Parameters
    ----------
    n_basis : int or increasing sequence of int
        How many basis vectors. A sequence gives a model of each size (`path_`) from one training;
        predictions are those of the largest.
    C : float
        Cost of a unit of loss, as in SVC.
    loss : str
        "hinge", "squared_hinge", "logistic", "f1", "fbeta", "prbep", "precision_at_k",
        "recall_at_k", "roc_auc" or "error": a sum over rows, or a bound on a measure of all labels
        at once, as in `MeasureSVC`. `score` is the accuracy of the former and the
        measure of the latter.
    beta, k, pos_label
        Of the measures "fbeta", and at k: as in `MeasureSVC`.
    kernel : {"rbf", "poly", "linear", "laplacian"}
        "laplacian" has no pre-image method: it needs a basis of training rows.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * variance of X)``, "auto" ``1 / n_features``.
    degree, coef0
        Of the polynomial kernel ``(gamma <x, z> + coef0)^degree``.
    basis : {"free", "training", "nystroem", "cholesky"}
        Where basis vectors come from: pre-images of what the basis lacks; the best of 59 random
        training rows; random rows; pivots of an incomplete Cholesky factorisation.
    residual_rows, starts, restarts : int
        Of the search for a pre-image: rows it looks at, how many of them compete as starting
        points, and how many of these are followed.
    bounds : {"auto", "exact"}
        What `exact_gap_`, `theorem2_bound_` and `delta_` may cost. "exact" takes a kernel value for
        every pair of rows with a part in the solution: seconds for some 10 000 of them. "auto"
        does so where that is no more work than training was, or a moment; else it draws rows, and
        the bounds hold with a confidence of 99.9 % (`bounds_are_estimates_`).
    delta : float, optional
        Keep adding basis vectors until every plane is within so much of their span, `n_basis` at
        most: then `delta_` is at most this. None: until there are `n_basis`.
    tol : float
        Stop when the objective is at most ``tol`` times itself above the best possible on these
        basis vectors.
    max_iter : int, optional
        Cutting planes of each binary problem; a basis vector takes one.
    probability : bool, "sigmoid" or "isotonic"
        Whether to calibrate probabilities, as in LinearSVC; the basis is that of all rows.
    class_weight, n_jobs, random_state, max_time, verbose, callback
        As in LinearSVC: n_jobs=None uses all available CPUs, a callback that returns True ends the
        fit.

    Attributes
    ----------
    basis_vectors_ : array or CSR matrix of shape (n_basis, n_features)
    dual_coef_ : array of shape (problems, n_basis)
    n_basis_ : int
        How many were used: fewer than asked for where no further vector adds anything.
    certificate_, certificates_ : SpanCertificate
        Of the problem restricted to the span: over all binary problems, and one per problem.
    delta_ : float
        The largest projection error of a plane that holds the solution up.
    theorem2_bound_, exact_gap_ : float
        How far the objective can be above that of the exact machine (KernelSVC): by the paper's
        theorem 2, and by the exact problem's dual, which is closer.
    bounds_are_estimates_ : bool
        Whether `delta_`, `theorem2_bound_` and `exact_gap_` hold with a confidence of 99.9 %
        (each binary problem) rather than always.
    path_ : list of SparseKernelModel
    classes_, gamma_, n_iter_, history_

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SparseKernelSVC
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = SparseKernelSVC(n_basis=10, C=10, gamma=2.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _kind = "sparse-kernel"

    C: float = field(default=1.0, kw_only=False)
