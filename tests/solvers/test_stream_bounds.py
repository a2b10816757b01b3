"""Certificates of streams: P at the point returned, and a D that holds whatever w went through."""

import os
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import LinearSVC, StreamSVC, _core
from maxmargin.data import ArraySource
from maxmargin.solvers.streaming.checkpoint import Checkpoints
from maxmargin.solvers.streaming.state import State, dual_bound


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def primal(X, s, w, b, cost):
    """P in extended precision."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.longdouble)
    loss = np.maximum(0, 1 - s * (X @ w.astype(np.longdouble) + b))
    return float(0.5 * (w.astype(np.longdouble) @ w + np.longdouble(b) ** 2) + cost @ loss)


def check_certificates(model, X, y, C, weight=None):
    """No number of the certificates or of the history is refuted by another way to compute it."""
    cost = C * (np.ones(len(y)) if weight is None else weight)
    positives = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for k, positive in enumerate(positives):
        certificate = model.certificates_[k]
        s = np.where(y == positive, 1.0, -1.0)
        P = primal(X, s, model.coef_[k], model.intercept_[k], cost)
        exact = LinearSVC(C=C, tol=1e-9, solver="newton", max_iter=100).fit(
            X, s, sample_weight=weight
        )
        best = min(P, primal(X, s, exact.coef_[0], exact.intercept_[0], cost))
        assert certificate.primal == pytest.approx(P, rel=1e-9)
        assert 0 <= certificate.dual <= best * (1 + 1e-9)
        assert certificate.status != "optimal" or certificate.relative_gap <= model.tol
        for moment in (m for m in model.history_ if m.problem == k):
            assert moment.dual <= best * (1 + 1e-9)


@pytest.mark.parametrize("memory", ["1GB", "20KB"])
def test_the_dual_value_is_that_of_the_dual_variables_whatever_became_of_w(
    svm, tmp_path, monkeypatch, memory
):
    def drift(self, state):
        for w in state.w:
            w *= 0.5

    monkeypatch.setattr(Checkpoints, "__call__", drift)
    X, y = svm.blobs(300, 5, noise=0.5)
    source = ArraySource(X, y, block_bytes=1 << 10)
    model = StreamSVC(
        C=1.0, tol=1e-4, memory=memory, max_iter=12, checkpoint=tmp_path / "c", deterministic=True
    ).fit(source)
    check_certificates(model, X, y, 1.0)


@pytest.mark.parametrize("max_iter", range(1, 9))
@pytest.mark.parametrize("memory", [8_000, 1 << 20])
def test_bounds_hold_after_every_number_of_passes(max_iter, memory):
    rng = np.random.default_rng(max_iter)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 4)) + np.eye(3, 4)[y]
    weight = rng.random(120) * (rng.random(120) < 0.8)
    weight[:10] = 1.0
    source = ArraySource(X, y, weight=weight, block_bytes=1 << 9)
    model = StreamSVC(C=3.0, tol=1e-16, max_iter=max_iter, memory=memory, deterministic=True).fit(
        source
    )
    assert model.n_iter_ == max_iter
    assert all(c.status == "max_iter" for c in model.certificates_)
    assert model.coef_.any() == (max_iter > 1 or memory > 8_000)
    check_certificates(model, X, y, 3.0, weight)


@pytest.mark.parametrize("calls", [1, 2, 4, 7])
def test_an_interrupt_leaves_what_was_certified(svm, calls):
    X, y = svm.blobs(400, 6, noise=0.5)
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == calls:
            os.kill(os.getpid(), signal.SIGINT)

    source = ArraySource(X, y, block_bytes=1 << 11)
    model = StreamSVC(C=1.0, tol=1e-14, memory=30_000, deterministic=True, callback=interrupt).fit(
        source
    )
    assert model.certificate_.status == "interrupted"
    check_certificates(model, X, y, 1.0)


def test_a_run_stopped_before_anything_was_certified_says_so(svm):
    X, y = svm.blobs(300, 5)
    model = StreamSVC(C=2.0, max_time=1e-9).fit(X, y)
    certificate = model.certificate_
    assert (certificate.primal, certificate.dual, certificate.status) == (600.0, 0.0, "max_time")
    assert not model.coef_.any()


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e10, 1e150])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("memory", [5_000, 1 << 20])
def test_hostile_scales(scale, C, memory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:4] = 0
    X[20:] = X[:20]
    y = rng.integers(0, 2, 40)
    weight = 10.0 ** rng.uniform(-3, 6, 40)
    weight[::7] = 0
    source = ArraySource(scale * X, y, weight=weight, block_bytes=1 << 8)
    model = StreamSVC(C=C, fit_intercept=False, max_iter=20, memory=memory).fit(source)
    certificate, s = model.certificate_, np.where(y == 1, 1.0, -1.0)
    P = primal(scale * X, s, model.coef_[0], 0.0, C * weight)
    assert certificate.primal == pytest.approx(P, rel=1e-9)
    assert 0 <= certificate.dual <= P * (1 + 1e-12)
    assert certificate.status != "optimal" or certificate.relative_gap <= 1e-3


def state_of(P):
    return State.start(2, [P], [np.zeros(3)])


@pytest.mark.parametrize("sums", [(2.0, 2.0, 1.0, 3), (np.nan, 1.0, 1.0, 3), (1.0, 1.0, np.inf, 3)])
def test_a_dual_value_above_the_primal_or_not_a_number_is_not_taken(sums):
    state = state_of(1.0)
    assert not state.raise_dual(0, sums)
    assert state.D == [0.0]


def test_a_dual_value_equal_to_the_primal_but_for_rounding_is_the_primal():
    state = state_of(1.0)
    assert state.raise_dual(0, (1.0 + 1e-12, 1.0, 0.0, 3))
    assert state.D == [1.0]


def test_a_point_whose_objective_is_no_number_is_not_taken():
    state = state_of(1.0)
    state.move(0, np.array([1.0, 0.0]), np.full(len(_core.CachedLoops.line), np.nan))
    assert state.P == [1.0]
    assert not state.best[0].any()


def test_the_dual_bound_is_below_the_exact_value_by_rounding_only():
    rng = np.random.default_rng(0)
    v = rng.normal(size=50)
    exact = 100.0 - 0.5 * float(v.astype(np.longdouble) @ v)
    bound = dual_bound(v, 100.0, 100.0, 1000.0, 10**6)
    assert bound < exact
    assert bound == pytest.approx(exact, rel=1e-11)


def packed(rows, first, codes, costs, format_):
    return _core.pack_rows(_core.dense_rows(rows, 0.0), first, codes, costs, format_)


def test_w_is_summed_without_loss_in_a_gap_check():
    """Large terms that cancel leave the small ones whole."""
    X = np.array([[1e16], [1.0], [1e16], [1.0]])
    codes, costs = np.array([1, 1, 0, 1], np.int32), np.full(4, 1.0)
    format_ = _core.row_format(_core.dense_rows(X, 0.0), 0.0, None)
    loops = _core.CachedLoops(format_, 4, 1, 1 << 16, 0)
    alpha, w = np.array([1.0, 1.0, 1.0, 1.0]), np.array([123.0])
    loops.set_problem(0, 1, alpha, w)
    losses = np.zeros((1, len(_core.CachedLoops.line)))
    zero = [np.zeros(1)]
    loops.start_check()
    loops.check_gap(packed(X, 0, codes, costs, format_), zero, zero, losses, _core.Pool(1))
    loops.end_check()
    assert w == [2.0]
    assert loops.dual_sums(0) == (4.0, 4.0, 2e16 + 2, 4)
    np.testing.assert_array_equal(losses, 4.0)


def test_dual_variables_outside_their_bounds_are_clipped_in_a_gap_check():
    X = np.eye(4)
    codes, costs = np.array([1, 1, 1, 1], np.int32), np.full(4, 2.0)
    format_ = _core.row_format(_core.dense_rows(X, 0.0), 0.0, None)
    loops = _core.CachedLoops(format_, 4, 1, 1 << 16, 0)
    shares, w = np.array([-1.0, np.nan, 3.0, 0.5]), np.zeros(4)
    loops.set_problem(0, 1, shares, w)
    losses = np.zeros((1, len(_core.CachedLoops.line)))
    loops.start_check()
    loops.check_gap(packed(X, 0, codes, costs, format_), [w + 0], [w + 0], losses, _core.Pool(1))
    loops.end_check()
    np.testing.assert_array_equal(shares, [0, 0, 1, 0.5])
    np.testing.assert_array_equal(w, [0, 0, 2, 1])
