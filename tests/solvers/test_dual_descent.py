"""Dual descent from the inside: what epochs and gap checks report is what numpy finds."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import Hinge
from maxmargin.problem import Settings, Status
from maxmargin.solvers.linear import dual_descent
from maxmargin.solvers.linear.bundle import Point, line_search


class Descent:
    """A descent with its arrays, and the truth about it in numpy."""

    def __init__(self, svm, *, C=0.3, bias=0.7, sparse=True, threads=1, a0=None):
        self.svm, self.bias = svm, bias
        self.X, self.y = svm.blobs(20_000, 12, sparse=sparse)
        self.pool = _core.Pool(threads)
        self.rows = ArrayRows(self.X, bias, self.pool)
        self.loss = Hinge(self.y, C, self.pool)
        self.w = np.zeros(self.rows.width)
        if a0 is not None:
            self.w[:] = self.rows.rmatvec(a0 * self.y)
        u0 = None if a0 is None else a0 / C
        self.core = _core.DualDescent(self.rows.core, self.loss.core, u0, self.w, 0)

    @property
    def a(self):
        u = np.empty(self.rows.n)
        self.core.copy_dual(u)
        return np.abs(self.loss.q) * u

    def D(self):
        return self.svm.dual(self.X, self.y, self.a, self.bias)

    def P(self):
        return self.svm.primal(self.X, self.y, self.w, np.abs(self.loss.q), self.bias)


@pytest.mark.parametrize("sparse", [True, False])
def test_an_epoch_reports_the_rise_of_the_dual_value(svm, sparse):
    descent, risen = Descent(svm, sparse=sparse), 0.0
    for _ in range(4):
        _, rise, _, _ = descent.core.epoch(descent.pool)
        assert rise >= 0
        risen += rise
        assert risen == pytest.approx(descent.D(), rel=1e-9)


def test_the_gap_that_an_epoch_foretells_is_about_the_gap_before_it(svm):
    descent = Descent(svm, C=0.01)
    for _ in range(4):
        before = descent.P() - descent.D()
        foretold, _, visited, _ = descent.core.epoch(descent.pool)
        share = visited / descent.rows.n  # rows set aside have next to no share of the gap
        assert share > 0.5
        assert 0.8 * (descent.P() - descent.D()) < foretold < 1.5 * before


@pytest.mark.parametrize("threads", [1, 3])
def test_a_gap_check_sums_over_all_rows(svm, threads):
    descent = Descent(svm, threads=threads)
    for _ in range(3):
        descent.core.epoch(descent.pool)
    p, a, q = descent.rows.matvec(descent.w), descent.a, descent.loss.q
    a_sum, size, wv, hinge = descent.core.check_gap(p, descent.pool)
    assert size == a_sum
    assert a_sum == pytest.approx(a.sum(), rel=1e-12)
    assert wv == pytest.approx(descent.w @ descent.rows.rmatvec(a * descent.y), rel=1e-9)
    assert hinge == pytest.approx(np.maximum(0, np.abs(q) - q * p).sum(), rel=1e-12)


def test_a_gap_check_at_a_start_leaves_only_rows_that_violate_optimality(svm):
    a0 = np.full(20_000, 0.001)
    descent = Descent(svm, C=0.001, a0=a0)
    p = descent.rows.matvec(descent.w)
    descent.core.check_gap(p, descent.pool)
    assert descent.core.active == np.count_nonzero(descent.y * p >= 1) < 20_000


def test_a_w_that_has_drifted_is_computed_anew(svm):
    descent = Descent(svm)
    for _ in range(3):
        descent.core.epoch(descent.pool)
    right = descent.w.copy()
    descent.w *= 1 + 1e-6
    best = dual_descent.Best(descent.rows, descent.loss, tol=1e-9)
    best.check_gap(descent.rows, descent.loss, descent.core, descent.w)
    np.testing.assert_allclose(descent.w, right, rtol=1e-9)
    bound = best.D
    assert bound == pytest.approx(descent.D(), rel=1e-12)


def test_a_w_that_is_zero_while_its_sum_is_not_does_not_end_a_run(svm):
    """``<w, v> = ||w||^2 = 0``: nothing but a fresh v tells that this w is not that of a."""
    descent = Descent(svm, C=1e-5, a0=np.full(20_000, 1e-5))
    descent.w[:] = 0
    best = dual_descent.Best(descent.rows, descent.loss, tol=1e-9)
    best.check_gap(descent.rows, descent.loss, descent.core, descent.w)
    v = descent.rows.rmatvec(descent.a * descent.y)
    np.testing.assert_allclose(descent.w, v, rtol=1e-12)
    assert pytest.approx(descent.D(), rel=1e-12) == best.D


@pytest.mark.parametrize("a0", [0.001, 0.0005, 0.0])
def test_a_fresh_sum_is_the_same_from_either_bound(svm, a0):
    descent = Descent(svm, C=1e-3, a0=np.full(20_000, a0))
    descent.core.epoch(descent.pool)
    best = dual_descent.Best(descent.rows, descent.loss, tol=1e-9)
    plain = best.verify(descent.rows, descent.loss, descent.core)
    v = descent.rows.rmatvec(descent.loss.q)
    best.first = dual_descent.FirstPoint(np.ones(20_000), v, 1.0)
    np.testing.assert_allclose(
        best.verify(descent.rows, descent.loss, descent.core), plain, atol=1e-11
    )


def test_a_small_C_starts_at_a_multiple_of_all_costs(svm):
    X, y = svm.blobs(5000, 300, sparse=True)
    pool = _core.Pool(1)
    rows, loss = ArrayRows(X, pool=pool), Hinge(y, 1e-6, pool)
    u0, w, first = dual_descent.start(rows, loss)
    np.testing.assert_array_equal(first.v, rows.rmatvec(loss.q))
    np.testing.assert_allclose(u0, 1.0)
    np.testing.assert_allclose(w, X.T @ (1e-6 * u0 * y), atol=1e-12)
    solution = dual_descent.solve(rows, loss, Settings(tol=1e-9))
    assert solution.certificate.n_iter == 0  # all a_i end at C: nothing was left to do
    assert solution.certificate.relative_gap <= 1e-9


def test_a_large_C_starts_at_zero(svm):
    X, y = svm.blobs(5000, 30)
    pool = _core.Pool(1)
    u0, w, first = dual_descent.start(ArrayRows(X, pool=pool), Hinge(y, 10.0, pool))
    assert u0 is None and first is None and not w.any()


def test_a_direction_of_rounding_errors_is_not_searched(svm):
    X, y = svm.blobs(200, 3)
    pool = _core.Pool(1)
    rows, loss = ArrayRows(X, pool=pool), Hinge(y, 1.0, pool)
    w = np.array([0.3, -0.2, 0.1])
    p = rows.matvec(w)
    best = Point(w, p, loss.value(p), float(w @ w))
    noisy = p * (1 + 1e-16 * np.arange(200))
    assert line_search(rows, loss, best, w * (1 + 2e-16), noisy) is best


def test_a_short_run_still_has_a_model(svm):
    X, y = svm.blobs(3000, 10)
    pool = _core.Pool(1)
    solution = dual_descent.solve(
        ArrayRows(X, pool=pool), Hinge(y, 1.0, pool), Settings(tol=1e-12, max_iter=2)
    )
    assert solution.w.any() and solution.certificate.n_iter == 2
    assert 0 < solution.certificate.dual < solution.certificate.primal


def test_the_best_point_of_a_short_run_is_not_zero(svm):
    """The w of one epoch costs more than w = 0, but on the line to it there is a better one."""
    X, y = svm.blobs(200, 5, noise=3.0)
    solution = svm.solve("dual", X, y, 1.0, tol=1e-6, max_iter=1)
    assert solution.w.any()
    assert solution.certificate.primal < len(y)


def test_seeds_give_different_orders_of_few_rows(svm):
    X, y = svm.blobs(6, 3, noise=3.0)
    runs = [svm.solve("dual", X, y, 1.0, tol=1e-14, max_iter=1, seed=s).w for s in range(6)]
    assert any(not np.array_equal(runs[0], other) for other in runs[1:])


def margin_rows(n=600, d=3000, seed=0):
    """Wide sparse rows with a common part: nearly all of them end on the margin, slowly."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.01, "csr", random_state=seed)
    X = sp.hstack([X, sp.csr_matrix(1.0 + 0.1 * rng.normal(size=(n, 20)))], "csr")
    return X, np.where(rng.random(n) < 0.2, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_extrapolations_keep_the_books_and_never_lower_the_dual(C):
    X, y = margin_rows()
    pool = _core.Pool(1)
    rows, a = ArrayRows(X, 0.5, pool), np.empty(len(y))
    w = np.zeros(rows.width)
    descent = _core.DualDescent(rows.core, Hinge(y, C, pool).core, None, w, 0)
    D = 0.0
    for epoch in range(60):
        rise = descent.epoch(pool)[1]
        if epoch % 25 == 24:
            descent.check_gap(rows.matvec(w), pool)  # brings rows back along a direction
        descent.copy_dual(a)
        a *= C
        assert a.min() >= 0 and a.max() <= C
        v = rows.rmatvec(a * y)
        np.testing.assert_allclose(w, v, atol=1e-9 * np.abs(v).max())
        known, D = D, float(a.sum() - 0.5 * v @ v)
        assert known * (1 - 1e-12) <= D
        assert rise == pytest.approx(D - known, rel=1e-6, abs=1e-9 * D)


def test_extrapolations_save_epochs_where_rows_lie_on_the_margin():
    X, y = margin_rows()
    pool = _core.Pool(1)
    found = dual_descent.solve(ArrayRows(X, 0.0, pool), Hinge(y, 100.0, pool), Settings(tol=1e-4))
    assert found.certificate.relative_gap <= 1e-4
    assert found.certificate.n_iter < 90  # 115 without extrapolation


def test_rows_that_cancel_each_other_do_not_make_a_step_without_limit(svm):
    """The direction is a rounding error: a step by 1 / its square lost all digits of w."""
    x = [2.73200656, 0.55443619, -0.63366079, -1.457843, 2.19047111, 0.5785305]
    X, y = np.array(x)[:, None], np.array([-1.0, -1.0, -1.0, -1.0, 1.0, -1.0])
    certificate = svm.solve("dual", X, y, 152.16, tol=1e-6).certificate
    assert certificate.primal == pytest.approx(884.0973916887, rel=1e-9)
    assert certificate.dual <= certificate.primal


def small_problem(seed):
    """A few rows of one feature, or with one entry each, or of up to three features."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 16)), int(rng.integers(1, 4))
    X = [
        2 * rng.normal(size=(n, 1)),
        np.eye(d)[rng.integers(d, size=n)] * rng.choice([1.0, 2.0]),
        rng.normal(size=(n, d)),
    ][rng.integers(3)]
    y = rng.choice([-1.0, 1.0], size=n)
    y[:2] = [1.0, -1.0]
    return X, y, float(10 ** rng.uniform(0, 4))


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_the_bound_of_small_problems_is_below_the_optimum(svm, first):
    for seed in range(first, first + 100):
        X, y, C = small_problem(seed)
        solution = svm.solve("dual", X, y, C, tol=1e-6, max_iter=20_000)
        known = svm.solve("newton", X, y, C, tol=1e-9).certificate
        certificate, cost = solution.certificate, np.full(len(y), C)
        assert certificate.dual <= known.primal * (1 + 1e-12), seed
        assert certificate.primal >= known.dual * (1 - 1e-12), seed
        assert certificate.primal == pytest.approx(svm.primal(X, y, solution.w, cost)), seed
        if certificate.status is Status.OPTIMAL:
            assert certificate.primal - known.dual <= 2e-6 * certificate.primal, seed
