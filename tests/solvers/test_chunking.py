"""Starts from subsets of the points: the same optimum, without rows of all points."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import KernelSVC, _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel import chunking
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method
from maxmargin.solvers.kernel.sources import CachedSource, PartialSource, source_of
from maxmargin.solvers.kernel.two_variable import solve

POOL = _core.Pool(1)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1500, 3))
SCORE = X[:, 0] + np.sin(2 * X[:, 1])
FEW = np.where(SCORE > 0, 1.0, -1.0)
NOISY = np.where(SCORE + 0.8 * RANDOM.normal(size=1500) > 0, 1.0, -1.0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(chunking, "LEAST_POINTS", 300)
    monkeypatch.setattr(chunking, "FIRST", 200)
    monkeypatch.setattr(chunking, "ADDED", 40)


def problem(y=FEW, rows=X, s=None, budget=10**9):
    source = source_of(rows, Kernel("rbf", 0.5), budget, POOL)
    return BinaryProblem(source, y, np.ones(len(y)) if s is None else s)


def fit(of, cold="auto", tol=1e-4, **settings):
    return solve(of, 5.0, Settings(tol=tol, **settings), POOL, Method(cold=cold))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_optimum_is_found_and_hardly_a_row_of_all_points_computed(form):
    s = np.where(np.arange(1500) % 3 == 0, 2.0, 1.0)
    chunked, plain = problem(rows=form(X), s=s), problem(rows=form(X), s=s)
    found, expected = fit(chunked), fit(plain, cold="I0")
    assert isinstance(chunked.source, PartialSource)
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-4)
    assert found.certificate.dual <= expected.certificate.primal
    assert np.all(found.beta * FEW >= 0) and np.all(np.abs(found.beta) <= 5.0 * s + 1e-12)
    assert chunked.source.rows.computed < plain.source.rows.computed / 2
    assert found.certificate.n_iter > 0


def test_rows_that_do_not_fit_the_memory_are_served_too():
    cached = problem(budget=1500 * 4 * 40)
    assert isinstance(cached.source, CachedSource)
    found = fit(cached)
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == pytest.approx(fit(problem(), "I0").certificate.primal, 2e-4)


def test_many_support_vectors_are_left_to_steps_over_all_points():
    def no_start(y, **options):
        of = problem(y)
        started = chunking.chunking_of(of, 5.0, Settings(**options), POOL, small_solve)
        return started is None or started.start() is None

    def small_solve(of, settings, start):
        return solve(of, 5.0, settings, POOL)

    assert not no_start(FEW)
    assert no_start(NOISY)
    assert no_start(FEW, max_iter=1000)  # counts steps over all points
    found, plain = fit(problem(NOISY)), fit(problem(NOISY), cold="I0")
    assert found.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-4)


def test_an_interrupt_between_two_subsets_keeps_what_was_found():
    stop, rounds = _core.Stop(), []
    pool = _core.Pool(1, stop)
    of = problem()

    def solve_then_stop(small, settings, start):
        rounds.append(start)
        if len(rounds) == 3:
            stop.interrupt()
        beta = None if start is None else start.beta
        return solve(small, 5.0, settings, POOL, beta0=beta)

    started = chunking.chunking_of(of, 5.0, Settings(stop=stop), pool, solve_then_stop)
    with pytest.raises(_core.Stopped):
        started.start()
    assert len(rounds) == 3 and np.any(started.beta)


def test_a_time_limit_gives_a_model_whose_certificate_holds():
    model = KernelSVC(C=5.0, gamma=0.5, tol=1e-9, max_time=1e-4)
    with pytest.warns(UserWarning):
        model.fit(X, FEW)
    certificate = model.certificate_
    assert certificate.status == "max_time" and 0 <= certificate.dual <= certificate.primal
