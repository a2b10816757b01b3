"""scikit-learn's own checks, and what all three estimators share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import MeasureSVC, OrdinalSVC, RankSVM
from maxmargin.problem import Status


@pytest.mark.filterwarnings("ignore:nothing was learned")
@parametrize_with_checks(
    [
        RankSVM(),
        OrdinalSVC(),
        MeasureSVC(),
        MeasureSVC("roc_auc"),
        MeasureSVC("prbep"),
        MeasureSVC("error"),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def problem(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n), [-1, 0, 1])


@pytest.fixture(params=[RankSVM, OrdinalSVC, lambda **k: MeasureSVC("f1", **k)])
def make(request):
    return request.param


def target(estimator, y):
    return (y > 1).astype(int) if isinstance(estimator, MeasureSVC) else y


def test_the_certificate_is_within_tolerance(make):
    X, y = problem()
    for tol in (1e-2, 1e-4):
        model = make(C=0.1, tol=tol)
        model.fit(X, target(model, y))
        assert model.certificate_.relative_gap <= tol
        assert model.certificate_.status is Status.OPTIMAL
        assert model.history_[-1].relative_gap <= tol
        assert model.n_iter_ == model.certificate_.n_iter


def test_a_missed_tolerance_warns_and_gives_the_best_so_far(make):
    X, y = problem()
    model = make(C=10.0, tol=1e-9, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model.fit(X, target(model, y))
    assert model.certificate_.status is Status.MAX_ITER
    assert model.certificate_.primal >= model.certificate_.dual


def test_time_and_callback_end_the_fit(make):
    X, y = problem(n=5000, d=50)
    with pytest.warns(ConvergenceWarning):
        model = make(C=100.0, tol=1e-12, max_time=0.05)
        model.fit(X, target(model, y))
    assert model.certificate_.status is Status.MAX_TIME
    seen = []
    with pytest.warns(ConvergenceWarning):
        model = make(C=100.0, tol=1e-12, callback=lambda p: seen.append(p) or p.iteration == 4)
        model.fit(X, target(model, y))
    assert model.certificate_.status is Status.CALLBACK
    assert [p.iteration for p in seen] == [0, 1, 2, 3, 4]


def test_progress_goes_to_standard_error(make, capsys):
    X, y = problem()
    model = make(C=0.1, verbose=1)
    model.fit(X, target(model, y))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("iteration     0  objective")


def test_both_solvers_find_the_same_optimum(make):
    X, y = problem()
    model = make(C=0.1, tol=1e-4)
    t = target(model, y)
    ocas = model.fit(X, t).certificate_
    cpa = make(C=0.1, tol=1e-4, solver="cpa").fit(X, t).certificate_
    assert ocas.primal == pytest.approx(cpa.primal, rel=2e-4)
    assert ocas.n_iter <= cpa.n_iter


def test_a_warm_start_continues(make):
    X, y = problem()
    model = make(C=0.1, tol=1e-4, warm_start=True)
    t = target(model, y)
    first = model.fit(X, t).certificate_
    again = model.fit(X, t)
    assert again.history_[0].primal == pytest.approx(first.primal, rel=1e-9)


def test_answers_do_not_depend_on_threads_or_form(make):
    sp = pytest.importorskip("scipy.sparse")
    X, y = problem()
    model = make(C=0.1, n_jobs=1)
    t = target(model, y)
    one = model.fit(X, t).coef_.copy()
    three = make(C=0.1, n_jobs=3).fit(X, t).coef_
    np.testing.assert_array_equal(one, three)
    sparse = make(C=0.1).fit(sp.csr_matrix(X), t).coef_
    np.testing.assert_allclose(one, sparse, rtol=1e-6, atol=1e-8)


def test_solvers_for_pointwise_losses_are_refused(make):
    X, y = problem(20)
    model = make(solver="newton")
    with pytest.raises(ValueError, match=r"needs a pointwise.*auto, ocas, cpa"):
        model.fit(X, target(model, y))


def test_weights_equal_repetition(make):
    X, y = problem(80)
    times = np.random.default_rng(1).integers(0, 3, 80)
    weighted, repeated = make(C=0.05, tol=1e-6), make(C=0.05, tol=1e-6)
    t = target(weighted, y)
    weighted.fit(X, t, sample_weight=times)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(t, times))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-2)


def test_no_warning_when_the_tolerance_is_met(make):
    X, y = problem()
    model = make(C=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, target(model, y))
