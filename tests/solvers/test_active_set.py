"""Large C, where steps in two variables crawl: subsets of few points, solved exactly."""

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel import active_set, two_variable
from maxmargin.solvers.kernel.active_set import Subsets
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import source_of
from maxmargin.solvers.kernel.two_variable import Descent, solve

POOL = _core.Pool(1)
RANDOM = np.random.default_rng(4)
X = RANDOM.uniform(-1, 1, size=(600, 2))
SCORE = np.sin(3 * X[:, 0]) - X[:, 1]
FEW = np.where((SCORE > 0) ^ (RANDOM.random(600) < 0.01), 1.0, -1.0)
MANY = np.where(RANDOM.random(600) < 0.5, 1.0, -1.0)


def problem(y):
    return BinaryProblem(source_of(X, Kernel("rbf", 1.0), 10**9, POOL), y, np.ones(600))


@pytest.fixture
def small(monkeypatch):
    """As if 600 points were too many for Newton's method."""
    monkeypatch.setattr(two_variable, "NEWTON_ROWS", 200)
    monkeypatch.setattr(active_set, "FIRST", 128)
    monkeypatch.setattr(active_set, "ADDED", 32)


def test_large_C_on_more_points_than_newton_takes_ends_at_the_optimum(monkeypatch, small):
    found = solve(problem(FEW), 1e6, Settings(tol=1e-3), POOL)
    assert found.certificate.status == "optimal" and found.certificate.relative_gap <= 1e-3
    assert np.all(found.beta * FEW >= 0) and np.all(np.abs(found.beta) <= 1e6)
    monkeypatch.undo()
    exact = solve(problem(FEW), 1e6, Settings(tol=1e-6), POOL)
    assert found.certificate.primal == pytest.approx(exact.certificate.primal, rel=1.1e-3)
    assert found.certificate.dual <= exact.certificate.primal


def test_many_support_vectors_leave_the_descent_where_it_was(small):
    path = RegularisationPath(problem(MANY), Method(), POOL)
    descent = Descent(path, Settings(tol=1e-6))
    path.start(1e4)
    path.run(1e-6, 500)
    before = path.beta.copy()
    subsets = Subsets(descent)
    assert not subsets.go_on() and subsets.hopeless
    assert np.array_equal(path.beta, before)
