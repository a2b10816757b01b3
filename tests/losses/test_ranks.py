from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.losses import Ranks
from maxmargin.losses.ranks import MANY_PAIRS

POOL = _core.Pool(2)


def quadratic_count(p, y, s):
    """c+ - c- of every row by comparing each with all, for sizes no Python loop would finish."""
    balance = np.empty(len(p))
    for i in range(len(p)):
        plus = (y < y[i]) & (p[i] - p < 1)
        minus = (y > y[i]) & (p - p[i] < 1)
        balance[i] = s[plus].sum() - s[minus].sum()
    return balance


@pytest.mark.parametrize("ranks", [2, 3, 17, 300, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_right_for_any_number_of_ranks(ranks, weighted):
    rng = np.random.default_rng(3)
    n = 3000
    y = rng.normal(size=n) if ranks is None else rng.integers(0, ranks, n).astype(float)
    p = np.round(rng.normal(size=n), 2)
    s = rng.random(n) if weighted else np.ones(n)
    loss = Ranks(y, 1.0, POOL, sample_weight=s if weighted else None)
    _, grad = loss.evaluate(p)
    scale = s.sum() / loss.pairs
    np.testing.assert_allclose(grad, -scale * s * quadratic_count(p, y, s), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ranks", [2, 40, None])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [17_000, 70_000])
def test_large_queries_give_what_their_thinned_parts_give(ranks, weighted, n):
    """A query cut into parts for many threads, against the same rows as one part."""
    rng = np.random.default_rng(4)
    y = rng.normal(size=n) if ranks is None else rng.integers(0, ranks, n).astype(float)
    p = np.round(rng.normal(size=n), 3)
    s = rng.integers(0, 3, n).astype(float) if weighted else None
    R, grad = Ranks(y, 1.0, POOL, sample_weight=s).evaluate(p)
    some = rng.choice(n, 60, replace=False)
    weight = np.ones(n) if s is None else s
    loss = Ranks(y, 1.0, _core.Pool(1), sample_weight=s)
    scale = weight.sum() / loss.pairs
    for i in some:
        plus = weight[(y < y[i]) & (p[i] - p < 1)].sum()
        minus = weight[(y > y[i]) & (p - p[i] < 1)].sum()
        assert grad[i] == pytest.approx(-scale * weight[i] * (plus - minus), rel=1e-9, abs=1e-12)
    R_one, l_one = loss.evaluate(p)
    assert R_one == R
    np.testing.assert_array_equal(l_one, grad)


def test_value_is_the_sum_of_pair_losses():
    rng = np.random.default_rng(5)
    n = 1500
    y, p = rng.normal(size=n), rng.normal(size=n) + 1e6
    hinge = np.maximum(0, 1 - (p[:, None] - p[None, :]))[y[:, None] > y[None, :]]
    R, _ = Ranks(y, 2.0, POOL).evaluate(p)
    assert pytest.approx(2.0 * n * hinge.mean(), rel=1e-9) == R


@pytest.mark.parametrize(
    "values",
    [
        lambda rng, n: rng.standard_cauchy(n) ** 3,
        lambda rng, n: np.where(np.arange(n) == 7, 1e300, rng.normal(size=n)),
        lambda rng, n: np.ldexp(1.0, rng.integers(-1000, 1000, n)),
        lambda rng, n: np.zeros(n),
        lambda rng, n: np.where(rng.random(n) < 0.5, -1e308, 1e308),
        lambda rng, n: 1.0 + np.arange(n) * 2.0**-52,
    ],
)
def test_predictions_of_any_distribution_are_ordered(values):
    rng = np.random.default_rng(6)
    n = 40_000
    p = values(rng, n)
    y = (rng.random(n) < 0.3).astype(float)
    _, grad = Ranks(y, 1.0, POOL).evaluate(p)
    low, high = np.sort(p[y == 0]), np.sort(p[y == 1])
    scale = n / (len(low) * len(high))
    for i in rng.choice(n, 50, replace=False):
        with np.errstate(over="ignore"):
            violated = np.sum(p[i] - low < 1) if y[i] else -np.sum(high - p[i] < 1)
        assert grad[i] == pytest.approx(-scale * violated, rel=1e-12, abs=1e-15)


def test_queries_count_equally_and_may_come_in_any_order():
    rng = np.random.default_rng(8)
    qid = np.array(["b", "a", "b", "a", "b", "c"])
    y = np.array([1.0, 0, 0, 2, 0, 5])
    p = rng.normal(size=6)
    R, grad = Ranks(y, 1.0, POOL, qid=qid).evaluate(p)
    hinge = lambda i, j: max(0.0, 1 - (p[i] - p[j]))  # noqa: E731
    expected = 5 / 2 * (hinge(3, 1) + (hinge(0, 2) + hinge(0, 4)) / 2)
    assert pytest.approx(expected, rel=1e-12) == R
    assert grad[5] == 0
    order = rng.permutation(6)
    R_other, l_other = Ranks(y[order], 1.0, POOL, qid=qid[order]).evaluate(p[order])
    assert R_other == pytest.approx(R, rel=1e-12)
    np.testing.assert_allclose(l_other, grad[order], rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 2.0**-600, 2.0**600, 1e300])
def test_weights_of_any_size_are_products_of_pairs(unit):
    """Products of such weights are beyond float64; once that gave a loss of zero, unsaid."""
    rng = np.random.default_rng(11)
    y, p, s = rng.integers(0, 3, 30).astype(float), rng.normal(size=30), rng.random(30)
    R, grad = Ranks(y, 1.0, POOL, sample_weight=s).evaluate(p)
    R_unit, l_unit = Ranks(y, 1.0, POOL, sample_weight=s * unit).evaluate(p)
    assert R_unit / unit == pytest.approx(R, rel=1e-12)
    np.testing.assert_allclose(l_unit / unit, grad, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("heavy", [0, 1])
def test_a_light_row_beside_a_heavy_one_keeps_its_digits(heavy):
    """The weight of the pairs is no difference of sums."""
    weight = np.full(2, 1.61e-5)
    weight[heavy] = 204001.0
    loss = Ranks(np.array([1.0, 0.0]), 3.6e-7, POOL, sample_weight=weight)
    assert loss.value(np.zeros(2)) == pytest.approx(3.6e-7 * weight.sum(), rel=1e-14)


def test_many_queries_equal_the_mean_of_single_ones():
    rng = np.random.default_rng(9)
    n, Q = 9000, 300
    qid, y, p = rng.integers(0, Q, n), rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    loss = Ranks(y, 1.0, POOL, qid=qid)
    R, grad = loss.evaluate(p)
    total = 0.0
    for q in np.unique(qid):
        rows = qid == q
        part, l_part = Ranks(y[rows], 1.0 / rows.sum(), POOL).evaluate(p[rows])
        total += part
        np.testing.assert_allclose(grad[rows], l_part * n / loss.queries, rtol=1e-9, atol=1e-12)
    assert pytest.approx(n * total / loss.queries, rel=1e-9) == R


def test_the_subgradient_where_a_search_ended_is_known_where_pairs_are_many():
    rng = np.random.default_rng(10)
    few, many = Ranks(np.arange(50.0), 1.0, POOL), Ranks(np.arange(3000.0), 1.0, POOL)
    assert many.pairs >= MANY_PAIRS > few.pairs
    for loss in (few, many):
        assert loss.known_subgradient() is None  # before any search
        p, dp = rng.normal(size=loss.n), 1e-3 * np.arange(loss.n)
        k, R = loss.search(p, dp, 1.0, 0.0)
        assert k > 0
        if loss is few:  # a search ends at a kink there
            assert loss.known_subgradient() is None
            continue
        R_end, l_end = loss.evaluate(p + k * dp)
        assert R_end == pytest.approx(R, rel=1e-12)
        np.testing.assert_allclose(loss.known_subgradient(), l_end, rtol=1e-9, atol=1e-12)


def test_one_rank_is_refused():
    with pytest.raises(ValueError, match="all 4 rows have the target 2"):
        Ranks(np.full(4, 2.0), 1.0, POOL)


def test_queries_of_one_row_are_refused_when_there_is_nothing_else():
    with pytest.raises(ValueError, match="within any one of the"):
        Ranks(np.arange(4.0), 1.0, POOL, qid=np.arange(4))


def test_predictions_that_overflow_are_refused():
    loss = Ranks(np.arange(4.0), 1.0, POOL)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="infinite or not a number"):
            loss.evaluate(np.array([0.0, bad, 1.0, 2.0]))


def by_pairs(y, p, C, weight):
    """The definition, pair by pair, in numpy's longest float."""
    y, p, s = (np.asarray(v, dtype=np.longdouble) for v in (y, p, weight))
    pairs = (y[:, None] > y[None, :]) * s[:, None] * s[None, :]
    hinge = np.maximum(0, 1 - (p[:, None] - p[None, :]))
    return float(C * s.sum() / pairs.sum() * (pairs * hinge).sum())


@pytest.mark.parametrize("n", [3, 12, 40, 300])
def test_the_value_of_nearly_ordered_rows_keeps_its_digits(n):
    """What an evaluation loses: R is a millionth of C N, and weights span ten orders."""
    rng = np.random.default_rng(n)
    y, weight = np.arange(n, dtype=float), 10.0 ** rng.uniform(-5, 5, n)
    p = y * (1 - 1e-9) + 1e-9 * rng.normal(size=n)
    loss = Ranks(y, 1e6, _core.Pool(1), sample_weight=weight)
    assert loss.value(p) == pytest.approx(by_pairs(y, p, 1e6, weight), rel=1e-7)
    assert loss.value(1e150 * (y - n)) == 0


def test_the_value_of_many_pairs_is_that_of_an_evaluation():
    rng = np.random.default_rng(0)
    y, p = rng.integers(3, size=3000), rng.normal(size=3000)
    loss = Ranks(y, 1.0, _core.Pool(1))
    assert not loss.core.has_few_pairs
    assert loss.value(p) == loss.evaluate(p)[0]
    assert loss.core.value(p) == pytest.approx(loss.value(p), rel=1e-12)


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 1e308])
def test_two_ranks_are_merged_to_the_counts_of_a_search(share, spread):
    """Many rows of two ranks: ties, either rank rare, differences that overflow."""
    rng = np.random.default_rng(6)
    n = 20_000
    y = (np.arange(n) < share * n).astype(float)
    rng.shuffle(y)
    p = np.round(rng.uniform(-1, 1, n), 3) * spread + (y if spread == 1 else 0)
    positive, negative = np.sort(p[y == 1]), np.sort(p[y == 0])
    with np.errstate(over="ignore"):
        missed = {
            1: lambda v: sum(v - negative < 1),
            0: lambda v: sum(positive - v < 1),
        }
        some = np.concatenate([np.flatnonzero(y == k)[:20] for k in (0, 1)])
        counts = np.array([missed[int(y[i])](p[i]) for i in some])
    answers = [Ranks(y, 1.0, _core.Pool(threads)).evaluate(p) for threads in (1, 3)]
    (R, grad), (again, same) = answers
    scale = n / (len(positive) * len(negative))
    np.testing.assert_allclose(grad[some], scale * np.where(y[some] == 1, -counts, counts))
    np.testing.assert_array_equal(grad, same)
    assert again == R or not np.isfinite(R)
