"""How the systems of Newton's steps are solved where the loss is smooth."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.linear import lagrangian, newton_system


def smooth_problem(n=4000, d=60):
    """Rows and classes of which Newton's systems are dear beside passes."""
    rng = np.random.default_rng(2)
    X = sp.random(n, d, 0.2, "csr", random_state=2)
    score = X @ rng.normal(size=d)
    return X, np.where(score + score.std() * rng.normal(size=n) > 0, 1.0, -1.0)


def counted(monkeypatch, *names):
    """How often each method of rows is called, on so many rows."""
    counts: dict[tuple[str, int], int] = {}

    def watch(name):
        plain = getattr(ArrayRows, name)

        def method(self, *given, **more):
            counts[name, self.n] = counts.get((name, self.n), 0) + 1
            return plain(self, *given, **more)

        monkeypatch.setattr(ArrayRows, name, method)

    for name in names:
        watch(name)
    return counts


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_factor_of_a_sample_does_for_the_matrices_of_all_rows(loss, monkeypatch):
    monkeypatch.setattr(newton_system, "SMALL_SYSTEM", 0)
    X, y = smooth_problem()
    counts = counted(monkeypatch, "gram", "hessian_product", "matvec")
    model = LinearSVC(C=1.0, loss=loss, solver="newton", fit_intercept=False).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert ("gram", 4000) not in counts and counts["gram", 667] >= 1
    assert counts["hessian_product", 4000] <= 12
    # at the start and for the certificate: what a step adds to predictions comes with its products
    assert counts["matvec", 4000] == 2 or loss == "squared_hinge"


def test_the_dual_point_that_a_step_foretells_saves_the_next_one(monkeypatch):
    """A logistic fit with much curvature: P is at its optimum a step before its slopes prove it."""
    X, y = smooth_problem(3000, 4)
    options = {"C": 100.0, "loss": "logistic", "solver": "newton", "tol": 1e-6}
    fitted = LinearSVC(**options).fit(X, y)
    monkeypatch.setattr(lagrangian.RowsLagrangian, "closing_sums", lambda self, R: None)
    plain = LinearSVC(**options).fit(X, y)
    assert fitted.certificate_.relative_gap <= 1e-6 and plain.certificate_.relative_gap <= 1e-6
    assert fitted.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-6)
    assert fitted.n_iter_ < plain.n_iter_


def test_residuals_are_no_smaller_than_what_the_quadratic_leaves():
    forcing, gradient = newton_system.Forcing(), np.array([10.0, 0.0])
    first = forcing.enough(gradient, 0.0)
    assert first == pytest.approx(newton_system.RESIDUAL * 10)
    forcing.step(gradient, np.array([0.5, 0.0]))
    after = np.array([0.5, 0.1])  # of which the second part was not foretold: a share of 0.01
    norm = np.hypot(0.5, 0.1)
    assert forcing.enough(after, 0.0) == pytest.approx(0.01 * norm * norm / 10)
    assert forcing.enough(after, 1e9) == newton_system.MOST_RESIDUAL * norm  # any gap will do


def test_a_gradient_whose_square_is_0_foretells_nothing():
    forcing, gradient = newton_system.Forcing(), np.array([1e-170, 0.0])
    forcing.step(gradient, None)
    after = np.array([1.0, 0.0])
    assert forcing.enough(after, 0.0) == newton_system.RESIDUAL
