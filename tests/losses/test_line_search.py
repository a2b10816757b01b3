from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.losses import Hinge, Ranks, measure_loss
from maxmargin.losses.line_search import TrialPoint, minimise

POOL = _core.Pool(1)


def losses(y):
    yield "ranks", Ranks(np.arange(len(y)) % 7, 0.1, POOL)
    for measure in ("roc_auc", "f1", "prbep", "precision_at_k"):
        yield measure, measure_loss(measure, y, 0.1, POOL, k=0.2)


def value(loss, p, dp, A0, B0, k):
    return 0.5 * k * k * A0 + k * B0 + loss.evaluate(p + k * dp)[0]


@pytest.mark.parametrize("n", [12, 400])
@pytest.mark.parametrize("seed", range(4))
def test_the_step_found_gains_most_of_what_there_is(n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    for name, loss in losses(y):
        p, dp = rng.normal(size=n), rng.normal(size=n) + 0.3 * y
        A0, B0 = rng.random(), -rng.random()
        k, R = loss.search(p, dp, A0, B0)
        assert pytest.approx(loss.evaluate(p + k * dp)[0], rel=1e-9, abs=1e-12) == R
        start = value(loss, p, dp, A0, B0, 0)
        grid = np.concatenate((np.geomspace(1e-4, 1e2, 200), np.linspace(0, 3, 200)))
        best = min(value(loss, p, dp, A0, B0, x) for x in grid)
        found = value(loss, p, dp, A0, B0, k)
        assert found <= start, name
        assert found - best <= max(start - best, 0) / 3 + 1e-9, name


def test_no_step_where_the_objective_does_not_fall():
    y = np.where(np.arange(20) % 2 == 0, 1.0, -1.0)
    for _, loss in losses(y):
        p = np.zeros(20)
        R, grad = loss.evaluate(p)
        k, R_found = loss.search(p, grad, 1.0, 0.0)  # uphill
        assert k == 0 and R_found == R


def test_few_evaluations_are_needed():
    rng = np.random.default_rng(0)
    n = 2000
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    for name, loss in losses(y):
        evaluate, counted = loss.evaluate, []
        loss.evaluate = lambda p, e=evaluate, c=counted: (c.append(1), e(p))[1]
        p = np.zeros(n)
        for _ in range(20):
            dp = 0.5 * rng.normal(size=n) + 0.2 * y
            loss.search(p, dp, 0.5, 0.0)
            p = p + 0.1 * rng.normal(size=n)
        assert len(counted) / 20 <= 7, name


def test_sampled_rows_say_where_to_look_first():
    rng = np.random.default_rng(1)
    n = 70_000
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    p, dp = rng.normal(size=n), rng.normal(size=n) + y
    for name, loss in [(m, measure_loss(m, y, 1e-3, POOL)) for m in ("roc_auc", "f1")]:
        evaluate, counted = loss.evaluate, []
        loss.evaluate = lambda p, e=evaluate, c=counted: (c.append(1), e(p))[1]
        k, R = loss.search(p, dp, 5.0, 0.0)
        assert k > 0
        assert len(counted) <= 4, name
        assert pytest.approx(evaluate(p + k * dp)[0], rel=1e-12) == R


def test_the_search_agrees_with_the_exact_one_of_the_hinge_loss():
    rng = np.random.default_rng(2)
    n = 300
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    hinge = Hinge(y, 0.1, POOL)
    from maxmargin.losses.line_search import SearchedLoss

    class Evaluated(SearchedLoss):
        def __init__(self):
            super().__init__()
            self.n, self.pool = n, POOL

        def evaluate(self, p):
            return hinge.evaluate(p)

    for _ in range(10):
        p, dp = rng.normal(size=n), rng.normal(size=n) + y
        exact, _ = hinge.search(p, dp, 1.0, 0.0)
        found, _ = Evaluated().search(p, dp, 1.0, 0.0)
        G0 = value(hinge, p, dp, 1.0, 0.0, 0)
        gain = G0 - value(hinge, p, dp, 1.0, 0.0, exact)
        assert G0 - value(hinge, p, dp, 1.0, 0.0, found) >= 0.9 * gain - 1e-12


def test_slopes_whose_squares_leave_float64_are_searched():
    """An OverflowError on a cluster, where features were 1e123 and slopes are Python's numbers."""
    line = Parabola(bend=1e160, slope=-1e160)
    best = minimise(line, line(0.0), 0.5)
    assert 0.5 < best.k < 1.5


class Parabola:
    """``G(k) = bend k^2 / 2 + slope k``, whose A0 is not known to be its bend."""

    A0 = 1.0

    def __init__(self, bend: float, slope: float) -> None:
        self.bend, self.slope = bend, slope

    def __call__(self, k: float) -> TrialPoint:
        G = 0.5 * self.bend * k * k + self.slope * k
        return TrialPoint(k, G, self.bend * k + self.slope, G, np.zeros(1), np.zeros(1))
