"""How a run ends: every way gives the best answer so far, its certificate, and the reason."""

import time

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.problem import Certificate, Settings, Status
from maxmargin.solvers.run import PATIENCE, Run, interruptible

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


def test_a_deadline_gives_the_best_so_far(solver, svm):
    X, y = svm.blobs(20_000, 30, noise=5.0)
    stop = _core.Stop()
    stop.set_deadline(0.1)
    start = time.perf_counter()
    # Iterations that take their time, lest a fast machine be done before the deadline.
    solution = svm.solve(
        solver, X, y, 1e3, tol=1e-14, stop=stop, callback=lambda progress: time.sleep(0.06)
    )
    assert time.perf_counter() - start < 2.0
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


def test_a_run_that_thought_itself_optimal_is_judged_by_its_certificate():
    run = Run(Settings(tol=1e-3))
    assert run.record(0, 1.0, 0.9999)
    assert run.certify(1.0, 0.9999).status is Status.OPTIMAL
    assert run.certify(1.0, 0.9).status is Status.STALLED


def test_rounding_cannot_put_the_dual_above_the_primal():
    certificate = Run(Settings()).certify(1.0, 1.0 + 1e-12)
    assert certificate.gap == 0.0 and certificate.status is Status.OPTIMAL


def test_a_certificate_says_what_it_means():
    certificate = Certificate(2.0, 1.5, Status.MAX_TIME, 7, 0.5)
    assert certificate.gap == 0.5
    assert certificate.relative_gap == 0.25
    assert "max_time" in str(certificate) and "0.25" in str(certificate)
    assert certificate.as_dict()["status"] == "max_time"
    assert Certificate(0.0, 0.0, Status.OPTIMAL, 0, 0.0).relative_gap == 0.0


def test_a_deadline_is_set_by_the_context():
    with interruptible(max_time=0.01) as stop:
        time.sleep(0.02)
        assert stop.poll() and stop.reason == _core.StopReason.time
