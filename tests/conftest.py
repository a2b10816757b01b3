"""What tests of several folders share: problems, solvers by name, and both objectives in numpy."""

import signal
from types import SimpleNamespace

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.problem import Settings
from maxmargin.solvers.table import SOLVERS

hypothesis.settings.register_profile("maxmargin", derandomize=True, deadline=None)
hypothesis.settings.load_profile("maxmargin")

# A shell starts commands in the background with Ctrl-C ignored, and children inherit that: tests
# that interrupt would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def with_bias(X, bias):
    """X in float64, dense, the constant feature included."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    X = X.astype(np.float64)
    return np.column_stack([X, np.full(len(X), float(bias))]) if bias else X


def primal(X, y, w, cost, bias=0.0):
    """``1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i <w, x_i>)``, by numpy alone."""
    return w @ w / 2 + np.sum(cost * np.maximum(0.0, 1.0 - y * (with_bias(X, bias) @ w)))


def dual(X, y, a, bias=0.0):
    """``sum_i a_i - 1/2 ||sum_i a_i y_i x_i||^2``, by numpy alone."""
    v = with_bias(X, bias).T @ (a * y)
    return a.sum() - v @ v / 2


def solve(
    solver, X, y, C=1.0, *, bias=0.0, weight=None, threads=1, start=None, stop=None, **settings
):
    """One binary problem, y of -1 and +1, by the solver of that name."""
    pool = _core.Pool(threads, stop)
    cost = C * (np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float))
    rows, loss = ArrayRows(X, bias, pool), Hinge(y, cost, pool)
    return SOLVERS[solver].solve(rows, loss, Settings(stop=stop, **settings), start)


def blobs(n=200, d=10, *, noise=1.0, seed=0, sparse=False, dtype=np.float64):
    """Rows and labels -1, +1 of two classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if sparse:
        X *= rng.random((n, d)) < 0.3
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    X = X.astype(dtype)
    return (sp.csr_matrix(X) if sparse else X), y


@pytest.fixture(scope="session")
def svm():
    """The problem in numpy, and our solvers by name."""
    return SimpleNamespace(primal=primal, dual=dual, solve=solve, blobs=blobs, with_bias=with_bias)
