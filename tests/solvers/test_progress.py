"""`auto` by progress: dual descent begins, Newton takes over where that is cheaper."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from maxmargin.data.arrays import ArrayRows
from maxmargin.problem import Status
from maxmargin.solvers.linear import progress


def words(n=6000, d=120, z=10):
    """Sparse 0/1 rows, frequent and rare features, classes that overlap."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, d + 1)
    columns = rng.choice(d, size=(n, z), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * z), columns.ravel(), np.arange(0, n * z + 1, z)), (n, d))
    X.sum_duplicates()
    X.data[:] = 1
    score = X @ rng.normal(size=d)
    return X, np.where(score + rng.normal(size=n) > np.median(score), 1, -1)


def fit(C, **options):
    return LinearSVC(C=C, random_state=0, **options).fit(*words())


@pytest.fixture(autouse=True)
def no_problem_is_small(monkeypatch):
    monkeypatch.setattr("maxmargin.training.choice.SMALL_COST", 0.0)


def test_an_easy_problem_is_finished_by_dual_descent():
    model, alone = fit(1e-3), fit(1e-3, solver="dual")
    assert model.solver_ == "dual"
    np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_a_hard_one_is_handed_over_to_newton():
    model, alone = fit(10.0), fit(10.0, solver="newton", tol=1e-6)
    assert model.solver_ == "newton"
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal <= 1.001 * alone.certificate_.primal
    assert model.certificate_.dual <= alone.certificate_.primal


def test_the_answer_does_not_depend_on_the_number_of_threads():
    one, two = fit(10.0, n_jobs=1), fit(10.0, n_jobs=2)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_iterations_are_counted_on_through_the_hand_over():
    seen = []
    model = fit(10.0, callback=lambda progress: seen.append(progress.iteration))
    assert seen == sorted(seen)
    assert model.n_iter_ == seen[-1] and model.history_[-1].iteration == seen[-1]
    assert model.history_[0].iteration >= progress.LEAST_EPOCHS


def test_a_limit_of_iterations_counts_both():
    with pytest.warns(UserWarning):
        model = fit(10.0, max_iter=4, tol=1e-9)
    assert model.n_iter_ == 4 and model.certificate_.status is Status.MAX_ITER


@pytest.mark.parametrize("C", [1e-3, 10.0])
def test_a_start_from_a_neighbouring_problem_is_used(C):
    X, y = words()
    model = LinearSVC(C=C, warm_start=True, random_state=0).fit(X, y)
    again = model.n_iter_
    assert model.set_params(C=1.01 * C).fit(X, y).n_iter_ <= again


def test_epochs_left_follow_the_rate_of_the_later_half():
    watch = progress.Watch(ArrayRows(words()[0]), 1e-3)
    watch.gaps = [1000.0, 900.0, 8.0, 4.0, 2.0]
    assert watch.epochs_left(0.25) == pytest.approx(3.0)
    assert watch.epochs_left(3.0) == 0.0
    watch.gaps = [1.0, 2.0]
    assert watch.epochs_left(0.1) == np.inf


def test_the_factor_of_wide_systems_counts():
    """Few rows with many features: Newton's d^3 is dearer than any pass."""
    wide = sp.random(200, 2500, density=0.01, format="csr", random_state=0)
    assert progress.newton_cost(ArrayRows(wide)) > 1000 * wide.nnz
    assert LinearSVC().fit(wide, np.arange(200) % 2).solver_ == "dual"
