"""How a run ends: every way gives the best answer so far, its certificate, and the reason."""

import time
import warnings

import numpy as np
import pytest

from maxmargin import LinearSVC, _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.problem import Certificate, Progress, Settings, Status
from maxmargin.solvers.common.run import PATIENCE, Run, interruptible
from maxmargin.solvers.linear import bundle, dual_descent, newton

SOLVERS = ["newton", "dual", "ocas", "cpa"]


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def check(svm, X, y, C, solution):
    """The certificate is valid and belongs to the answer."""
    certificate = solution.certificate
    assert np.isfinite(solution.w).all()
    assert certificate.dual <= certificate.primal
    P = svm.primal(X, y, solution.w, C)
    assert certificate.primal == pytest.approx(P, rel=1e-9)
    best = svm.solve("newton", X, y, C, tol=1e-7).certificate.primal
    assert certificate.dual <= best * (1 + 1e-9)


def test_max_iter_gives_the_best_so_far(solver, svm):
    X, y = svm.blobs(300, 10)
    solution = svm.solve(solver, X, y, 10.0, tol=1e-12, max_iter=3)
    assert solution.certificate.status is Status.MAX_ITER
    assert solution.certificate.n_iter == 3
    assert solution.certificate.relative_gap > 1e-12
    check(svm, X, y, 10.0, solution)


def test_a_callback_ends_the_run(solver, svm):
    X, y = svm.blobs(300, 10)
    seen = []

    def third_time(progress):
        seen.append(progress)
        return len(seen) == 3

    solution = svm.solve(solver, X, y, 10.0, tol=1e-12, callback=third_time)
    assert solution.certificate.status is Status.CALLBACK
    assert solution.history == seen and len(seen) == 3
    check(svm, X, y, 10.0, solution)


def test_a_callback_that_says_nothing_changes_nothing(solver, svm):
    X, y = svm.blobs(300, 10)
    alone = svm.solve(solver, X, y, 1.0, tol=1e-4)
    watched = svm.solve(solver, X, y, 1.0, tol=1e-4, callback=lambda progress: None)
    np.testing.assert_array_equal(alone.w, watched.w)


def test_an_error_in_a_callback_is_the_callers(solver, svm):
    def fails(progress):
        raise RuntimeError("of my own making")

    with pytest.raises(RuntimeError, match="of my own making"):
        svm.solve(solver, *svm.blobs(), tol=1e-12, callback=fails)


def test_a_raised_flag_ends_the_run(solver, svm):
    X, y = svm.blobs(300, 10)
    stop = _core.Stop()

    def later(progress):
        if progress.iteration >= 2:
            stop.interrupt()

    solution = svm.solve(solver, X, y, 10.0, tol=1e-12, stop=stop, callback=later)
    assert solution.certificate.status is Status.INTERRUPTED
    check(svm, X, y, 10.0, solution)


def test_a_flag_raised_before_the_start_gives_zero(solver, svm):
    X, y = svm.blobs(300, 10)
    stop = _core.Stop()
    stop.interrupt()
    solution = svm.solve(solver, X, y, 10.0, stop=stop)
    assert solution.certificate.status is Status.INTERRUPTED
    assert not solution.w.any()
    check(svm, X, y, 10.0, solution)


def stopped_rows(X, y, C):
    """Rows and loss whose stop flag is up."""
    stop = _core.Stop()
    stop.interrupt()
    pool = _core.Pool(1, stop)
    return ArrayRows(X, 0.0, pool), Hinge(y, C, pool)


def test_after_a_stop_the_objective_comes_from_the_rows(svm):
    """Predictions combined along a run have the rounding errors of all its steps."""
    X, y = svm.blobs(50, 3)
    w = np.ones(3)
    drifted = bundle.Point(w, np.zeros(50), 0.0, 3.0)
    P = bundle.exact_primal(*stopped_rows(X, y, 2.0), drifted)
    assert pytest.approx(svm.primal(X, y, w, 2.0), rel=1e-12) == P


def test_after_a_stop_newton_states_both_bounds_afresh(svm):
    X, y = svm.blobs(50, 3)
    rows, loss = stopped_rows(X, y, 2.0)
    best = newton.RowsBest(rows, loss)
    best.w, best.b, best.P, best.D = np.ones(3), 1e-3 * y, 0.1, 0.09
    best.v = X.T @ best.b
    certificate = best.certify(rows, loss, Run(Settings()))
    assert certificate.primal == pytest.approx(svm.primal(X, y, best.w, 2.0), rel=1e-12)
    assert certificate.dual == pytest.approx(svm.dual(X, y, np.abs(best.b)), rel=1e-12)


def test_after_a_stop_dual_descent_does_not_believe_its_running_w(svm, monkeypatch):
    X, y = svm.blobs(50, 3)
    stop, note = _core.Stop(), dual_descent.Best.note

    def drifted(self, *given):
        seen = note(self, *given)
        self.D = 2 * self.point.P
        stop.interrupt()
        return seen

    monkeypatch.setattr(dual_descent.Best, "note", drifted)
    solution = svm.solve("dual", X, y, 2.0, tol=1e-12, stop=stop)
    D = svm.dual(X, y, solution.dual_variables)
    assert solution.certificate.status is Status.INTERRUPTED
    assert solution.certificate.dual == pytest.approx(D, rel=1e-12)


