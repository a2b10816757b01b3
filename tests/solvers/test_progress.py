"""`auto` by progress: dual descent begins, Newton takes over where that is cheaper."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, LinearSVR, _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Settings, Status
from maxmargin.solvers.common.start import Start
from maxmargin.solvers.linear import costs, lagrangian, newton, progress
from maxmargin.solvers.linear.lagrangian import kink_rows

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
    monkeypatch.setattr("maxmargin.training.choice.SMALL_STEP", 0.0)


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
    again = model.set_params(C=1.01 * C, tol=1e-2).fit(X, y).n_iter_
    assert again < 0.5 * fit(1.01 * C, tol=1e-2).n_iter_


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
    hinge, logistic = (
        progress.epoch_cost(rows, loss, 60_000, 6000) for loss in ("hinge", "logistic")
    )
    assert logistic > 1.5 * hinge
    assert progress.newton_cost(rows, "logistic") < 2 * progress.newton_cost(rows, "hinge")


@pytest.mark.parametrize("loss", ["squared", "expectile", "squared_epsilon_insensitive"])
def test_losses_that_every_row_curves_need_two_steps(loss):
    X, y = words()
    rows = ArrayRows(X)
    assert progress.newton_cost(rows, loss) < 0.8 * progress.newton_cost(rows, "squared_hinge")
    model = LinearSVR(loss=loss, solver="newton").fit(X, X @ np.ones(X.shape[1]) + y)
    assert model.n_iter_ <= 3


def test_a_logistic_fit_of_many_epochs_is_handed_over_to_newton():
    assert fit(10.0, loss="logistic").solver_ == "newton"


def test_one_bad_epoch_is_not_enough_to_hand_over():
    watch = progress.Watch(ArrayRows(words()[0]), 1e-3)
    watch.spent = watch.newton_cost
    assert [watch(gap, 1.0, 6000, 60_000) for gap in (1.0, 1.0, 0.01)] == [False] * 3
    assert [watch(gap, 1.0, 6000, 60_000) for gap in (0.01, 0.02, 0.03)] == [False, False, True]


def test_one_outlook_is_enough_where_newton_is_clearly_cheaper():
    def answers(visited):
        watch = progress.Watch(ArrayRows(words()[0]), 1e-3)
        watch.spent = watch.newton_cost
        return [watch(gap, 1.0, rows, 60_000) for gap, rows in zip((1.0, 0.97), visited)]

    assert answers((6000, 6000)) == [False, True]
    assert answers((3000, 6000)) == [False, False]  # rows that came back made the gap larger


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_newton_solves_a_smooth_problem_of_small_C_at_once(loss):
    X, y = words()
    model = LinearSVC(C=1e-5, loss=loss, random_state=0).fit(X, y)
    assert model.solver_ == "newton" and model.n_iter_ <= 1
    assert fit(1e-5).solver_ == "dual"


def test_newton_after_samples_counts_no_gram_matrices_of_all_rows():
    rows = ArrayRows(words(40_000, 20)[0])
    cost = progress.cost_alone(rows, "hinge", [40])
    own = progress.STEPS_FROM_SAMPLE * progress.step_cost(rows, "hinge")
    assert cost < own + progress.STEPS_ON_SAMPLE * progress.step_cost(rows.subsample(40), "hinge")
    assert progress.cost_alone(rows, "hinge", [4]) > cost


def test_newton_takes_a_start_at_its_best_length():
    """A start ten times too long leads to the same first point as a good one."""
    X, y = words()
    rows, loss = (
        ArrayRows(X),
        LossSpec("logistic").on_margins(y.astype(float), np.ones(len(y)), POOL),
    )
    w = newton.solve(rows, loss, Settings(tol=1e-6)).w
    iterations = [
        newton.solve(rows, loss, Settings(tol=1e-3), Start(k * w)).certificate.n_iter
        for k in (1.0, 10.0, -1.0)
    ]
    cold = newton.solve(rows, loss, Settings(tol=1e-3)).certificate.n_iter
    assert iterations[0] <= iterations[1] <= 1
    assert iterations[2] <= cold + 1  # from 0, without the sample that a cold start has


def test_newton_rounds_kinks_from_a_start_as_sharply_as_rows_determine_w(monkeypatch):
    """Of many rows a feature few keep curvature; of few rows a feature nearly all may."""
    seen = []
    plain = lagrangian.Lagrangian.newton_step

    def noted(self):
        seen.append(self.inner_rows / self.rows.width)
        plain(self)

    monkeypatch.setattr(lagrangian.Lagrangian, "newton_step", noted)
    first = {}
    for n in (600, 20_000):
        X, y = words(n)
        rows = ArrayRows(X)
        loss = LossSpec("hinge").on_margins(y.astype(float), np.full(n, 10.0), POOL)
        w = newton.solve(rows, loss, Settings(tol=0.1)).w
        seen.clear()
        newton.solve(rows, loss, Settings(tol=1e-3), Start(w))
        first[n] = seen[0]
    assert 2 < first[600] <= 5
    assert 0.5 * lagrangian.KINK_ROWS < first[20_000] < 20_000 / 120 / 5


def test_kinks_are_never_so_sharp_that_no_row_is_near_one():
    """Near w = 0 all rows are equally far from the kink of a hinge."""
    X, y = words()
    loss = LossSpec("hinge").on_margins(y.astype(float), np.ones(len(y)), POOL)
    w = np.full(X.shape[1], 1e-6)
    rounded = lagrangian.RowsLagrangian(ArrayRows(X), loss, w, lagrangian.evenly(loss), 0.3)
    rounded.sharpen()
    assert rounded.curved_rows(rounded.sigma) == len(y)


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
    found = newton.solve(rows, loss, Settings(stop=stop), Start(w))
    np.testing.assert_array_equal(found.w, w)
    assert found.certificate.status is Status.INTERRUPTED


def test_few_rows_a_feature_make_newton_dearer():
    """Classes come apart there, and the rows at a kink are others after every step."""
    few, many = (ArrayRows(sp.random(n, 100, 0.1, "csr", random_state=0)) for n in (500, 50_000))
    for rows, least, most in ((few, 2.5, 4.0), (many, 1.0, 1.05)):
        inner_rows = kink_rows(rows.n, rows.width)
        steps = progress.newton_cost(rows) / progress.step_cost(rows, "hinge", inner_rows)
        assert least * progress.STEPS < steps <= most * progress.STEPS


def test_rows_count_beside_their_entries():
    """With an entry or two a row, what both methods do for every row is most of their work."""
    X = sp.random(20_000, 50, density=0.02, format="csr", random_state=0)
    rows = ArrayRows(X)
    assert newton.step_cost(rows, 0) > 5 * 2 * costs.pass_cost(rows)
    assert progress.epoch_cost(rows, "hinge", X.nnz, 20_000) > 5 * 2 * X.nnz


def test_rows_that_fit_no_cache_cost_more_to_visit_than_to_pass_over():
    near, far = (ArrayRows(np.ones((n, 100))) for n in (1_000, 100_000))
    visit = [costs.visit_cost(rows, 100.0, 1.0) for rows in (near, far)]
    assert visit[1] > 1.5 * visit[0]
    assert costs.pass_cost(far) == 100 * costs.pass_cost(near)


def test_a_gap_that_an_extrapolation_raised_for_an_epoch_is_no_outlook():
    watch = progress.Watch(ArrayRows(words()[0]), 1e-3)
    watch.spent = watch.newton_cost
    gaps = (0.1, 0.05, 0.02, 0.01, 0.005, 0.05, 0.04)
    assert not any(watch(gap, 1.0, 600, 6_000) for gap in gaps)
