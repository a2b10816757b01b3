"""The reduced problem of the cutting plane methods, held against optimality itself.

    max_{beta >= 0, sum beta <= 1}  b^T beta - 1/2 ||A^T beta||^2
    = min_w  1/2 ||w||^2 + max(0, A w + b)

The value of any w is above the optimum and that of any feasible beta below: both are computed here
by numpy, so that no other solver needs to be trusted. Small cases are also enumerated.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from maxmargin import _core
from maxmargin.solvers.linear.reduced_qp import IDLE_LIMIT, Planes


def above(A, b, w):
    return w @ w / 2 + max(0.0, np.max(A @ w + b))


def below(A, b, beta):
    v = A.T @ beta
    return b @ beta - v @ v / 2


def enumerated(A, b):
    """The optimum over every support: best beta >= 0 among the stationary points, sum <= 1."""
    best, t = 0.0, len(b)
    H = A @ A.T
    for size in range(1, t + 1):
        for support in itertools.combinations(range(t), size):
            s = np.array(support)
            free = np.linalg.lstsq(H[np.ix_(s, s)], b[s], rcond=1e-12)[0]
            kkt = np.block([[H[np.ix_(s, s)], np.ones((size, 1))], [np.ones((1, size)), 0.0]])
            tight = np.linalg.lstsq(kkt, np.r_[b[s], 1.0], rcond=1e-12)[0][:size]
            for x in (free, tight):
                if (x >= 0).all() and 0 < x.sum() <= 1 + 1e-9:
                    beta = np.zeros(t)
                    beta[s] = x / max(1.0, x.sum())
                    best = max(best, below(A, b, beta))
    return best


def planes_of(A, b):
    planes = Planes(A.shape[1])
    for row, offset in zip(A, b):
        planes.add(row, offset)
    return planes


def check(A, b, planes, tolerance):
    """The answer is optimal within the tolerance, up to the rounding of the products."""
    w, D = planes.minimise(tolerance)
    beta = planes._qp.beta
    assert (beta >= 0).all() and beta.sum() <= 1 + 1e-12
    rounding = 1e-12 * (np.abs(b).max() + (A**2).sum(axis=1).max())
    np.testing.assert_allclose(w, -A.T @ beta, rtol=1e-9, atol=1e-9 * np.abs(A).max())
    assert pytest.approx(below(A, b, beta), rel=1e-9, abs=rounding) == D
    assert above(A, b, w) - D <= tolerance + rounding
    return w, D


def drawn(t, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(t, d)), rng.normal(size=t) + 1.0


@pytest.mark.parametrize("t, d", [(1, 1), (3, 2), (20, 5), (20, 50), (100, 10), (150, 400)])
def test_random_planes_are_solved_to_the_tolerance(t, d):
    A, b = drawn(t, d, seed=t + d)
    for tolerance in (1e-2, 1e-6, 1e-10):
        check(A, b, planes_of(A, b), tolerance)


@settings(max_examples=60)
@given(
    t=st.integers(1, 6),
    d=st.integers(1, 4),
    seed=st.integers(0, 1000),
    whole=st.booleans(),
    scale=st.sampled_from([1e-4, 1.0, 1e4]),
)
def test_the_bound_is_the_enumerated_optimum_and_never_above(t, d, seed, whole, scale):
    A, b = drawn(t, d, seed)
    if whole:  # small whole numbers: repeated, opposite and zero planes abound
        A, b = np.round(A), np.round(b)
    A, b = A * scale, b * scale
    size = max(1e-300, np.abs(b).max())
    _, D = check(A, b, planes_of(A, b), 1e-9 * size)
    best = enumerated(A, b)
    assert best + 1e-9 * size >= D
    assert best - 2e-9 * size <= D


def test_the_optimum_is_that_of_a_general_purpose_solver():
    A, b = drawn(15, 8, seed=7)
    H = A @ A.T
    theirs = minimize(
        lambda x: x @ H @ x / 2 - b @ x,
        np.full(15, 1 / 30),
        jac=lambda x: H @ x - b,
        bounds=[(0, None)] * 15,
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    _, D = check(A, b, planes_of(A, b), 1e-10)
    assert pytest.approx(-theirs.fun, rel=1e-7) == D


def test_one_plane_after_another_raises_the_bound():
    A, b = drawn(60, 12, seed=1)
    planes, last = Planes(12), 0.0
    for t in range(60):
        planes.add(A[t], b[t])
        _, D = check(A[: t + 1], b[: t + 1], planes, 1e-9)
        assert last - 1e-9 <= D
        last = D


AWKWARD = {
    "the same plane many times": lambda A, rng: np.repeat(A[:5], 8, axis=0),
    "nearly the same plane": lambda A, rng: (
        np.repeat(A[:5], 8, axis=0) * (1 + 1e-9 * rng.normal(size=(40, 1)))
    ),
    "nearly dependent": lambda A, rng: A[:, :3] @ A[:3] + 1e-8 * A,
    "dependent": lambda A, rng: A[:, :2] @ A[:2],
    "norms over twelve orders": lambda A, rng: A * np.geomspace(1e-6, 1e6, len(A))[:, None],
    "huge": lambda A, rng: 1e9 * A,
    "large": lambda A, rng: 1e5 * A,
    "tiny": lambda A, rng: 1e-9 * A,
    "norms falling": lambda A, rng: A * np.geomspace(1e3, 1e-3, len(A))[:, None],
    "some planes zero": lambda A, rng: A * (np.arange(len(A)) % 4 > 0)[:, None],
    "all planes zero": lambda A, rng: 0 * A,
    "opposite pairs": lambda A, rng: np.concatenate([A, -A]),
}


@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_planes_are_solved_to_the_tolerance(kind):
    rng = np.random.default_rng(5)
    A = AWKWARD[kind](rng.normal(size=(40, 10)), rng)
    b = rng.random(len(A)) * np.linalg.norm(A, axis=1).max() + 0.1
    planes = Planes(10)
    for t in range(len(A)):  # one by one, as a cutting plane method does
        planes.add(A[t], b[t])
        check(A[: t + 1], b[: t + 1], planes, 1e-6 * b.max())


def test_planes_of_no_use_get_no_weight():
    A, b = drawn(10, 3, seed=2)
    w, D = planes_of(A, -np.abs(b)).minimise(1e-9)
    assert D == 0.0 and not w.any()


def test_a_kept_subset_goes_on_from_its_weights():
    A, b = drawn(30, 6, seed=3)
    qp, H = _core.ReducedQP(), A @ A.T
    for t in range(30):
        qp.append(b[t], np.ascontiguousarray(H[t, : t + 1]))
    qp.solve(1e-10)
    beta = qp.beta
    kept = np.flatnonzero((beta > 0) | (np.arange(30) % 3 == 0))
    qp.keep(kept.tolist())
    assert len(qp) == len(kept)
    np.testing.assert_array_equal(qp.beta, beta[kept])
    assert qp.solve(1e-10) == 0  # the optimum was kept: nothing to do
    assert below(A, b, beta) == pytest.approx(below(A[kept], b[kept], qp.beta), rel=1e-9)


def test_losing_planes_with_weight_is_recovered_from():
    A, b = drawn(30, 6, seed=4)
    qp, H = _core.ReducedQP(), A @ A.T
    for t in range(30):
        qp.append(b[t], np.ascontiguousarray(H[t, : t + 1]))
    qp.solve(1e-10)
    kept = np.arange(0, 30, 2)
    qp.keep(kept.tolist())
    qp.solve(1e-10)
    A, b = A[kept], b[kept]
    assert above(A, b, -A.T @ qp.beta) - below(A, b, qp.beta) <= 1e-9
    for t in range(5):  # and new planes still find their place
        new, offset = np.random.default_rng(t).normal(size=6), 1.0
        A, b = np.vstack([A, new]), np.append(b, offset)
        qp.append(offset, A @ new)
        qp.solve(1e-10)
        assert above(A, b, -A.T @ qp.beta) - below(A, b, qp.beta) <= 1e-9


def test_keeping_nothing_begins_anew():
    qp = _core.ReducedQP()
    qp.append(1.0, np.array([2.0]))
    qp.solve(1e-9)
    qp.keep([])
    assert len(qp) == 0
    qp.append(1.0, np.array([2.0]))
    qp.solve(1e-9)
    assert qp.beta == pytest.approx([0.5])


@pytest.mark.parametrize("planes", [[1, 0], [0, 0], [3]])
def test_impossible_subsets_are_refused(planes):
    qp = _core.ReducedQP()
    for t in range(3):
        qp.append(1.0, np.zeros(t + 1) + (np.arange(t + 1) == t))
    with pytest.raises(ValueError, match="planes must increase"):
        qp.keep(planes)


def test_idle_planes_are_dropped_and_the_bound_does_not_fall():
    A, b = drawn(40, 5, seed=6)
    planes = planes_of(A, b)
    _, before = planes.minimise(1e-10)
    for _ in range(IDLE_LIMIT + 1):
        planes.minimise(1e-10)
        planes.drop_idle()
    assert len(planes) == np.count_nonzero(planes._qp.beta) < 40
    assert planes.minimise(1e-10)[1] >= before - 1e-9


@pytest.mark.parametrize("square", [1e-30, 1e-17, 1e-9, 1.0, 1e9, 1e17, 1e30])
def test_one_plane_of_any_size(square):
    qp = _core.ReducedQP()
    qp.append(1.0, np.array([square]))
    qp.solve(1e-9)
    assert qp.beta == pytest.approx([min(1.0, 1.0 / square)])


def test_planes_that_gain_a_coordinate_are_those_made_with_it():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 4)), rng.random(6)
    whole, grown = Planes(4), Planes(0)
    for j in range(6):
        whole.add(a[j], b[j])
        grown.add(np.empty(0), b[j])
    for column in a.T:
        grown.widen(column)
        grown.minimise(1e-9)  # weights of a narrower problem are a start like any other
    (w, D), (w_grown, D_grown) = whole.minimise(1e-12), grown.minimise(1e-12)
    assert np.allclose(w, w_grown, atol=1e-5)
    assert np.isclose(D, D_grown, rtol=1e-8)


def test_planes_in_float32_bound_no_more_than_the_planes_do():
    A, b = drawn(40, 300, seed=3)
    exact = planes_of(A, b)
    for scale in (1.0, 1e30):
        coarse = Planes(300, precision=1e-3)
        for row, offset in zip(A, b):
            coarse.add(row * scale, offset * scale**2)
        assert coarse._chunks[0].dtype == np.float32
        _, D = coarse.minimise(1e-9 * scale**2)
        beta = coarse._qp.beta
        assert below(A * scale, b * scale**2, beta) >= D  # whatever rounding did to the planes
        assert pytest.approx(exact.minimise(1e-9)[1] * scale**2, rel=1e-5) == D


def test_numbers_that_float32_does_not_have_keep_planes_in_float64():
    planes = Planes(3, precision=1e-3)
    planes.add(np.array([1.0, 2.0, 3.0]), 1.0)
    assert planes._chunks[0].dtype == np.float32
    planes.add(np.array([1e60, 0.0, 0.0]), 1.0)
    assert planes._chunks[0].dtype == np.float64
    exact = Planes(3)
    exact.add(np.array([1.0, 2.0, 3.0]), 1.0)
    exact.add(np.array([1e60, 0.0, 0.0]), 1.0)
    for known, wanted in zip(planes.minimise(1e-9), exact.minimise(1e-9)):
        np.testing.assert_allclose(known, wanted, rtol=1e-6)


def test_a_stop_ends_the_search_for_weights_and_a_later_call_goes_on():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(300, 200)), rng.random(300)
    H, qp, stop = A @ A.T, _core.ReducedQP(), _core.Stop()
    for j in range(300):
        qp.append(b[j], H[j, : j + 1].copy())
    stop.interrupt()
    with pytest.raises(_core.Stopped):
        qp.solve(1e-9, _core.Pool(1, stop))
    assert (qp.beta >= 0).all() and qp.beta.sum() <= 1 + 1e-12
    qp.solve(1e-9)
    w = -A.T @ qp.beta
    assert above(A, b, w) - below(A, b, qp.beta) <= 2e-9


def test_memory_that_no_plane_has_filled_yet_is_not_converted(monkeypatch):
    """It may hold signalling NaNs, at which a cast warns."""

    def used_memory(shape, dtype=float, **more):
        bits = np.full(shape, 0x7F800001, dtype=np.uint32)
        return bits.view(np.float32) if dtype == np.float32 else np.zeros(shape, dtype, **more)

    monkeypatch.setattr("maxmargin.solvers.linear.reduced_qp.np.empty", used_memory)
    planes = Planes(3, precision=1e-3)
    planes.add(np.ones(3), 1.0)
    with np.errstate(all="raise"):
        planes.add(np.full(3, 1e100), 1.0)


def test_hundreds_of_planes_come_and_go_at_full_precision():
    rng = np.random.default_rng(4)
    A, b = rng.normal(size=(700, 400)), rng.random(700)
    H, qp, steps = A @ A.T, _core.ReducedQP(), 0
    for j in range(700):
        qp.append(b[j], H[j, : j + 1].copy())
        if j % 50 == 49:
            steps += qp.solve(1e-12)
            beta = qp.beta
            assert (
                above(A[: j + 1], b[: j + 1], -A[: j + 1].T @ beta)
                - below(A[: j + 1], b[: j + 1], beta)
                <= 1e-10
            )
    assert np.count_nonzero(qp.beta) > 100 and steps > np.count_nonzero(qp.beta)


def test_a_coordinate_too_large_for_float64_is_refused():
    qp = _core.ReducedQP()
    qp.append(1.0, np.array([0.01]))
    qp.append(2.0, np.array([0.0, 0.01]))
    qp.solve(1e-9)
    with pytest.raises(ValueError, match="overflow"):
        qp.widen(np.array([1e200, 1e200]))


def test_a_plane_that_takes_the_place_of_its_double_is_part_of_the_support():
    qp = _core.ReducedQP()
    qp.append(1.0, np.array([1e-4]))
    qp.solve(1e-12)
    assert qp.beta == [1.0]
    qp.append(2.0, np.array([1e-4, 1e-4]))
    assert 0 < qp.solve(1e-12) <= 2
    assert (qp.beta == [0.0, 1.0]).all()
    assert qp.solve(1e-12) == 0
