"""Kernel machines on few basis vectors: the face of `models.sparse_kernel_training`."""

from __future__ import annotations

import os
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.estimators.base import REASONS, progress_callback, seed_of, threads_of
from maxmargin.estimators.kernel_base import KernelClassifier
from maxmargin.models import files
from maxmargin.models.onnx_export import to_onnx
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.models.sparse_kernel_training import SparseKernelPlan, train
from maxmargin.problem import Status


class SparseKernelSVC(KernelClassifier):
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
    tol : float
        Stop when the gap within the span of the basis is at most ``tol * C * sum_i s_i``.
    max_iter : int, optional
        Cutting planes of each binary problem; a basis vector takes one.
    class_weight, n_jobs, random_state, max_time, verbose, callback
        As in LinearSVC: n_jobs=None uses every CPU granted, a callback that returns True ends the
        fit.

    Attributes
    ----------
    basis_vectors_ : array or CSR matrix of shape (n_basis_, n_features)
    dual_coef_ : array of shape (problems, n_basis_)
    n_basis_ : int
        How many were used: fewer than asked for where no further vector adds anything.
    certificate_, certificates_ : KernelCertificate
        Of the problem restricted to the span: over all binary problems, and one a problem.
    delta_ : float
        The largest projection error of a plane that holds the solution up.
    theorem2_bound_, exact_gap_ : float
        How far the objective can be above that of the exact machine (KernelSVC): by the paper's
        theorem 2, and by the exact problem's dual, which is usually closer. Where more than 1024
        rows matter, they and delta_ are estimates from a sample.
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

    def __init__(
        self,
        n_basis=100,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        basis="free",
        residual_rows=2048,
        starts=32,
        restarts=2,
        tol=1e-3,
        max_iter=None,
        max_time=None,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_basis = n_basis
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.residual_rows = residual_rows
        self.starts = starts
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # ------------------------------------------------------------ fitting

    def fit(self, X, y, sample_weight=None):
        """Fits the model to rows X (dense or CSR) and labels y."""
        X, y, _, weights = self._data(X, y, sample_weight)
        report = progress_callback(self.callback, self.verbose)
        trained = train(X, y, self._plan(), weights, report)
        self._take(trained.model)
        self.path_ = trained.path
        self.history_ = trained.history
        self._warn_if_missed()
        return self

    def _plan(self) -> SparseKernelPlan:
        return SparseKernelPlan(
            n_basis=self.n_basis,
            C=self.C,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            basis=self.basis,
            residual_rows=self.residual_rows,
            starts=self.starts,
            restarts=self.restarts,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            threads=threads_of(self.n_jobs),
            seed=seed_of(self.random_state),
        )

    def _warn_if_missed(self) -> None:
        certificate = self.certificate_
        assert certificate is not None
        if certificate.status is Status.OPTIMAL:
            return
        warnings.warn(
            f"training ended at {self.n_basis_} basis vectors with a gap of "
            f"{certificate.normalised_gap:.2g} of C * sum of weights (tol is {self.tol:g}) because "
            f"{REASONS[certificate.status]}. The model is the best so far; certificate_ says how "
            "good it is.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _take(self, model: SparseKernelModel) -> None:
        super()._take(model)
        self.basis_vectors_ = model.vectors
        self.n_basis_ = model.n_basis
        self.gamma_ = model.kernel.gamma
        nothing = float("nan")
        self.delta_ = max((b.delta for b in model.bounds), default=nothing)
        self.theorem2_bound_ = sum(b.theorem2 for b in model.bounds) if model.bounds else nothing
        self.exact_gap_ = sum(b.exact_gap for b in model.bounds) if model.bounds else nothing

    def export_onnx(self, path: str | os.PathLike, input_type: str = "float32") -> None:
        """Writes an ONNX graph: input ``X``, outputs ``label`` and ``scores``."""
        to_onnx(self, path, input_type)


def from_model(model: SparseKernelModel) -> SparseKernelSVC:
    """A fitted estimator from a model that was loaded."""
    known = SparseKernelSVC().get_params()
    estimator = SparseKernelSVC(**{k: v for k, v in model.parameters.items() if k in known})
    estimator._take(model)
    estimator.path_ = [model]
    estimator.n_features_in_ = model.n_features
    estimator.history_ = []
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator


files.register_estimator("sparse-kernel", from_model)