def test_a_deadline_gives_the_best_so_far(solver, svm):
    X, y = svm.blobs(20_000, 30, noise=5.0)
    stop = _core.Stop()
    stop.set_deadline(0.1)
    # Iterations that take their time, lest a fast machine be done before the deadline.
    solution = svm.solve(
        solver, X, y, 1e3, tol=1e-14, stop=stop, callback=lambda progress: time.sleep(0.06)
    )
    assert solution.certificate.status is Status.MAX_TIME
    check(svm, X, y, 1e3, solution)


def test_history_tells_the_story_in_order(solver, svm):
    solution = svm.solve(solver, *svm.blobs(300, 10), 1.0, tol=1e-4)
    iterations = [moment.iteration for moment in solution.history]
    seconds = [moment.seconds for moment in solution.history]
    assert iterations == sorted(iterations) and seconds == sorted(seconds)
    assert solution.history[-1].relative_gap <= 1e-4
    assert solution.certificate.n_iter == iterations[-1]
    assert solution.certificate.seconds >= seconds[-1]


def test_no_progress_for_long_counts_as_stalled():
    run = Run(Settings(tol=1e-9))
    for _ in range(PATIENCE + 1):
        assert not run.record(0, 2.0, 1.0)
    assert run.record(0, 2.0, 1.0)
    assert run.certify(2.0, 1.0).status is Status.STALLED


def test_a_bound_above_the_objective_is_no_progress():
    """A gap below 0 was always less than 0.999 of itself: the run had no end."""
    run = Run(Settings())
    records = range(2 * PATIENCE)
    assert next(k for k in records if run.record(k, 1e-98, 2e-15)) <= PATIENCE + 1
    assert run.status is Status.STALLED


@pytest.mark.parametrize("weight", [1e-12, 1e-100])
def test_a_class_that_weighs_next_to_nothing_ends_a_fit_with_a_free_intercept(weight, svm):
    X, y = svm.blobs(60, 3)
    fitted = LinearSVC(intercept="free", max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y, sample_weight=np.where(y > 0, weight, 1.0))
    assert fitted.certificate_.n_iter < 1000


def test_a_run_that_thought_itself_optimal_is_judged_by_its_certificate():
    run = Run(Settings(tol=1e-3))
    assert run.record(0, 1.0, 0.9999)
    assert run.certify(1.0, 0.9999).status is Status.OPTIMAL
    assert run.certify(1.0, 0.9).status is Status.STALLED


def test_problems_side_by_side_end_one_by_one_or_together():
    run = Run(Settings(tol=1e-3, max_iter=5), 3)
    assert run.note(Progress(1, 0.0, 1.0, 0.9999), 0)
    assert not run.note(Progress(1, 0.0, 1.0, 0.5), 1)
    assert run.open_problems() == [1, 2] and not run.ended
    assert run.note(Progress(5, 0.0, 1.0, 0.5), 1)
    run.end(Status.MAX_TIME)
    assert run.ended
    statuses = [run.certify(1.0, dual, problem=k).status for k, dual in enumerate((0.9999, 0.5, 0))]
    assert statuses == [Status.OPTIMAL, Status.MAX_ITER, Status.MAX_TIME]
    assert [len(history) for history in run.histories] == [1, 2, 0]


def test_a_callback_that_ends_one_problem_ends_all():
    run = Run(Settings(callback=lambda progress: True), 2)
    assert run.note(Progress(1, 0.0, 1.0, 0.5), 0)
    assert run.statuses == [Status.CALLBACK, Status.CALLBACK]


def test_a_rule_other_than_the_gap_is_named_as_such():
    run = Run(Settings(tol=1e-3))
    assert run.record(7, 1.0, 0.5, solved=True)
    certificate = run.certify(1.0, 0.5, n_iter=9, rule_met=True)
    assert (certificate.status, certificate.n_iter) == (Status.RULE_MET, 9)


def test_rounding_cannot_put_the_dual_above_the_primal():
    certificate = Run(Settings()).certify(1.0, 1.0 + 1e-12)
    assert certificate.gap == 0.0 and certificate.status is Status.OPTIMAL


def test_a_certificate_says_what_it_means():
    certificate = Certificate(2.0, 1.5, Status.MAX_TIME, 7, 0.5)
    assert certificate.gap == 0.5
    assert certificate.relative_gap == 0.25
    assert certificate.as_dict()["status"] == "max_time"
    assert Certificate(0.0, 0.0, Status.OPTIMAL, 0, 0.0).relative_gap == 0.0


def test_a_deadline_is_set_by_the_context():
    with interruptible(max_time=0.01) as stop:
        time.sleep(0.02)
        assert stop.poll() and stop.reason == _core.StopReason.time
