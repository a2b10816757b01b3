"""Kernel models ``f(x) = sum_j beta_j k(z_j, x)``: what is kept of a fit, and LIBSVM's text format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers import kernels
from maxmargin.solvers.coding import Coding, OneVsOne, OneVsRest, TwoClasses
from maxmargin.solvers.kernels import Kernel, KernelCallable, Points


@dataclass
class KernelModel:
    """Support vectors, their coefficients, and how predictions become classes.

    Parameters
    ----------
    kernel : Kernel, callable or "precomputed"
    vectors : array or CSR matrix of shape (m, d); None for a precomputed kernel
        The rows z_j. Points without a coefficient are not kept.
    coefficients : array of shape (m, number of binary problems)
        ``beta_j`` of every problem.
    support : array of shape (m,)
        Where the rows z_j were in the training data: the columns of a precomputed test kernel.
    """

    kernel: Kernel | KernelCallable | str
    vectors: object
    coefficients: np.ndarray
    support: np.ndarray
    classes: np.ndarray
    coding: Coding
    n_train: int

    def predict(self, X, pool: _core.Pool) -> np.ndarray:
        """``f(x)`` for every row of X and every binary problem, by tiles on the support vectors."""
        if isinstance(self.kernel, str):
            if X.shape[1] != self.n_train:
                raise ValueError(
                    f"kernel='precomputed': predictions need kernel values between test rows and the "
                    f"{self.n_train} training rows; got {X.shape[1]} columns"
                )
            return np.asarray(X)[:, self.support] @ self.coefficients
        if not isinstance(self.kernel, Kernel):
            f = np.zeros((X.shape[0], self.coefficients.shape[1]))
            for begin, end in kernels.tiles(X.shape[0]):
                f[begin:end] = (
                    np.asarray(self.kernel(X[begin:end], self.vectors)) @ self.coefficients
                )
            return f
        centre = kernels.centre_of(self.vectors) if self.kernel.of_distance else None
        if sp.issparse(X) and not sp.issparse(self.vectors):
            centre = None  # a sparse row cannot be centred
        elif sp.issparse(self.vectors) and not sp.issparse(X):
            X = sp.csr_matrix(X)
        points = Points(self.vectors, centre)
        return kernels.expand(X, points, self.kernel, self.coefficients, pool)

    def scores(self, X, pool: _core.Pool) -> np.ndarray:
        return self.coding.scores(self.predict(X, pool))

    def decide(self, X, pool: _core.Pool) -> np.ndarray:
        return self.classes[self.coding.decide(self.predict(X, pool))]


# ---------------------------------------------------------------- LIBSVM's text format


def write_libsvm(model: KernelModel, path: str | os.PathLike) -> None:
    """Writes a model that LIBSVM's svm-predict reads (svm_type c_svc, rho 0).

    LIBSVM knows two classes or one-vs-one, integer labels, and the kernels rbf, poly and linear.
    """
    kernel = _libsvm_kernel(model)
    labels = _libsvm_labels(model)
    groups, coefficients = _libsvm_vectors(model)
    pairs = len(labels) * (len(labels) - 1) // 2
    partial = f"{os.fspath(path)}.part"
    with open(partial, "w") as out:
        out.write(f"svm_type c_svc\n{kernel}")
        out.write(f"nr_class {len(labels)}\ntotal_sv {sum(len(g) for g in groups)}\n")
        out.write(f"rho {' '.join(['0'] * pairs)}\n")
        out.write(f"label {' '.join(map(str, labels))}\n")
        out.write(f"nr_sv {' '.join(str(len(g)) for g in groups)}\nSV\n")
        _write_vectors(out, model.vectors, groups, coefficients)
    os.replace(partial, path)


def _libsvm_kernel(model: KernelModel) -> str:
    kernel = model.kernel
    if not isinstance(kernel, Kernel) or kernel.name == "laplacian":
        name = kernel.name if isinstance(kernel, Kernel) else kernel
        raise ValueError(
            f"LIBSVM has no kernel {name!r}; its format holds rbf, poly and linear kernels"
        )
    if kernel.name == "rbf":
        return f"kernel_type rbf\ngamma {kernel.gamma!r}\n"
    if kernel.name == "linear":
        return "kernel_type linear\n"
    return (
        f"kernel_type polynomial\ndegree {kernel.degree}\n"
        f"gamma {kernel.gamma!r}\ncoef0 {kernel.coef0!r}\n"
    )


def _libsvm_labels(model: KernelModel) -> list[int]:
    """Class labels in LIBSVM's order: a positive prediction means the first of a pair."""
    if isinstance(model.coding, OneVsRest):
        raise ValueError(
            "LIBSVM's format holds one-vs-one models only; this one is one-vs-rest: "
            "fit with multi_class='ovo'"
        )
    try:
        labels = [int(label) for label in model.classes]
        whole = all(label == value for label, value in zip(labels, model.classes))
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"LIBSVM's labels are integers; got the classes {list(model.classes)}")
    return labels[::-1] if isinstance(model.coding, TwoClasses) else labels


def _libsvm_vectors(model: KernelModel) -> tuple[list[np.ndarray], np.ndarray]:
    """Support vectors grouped by class, and LIBSVM's k - 1 coefficients of each."""
    beta = model.coefficients
    if isinstance(model.coding, TwoClasses):
        positive = beta[:, 0] > 0
        return [np.flatnonzero(positive), np.flatnonzero(~positive)], beta
    assert isinstance(model.coding, OneVsOne)
    k = model.coding.n_classes
    class_of = np.full(beta.shape[0], -1)
    rows = np.zeros((beta.shape[0], k - 1))
    for p, (a, b) in enumerate(model.coding.pairs):
        first, second = beta[:, p] > 0, beta[:, p] < 0
        class_of[first], class_of[second] = a, b
        rows[first, b - 1] = beta[first, p]
        rows[second, a] = beta[second, p]
    return [np.flatnonzero(class_of == c) for c in range(k)], rows


def _write_vectors(out: TextIO, vectors, groups: list[np.ndarray], rows: np.ndarray) -> None:
    for group in groups:
        for j in group:
            coefficients = " ".join(repr(float(v)) for v in rows[j])
            features = " ".join(f"{i + 1}:{v!r}" for i, v in _entries(vectors, j))
            out.write(f"{coefficients} {features}\n")


def _entries(vectors, j: int) -> Iterator[tuple[int, float]]:
    if sp.issparse(vectors):
        row = vectors[j].tocoo()
        order = np.argsort(row.col)
        pairs = zip(row.col[order], row.data[order])
    else:
        columns = np.flatnonzero(vectors[j])
        pairs = zip(columns, vectors[j][columns])
    for i, v in pairs:
        yield int(i), float(v)
