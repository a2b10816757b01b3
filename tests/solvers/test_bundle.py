"""Cutting planes: what the papers promise, and the seam to rows and losses."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.losses.base import Loss
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Settings, Status
from maxmargin.solvers.linear import bundle
from maxmargin.solvers.linear.reduced_qp import IDLE_LIMIT, Planes

METHODS = ["ocas", "cpa"]


class CountingRows:
    """Rows that count how often they are read."""

    def __init__(self, rows):
        self._rows, self.predicted, self.combined = rows, 0, 0

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def matvec(self, w):
        self.predicted += 1
        return self._rows.matvec(w)

    def rmatvec(self, subgrad):
        self.combined += 1
        return self._rows.rmatvec(subgrad)


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture(params=["dense", "sparse", "separable"])
def data(request, svm):
    return {
        "dense": lambda: svm.blobs(300, 12),
        "sparse": lambda: svm.blobs(400, 60, sparse=True, noise=0.5),
        "separable": lambda: svm.blobs(150, 20, noise=0.0),
    }[request.param]()


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_primal_never_rises_and_the_dual_never_falls(data, C, method, svm):
    solution = svm.solve(method, *data, C, tol=1e-5)
    P = np.array([moment.primal for moment in solution.history])
    D = np.array([moment.dual for moment in solution.history])
    assert (np.diff(P) <= 1e-12 * P[:-1]).all()
    assert (np.diff(D) >= 0).all()
    assert (D <= P * (1 + 1e-12)).all()
    assert solution.certificate.status is Status.OPTIMAL
    assert solution.certificate.relative_gap <= 1e-5


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_certificate_holds_against_another_method(data, C, method, svm):
    X, y = data
    certificate = svm.solve(method, X, y, C, tol=1e-5).certificate
    best = svm.solve("newton", X, y, C, tol=1e-9).certificate
    assert certificate.dual <= best.primal * (1 + 1e-12)
    assert certificate.primal >= best.dual * (1 - 1e-12)


def test_the_primal_is_that_of_the_answer(data, method, svm):
    X, y = data
    solution = svm.solve(method, X, y, 2.0, bias=1.5, tol=1e-4)
    P = svm.primal(X, y, solution.w, 2.0, bias=1.5)
    assert solution.certificate.primal == pytest.approx(P, rel=1e-12)


@pytest.mark.parametrize("iterations", [1, 5, 20])
def test_an_iteration_takes_two_passes_over_the_data(svm, method, iterations):
    X, y = svm.blobs(300, 12)
    rows = CountingRows(ArrayRows(X))
    settings = Settings(tol=1e-12, max_iter=iterations)
    solution = bundle.solve(rows, Hinge(y, 10.0, _core.Pool(1)), settings, method)
    assert solution.certificate.n_iter == iterations
    assert rows.combined == iterations
    assert rows.predicted == iterations + 1  # one more for the certificate


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_ocas_never_needs_more_iterations_than_cpa(data, C, svm):
    taken = {m: svm.solve(m, *data, C, tol=1e-3).certificate.n_iter for m in METHODS}
    assert taken["ocas"] <= taken["cpa"]


def test_iterations_do_not_grow_with_the_rows(svm):
    X, y = svm.blobs(20_000, 10)

    def iterations(n):
        return svm.solve("ocas", X[:n], y[:n], 10.0 / n, tol=1e-3).certificate.n_iter

    assert iterations(20_000) <= iterations(200) + 5


def test_a_warm_start_is_accepted_and_quicker(data, method, svm):
    X, y = data
    near = svm.solve(method, X, y, 1.0, tol=1e-6).w
    pool = _core.Pool(1)
    rows, loss = ArrayRows(X, pool=pool), Hinge(y, 1.05, pool)
    settings = Settings(tol=1e-4)
    cold = bundle.solve(rows, loss, settings, method)
    warm = bundle.solve(rows, loss, settings, method, w0=near)
    assert warm.certificate.relative_gap <= 1e-4
    assert warm.history[0].primal < 0.9 * cold.history[0].primal
    # CPA has of its start but one plane: it may save nothing
    spare = 0 if method == "ocas" else cold.certificate.n_iter // 10
    assert warm.certificate.n_iter <= cold.certificate.n_iter + spare


def test_a_bad_warm_start_does_no_harm(svm, method):
    X, y = svm.blobs()
    pool = _core.Pool(1)
    w0 = np.full(10, 1e3)
    solution = bundle.solve(
        ArrayRows(X, pool=pool), Hinge(y, 1.0, pool), Settings(tol=1e-4), method, w0=w0
    )
    assert solution.certificate.relative_gap <= 1e-4
    assert (w0 == 1e3).all()


def test_known_planes_do_not_let_a_stop_out(svm, method):
    X, y = svm.blobs()
    stop = _core.Stop()
    stop.interrupt()
    pool = _core.Pool(1, stop)
    rows, loss = ArrayRows(X, pool=pool), Hinge(y, 1.0, pool)
    known = [(np.zeros(10), 0.0)]
    solution = bundle.solve(rows, loss, Settings(stop=stop), method, planes0=known)
    assert solution.certificate.status is Status.INTERRUPTED
    assert solution.certificate.primal == loss.at_zero


def test_idle_planes_are_dropped_along_the_way(svm, monkeypatch):
    sizes = []
    minimise = Planes.minimise

    def watched(self, tolerance):
        sizes.append(len(self))
        return minimise(self, tolerance)

    monkeypatch.setattr(Planes, "minimise", watched)
    X, y = svm.blobs(300, 40)
    certificate = svm.solve("ocas", X, y, 100.0, tol=1e-6).certificate
    assert certificate.status is Status.OPTIMAL
    assert certificate.n_iter > 2 * IDLE_LIMIT
    assert max(sizes) < certificate.n_iter
    assert min(np.diff(sizes)) < 0


# ---------------------------------------------------------------- the seam: other losses


class LineSearched(Loss):
    """A loss that is searched along a line by evaluating it, as any convex loss can be."""

    def value(self, p):
        return self.evaluate(p)[0]

    def search(self, p, dp, A0, B0):
        def G(k):
            return 0.5 * k * k * A0 + k * B0 + self.evaluate(p + k * dp)[0]

        high = 1.0
        while G(2 * high) < G(high) and high < 1e9:
            high *= 2
        k = minimize_scalar(G, bounds=(0, 2 * high), method="bounded", options={"xatol": 1e-12}).x
        if G(k) >= G(0):
            k = 0.0
        return k, self.evaluate(p + k * dp)[0]


class Squared(LineSearched):
    """``C/2 sum_i (p_i - t_i)^2``: ridge regression, whose optimum is known."""

    def __init__(self, target, C):
        self.target, self.C, self.n = target, C, len(target)
        self.at_zero = C / 2 * (target @ target)

    def evaluate(self, p):
        r = p - self.target
        return self.C / 2 * (r @ r), self.C * r


class Absolute(LineSearched):
    """``C sum_i |p_i - t_i|``"""

    def __init__(self, target, C):
        self.target, self.C, self.n = target, C, len(target)
        self.at_zero = C * np.abs(target).sum()

    def evaluate(self, p):
        r = p - self.target
        return self.C * np.abs(r).sum(), self.C * np.sign(r)


def test_a_smooth_loss_of_ones_own_is_minimised(method):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(80, 4)), 0.05
    target = X @ rng.normal(size=4) + 0.1 * rng.normal(size=80)
    solution = bundle.solve(ArrayRows(X), Squared(target, C), Settings(tol=1e-6), method)
    w = np.linalg.solve(np.eye(4) + C * X.T @ X, C * X.T @ target)
    best = w @ w / 2 + C / 2 * ((X @ w - target) ** 2).sum()
    assert solution.certificate.status is Status.OPTIMAL
    assert solution.certificate.dual <= best * (1 + 1e-12)
    assert solution.certificate.primal <= best * (1 + 2e-6)
    np.testing.assert_allclose(solution.w, w, atol=1e-2)


def test_an_absolute_loss_of_ones_own_is_minimised(method):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    target = X @ np.array([1.0, -2.0, 0.5])
    solution = bundle.solve(ArrayRows(X), Absolute(target, 1.0), Settings(tol=1e-5), method)
    assert solution.certificate.relative_gap <= 1e-5
    np.testing.assert_allclose(solution.w, [1.0, -2.0, 0.5], atol=0.1)


class PlainRows:
    """The least a solver may ask of rows, in numpy: no core, no threads."""

    def __init__(self, X):
        self.X, (self.n, self.width) = X, X.shape

    def zeros(self):
        return np.zeros(self.n)

    def matvec(self, w):
        return self.X @ w

    def rmatvec(self, subgrad):
        return self.X.T @ subgrad

    def inner(self, x, y):
        return float(x @ y)

    def axpby(self, alpha, x, beta, y):
        return alpha * x + beta * y


def test_rows_of_ones_own_are_enough(method, svm):
    X, y = svm.blobs(100, 5)
    loss = Hinge(y, 1.0, _core.Pool(1))
    ours = bundle.solve(PlainRows(X), loss, Settings(tol=1e-6), method)
    theirs = bundle.solve(ArrayRows(X), loss, Settings(tol=1e-6), method)
    assert ours.certificate.relative_gap <= 1e-6
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=2e-6)


# ---------------------------------------------------------------- where the next plane touches


class Remembering(Squared):
    """A loss that knows the subgradient where its last search ended."""

    def search(self, p, dp, A0, B0):
        k, R = super().search(p, dp, A0, B0)
        self.l_end = self.evaluate(p + k * dp)[1]
        return k, R

    def known_subgradient(self):
        return self.l_end


def at_start(loss):
    rows = PlainRows(np.eye(3))
    return rows, bundle.start(rows, loss, None)[0], np.array([1.0, 2.0, 3.0])


def test_the_next_plane_touches_between_the_best_point_and_the_new_one():
    rows, best, p_t = at_start(loss := Squared(np.ones(3), 2.0))
    p_c, R_c, subgrad = bundle.next_touch(rows, loss, best, p_t, moved=True)
    np.testing.assert_allclose(p_c, (1 - bundle.MU) * best.p + bundle.MU * p_t)
    R, l_there = loss.evaluate(p_c)
    assert R_c == R
    np.testing.assert_array_equal(subgrad, l_there)


def test_the_next_plane_touches_at_a_new_best_point_where_the_subgradient_is_known():
    rows, best, p_t = at_start(loss := Remembering(np.ones(3), 2.0))
    moved = bundle.line_search(rows, loss, best, p_t, p_t)
    p_c, R_c, subgrad = bundle.next_touch(rows, loss, moved, p_t, moved=True)
    assert p_c is moved.p and R_c == moved.R
    np.testing.assert_allclose(subgrad, loss.evaluate(moved.p)[1])


def test_a_best_point_that_did_not_move_is_not_touched_twice():
    rows, best, p_t = at_start(loss := Remembering(np.ones(3), 2.0))
    bundle.line_search(rows, loss, best, p_t, p_t)
    p_c, _, _ = bundle.next_touch(rows, loss, best, p_t, moved=False)
    assert not np.array_equal(p_c, best.p)


def test_both_ways_of_touching_lead_to_the_same_optimum():
    rng = np.random.default_rng(2)
    X, C = rng.normal(size=(80, 4)), 0.05
    target = X @ rng.normal(size=4) + 0.1 * rng.normal(size=80)
    ends = [
        bundle.solve(ArrayRows(X), loss(target, C), Settings(tol=1e-6)).certificate
        for loss in (Squared, Remembering)
    ]
    assert all(end.relative_gap <= 1e-6 for end in ends)
    assert ends[0].primal == pytest.approx(ends[1].primal, rel=2e-6)


def test_a_search_over_many_orders_of_magnitude_takes_no_worse_point():
    """A smooth loss whose minimum is at 1e-36 of the way: found among 60 halvings it is not."""
    rows = ArrayRows(np.array([[1.9e24], [-8e23], [3e23]]))
    loss = LossSpec("squared_hinge").on_margins(np.array([-1.0, 1.0, 1.0]), 7.85, rows.pool)
    w_b, w_t = np.array([-1.4e-25]), np.array([-7.3e11])
    p_b = rows.matvec(w_b)
    best = bundle.Point(w_b, p_b, loss.value(p_b), float(w_b @ w_b))
    found = bundle.line_search(rows, loss, best, w_t, rows.matvec(w_t))
    assert found.P <= best.P
