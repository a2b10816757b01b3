"""Planes of rows with more features than rows: the same method, whichever way planes are kept."""

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.problem import Settings, Status
from maxmargin.solvers.linear import bundle, wide_planes
from maxmargin.solvers.linear.reduced_qp import Planes
from maxmargin.solvers.linear.wide_planes import WidePlanes

N, D = 60, 400


@pytest.fixture
def problem(svm):
    X, y = svm.blobs(N, D, sparse=True)
    weight = np.random.default_rng(1).integers(0, 4, N).astype(float)
    return X, y, weight


@pytest.fixture
def kept(monkeypatch):
    """The planes of every solve, as they were at its end."""
    made = []
    empty_planes = bundle.empty_planes

    def watched(*args, **more):
        made.append(empty_planes(*args, **more))
        return made[-1]

    monkeypatch.setattr(bundle, "empty_planes", watched)
    return made


def wide_rows_and_loss(X, y, weight, bias=0.0):
    pool = _core.Pool(1)
    return ArrayRows(X, bias, pool), Hinge(y, weight, pool)


@pytest.mark.parametrize("method", ["ocas", "cpa"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_sets_of_rows_give_the_iterations_that_planes_give(
    problem, method, bias, kept, monkeypatch
):
    X, y, weight = problem
    rows, loss = wide_rows_and_loss(X, y, weight, bias)
    histories = []
    for readable in (0, 0.25, 1e9):  # sets from the first plane on, from the middle, never
        monkeypatch.setattr(wide_planes, "ENTRIES_OF_PLANES", readable)
        solution = bundle.solve(rows, loss, Settings(tol=1e-6), method)
        assert solution.certificate.status is Status.OPTIMAL
        histories.append([(entry.primal, entry.dual) for entry in solution.history])
    assert [getattr(planes, "_forgotten", False) for planes in kept] == [True, True, False]
    assert not kept[0]._chunks and len(kept[0]) > 3  # no plane is kept twice
    for other in histories[:2]:
        np.testing.assert_allclose(other[:8], histories[2][:8], rtol=1e-9)
        np.testing.assert_allclose(other[-1], histories[2][-1], rtol=2e-6)


@pytest.mark.parametrize("method", ["ocas", "cpa"])
def test_the_answer_is_the_optimum_and_the_bound_below_it(problem, method, kept, svm):
    X, y, weight = problem
    solution = svm.solve(method, X, y, 10.0, weight=weight, tol=1e-8)
    best = svm.solve("dual", X, y, 10.0, weight=weight, tol=1e-9).certificate
    assert kept and kept[0]._forgotten
    certificate = solution.certificate
    assert certificate.primal == pytest.approx(svm.primal(X, y, solution.w, 10.0 * weight))
    assert certificate.dual <= best.primal * (1 + 1e-12)
    assert best.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.primal == pytest.approx(best.primal, rel=2e-8)


def test_sets_follow_when_idle_planes_are_dropped(kept, monkeypatch, svm):
    monkeypatch.setattr("maxmargin.solvers.linear.reduced_qp.IDLE_LIMIT", 1)
    monkeypatch.setattr(wide_planes, "ENTRIES_OF_PLANES", 0.1)
    X, y = svm.blobs(300, 310, sparse=True)
    solution = svm.solve("cpa", X, y, 1.0, tol=1e-6)
    (planes,) = kept
    assert (
        planes._forgotten
        and len(planes) == len(planes._made_by._sets) < solution.certificate.n_iter
    )
    assert solution.certificate.status is Status.OPTIMAL


def test_threads_do_not_change_the_answer(svm):
    X, y = svm.blobs(3000, 5000, sparse=True)
    one, two = (svm.solve("ocas", X, y, 0.01, threads=k, tol=1e-3) for k in (1, 2))
    assert (one.w == two.w).all() and one.certificate.dual == two.certificate.dual


def test_only_wide_rows_with_hinge_loss_are_kept_so(problem):
    X, y, weight = problem
    rows, loss = wide_rows_and_loss(X, y, weight)
    narrow, _ = wide_rows_and_loss(X[:, :20], y, weight)
    dense, _ = wide_rows_and_loss(X.toarray() + 1e-9, y, weight)
    assert type(bundle.empty_planes(rows, loss, 1e-3, known=False)) is WidePlanes
    assert type(bundle.empty_planes(narrow, loss, 1e-3, known=False)) is Planes
    assert type(bundle.empty_planes(dense, loss, 1e-3, known=False)) is Planes
    assert type(bundle.empty_planes(rows, object(), 1e-3, known=False)) is Planes
    assert type(bundle.empty_planes(rows, loss, 1e-3, known=True)) is Planes
