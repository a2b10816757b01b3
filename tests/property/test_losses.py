"""Losses against their definitions, on small cases with ties everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _core
from maxmargin.losses import Hinge, Ranks, measure_loss
from tests.losses import brute_force

POOL = _core.Pool(2)
TABLE_MEASURES = ["f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "error"]

# Quarters: exact in binary, and differences of exactly 1 are common.
predictions = st.integers(-10, 10).map(lambda v: v / 4)


@st.composite
def ranking(draw, most=14):
    n = draw(st.integers(2, most))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    p, y = column(predictions).astype(float), column(st.integers(0, 5)).astype(float)
    qid = column(st.integers(7, 9)) if draw(st.booleans()) else None
    weight = column(st.integers(0, 3)).astype(float) if draw(st.booleans()) else None
    return p, y, qid, weight


@st.composite
def labelling(draw, most=9):
    n = draw(st.integers(2, most))
    p = np.array(draw(st.lists(predictions, min_size=n, max_size=n)), dtype=float)
    positives = draw(st.integers(1, n - 1))
    y = np.array(draw(st.permutations([1.0] * positives + [-1.0] * (n - positives))))
    return p, y, draw(st.integers(1, n)), draw(st.sampled_from([0.5, 1.0, 2.0]))


def has_pairs(y, qid, weight):
    counted = np.ones(len(y), bool) if weight is None else weight > 0
    groups = np.zeros(len(y)) if qid is None else qid
    return any(len(np.unique(y[counted & (groups == q)])) > 1 for q in np.unique(groups))


@given(ranking(), st.sampled_from([0.1, 1.0, 7.0]))
@settings(max_examples=300, deadline=None)
def test_ranks_equal_the_sum_over_all_pairs(case, C):
    p, y, qid, weight = case
    if not has_pairs(y, qid, weight):
        with pytest.raises(ValueError, match="nothing to rank"):
            Ranks(y, C, POOL, qid=qid, sample_weight=weight)
        return
    R, grad = Ranks(y, C, POOL, qid=qid, sample_weight=weight).evaluate(p)
    R_all, l_all = brute_force.ranks(p, y, C, qid, weight)
    assert pytest.approx(R_all, rel=1e-12, abs=1e-12) == R
    np.testing.assert_allclose(grad, l_all, rtol=1e-12, atol=1e-12)


@given(ranking())
@settings(max_examples=100, deadline=None)
def test_ranks_with_weight_two_equal_the_row_twice(case):
    p, y, qid, weight = case
    weight = np.ones(len(y)) if weight is None else weight
    if not has_pairs(y, qid, weight):
        return
    times = weight.astype(int)
    R, grad = Ranks(y, 0.7, POOL, qid=qid, sample_weight=weight).evaluate(p)
    repeated = None if qid is None else np.repeat(qid, times)
    R_twice, l_twice = Ranks(np.repeat(y, times), 0.7, POOL, qid=repeated).evaluate(
        np.repeat(p, times)
    )
    assert pytest.approx(R_twice, rel=1e-12, abs=1e-12) == R
    source = np.repeat(np.arange(len(y)), times)
    np.testing.assert_allclose(grad, np.bincount(source, l_twice, len(y)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measure", TABLE_MEASURES)
@given(case=labelling())
@settings(max_examples=120, deadline=None)
def test_measures_equal_the_maximum_over_all_labellings(measure, case):
    p, y, k, beta = case
    R, _ = measure_loss(measure, y, 0.3, POOL, beta=beta, k=k).evaluate(p)
    assert (
        pytest.approx(brute_force.measures(measure, p, y, 0.3, beta, k), rel=1e-12, abs=1e-12) == R
    )


@pytest.mark.parametrize("measure", TABLE_MEASURES)
@given(case=labelling(), repeats=st.lists(st.integers(0, 3), min_size=9, max_size=9))
@settings(max_examples=60, deadline=None)
def test_measures_with_whole_weights_equal_repeated_rows(measure, case, repeats):
    p, y, _, beta = case
    times = np.array(repeats[: len(y)])
    repeated = np.repeat(y, times)
    if len(np.unique(repeated)) < 2:
        return
    R, grad = measure_loss(
        measure, y, 0.3, POOL, beta=beta, k=1, sample_weight=times.astype(float)
    ).evaluate(p)
    R_twice, l_twice = measure_loss(measure, repeated, 0.3, POOL, beta=beta, k=1).evaluate(
        np.repeat(p, times)
    )
    source = np.repeat(np.arange(len(y)), times)
    assert pytest.approx(R_twice, rel=1e-12, abs=1e-12) == R
    np.testing.assert_allclose(grad, np.bincount(source, l_twice, len(y)), atol=1e-12)


def table_value(measure, z, p, y, s, beta, k):
    """What a labelling z in [0, 1]^n of parts of rows is worth, None where it is not allowed."""
    n, positives = s.sum(), s[y > 0].sum()
    a, b = s[y > 0] @ z[y > 0], s[y < 0] @ z[y < 0]
    if measure in ("f1", "fbeta"):
        square = 1.0 if measure == "f1" else beta**2
        delta = 1 - (1 + square) * a / (a + b + square * positives)
    elif measure == "prbep":
        delta = 1 - a / positives if abs(a + b - positives) < 1e-9 else None
    elif k <= positives:
        delta = 1 - a / (a + b) if a + b >= k else None
    else:
        delta = 1 - a / positives if a + b <= k else None
    if delta is None:
        return None
    wrong = np.where(y > 0, 1 - z, z)
    return n * delta - np.sum(s * wrong * y * p)


@pytest.mark.parametrize("measure", ["f1", "fbeta", "prbep", "precision_at_k"])
@given(case=labelling(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_fractional_weights_allow_parts_of_rows(measure, case, seed):
    """Many small copies of every row: the more there are, the nearer their loss comes."""
    p, y, k, beta = case
    rng = np.random.default_rng(seed)
    quarters = rng.integers(1, 12, len(y))
    s = quarters / 4 + (0.25 if np.all(quarters % 4 == 0) else 0.0)  # one at least is no number
    k = min(k, int(s.sum()))
    if k < 1:
        return
    loss = measure_loss(measure, y, 0.5, POOL, beta=beta, k=k, sample_weight=s)
    R, grad = loss.evaluate(p)
    copies = 64
    times = np.rint(s * copies).astype(int)
    fine = measure_loss(measure, np.repeat(y, times), 0.5, POOL, beta=beta, k=k * copies)
    R_fine, _ = fine.evaluate(np.repeat(p, times))
    assert R_fine / copies - 1e-9 <= R
    assert pytest.approx(R_fine / copies, rel=2e-3, abs=1e-9) == R
    if measure == "prbep":  # linear in the table: small copies are as good as any part
        assert pytest.approx(R_fine / copies, rel=1e-12, abs=1e-9) == R
    # No labelling is worth more, and the subgradient supports the loss.
    for _ in range(20):
        z = np.where(rng.random(len(y)) < 0.3, rng.random(len(y)), rng.integers(0, 2, len(y)))
        value = table_value(measure, z, p, y, s, beta, k)
        assert value is None or 0.5 * value <= R + 1e-9
        q = rng.normal(size=len(y))
        assert loss.evaluate(q)[0] >= R + grad @ (q - p) - 1e-9
    assert loss.at_zero == pytest.approx(loss.evaluate(np.zeros(len(p)))[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("measure", TABLE_MEASURES)
@given(case=labelling(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_does_not_matter(measure, case, seed):
    p, y, k, beta = case
    order = np.random.default_rng(seed).permutation(len(y))
    R, grad = measure_loss(measure, y, 0.3, POOL, beta=beta, k=k).evaluate(p)
    R_other, l_other = measure_loss(measure, y[order], 0.3, POOL, beta=beta, k=k).evaluate(p[order])
    assert R_other == pytest.approx(R, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(l_other, grad[order], atol=1e-12)


@pytest.mark.parametrize("measure", [*TABLE_MEASURES, "roc_auc"])
@given(case=labelling(), other=st.lists(predictions, min_size=9, max_size=9))
@settings(max_examples=80, deadline=None)
def test_the_subgradient_supports_the_loss(measure, case, other):
    p, y, k, beta = case
    loss = measure_loss(measure, y, 1.0, POOL, beta=beta, k=k)
    R, grad = loss.evaluate(p)
    q = np.array(other[: len(p)], dtype=float)
    assert R >= 0
    assert loss.at_zero == pytest.approx(loss.evaluate(np.zeros(len(p)))[0], rel=1e-12, abs=1e-12)
    assert loss.evaluate(q)[0] >= R + grad @ (q - p) - 1e-9


@given(labelling())
@settings(max_examples=50, deadline=None)
def test_roc_area_is_ranking_with_two_ranks(case):
    p, y, _, _ = case
    R, grad = measure_loss("roc_auc", y, 2.0, POOL).evaluate(p)
    R_all, l_all = brute_force.ranks(p, y, 2.0)
    assert pytest.approx(R_all, rel=1e-12, abs=1e-12) == R
    np.testing.assert_allclose(grad, l_all, atol=1e-12)


@given(labelling())
@settings(max_examples=50, deadline=None)
def test_error_rate_is_the_hinge_sum(case):
    p, y, _, _ = case
    loss = measure_loss("error", y, 0.3, POOL)
    assert isinstance(loss, Hinge)
    assert loss.evaluate(p)[0] == pytest.approx(0.3 * np.maximum(0, 1 - y * p).sum(), rel=1e-12)
