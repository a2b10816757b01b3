"""The solvers take the steps of the papers' algorithm boxes, one by one, on small data."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.losses.ranks import Ranks
from maxmargin.problem import Settings
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import MatrixSource
from maxmargin.solvers.linear import bundle
from maxmargin.solvers.subspace import subspace_pursuit
from maxmargin.solvers.subspace.span import Subspace

from . import plain

POOL = _core.Pool(1)


def points(n=40, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * random.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_ocas_takes_the_steps_of_algorithm_1(C, mu):
    X, y = points()
    settings, variant = Settings(tol=1e-12, max_iter=7), replace(bundle.PAPER, mu=mu)
    loss = Hinge(y, C, POOL)
    history = bundle.solve(ArrayRows(X, pool=POOL), loss, settings, variant=variant).history
    for step, (P, D) in zip(history[1:], plain.ocas(X, y, C, mu)):
        assert step.primal == pytest.approx(P, rel=1e-7)
        assert step.dual == pytest.approx(D, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_cpa_takes_the_steps_of_algorithm_1(C):
    X, y = points()
    settings = Settings(tol=1e-12, max_iter=7)
    rows, loss = ArrayRows(X, pool=POOL), Hinge(y, C, POOL)
    history = bundle.solve(rows, loss, settings, "cpa", variant=bundle.PAPER).history
    best = np.inf
    for step, (P, D) in zip(history[1:], plain.cpa(X, y, C)):
        best = min(best, P, C * len(y))  # ours keeps the best point, w = 0 among them
        assert step.primal == pytest.approx(best, rel=1e-7)
        assert step.dual == pytest.approx(D, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("grades", [2, 5])
def test_subgradients_of_ranks_are_the_counts_of_algorithm_2(grades):
    random = np.random.default_rng(grades)
    y, p = random.integers(0, grades, 60).astype(float), random.normal(size=60)
    plus, minus = plain.most_violated_pairs(p, y)
    loss = Ranks(y, 3.0, POOL)
    R, subgrad = loss.evaluate(p)
    np.testing.assert_allclose(subgrad, 3.0 * 60 / loss.pairs * (minus - plus), atol=1e-12)
    violated = plus.sum() - p @ (plus - minus)  # the left and the right side of the constraint
    assert pytest.approx(3.0 * 60 / loss.pairs * violated) == R


class Given:
    """Basis vectors that are known beforehand."""

    guided, tries = True, 1

    def __init__(self, vectors):
        self._vectors = iter(vectors)

    def next(self, subspace, subgrad):
        return next(self._vectors, None)

    def appended(self, z):
        pass


def test_subspace_pursuit_takes_the_steps_of_algorithm_3():
    X, y = points()
    basis, kernel = [3, 17, 8, 30, 25], Kernel("rbf", 0.5)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    subspace = Subspace(X, kernel, len(basis), POOL)
    machine = subspace_pursuit.Machine(Hinge(y, 1.0, POOL), subspace, Settings(tol=1e-10))
    subspace_pursuit.grow([machine], subspace, Given(X[basis]), len(basis))
    found = [(step.primal, step.dual) for step in machine.run.history]
    np.testing.assert_allclose(found, list(plain.cpsp(K, y, 1.0, basis)), rtol=1e-6)


@pytest.mark.parametrize("C", [0.5, 10.0])
@pytest.mark.parametrize(
    "code, box", [(-1, plain.one_variable_steps), (0, plain.two_variable_steps)]
)
def test_kernel_steps_are_those_of_algorithms_1_and_2(C, code, box):
    X, y = points(n=12)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    problem = BinaryProblem(MatrixSource(K), y, np.ones(len(y)))
    path = RegularisationPath(problem, Method(working_set=code, cold="I0"), POOL)
    path.start(C)
    for expected in islice(box(K.astype(float), y, C), 25):
        path.core.run(0.0, 1)
        np.testing.assert_allclose(path.beta, expected, rtol=1e-4, atol=1e-5 * C)


def kernel_path(rule="clipped", warm="W4", n=30):
    """A path of C on a Gaussian kernel, and the matrix of it."""
    X, y = points(n)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    problem = BinaryProblem(MatrixSource(K), y, np.ones(n))
    method = Method(rule=rule, cold="I0", warm=warm)
    return RegularisationPath(problem, method, POOL), K.astype(float), y


STARTS = {  # alpha at C_new, from alpha at C_old
    "W0": lambda a, old, new: 0 * a,
    "W1": lambda a, old, new: np.full_like(a, new),
    "W2": lambda a, old, new: a,
    "W3": lambda a, old, new: a * new / old,
    "W4": lambda a, old, new: np.where(a == old, new, a),
    "W5": lambda a, old, new: a * new / old,
    "W6": lambda a, old, new: np.minimum(a, new),
}


@pytest.mark.parametrize("warm", STARTS)
def test_starts_are_those_of_procedures_3_to_8(warm):
    path, K, y = kernel_path(warm=warm)
    old, new = (3.0, 0.5) if warm in ("W5", "W6") else (0.5, 3.0)
    path.start(old)
    path.run(1e-3)
    a = np.abs(path.beta)
    assert np.any(a == old) and np.any((a > 0) & (a < old)), "bounded and inner ones"
    path.start(new)
    np.testing.assert_allclose(path.beta, y * STARTS[warm](a, old, new), rtol=1e-12)
    np.testing.assert_allclose(path.r, y - K @ path.beta, atol=1e-5 * new)


@pytest.mark.parametrize("rule, most", [("clipped", 2.0), ("plain", np.inf)])
def test_a_kernel_run_ends_by_rule_9_or_7(rule, most):
    path, _, y = kernel_path(rule)
    C, tol, allowed = 100.0, 1e-2, 1e-2 * 100.0 * len(y)
    path.start(C)
    S, steps = [np.inf], 0
    while S[-1] > allowed:
        path.core.run(0.0, 1)
        T, E = -path.beta @ path.r, C * np.clip(y * path.r, 0, most).sum()
        S, steps = [*S, T + E], steps + 1
    again, _, _ = kernel_path(rule)
    again.start(C)
    again.run(tol)
    assert steps <= again.core.iterations <= steps + 1 + steps // 16, "it looks at S now and then"


def test_visits_on_arrival_are_the_steps_of_the_trainer():
    """Blocks of one row, and no room for a cache: rows are visited in the order of the file."""
    (X, y), C = points(), 0.7
    n, d = X.shape
    format_ = _core.row_format(_core.dense_rows(X, 0.0), 0.0, None)
    loops = _core.CachedLoops(format_, n, 1, 1, 0)
    shares, w = np.zeros(n), np.zeros(d)  # alpha / C
    loops.set_problem(0, 1, shares, w)
    for _ in range(2):
        steps = plain.trainer_pass(X, y, C, C * shares, w)
        for i, (expected_alpha, expected_w) in enumerate(steps):
            row = _core.dense_rows(np.ascontiguousarray(X[i : i + 1]), 0.0)
            code = np.array([y[i] > 0], np.int32)
            loops.consume(_core.pack_rows(row, i, code, np.array([C]), format_), POOL)
            np.testing.assert_allclose(C * shares, expected_alpha, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(w, expected_w, rtol=1e-10, atol=1e-12)
