"""A loss, a kind of rows and a solver of one's own, written as CONTRIBUTING says: each is one class
or function and at most one line of a table, and works with all that is there."""

import numpy as np
import pytest
import scipy.optimize

from maxmargin import LinearSVC, _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.base import Loss
from maxmargin.losses.line_search import SearchedLoss
from maxmargin.problem import Settings, Solution, Status
from maxmargin.solvers import table
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.linear import bundle
from maxmargin.training.choice import solve_with
from maxmargin.training.fit import LinearPlan
from maxmargin.training.linear import train


@pytest.fixture
def blobs(svm):
    return svm.blobs(120, 6)


# ---------------------------------------------------------------- a loss


class LargestError(SearchedLoss):
    """``C max_i |p_i - t_i|``: all that such a class has to say."""

    def __init__(self, target, C):
        super().__init__()
        self.target, self.C, self.n = target, C, len(target)
        self.at_zero, self.pool = C * np.abs(target).max(), _core.Pool(1)

    def evaluate(self, p):
        r = p - self.target
        worst, subgrad = int(np.abs(r).argmax()), np.zeros(self.n)
        subgrad[worst] = self.C * np.sign(r[worst])
        return self.C * abs(r[worst]), subgrad


class Distance(Loss):
    """``C ||p - t||``, with a search of its own."""

    def __init__(self, target, C):
        self.target, self.C, self.n = target, C, len(target)
        self.at_zero, self.pool = C * np.linalg.norm(target), _core.Pool(1)

    def evaluate(self, p):
        r = p - self.target
        length = np.linalg.norm(r)
        return self.C * length, self.C * r / length

    def value(self, p):
        return self.evaluate(p)[0]

    def search(self, p, dp, A0, B0):
        def G(k):
            return 0.5 * k * k * A0 + k * B0 + self.value(p + k * dp)

        k = scipy.optimize.minimize_scalar(G, bounds=(0, 10), method="bounded").x
        k = k if G(k) < G(0) else 0.0
        return k, self.value(p + k * dp)


@pytest.mark.parametrize("loss", [LargestError, Distance])
@pytest.mark.parametrize("method", ["ocas", "cpa"])
def test_a_loss_of_ones_own_is_minimised(loss, method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    own = loss(X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60), 2.0)
    solution = bundle.solve(ArrayRows(X), own, Settings(tol=1e-5), method)

    def P(w):
        return w @ w / 2 + own.evaluate(X @ w)[0]

    others = [
        scipy.optimize.minimize(P, w0, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
        for w0 in (np.zeros(3), solution.w)
    ]
    assert solution.certificate.status is Status.OPTIMAL
    assert P(solution.w) == pytest.approx(solution.certificate.primal)
    assert solution.certificate.dual <= min(other.fun for other in others)


# ---------------------------------------------------------------- rows


class Factored:
    """Rows ``X = A B`` that nobody multiplies out."""

    kind = "factored rows"

    def __init__(self, A, B):
        self.A, self.B, self.pool = A, B, _core.Pool(1)
        self.n, self.d = len(A), B.shape[1]
        self.width = self.d

    def zeros(self):
        return np.zeros(self.n)

    def matvec(self, w):
        return self.A @ (self.B @ w)

    def rmatvec(self, v):
        return self.B.T @ (self.A.T @ v)

    def inner(self, x, y):
        return float(x @ y)

    def axpby(self, alpha, x, beta, y):
        return alpha * x + beta * y

    def place(self, plan, interrupts):
        return self

    def side_by_side(self, problems):
        return 1

    def pick(self, loss, name):
        return "ocas"

    def solve(self, loss, solver, settings, start, alone):
        return solve_with(solver, self, loss(self.pool), settings, start)


def test_rows_of_ones_own_are_trained_on():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(150, 2)), rng.normal(size=(2, 40))
    y = (A[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int)
    plan = LinearPlan(bias=0.0)
    factored = train(Factored(A, B), y, plan).model
    dense = train(A @ B, y, plan).model
    assert factored.solver == "ocas"
    assert factored.certificate.status is Status.OPTIMAL
    assert factored.certificate.dual <= dense.certificate.primal
    assert dense.certificate.dual <= factored.certificate.primal


def test_a_solver_that_cannot_work_on_rows_of_ones_own_is_refused():
    rows = Factored(np.eye(4), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"'dual' needs single rows.*factored rows.*use one of"):
        train(rows, np.array([0, 1, 0, 1]), LinearPlan(bias=0.0, solver="dual"))


# ---------------------------------------------------------------- a solver


def averaged_subgradients(rows, loss, settings, start):
    """``w <- w - (w + X^T l) / t``, and the mean of the l as dual variables."""
    run = Run(settings)
    w, mean, t = np.zeros(rows.width), np.zeros(rows.n), 0
    P, D = loss.at_zero, 0.0
    while not run.record(t, P, D):
        t += 1
        subgrad = loss.evaluate(rows.matvec(w))[1]
        mean += (subgrad - mean) / t
        w = -rows.rmatvec(mean)
        P = w @ w / 2 + loss.value(rows.matvec(w))
        D = loss.dual_sum(-mean / loss.q)[0] - w @ w / 2
    return Solution(w, run.certify(P, D), run.history)


def test_a_solver_of_ones_own_is_a_line_of_the_table(blobs, monkeypatch):
    X, y = blobs
    line = table.Solver(averaged_subgradients, "a pointwise loss", losses=table.POINTWISE)
    monkeypatch.setitem(table.SOLVERS, "averaging", line)
    ours = LinearSVC(C=0.01, solver="averaging", tol=0.02).fit(X, y)
    exact = LinearSVC(C=0.01, tol=1e-6).fit(X, y)
    assert ours.solver_ == "averaging"
    assert ours.certificate_.status is Status.OPTIMAL
    assert ours.certificate_.dual <= exact.certificate_.primal
    assert ours.certificate_.primal <= 1.02 * exact.certificate_.primal
    with pytest.raises(ValueError, match=r"solver must be one of .*averaging; got 'averages'"):
        LinearSVC(solver="averages").fit(X, y)
