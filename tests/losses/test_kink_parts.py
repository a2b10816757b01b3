"""The line search over parts finds what the search over all rows finds."""

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.losses import Hinge, LossSpec, Pointwise
from maxmargin.losses.kink_parts import PartLine, edges_of_each, search

POOL = _core.Pool(1)
EDGES = edges_of_each(1000)


def line(n, seed, *, ties=False, ordered=False):
    """Signed costs (some 0, some large), predictions and their changes."""
    rng = np.random.default_rng(seed)
    q = rng.choice([-1.0, 1.0], n) * rng.choice([0.0, 1.0, 100.0], n, p=[0.1, 0.8, 0.1])
    p, dp = 2 * rng.normal(size=n), rng.normal(size=n)
    if ties:
        p, dp = np.round(p, 1), np.round(dp, 1)
    order = np.argsort(-(np.abs(q) - q * p)) if ordered else slice(None)
    return q[order], p[order], dp[order]


def searched(q, p, dp, parts, A0, B0):
    """k, the loss, how often the parts were asked, and the most numbers one of them told."""
    pieces = np.array_split(np.arange(len(q)), parts)
    lines = []
    for i in pieces:
        share = (A0 * len(i) / len(q), B0 * len(i) / len(q))
        lines.append(PartLine(Pointwise(LossSpec("hinge"), q[i], None, POOL), p[i], dp[i], share))
    asked = []

    def ask(low, high):
        told = [line.summary(low, high, EDGES) for line in lines]
        asked.append(max(len(summary.edges) for summary in told))
        return told

    return *search(ask, A0, B0), len(asked), max(asked)


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("n", [1, 20, 3000, 60_000])
@pytest.mark.parametrize("how", [{}, {"ties": True}, {"ordered": True}])
@pytest.mark.parametrize("A0, B0", [(0.0, -0.5), (1.0, -10.0), (500.0, 0.0)])
def test_parts_find_the_exact_minimum_in_a_few_rounds(n, parts, how, A0, B0):
    q, p, dp = line(n, n + parts, **how)
    k, R, rounds, told = searched(q, p, dp, parts, A0, B0)
    k_all, R_all = Hinge(np.sign(q), np.abs(q), POOL).search(p, dp, A0, B0)
    loss = np.maximum(0, np.abs(q) - q * (p + k * dp)).sum()
    assert loss == pytest.approx(R, rel=1e-12)
    found, best = (k * (k * A0 / 2 + B0) + R for k, R in ((k, R), (k_all, R_all)))
    assert found == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert rounds <= 6 and told <= EDGES


def test_a_few_kinks_beside_very_many_equal_ones_are_found():
    """A sample of the kinks may see one value only."""
    n = 100_000
    q, p, dp = np.ones(n), np.zeros(n), np.ones(n)  # all kinks at 1
    p[[5, 70_001]] = [0.5, 0.25]
    dp[[5, 70_001]] = 100.0
    for B0 in (-1.0, n - 50.0, n + 50.0):
        k, R, _, _ = searched(q, p, dp, 2, 1e-3, B0)
        best, lowest = Hinge(q, np.ones(n), POOL).search(p, dp, 1e-3, B0)
        assert k == pytest.approx(best, rel=1e-12)
        assert lowest == pytest.approx(R, rel=1e-9)


def test_a_direction_that_only_rises_is_not_taken():
    q, p, dp = line(1000, 0)
    k, R, rounds, _ = searched(q, p, np.sign(q) * -np.abs(dp), 3, 1.0, 1.0)
    assert k == 0.0 and rounds <= 2
    loss = np.maximum(0, np.abs(q) - q * p).sum()
    assert loss == pytest.approx(R)


def test_rows_that_do_not_move_have_no_kinks():
    q, p, _ = line(100, 0)
    loss = Pointwise(LossSpec("hinge"), q, None, POOL)
    summary = PartLine(loss, p, np.zeros(100), (1.0, -1.0)).summary(0.0, np.inf, EDGES)
    assert (summary.count, summary.complete, summary.slope) == (0, True, 0.0)
