from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.losses import measure_loss
from maxmargin.losses.measures import number_taken

POOL = _core.Pool(2)
Y = np.array([1.0, 1, -1, -1, -1])


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0])
def test_fbeta_finds_the_best_of_all_tables(beta):
    rng = np.random.default_rng(0)
    n = 600
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    for scale in (0.01, 1.0, 5.0):
        p = scale * (rng.normal(size=n) + 0.5 * y)
        R, _ = measure_loss("fbeta", y, 1.0, POOL, beta=beta).evaluate(p)
        positive, negative = np.sort(p[y > 0]), np.sort(p[y < 0])[::-1]
        a = np.arange(len(positive) + 1)[:, None]
        b = np.arange(len(negative) + 1)[None, :]
        F = (1 + beta**2) * a / (a + b + beta**2 * len(positive))
        missed = np.concatenate(([0.0], np.cumsum(positive)))[len(positive) - a]
        taken = np.concatenate(([0.0], np.cumsum(negative)))[b]
        assert pytest.approx(np.max(n * (1 - F) - missed + taken), rel=1e-12) == R


@pytest.mark.parametrize("measure", ["f1", "prbep", "precision_at_k", "recall_at_k"])
def test_results_do_not_depend_on_threads(measure):
    rng = np.random.default_rng(1)
    n = 90_000
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    p = rng.normal(size=n) + y
    one = measure_loss(measure, y, 1.0, _core.Pool(1), k=0.3).evaluate(p)
    two = measure_loss(measure, y, 1.0, _core.Pool(3), k=0.3).evaluate(p)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


def test_k_may_be_a_share_of_the_rows():
    p = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    count = measure_loss("precision_at_k", Y, 1.0, POOL, k=2).evaluate(p)
    share = measure_loss("precision_at_k", Y, 1.0, POOL, k=0.4).evaluate(p)
    assert count[0] == share[0]


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (6, "more than the 5 rows"),
        (0, "1 or more"),
        (2.5, "1 or more"),
        (-1, "1 or more"),
        (None, "needs k"),
        (float("nan"), "1 or more"),
        ("3", "expected a whole number"),
        (True, "expected a whole number"),
    ],
)
def test_unusable_k_is_refused(k, message):
    for measure in ("precision_at_k", "recall_at_k"):
        with pytest.raises(ValueError, match=message):
            measure_loss(measure, Y, 1.0, POOL, k=k)


@pytest.mark.parametrize("measure", ["f1", "prbep", "precision_at_k", "recall_at_k", "roc_auc"])
def test_both_classes_are_needed(measure):
    with pytest.raises(ValueError, match="no positive row"):
        measure_loss(measure, -np.ones(4), 1.0, POOL, k=1)
    with pytest.raises(ValueError, match="no negative row"):
        measure_loss(measure, np.ones(4), 1.0, POOL, k=1)
    with pytest.raises(ValueError, match="no positive row of positive weight"):
        measure_loss(measure, Y, 1.0, POOL, k=1, sample_weight=np.array([0.0, 0, 1, 1, 1]))


def test_a_share_of_fractional_weights_is_not_rounded():
    """Whether the weights are whole decides, not whether their sum is: that depends on rounding."""
    balanced = np.array([2 / 3, 2 / 3, 2 / 3, 2.0])
    assert balanced.sum() == 4
    assert number_taken("recall_at_k", 0.19, balanced) == pytest.approx(0.76)
    assert number_taken("recall_at_k", 0.19, np.ones(10)) == 2


@pytest.mark.parametrize("measure", ["precision_at_k", "recall_at_k"])
def test_as_many_rows_as_positives_are_as_many_whatever_their_sums_round_to(measure):
    """Half the weight of balanced classes is that of the positives."""
    weight, p = np.array([0.75, 0.75, 0.5, 0.5, 0.5]), np.array([0.5, -1.4, 1.5, -0.5, -2.3])
    values = [
        measure_loss(measure, Y, 1.0, POOL, k=k, sample_weight=weight).evaluate(p)[0]
        for k in (0.5, 0.5 * (1 + 1e-15), 0.5 * (1 - 1e-15))
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)


def test_products_that_are_whole_but_for_rounding_count_copies():
    weight = np.array([49 * (1 / 49), 1.0, 1.0, 1.0, 1.0])
    p = np.array([2.5, -1.4, 1.5, -0.5, -2.3])
    nearly, whole, parts = (
        measure_loss("f1", Y, 1.0, POOL, sample_weight=w).evaluate(p)[0]
        for w in (weight, np.ones(5), weight * (1 + 1e-9))
    )
    assert weight[0] != 1
    assert nearly == whole != pytest.approx(parts, rel=1e-6)


@pytest.mark.parametrize("measure", ["f1", "prbep", "precision_at_k", "recall_at_k"])
def test_any_weights_are_counted(measure):
    """A hair beside whole weights is a hair beside their loss; rows of weight 0 are not there."""
    rng = np.random.default_rng(2)
    n = 400
    y, p = np.where(rng.random(n) < 0.3, 1.0, -1.0), rng.normal(size=n)
    times = rng.integers(0, 3, n).astype(float)
    whole = measure_loss(measure, y, 1.0, POOL, k=0.2, sample_weight=times)
    nearly = measure_loss(measure, y, 1.0, POOL, k=0.2, sample_weight=times * (1 + 1e-9))
    assert nearly.evaluate(p)[0] == pytest.approx(whole.evaluate(p)[0], rel=1e-5)
    assert np.all(nearly.evaluate(p)[1][times == 0] == 0)


def test_huge_weights_take_no_memory():
    y, p = np.where(np.arange(50) < 20, 1.0, -1.0), np.linspace(-1, 1, 50)
    huge = measure_loss("f1", y, 1.0, POOL, sample_weight=np.full(50, 2.0**40))
    plain = measure_loss("f1", y, 1.0, POOL, sample_weight=np.full(50, 1.0))
    assert huge.evaluate(p)[0] / 2.0**40 == pytest.approx(plain.evaluate(p)[0], rel=1e-3)


@pytest.mark.parametrize("measure", ["f1", "prbep", "precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("k", [5, 40, 60])
def test_perfect_scores_cost_nothing(measure, k):
    """At any k, though with k other than the positives no labelling of k rows is right."""
    y = np.where(np.arange(100) < 40, 1.0, -1.0)
    R, grad = measure_loss(measure, y, 1.0, POOL, k=k).evaluate(100.0 * y)
    assert R == 0
    assert np.all(grad == 0)


def test_precision_and_recall_at_k_are_trained_alike():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    p = rng.normal(size=60)
    for k in (3, 30):
        precision = measure_loss("precision_at_k", y, 1.0, POOL, k=k).evaluate(p)
        recall = measure_loss("recall_at_k", y, 1.0, POOL, k=k).evaluate(p)
        assert precision[0] == recall[0]
        np.testing.assert_array_equal(precision[1], recall[1])


def test_rows_that_tie_share_their_fate():
    """At w = 0 all rows tie: which of them come first in the file must not matter."""
    _, grad = measure_loss("prbep", Y, 1.0, POOL).evaluate(np.zeros(5))
    np.testing.assert_allclose(grad, [-1, -1, 2 / 3, 2 / 3, 2 / 3])


def test_unknown_measures_are_refused():
    with pytest.raises(ValueError, match="'auc' is unknown; expected one of f1"):
        measure_loss("auc", Y, 1.0, POOL)
