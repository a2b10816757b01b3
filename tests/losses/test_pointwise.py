"""Every pointwise loss: value, slope, conjugate, step and line search against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _core
from maxmargin.losses.pointwise import LossSpec, Pointwise
from maxmargin.losses.table import LOSSES
from maxmargin.parameters import ParameterError

POOL = _core.Pool(1)
SPECS = [
    LossSpec("hinge"),
    LossSpec("squared_hinge"),
    LossSpec("logistic"),
    LossSpec("epsilon_insensitive", 0.3),
    LossSpec("epsilon_insensitive", 0.0),
    LossSpec("squared_epsilon_insensitive", 0.3),
    LossSpec("quantile", 0.8),
    LossSpec("expectile", 0.2),
    LossSpec("huber", 0.7),
    LossSpec("squared"),
]
every_loss = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.name}-{spec.x}")
SMOOTH = [spec for spec in SPECS if not spec.is_piecewise_linear]

PLAIN = {
    "hinge": lambda r, x: np.maximum(0, r),
    "squared_hinge": lambda r, x: np.maximum(0, r) ** 2,
    "logistic": lambda r, x: np.logaddexp(0, r),
    "epsilon_insensitive": lambda r, x: np.maximum(0, np.abs(r) - x),
    "squared_epsilon_insensitive": lambda r, x: np.maximum(0, np.abs(r) - x) ** 2,
    "quantile": lambda r, x: np.maximum(x * r, (x - 1) * r),
    "expectile": lambda r, x: np.where(r > 0, x, 1 - x) * r**2,
    "huber": lambda r, x: np.where(np.abs(r) <= x, r**2 / 2, x * np.abs(r) - x**2 / 2),
    "squared": lambda r, x: r**2 / 2,
}


def test_every_loss_of_the_table_is_tested():
    assert set(LOSSES) == {spec.name for spec in SPECS} == set(PLAIN)


def at_residuals(spec, r, cost=1.0):
    """The loss of rows that have these residuals where every prediction is 0."""
    r = np.asarray(r, dtype=float)
    if LOSSES[spec.name].task == "regression":
        return spec.on_targets(r, cost, POOL), np.zeros(len(r))
    target = 0.0 if spec.name == "logistic" else 1.0
    return spec.on_margins(np.ones(len(r)), cost, POOL), target - r


def slopes(spec, r):
    loss, p = at_residuals(spec, r)
    return -loss.evaluate(p)[1]


def conjugate(spec, u):
    """f*(u), one number at a time."""
    values = []
    for share in np.atleast_1d(u):
        loss, p = at_residuals(spec, [0.0])
        target = p[0]  # of margins: t = p + r; of residuals t = 0
        values.append(target * share - loss.dual_sum(np.array([share]))[0])
    return np.array(values)


def step(spec, r, u, s):
    loss, p = at_residuals(spec, r)
    b, h = np.empty(len(p)), np.empty(len(p))
    loss.core.proximal(np.broadcast_to(np.asarray(u, float), len(p)).copy(), s, p, b, h, POOL)
    return b, h


RESIDUALS = np.concatenate([np.linspace(-4, 4, 161) + 1e-3, [-700.0, 700.0, -1e8, 1e8]])


@every_loss
def test_values_and_slopes(spec):
    r = RESIDUALS
    loss, p = at_residuals(spec, r)
    assert loss.value(p) == pytest.approx(PLAIN[spec.name](r, spec.x).sum(), rel=1e-12)
    ones = [at_residuals(spec, [x]) for x in r]
    values = np.array([one.value(q) for one, q in ones])
    np.testing.assert_allclose(values, PLAIN[spec.name](r, spec.x), rtol=1e-12)
    small = np.abs(r) < 10
    d = 1e-6
    numeric = (PLAIN[spec.name](r + d, spec.x) - PLAIN[spec.name](r - d, spec.x)) / (2 * d)
    np.testing.assert_allclose(slopes(spec, r)[small], numeric[small], atol=1e-5)
    assert np.isfinite(slopes(spec, r)).all()


@every_loss
def test_the_conjugate_is_the_largest_distance_to_a_line(spec):
    low, high = at_residuals(spec, [0.0])[0].core.domain
    u = np.linspace(max(low, -3), min(high, 3), 25)
    r = np.linspace(-60, 60, 2_400_001)
    f = PLAIN[spec.name](r, spec.x)
    truth = [np.max(share * r - f) for share in u]
    np.testing.assert_allclose(conjugate(spec, u), truth, atol=1e-6)


@every_loss
def test_no_share_of_the_gap_is_negative_and_at_the_slope_it_is_zero(spec):
    r = RESIDUALS
    u = slopes(spec, r)
    low, high = at_residuals(spec, [0.0])[0].core.domain
    others = np.clip(u + np.linspace(-1, 1, len(u)), low, high)
    f, size = PLAIN[spec.name](r, spec.x), 1 + np.abs(r) * np.maximum(1, np.abs(r))
    assert np.all(f - u * r + conjugate(spec, u) <= 1e-12 * size)
    assert np.all(f - others * r + conjugate(spec, others) >= -1e-12 * size)


@every_loss
@settings(max_examples=60, deadline=None)
@given(
    r=st.floats(-1e3, 1e3),
    where=st.floats(0, 1),
    s=st.floats(-6, 6).map(lambda x: 10.0**x),
)
def test_the_step_in_one_variable_is_the_best_one(spec, r, where, s):
    low, high = at_residuals(spec, [0.0])[0].core.domain
    low, high = max(low, -50.0), min(high, 50.0)
    u = low + where * (high - low)
    new = float(step(spec, [r], u, s)[0][0])
    scale = abs(r) + s * (1 + abs(new - u)) * max(1.0, abs(new - u))

    def cost(v):
        return float(conjugate(spec, v)[0]) - (v - u) * r + s / 2 * (v - u) ** 2

    here = cost(new)
    domain = at_residuals(spec, [0.0])[0].core.domain
    for other in np.concatenate(
        [u + (new - u) * np.linspace(0, 2, 9), new + np.linspace(-1, 1, 9)]
    ):
        if domain[0] <= other <= domain[1]:
            assert here <= cost(other) + 1e-8 * (scale + 1)


@every_loss
@pytest.mark.parametrize("s", [0.05, 1.0])
def test_the_curvature_is_the_change_of_the_step(spec, s):
    r, d = np.linspace(-3, 3, 200) + 7e-4, 1e-6
    u = np.full(len(r), 0.1)
    (b, h), (more, _) = step(spec, r, u, s), step(spec, r + d, u, s)
    np.testing.assert_allclose(h, (more - b) / d, atol=1e-3 * max(1, 1 / s))


@every_loss
@pytest.mark.parametrize("cost", [1e-300, 1e-9, 1e9])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e5])
def test_weak_duality_at_extreme_costs_and_predictions(spec, cost, size):
    rng = np.random.default_rng(0)
    n = 200
    labels, t = rng.choice([-1.0, 1.0], n), size * rng.normal(size=n)
    if LOSSES[spec.name].task == "regression":
        loss = spec.on_targets(t, cost, POOL)
    else:
        loss = spec.on_margins(labels, cost, POOL)
    X = rng.normal(size=(n, 3))
    for scale in (0.0, 1e-3, 1.0, 1e3):
        w = scale * rng.normal(size=3)
        R, subgrad = loss.evaluate(X @ w)
        u = loss.shares(-subgrad)
        assert np.isfinite(R) and np.isfinite(u).all()
        for shrunk in (u, 0.3 * u, np.zeros(n)):
            v = X.T @ (loss.q * shrunk)
            D = loss.dual_sum(shrunk)[0] - 0.5 * v @ v
            assert 0.5 * w @ w + R >= D - 1e-10 * (abs(D) + R)


@pytest.mark.parametrize("spec", SMOOTH, ids=lambda spec: spec.name)
def test_the_dual_point_that_curvature_foretells(spec):
    rng = np.random.default_rng(5)
    loss, p = at_residuals(spec, rng.normal(size=50), 1.5)
    nu, b, h, foretold = (np.zeros(50) for _ in range(4))
    loss.core.proximal(nu, 0.0, p, b, h, POOL)
    dp = 1e-3 * rng.normal(size=50)
    found = loss.core.foretell_dual(b, h, dp, foretold, POOL)
    low, high = loss.core.domain
    expected = loss.shares(b - h * dp)
    assert (found is not None) == bool(((low <= expected) & (expected <= high)).all())
    np.testing.assert_allclose(loss.shares(foretold), np.clip(expected, low, high), rtol=1e-14)
    if found is not None:
        np.testing.assert_allclose(found, loss.dual_sum(expected), rtol=1e-12)


def test_a_foretold_dual_point_outside_of_the_domain_is_none():
    loss, _ = at_residuals(LossSpec("logistic"), np.zeros(3))
    b, h, foretold = loss.q * 0.5, np.ones(3), np.empty(3)
    assert loss.core.foretell_dual(b, h, np.array([0.0, -0.4, 0.4]), foretold, POOL) is not None
    assert loss.core.foretell_dual(b, h, np.array([0.0, -0.6, 0.4]), foretold, POOL) is None


def objective(loss, p, dp, A0, B0, k):
    return 0.5 * k**2 * A0 + k * B0 + loss.value(p + k * dp)


@every_loss
@pytest.mark.parametrize("n", [1, 40, 30_000])
@pytest.mark.parametrize("A0, B0", [(1.0, -20.0), (30.0, 0.0), (5.0, 1e6)])
def test_the_line_search_finds_the_minimum(spec, n, A0, B0):
    rng = np.random.default_rng(n)
    cost = rng.choice([0.0, 1.0, 5.0], n)
    if LOSSES[spec.name].task == "regression":
        loss = spec.on_targets(rng.normal(size=n), cost, POOL)
    else:
        loss = spec.on_margins(rng.choice([-1.0, 1.0], n), cost, POOL)
    p, dp = rng.normal(size=n), rng.normal(size=n)
    k, R = loss.search(p, dp, A0, B0)
    assert pytest.approx(loss.value(p + k * dp), rel=1e-9, abs=1e-12) == R
    best = objective(loss, p, dp, A0, B0, k)
    left = objective(loss, p, dp, A0, B0, 0.0) - best
    for other in np.concatenate([k * np.linspace(0, 2, 21), np.geomspace(1e-6, 1e3, 10)]):
        found = objective(loss, p, dp, A0, B0, other)
        assert best <= found + 1e-5 * left + 1e-9 * (1 + abs(best))


@every_loss
def test_threads_do_not_change_a_sum(spec):
    rng = np.random.default_rng(0)
    n = 100_000
    p, t = rng.normal(size=n), rng.normal(size=n)
    q = rng.random(n)
    target = t if LOSSES[spec.name].task == "regression" else None
    values = {Pointwise(spec, q, target, _core.Pool(k)).value(p) for k in (1, 2, 3)}
    assert len(values) == 1
    loss, ks, slopes = Pointwise(spec, q, target, _core.Pool(3)), np.array([0.0, 0.5, 3.0]), []
    line = (np.full(n, loss.core.middle), 0.5, p, t)
    for threads in (1, 3):
        slopes.append(np.empty(3))
        loss.core.slopes_along(*line, ks, slopes[-1], _core.Pool(threads))
    alone = [loss.core.along(*line, k, loss.pool)[0] for k in ks]
    assert slopes[0].tolist() == slopes[1].tolist() == alone


@pytest.mark.parametrize(
    "loss, task, given, said",
    [
        ("quantile", "regression", {"quantile": 1.0}, "between 0 and 1"),
        ("expectile", "regression", {"quantile": 0}, "between 0 and 1"),
        ("huber", "regression", {"delta": 0.0}, "delta must be a positive number"),
        ("epsilon_insensitive", "regression", {"epsilon": -0.1}, "epsilon must be a number >= 0"),
        ("hinge", "regression", {}, "loss must be one of epsilon_insensitive"),
        ("huber", "classification", {}, "loss must be one of hinge"),
    ],
)
def test_what_a_loss_cannot_be_is_said(loss, task, given, said):
    with pytest.raises(ParameterError, match=said):
        LossSpec.of(loss, task, **given)
