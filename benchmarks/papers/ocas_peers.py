"""The solvers that the OCAS paper compares, each run as the paper runs it: w, and CPU seconds."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks import bundle

PRECISION = 1e-3


def sgd(X, y, C: float, epochs: int) -> tuple[np.ndarray, float]:
    """w and CPU seconds of scikit-learn's SGD, as the paper runs it: a fixed number of epochs."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        alpha=1.0 / (C * len(y)), fit_intercept=False, max_iter=epochs, tol=None, random_state=0
    )
    began = time.process_time()
    model.fit(X, y)
    return model.coef_.ravel(), time.process_time() - began


def pegasos(X, y, C: float) -> tuple[np.ndarray, float]:
    """Pegasos: steps of ``1 / (lambda t)`` on the subgradient of one row, ``100 / lambda`` of them.

    In the paper's units ``lambda = 1 / (n C)``, so that these are 100 C passes. Each step is that of
    scikit-learn's SGD with this rate; Pegasos' projection onto a ball, which its authors later left
    out, is not made.
    """
    from sklearn.linear_model import SGDClassifier

    alpha = 1.0 / (C * len(y))
    model = SGDClassifier(
        alpha=alpha,
        learning_rate="invscaling",
        eta0=1.0 / alpha,
        power_t=1.0,
        fit_intercept=False,
        max_iter=max(1, round(100 * C)),
        tol=None,
        random_state=0,
    )
    began = time.process_time()
    model.fit(X, y)
    return model.coef_.ravel(), time.process_time() - began


def liblinear(X, y, C: float) -> tuple[np.ndarray, float]:
    from sklearn.svm import LinearSVC

    model = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-3, max_iter=1000)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model.coef_.ravel(), time.process_time() - began


def timed(X, y, C: float, method: str, most: float, tol: float = PRECISION):
    began = time.process_time()
    solution = bundle.solve(X, y, C, method, tol=tol, max_time=most)
    return solution, time.process_time() - began
