"""The hinge loss of predictions and its exact line search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _core
from maxmargin.losses import Hinge


def hinge(y, cost, threads=1):
    return Hinge(np.asarray(y, dtype=float), cost, _core.Pool(threads))


def values(y, cost, p):
    return cost * np.maximum(0.0, 1.0 - y * p)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=n)
    return y, rng.random(n), rng.normal(size=n), rng.normal(size=n)


def objective(y, cost, p, dp, A0, B0, k):
    """G(k) for every k of an array."""
    k = np.atleast_1d(k)
    R = np.array([values(y, cost, p + step * dp).sum() for step in k])
    return 0.5 * k**2 * A0 + k * B0 + R


def slope(y, cost, p, dp, A0, B0, k, side):
    """One-sided derivative of G at k: to the right (+1) or to the left (-1)."""
    C, B = cost * (1 - y * p), -cost * y * dp
    loss = C + k * B
    at_kink = np.abs(loss) <= 1e-12 * (np.abs(C) + np.abs(k * B))
    active = np.where(at_kink, side * B > 0, loss > 0)
    return k * A0 + B0 + B[active].sum()


def kinks(y, cost, p, dp):
    C, B = cost * (1 - y * p), -cost * y * dp
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        k = -C / B
    return np.unique(k[np.isfinite(k) & (k > 0)])


def brute_force(y, cost, p, dp, A0, B0):
    """min over k >= 0 of G: at 0, at a kink, or at the root between two kinks."""
    points = np.r_[0.0, kinks(y, cost, p, dp)]
    C, B = cost * (1 - y * p), -cost * y * dp
    ends = np.r_[points[1:], 2 * points[-1] + 1]
    middle = 0.5 * (points + ends)
    candidates = [*points]
    if A0 > 0:
        for left, right, inside in zip(points, np.r_[points[1:], np.inf], middle):
            root = -(B0 + B[C + inside * B > 0].sum()) / A0
            if left < root < right:
                candidates.append(root)
    return objective(y, cost, p, dp, A0, B0, np.array(candidates)).min()


def check_search(y, cost, p, dp, A0, B0, threads=1):
    k, R = hinge(y, cost, threads).search(p, dp, A0, B0)
    assert k >= 0 and np.isfinite(k)
    assert pytest.approx(values(y, cost, p + k * dp).sum(), rel=1e-10, abs=1e-10) == R
    return k


def check_is_minimum(y, cost, p, dp, A0, B0, k):
    """No slope to either side leads downwards, up to the rounding of a sum over n rows."""
    small = 1e-9 * (np.abs(cost * dp).sum() + abs(B0) + k * A0)
    step = 1e-9 * (1 + k)
    assert slope(y, cost, p, dp, A0, B0, k + step, +1) >= -small - step * A0
    if k > step:
        assert slope(y, cost, p, dp, A0, B0, k - step, -1) <= small + step * A0


@pytest.mark.parametrize("n", [1, 7, 1000, 30001])
def test_value_and_subgradient_equal_those_of_numpy(n):
    y, cost, p, _ = draw(n)
    R, subgrad = hinge(y, cost).evaluate(p)
    assert pytest.approx(values(y, cost, p).sum(), rel=1e-12) == R
    assert hinge(y, cost).value(p) == R
    np.testing.assert_array_equal(subgrad, np.where(y * p < 1, -cost * y, 0.0))
    assert hinge(y, cost).at_zero == pytest.approx(cost.sum())


def test_a_row_exactly_on_the_margin_costs_nothing():
    R, subgrad = hinge([1.0, -1.0, 1.0], 2.0).evaluate(np.array([1.0, -1.0, 0.0]))
    assert R == 2.0
    assert subgrad.tolist() == [0.0, 0.0, -2.0]


def test_rows_of_cost_zero_do_not_count():
    y, cost, p, dp = draw(500)
    cost[::2] = 0.0
    kept = np.s_[1::2]
    assert hinge(y, cost).value(p) == pytest.approx(hinge(y[kept], cost[kept]).value(p[kept]))
    k = check_search(y, cost, p, dp, 0.3, -5.0)
    assert k == pytest.approx(check_search(y[kept], cost[kept], p[kept], dp[kept], 0.3, -5.0))


def test_the_subgradient_bounds_the_loss_from_below():
    y, cost, p, dp = draw(300)
    loss = hinge(y, cost)
    R, subgrad = loss.evaluate(p)
    for k in (-3.0, -0.1, 0.1, 1.0, 10.0):
        assert loss.value(p + k * dp) >= R + k * (subgrad @ dp) - 1e-9


def test_a_thinned_loss_stands_for_all_rows():
    y, cost, p, _ = draw(100)
    thin = hinge(y, cost).subsample(5)
    assert thin.n == 20
    assert thin.value(p[::5]) == pytest.approx(5 * values(y, cost, p)[::5].sum())
    assert thin.at_zero == pytest.approx(5 * cost[::5].sum())


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_results_are_the_same_for_any_number_of_threads(threads):
    y, cost, p, dp = draw(60_000)
    alone, many = hinge(y, cost), hinge(y, cost, threads)
    assert alone.evaluate(p)[0] == many.evaluate(p)[0]
    np.testing.assert_array_equal(alone.evaluate(p)[1], many.evaluate(p)[1])
    for B0 in (-1.0, -1000.0, -10_000.0):
        assert alone.search(p, dp, 30.0, B0) == many.search(p, dp, 30.0, B0)


# ---------------------------------------------------------------- line search

small_number = st.integers(-4, 4).map(float)  # few values: many kinks fall together
any_number = st.floats(-1e3, 1e3).map(lambda x: x if abs(x) > 1e-6 else 0.0)
steepness = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


def rows_of(number):
    row = st.tuples(
        st.sampled_from([-1.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0, 3.0]), number, number
    )
    return st.lists(row, min_size=1, max_size=120)


@settings(max_examples=150)
@given(rows=st.one_of(rows_of(small_number), rows_of(any_number)), A0=steepness, B0=any_number)
def test_search_finds_the_minimum_of_brute_force(rows, A0, B0):
    y, cost, p, dp = (np.array(column) for column in zip(*rows))
    if A0 == 0 and slope(y, cost, p, dp, 0.0, B0, 1e12, +1) < 0:
        B0 = abs(B0) + np.abs(cost * dp).sum()  # else G falls for ever, which no P does
    k = check_search(y, cost, p, dp, A0, B0)
    best = brute_force(y, cost, p, dp, A0, B0)
    scale = abs(best) + abs(k * B0) + k * k * A0 + values(y, cost, p).sum()
    assert objective(y, cost, p, dp, A0, B0, k)[0] <= best + 1e-9 * scale
    grid = np.linspace(0, 2 * k + 1, 201)
    assert objective(y, cost, p, dp, A0, B0, grid).min() >= best - 1e-9 * scale


def test_no_step_is_taken_where_the_slope_does_not_fall():
    y, cost, p, dp = draw(50)
    assert check_search(y, cost, p, dp, 1.0, 1e3) == 0.0
    assert check_search(y, cost, p, np.zeros(50), 1.0, 0.0) == 0.0
    assert check_search(y, cost, p, np.zeros(50), 1.0, -2.0) == 2.0


def test_the_root_may_be_a_kink_shared_by_many_rows():
    n = 100  # all kinks at k = 2: losses 1 - y (p + k dp) with p = -1, dp = 1
    y, cost = np.ones(n), np.full(n, 0.1)
    p, dp = np.full(n, -1.0), np.ones(n)
    assert check_search(y, cost, p, dp, 1.0, 0.0) == 2.0
    assert check_search(y, cost, p, dp, 0.0, 0.0) == pytest.approx(2.0)


def test_a_flat_stretch_gives_one_of_its_points():
    y, cost = np.array([1.0, -1.0]), np.ones(2)  # falls until k = 1, rises after k = 3
    k = check_search(y, cost, np.array([0.0, -4.0]), np.array([1.0, 1.0]), 0.0, 0.0)
    assert 1.0 <= k <= 3.0


ORDERS = {
    "as drawn": lambda k, rng: rng.permutation(len(k)),
    "increasing kinks": lambda k, rng: np.argsort(k),
    "decreasing kinks": lambda k, rng: np.argsort(-k),
    "organ pipe": lambda k, rng: np.r_[np.argsort(k)[::2], np.argsort(k)[1::2][::-1]],
    "stairs": lambda k, rng: np.argsort(k).reshape(-1, 500).T.ravel(),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize("n", [2000, 50_000])
def test_search_is_exact_in_large_problems_of_any_order(order, share, n):
    """`share` of all kinks lie below the root. The larger n is searched by way of a sample, which
    the rows at the places it looks at may not stand for."""
    y, cost, p, dp = draw(n, seed=1)
    C, B = cost * (1 - y * p), -cost * y * dp
    places = ORDERS[order](np.where(B != 0, -C / B, 0.0), np.random.default_rng(2))
    y, cost, p, dp = y[places], cost[places], p[places], dp[places]
    k_wanted = np.quantile(kinks(y, cost, p, dp), share)
    A0 = 0.1 * n
    B0 = -slope(y, cost, p, dp, A0, 0.0, k_wanted, +1)
    k = check_search(y, cost, p, dp, A0, B0, threads=2)
    assert k == pytest.approx(k_wanted, rel=1e-6, abs=1e-9)
    check_is_minimum(y, cost, p, dp, A0, B0, k)


@pytest.mark.parametrize("odd", ["sampled rows", "other rows"])
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_sample_that_misleads_does_not_mislead_the_search(odd, factor):
    """The sample sees every (n // 4096)-th row from half that on: make exactly those different."""
    n = 40_960
    y, cost, p, dp = draw(n, seed=3)
    sampled = np.zeros(n, dtype=bool)
    sampled[5::10] = True
    dp[sampled if odd == "sampled rows" else ~sampled] *= factor
    for B0 in (-1.0, -300.0, -3000.0):
        k = check_search(y, cost, p, dp, 50.0, B0)
        check_is_minimum(y, cost, p, dp, 50.0, B0, k)


def test_large_problems_with_ties_everywhere():
    rng = np.random.default_rng(4)
    n = 50_000
    y = rng.choice([-1.0, 1.0], size=n)
    p, dp = (rng.integers(-2, 3, size=n).astype(float) for _ in range(2))
    cost = rng.choice([0.0, 1.0], size=n)
    for B0 in (0.0, -100.0, -10_000.0, -40_000.0):
        for A0 in (1e-3, 10.0, 1e5):
            k = check_search(y, cost, p, dp, A0, B0)
            best = brute_force(y, cost, p, dp, A0, B0)
            assert objective(y, cost, p, dp, A0, B0, k)[0] <= best + 1e-9 * abs(best) + 1e-6
