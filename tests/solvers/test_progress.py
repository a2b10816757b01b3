"""`auto` by progress: dual descent begins, Newton takes over where that is cheaper."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Settings, Status
from maxmargin.solvers.linear import newton, progress

POOL = _core.Pool(1)


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
    monkeypatch.setattr("maxmargin.training.choice.SMALL_FIT", 0.0)


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


def test_logarithms_count():
    """A visit of the logistic loss takes the time of several of the hinge's, a step hardly more."""
    rows = ArrayRows(words()[0])
    hinge, logistic = (progress.epoch_cost(loss, 60_000, 6000) for loss in ("hinge", "logistic"))
    assert logistic > 2.5 * hinge
    assert progress.newton_cost(rows, "logistic") < 2 * progress.newton_cost(rows, "hinge")
    watches = [progress.Watch(rows, 1e-3, loss) for loss in ("hinge", "logistic")]
    for gap in (1.0, 0.5, 0.25):
        answers = [watch(gap, 1.0, 6000, 60_000) for watch in watches]
    assert answers == [False, True]


def test_a_logistic_fit_of_many_epochs_is_handed_over_to_newton():
    assert fit(10.0, loss="logistic").solver_ == "newton"


def test_one_bad_epoch_is_not_enough_to_hand_over():
    watch = progress.Watch(ArrayRows(words()[0]), 1e-3)
    watch.spent = watch.newton_cost
    assert [watch(gap, 1.0, 6000, 60_000) for gap in (1.0, 1.0, 0.01)] == [False] * 3
    assert [watch(gap, 1.0, 6000, 60_000) for gap in (0.01, 0.02, 0.03)] == [False, False, True]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_newton_solves_a_smooth_problem_of_small_C_at_once(loss):
    X, y = words()
    model = LinearSVC(C=1e-5, loss=loss, random_state=0).fit(X, y)
    assert model.solver_ == "newton" and model.n_iter_ <= 1
    assert fit(1e-5).solver_ == "dual"


def test_newton_after_samples_counts_no_gram_matrices_of_a_hinge():
    rows = ArrayRows(words(40_000, 20)[0])
    cost = progress.newton_cost_from_samples(rows, "hinge", [40])
    steps = progress.STEPS_FROM_SAMPLE / progress.CORES
    own = newton.step_cost(rows) + progress.row_cost(rows, "hinge")
    assert cost < steps * own + progress.newton_cost(rows) / 40
    assert progress.newton_cost_from_samples(rows, "hinge", [4]) > cost


def test_newton_takes_a_start_at_its_best_length():
    """A start ten times too long leads to the same first point as a good one."""
    X, y = words()
    rows, loss = (
        ArrayRows(X),
        LossSpec("logistic").on_margins(y.astype(float), np.ones(len(y)), POOL),
    )
    w = newton.solve(rows, loss, Settings(tol=1e-6)).w
    iterations = [
        newton.solve(rows, loss, Settings(tol=1e-3), (k * w, None)).certificate.n_iter
        for k in (1.0, 10.0, -1.0)
    ]
    cold = newton.solve(rows, loss, Settings(tol=1e-3)).certificate.n_iter
    assert iterations[0] <= iterations[1] <= 1 and iterations[2] <= cold


def test_a_free_intercept_begins_with_a_regularised_one():
    seen = []
    model = fit(0.1, intercept="free", callback=lambda progress: seen.append(progress))
    alone = fit(0.1, intercept="free", solver="newton", tol=1e-6)
    assert model.solver_ == "newton" and model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual <= alone.certificate_.primal
    assert model.certificate_.primal <= 1.001 * alone.certificate_.primal
    assert seen[0].iteration > 0  # epochs, of which a callback hears nothing
    assert all(progress.dual <= alone.certificate_.primal for progress in seen)
    newton_steps = seen[-1].iteration - seen[0].iteration
    assert newton_steps < fit(0.1, intercept="free", solver="newton").n_iter_


def test_a_stop_before_newton_has_begun_keeps_its_start():
    X, y = words()
    stop = _core.Stop()
    pool = _core.Pool(1, stop)
    w = fit(0.1, fit_intercept=False).coef_[0]
    rows = ArrayRows(X, 0.0, pool)
    loss = LossSpec("hinge").on_margins(y.astype(float), np.full(len(y), 0.1), pool)
    stop.interrupt()
    found = newton.solve(rows, loss, Settings(stop=stop), (w, None))
    np.testing.assert_array_equal(found.w, w)
    assert found.certificate.status is Status.INTERRUPTED


def test_rows_count_beside_their_entries():
    """With an entry or two a row, what both methods do for every row is most of their work."""
    X = sp.random(20_000, 50, density=0.02, format="csr", random_state=0)
    rows = ArrayRows(X)
    assert progress.newton_cost(rows) > 2 * progress.STEPS * newton.step_cost(rows) / progress.CORES
    assert progress.epoch_cost("hinge", X.nnz, 20_000) > 5 * 2 * X.nnz
