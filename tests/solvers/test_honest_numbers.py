"""What cannot be true is not claimed: bounds that enclose nothing, numbers beyond float64."""

import math
import warnings

import numpy as np
import pytest

from maxmargin import LinearSVC, MeasureSVC, OrdinalSVC, RankSVM
from maxmargin.problem import Certificate, Settings, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.common.vectors import dual_bound


@pytest.mark.parametrize(
    "primal, dual",
    [(6.2, 6.8e14), (0.0004, 0.4996), (math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)],
)
def test_numbers_that_enclose_nothing_are_never_optimal(primal, dual):
    assert Certificate(primal, dual, Status.OPTIMAL, 1, 0.1).status is Status.STALLED
    assert not Run(Settings(tol=1e-3)).within_tolerance(primal, dual)


def test_a_dual_equal_to_the_primal_but_for_rounding_is_optimal():
    certificate = Run(Settings(tol=1e-3)).certify(1.0, 1.0 + 1e-12)
    assert certificate.status is Status.OPTIMAL
    assert certificate.gap == 0


@pytest.mark.parametrize("dual", [2.0, math.nan, math.inf])
def test_a_dual_that_cannot_be_a_bound_is_not_printed(dual):
    certificate = Run(Settings(tol=1e-3)).certify(1.0, dual)
    assert (certificate.dual, certificate.status) == (0.0, Status.STALLED)


def test_an_objective_beyond_float64_is_refused():
    with pytest.raises(ValueError, match="Scale the features or lower C"):
        Run(Settings()).certify(math.inf, 1.0)


def test_a_bound_that_is_lost_in_its_own_sum_is_no_bound():
    assert dual_bound(1e20, 2e20 * (1 - 1e-15)) == 0
    assert dual_bound(3.0, 2.0) == pytest.approx(2.0, rel=1e-12)
    assert dual_bound(math.nan, 1.0) == 0


ESTIMATORS = {
    **{
        name: lambda name=name, **o: LinearSVC(solver=name, **o)
        for name in ("auto", "dual", "newton", "ocas", "cpa")
    },
    "rank": RankSVM,
    "ordinal": OrdinalSVC,
    "f1": lambda **o: MeasureSVC(measure="f1", **o),
    "roc_auc": lambda **o: MeasureSVC(measure="roc_auc", **o),
}


def data(name, scale, dtype=np.float64, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X @ [1.0, -1.0, 0.5] + rng.normal(size=n)
    y = np.digitize(score, [-1, 0, 1]) if name in ("rank", "ordinal") else (score > 0).astype(int)
    return np.clip(X * scale, np.finfo(dtype).min, np.finfo(dtype).max).astype(dtype), y


def fitted(name, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name](max_iter=50, **options).fit(X, y)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("scale", [1e-150, 1e-38, 1e-8, 1e8, 1e20, 1e38, 1e100, 1e150])
def test_features_of_any_scale_get_bounds_that_hold(name, scale):
    X, y = data(name, scale)
    model = fitted(name, X, y)
    certificate = model.certificate_
    assert np.isfinite(model.coef_).all()
    assert 0 <= certificate.dual <= certificate.primal <= 40 * (1 + 1e-12)  # w = 0 costs 40
    assert certificate.status is not Status.OPTIMAL or certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["rank", "ordinal", "f1", "roc_auc", "ocas"])
@pytest.mark.parametrize("scale", [3e37, 1e38])
def test_float32_features_at_the_end_of_their_range_get_bounds_that_hold(name, scale, seed):
    certificate = fitted(name, *data(name, scale, np.float32, seed=seed)).certificate_
    assert 0 <= certificate.dual <= certificate.primal
    assert certificate.status is not Status.OPTIMAL or certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_features_whose_squares_overflow_are_refused(name, scale):
    with pytest.raises(ValueError, match="Scale the features or lower C"):
        fitted(name, *data(name, scale))


def test_rows_that_nearly_cancel_do_not_hide_squares_that_overflow():
    X, y = 1e160 * np.array([[1.0], [1.0], [1e-7]]), np.array([1, 0, 1])
    with pytest.raises(ValueError, match="Scale the features or lower C"):
        fitted("dual", X, y, fit_intercept=False)
    newton = fitted("newton", X, y, fit_intercept=False).certificate_
    assert newton.status is not Status.OPTIMAL and newton.dual <= newton.primal


def test_an_objective_is_not_the_rounding_error_of_counts():
    """Scores of 1e25: R is a difference of numbers of 1e30, and came out as -1e15."""
    x = [5.3132, 15.9396, -5.3132, 15.9396, -5.3132, -5.3132, 8.2732, -5.3132, -2.3532, -5.3132]
    y = list("bcacaabaaa")
    weight = {"a": 49.1, "b": 180.0, "c": 0.00624}
    X = 1e101 * np.array(x)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrdinalSVC(C=260.0, tol=0.1, max_iter=100, class_weight=weight).fit(
            np.tile(X, (5, 1)), y * 5
        )
    assert 0 <= model.certificate_.dual <= model.certificate_.primal < 1e-100
