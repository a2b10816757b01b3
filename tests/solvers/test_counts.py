"""A gate against slower solvers that no clock decides: entries of rows looked at, and iterations.

Bounds are what was counted when they were written, plus a fifth. A change that needs more must say
why and raise them; one that needs much less should lower them.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.linear import dual_descent, newton


def words():
    """4000 x 80, sparse, 0/1."""
    rng = np.random.default_rng(7)
    X = sp.csr_matrix((rng.random((4000, 80)) < 0.1).astype(np.float64))
    score = X @ rng.normal(size=80)
    return X, np.where(score + rng.normal(size=4000) > 0, 1, -1)


def numbers():
    """2000 x 30, dense, classes that overlap."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(2000, 30))
    return X, np.where(X @ rng.normal(size=30) + 3 * rng.normal(size=2000) > 0, 1, -1)


def wide():
    """600 x 120, dense: few rows a feature, so that those at the kink change with every step."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(600, 120))
    return X, np.where(X @ rng.normal(size=120) + 3 * rng.normal(size=600) > 0, 1, -1)


@pytest.fixture
def looked_at(monkeypatch):
    """Entries looked at so far, in a list of one: passes, Gram matrices, and visits."""
    count = [0.0]

    def counted(name, cost):
        plain = getattr(ArrayRows, name)

        def method(rows, *arguments, **options):
            count[0] += cost(rows, *arguments)
            return plain(rows, *arguments, **options)

        monkeypatch.setattr(ArrayRows, name, method)

    counted("matvec", lambda rows, *_: rows.nnz)
    counted("rmatvec", lambda rows, v: rows.nnz * np.count_nonzero(v) / rows.n)
    counted(
        "gram", lambda rows, h, every=1, **_: rows.gram_steps_per_row * np.count_nonzero(h) / every
    )
    due = dual_descent.GapChecks.due

    def with_visits(checks, gap, D, visited, entries):
        count[0] += 2 * entries
        return due(checks, gap, D, visited, entries)

    monkeypatch.setattr(dual_descent.GapChecks, "due", with_visits)
    return count


# (data, C, solver): most iterations, most passes' worth of entries
BOUNDS = {
    ("words", 0.001, "auto"): (3, 5),
    ("words", 0.001, "dual"): (3, 5),
    ("words", 0.001, "newton"): (3, 13),
    ("words", 0.001, "ocas"): (4, 9),
    ("words", 0.1, "auto"): (18, 24),
    ("words", 0.1, "dual"): (18, 24),
    ("words", 0.1, "newton"): (9, 20),
    ("words", 0.1, "ocas"): (18, 29),
    ("words", 10.0, "auto"): (17, 34),
    ("words", 10.0, "dual"): (959, 350),
    ("words", 10.0, "newton"): (17, 33),
    ("words", 10.0, "ocas"): (111, 161),
    ("numbers", 0.001, "auto"): (6, 9),
    ("numbers", 0.001, "dual"): (6, 9),
    ("numbers", 0.001, "newton"): (3, 11),
    ("numbers", 0.001, "ocas"): (5, 11),
    ("numbers", 0.1, "auto"): (12, 26),
    ("numbers", 0.1, "dual"): (47, 39),
    ("numbers", 0.1, "newton"): (9, 19),
    ("numbers", 0.1, "ocas"): (22, 34),
    ("numbers", 10.0, "auto"): (15, 30),
    ("numbers", 10.0, "newton"): (15, 30),
    ("numbers", 10.0, "ocas"): (88, 131),
    ("wide", 10.0, "newton"): (50, 92),
}


@pytest.mark.parametrize("data, C, solver", BOUNDS)
def test_no_more_is_looked_at_than_before(data, C, solver, looked_at):
    X, y = {"words": words, "numbers": numbers, "wide": wide}[data]()
    model = LinearSVC(C=C, solver=solver, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    passes = looked_at[0] / (X.nnz if sp.issparse(X) else X.size)
    most_iterations, most_passes = BOUNDS[data, C, solver]
    assert model.n_iter_ <= most_iterations
    assert passes <= most_passes


def test_a_sample_is_solved_no_better_than_it_stands_for_all_rows(monkeypatch):
    """At large C a sample's gap closes many steps after its objective has stopped falling."""
    rng = np.random.default_rng(9)
    X = sp.csr_matrix((rng.random((10_000, 60)) < 0.25).astype(np.float64))
    score = X @ rng.normal(size=60)
    y = np.where(score + score.std() * rng.normal(size=10_000) > 0, 1, -1)
    steps: dict[int, int] = {}
    plain = newton.Lagrangian.newton_step

    def counted(lagrangian):
        steps[lagrangian.rows.n] = steps.get(lagrangian.rows.n, 0) + 1
        plain(lagrangian)

    monkeypatch.setattr(newton.Lagrangian, "newton_step", counted)
    fitted = LinearSVC(C=1e4, loss="logistic", solver="newton", tol=1e-6).fit(X, y)
    assert fitted.certificate_.relative_gap <= 1e-6
    whole = steps.pop(10_000)
    assert len(steps) == 1 and sum(steps.values()) <= 3 and whole <= 5


def test_newton_rounds_kinks_less_sharply_after_short_steps():
    """Features of which most are rare: what a sample says of the rows near the kink is coarse."""
    rng = np.random.default_rng(4)
    X = (rng.random((60000, 40)) < 0.5 / (1 + np.arange(40)) ** 1.5) * rng.random((60000, 40))
    y = np.where(X @ (3 * rng.normal(size=40)) + rng.normal(size=60000) > 0, 1, -1)
    model = LinearSVC(C=100, solver="newton", tol=1e-3).fit(X.astype(np.float32), y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.n_iter <= 12  # 20 at the sharpness that a sample proposes


def test_samples_of_many_rows_grow_in_steps_no_larger_than_their_ratio():
    steps = newton.sample_steps(50_000_000, 54)
    ratios = np.array(steps) / np.array([*steps[1:], 1])
    assert steps[0] > 10_000
    assert max(ratios) < 1.1 * newton.SAMPLE_RATIO
    limited = newton.sample_steps(50_000_000, 54, most_entries=50_000_000)
    assert 50_000_000 * 54 / min(limited) <= 50_000_000
