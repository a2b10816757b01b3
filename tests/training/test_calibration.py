"""The maps from scores to probabilities, and the rows they are fitted to."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from maxmargin import _core
from maxmargin.models.calibration import Isotonic, Sigmoid, probabilities_of
from maxmargin.training.calibration import (
    FOLDS,
    Problem,
    better_method,
    fit_isotonic,
    fit_sigmoid,
    folds_needed,
    folds_of,
    method_of,
    rows_to_leave_out,
    smoothed,
)
from maxmargin.training.targets import Labels


@pytest.mark.parametrize("scale, shift", [(1.0, 0.0), (1e-8, 3.0), (1e9, -1e9)])
def test_a_sigmoid_is_the_minimum_of_its_objective(scale, shift):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    is_one = rng.random(300) < 1 / (1 + np.exp(-(2 * x - 1)))
    s = rng.integers(1, 4, size=300).astype(float)
    t = smoothed(is_one, s)

    def objective(AB):
        z = AB[0] * x + AB[1]
        return float(s @ (np.logaddexp(0, z) - t * z))

    A, B = fit_sigmoid(scale * x + shift, t, s)
    found = objective([A * scale, B + A * shift])
    assert found <= minimize(objective, [0.0, 0.0], tol=1e-12).fun * (1 + 1e-8)


def test_equal_scores_have_the_share_of_their_class():
    t = smoothed(np.array([True, False, False, False]), np.ones(4))
    A, B = fit_sigmoid(np.full(4, 7.0), t, np.ones(4))
    assert A == 0.0 and 1 / (1 + math.exp(-B)) == pytest.approx(t.mean())


def test_separable_scores_have_finite_log_odds():
    f = np.array([-2.0, -1.0, 1.0, 2.0])
    t = smoothed(f > 0, np.ones(4))
    assert np.isfinite(fit_sigmoid(f, t, np.ones(4))).all()
    assert np.isfinite(fit_isotonic(f, t, np.ones(4))[1]).all()


def test_isotonic_values_increase_and_pool_what_violates():
    f = np.array([0.0, 1.0, 2.0, 3.0])
    knots, values = fit_isotonic(f, np.array([0.1, 0.6, 0.4, 0.9]), np.array([1.0, 1.0, 1.0, 1.0]))
    z = Isotonic(knots, values, np.array([0, len(knots)])).log_odds(f)
    np.testing.assert_allclose(1 / (1 + np.exp(-z)), [0.1, 0.5, 0.5, 0.9])


def test_probabilities_sum_to_one_however_large_the_log_odds():
    z = np.array([[800.0, -800.0, 0.0], [-800.0, -900.0, -1000.0]])
    P = probabilities_of(z)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P[0].argmax() == 0 and P[1].argmax() == 0
    np.testing.assert_allclose(probabilities_of(np.array([0.0])), [[0.5, 0.5]])


def test_equal_rows_share_a_fold_and_folds_share_the_classes():
    keys = np.repeat(np.arange(20.0), 2)
    labels = Labels(np.array([0, 1]), np.arange(40) // 20, None)
    fold = folds_of(keys, labels)
    assert (fold[::2] == fold[1::2]).all()
    for k in range(FOLDS):
        assert np.bincount(labels.codes[fold == k]).tolist() == [4, 4]


def test_rows_of_no_weight_and_classes_of_equal_rows_are_never_held_out():
    keys = np.array([1.0, 2.0, 3.0, 5.0, 5.0])
    labels = Labels(
        np.array([0, 1]), np.array([0, 0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    )
    assert folds_of(keys, labels).tolist() == [0, -1, 1, -1, -1]


def test_many_rows_need_fewer_folds():
    rng = np.random.default_rng(0)
    for n, most in ((1000, FOLDS), (30_000, 2), (60_000, 1)):
        labels = Labels(np.array([0, 1]), rng.integers(0, 2, size=n), None)
        fold = folds_of(rng.normal(size=n), labels)
        assert folds_needed(fold, labels, "auto") == most
        assert folds_needed(fold, labels, "isotonic") == FOLDS


def test_held_out_rows_choose_between_sigmoid_and_isotonic():
    rng = np.random.default_rng(0)
    f = rng.uniform(-3, 3, size=3000)
    keys, s = rng.normal(size=3000), np.ones(3000)
    bent = rng.random(3000) < np.where(f < 0, 0.3, 0.7)
    straight = rng.random(3000) < 1 / (1 + np.exp(-2 * f))
    assert better_method([Problem(f, bent, s)], keys) == "isotonic"
    assert better_method([Problem(f, straight, s)], keys) == "sigmoid"


@pytest.mark.parametrize("value", ["platt", 2, "True", 1.0, 0])
def test_an_unknown_probability_is_refused(value):
    with pytest.raises(ValueError, match="probability must be True, False or one of"):
        method_of(value)


def test_a_sigmoid_needs_a_slope_and_an_offset_for_each_score():
    with pytest.raises(ValueError, match="a slope and an offset"):
        Sigmoid(np.ones(2), np.zeros(3))


@pytest.mark.parametrize("seed", [0, 62, 140])
def test_a_sigmoid_takes_few_evaluations(seed):
    # Halving steps that looked bad for rounding alone took two thousand.
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(1, 3.5))
    f = rng.normal(size=n)
    is_one = rng.uniform(size=n) < 1 / (1 + np.exp(-1 - 10.0 ** rng.uniform(-2, 1) * f))
    assert _core.fit_sigmoid(f, smoothed(is_one, np.ones(n)), np.ones(n))[2] <= 25


def test_a_part_of_many_rows_stands_for_all_of_its_class():
    rng = np.random.default_rng(0)
    codes = (rng.random(40_000) < 0.02).astype(int)
    labels = Labels(np.array([0, 1]), codes, rng.integers(0, 3, size=40_000).astype(float))
    keys = np.round(rng.normal(size=40_000), 3)  # many rows are equal
    out, weights = rows_to_leave_out(keys, labels, "auto", None)
    assert len(out.rows) < 15_000 and (labels.weights()[out.rows] > 0).all()
    for code in (0, 1):
        drawn = out.rows[codes[out.rows] == code]
        assert weights[drawn].sum() == pytest.approx(labels.weights()[codes == code].sum())
        assert not set(keys[drawn]) & set(
            np.delete(keys, drawn)[(np.delete(labels.weights() * (codes == code), drawn)) > 0]
        )
    assert (keys[out.rows] == keys[out.first[out.group]]).all()


def test_classes_of_equal_rows_are_never_left_out():
    labels = Labels(np.array([0, 1]), np.array([0, 0, 0, 1, 1]), np.array([1.0, 0, 1, 1, 1]))
    out, _ = rows_to_leave_out(np.array([1.0, 2.0, 3.0, 5.0, 5.0]), labels, "auto", None)
    assert out.rows.tolist() == [0, 2]
