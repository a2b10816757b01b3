"""What the papers do otherwise can be switched on, and does what it says."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.papers.sorting import SortingHinge

from maxmargin import _core
from maxmargin.data import ArraySource
from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.parameters import Options
from maxmargin.problem import Settings, Status
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.linear import bundle
from maxmargin.solvers.streaming.rules import Rules
from maxmargin.solvers.subspace import subspace_pursuit
from maxmargin.solvers.subspace.basis_choice import choice_of
from maxmargin.solvers.subspace.bounds import length_outside
from maxmargin.solvers.subspace.preimages import PreImageOptions
from maxmargin.solvers.subspace.span import Subspace
from maxmargin.solvers.subspace.subspace_pursuit import Pursuit
from maxmargin.training.stream import StreamPlan, train_stream

from . import plain
from .test_boxes import POOL, points


def solve(X, y, C, variant, tol=1e-3, method="ocas", loss=Hinge):
    rows = ArrayRows(X, pool=POOL)
    return bundle.solve(rows, loss(y, C, POOL), Settings(tol=tol), method, variant=variant)


@pytest.mark.parametrize("method", ["ocas", "cpa"])
@pytest.mark.parametrize("stopping", ["absolute", "mean slack"])
def test_a_run_ends_at_the_first_gap_within_its_unit(stopping, method):
    X, y = points(300, 8)
    C, eps = 0.5, {"absolute": 0.7, "mean slack": 0.01}[stopping]
    largest = eps if stopping == "absolute" else eps * C * len(y)
    found = solve(X, y, C, bundle.Variant(stopping=stopping), eps, method)
    gaps = [moment.primal - moment.dual for moment in found.history]
    assert gaps[-1] <= largest < min(gaps[:-1])
    assert found.certificate.status == Status.RULE_MET, "optimal means the relative gap"
    assert found.certificate.gap <= largest * (1 + 1e-9)


def test_mu_is_where_the_plane_touches():
    X, y = points(200, 6)
    paths = {
        mu: [m.dual for m in solve(X, y, 1.0, replace(bundle.PAPER, mu=mu), 0.1).history]
        for mu in (0.1, 1.0)
    }
    assert paths[0.1][:2] == paths[1.0][:2], "the first plane is at 0 whatever mu"
    assert paths[0.1][2:5] != paths[1.0][2:5]


@pytest.mark.parametrize("seed", range(20))
def test_sorting_finds_the_minimum_of_the_line(seed):
    X, y = points(60, 4, seed)
    random = np.random.default_rng(seed)
    w, d, C = random.normal(size=4), random.normal(size=4), 0.3
    for direction in (d, -d, X.T @ y):
        loss = SortingHinge(y, C, POOL)
        k, R = loss.search(X @ w, X @ direction, float(direction @ direction), float(w @ direction))
        expected = plain.line_minimum(w, direction, X, y, C)
        assert k == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert pytest.approx(loss.value(X @ (w + k * direction))) == R


def test_a_search_that_sorts_takes_the_same_steps():
    X, y = points(200, 6)
    ours, sorting = (
        solve(X, y, 1.0, bundle.Variant(at_best=False), 1e-6, loss=loss)
        for loss in (Hinge, SortingHinge)
    )
    assert ours.certificate.n_iter == sorting.certificate.n_iter
    np.testing.assert_allclose(ours.w, sorting.w, rtol=1e-6, atol=1e-9)


# ---------------------------------------------------------------- subspace pursuit


def pursue(pursuit, size=12, tol=1e-4, n=150):
    X, y = points(n)
    subspace = Subspace(X, Kernel("rbf", 0.5), size, POOL)
    choice = choice_of("free", subspace, PreImageOptions(), 0)
    loss = Hinge(y, 1.0, POOL)
    [stage] = subspace_pursuit.solve(
        subspace, [loss], choice, [size], Settings(tol=tol), pursuit=pursuit
    )
    return subspace, stage.solutions[0]


def test_plain_cpa_reaches_the_same_optimum_in_the_span_with_more_planes():
    _, ocas = pursue(Pursuit(), size=5)
    _, cpa = pursue(Pursuit(steps="cpa"), size=5)
    assert cpa.certificate.status == ocas.certificate.status == Status.OPTIMAL
    assert cpa.certificate.n_iter > ocas.certificate.n_iter
    primals = [moment.primal for moment in cpa.history]
    assert primals == sorted(primals, reverse=True), "the best point is kept"


def test_the_newest_plane_is_followed_where_that_is_asked_for():
    X, y = points(80)
    subspace = Subspace(X, Kernel("rbf", 0.5), 4, POOL)
    machines = {
        residual: subspace_pursuit.Machine(
            Hinge(y, 1.0, POOL), subspace, Settings(), Pursuit(residual=residual)
        )
        for residual in ("best", "newest")
    }
    for machine in machines.values():
        machine.p_c, machine.subgrad = np.ones(80), np.full(80, 0.25)
    assert (machines["newest"].residual_of() == 0.25).all()
    assert (machines["best"].residual_of() == -y).all()


def test_vectors_join_until_the_planes_are_within_delta():
    delta = 4.0
    subspace, found = pursue(Pursuit(delta=delta), size=60)
    assert 0 < subspace.k < 60 and found.certificate.status == Status.OPTIMAL
    assert found.bounds.delta <= delta * (1 + 1e-3)
    rough, _ = pursue(Pursuit(delta=3 * delta), size=60)
    assert rough.k < subspace.k


def test_the_length_outside_a_span_is_that_of_the_gram_matrix():
    X, y = points(50)
    subspace = Subspace(X, Kernel("rbf", 0.5), 5, POOL)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for i in (3, 17, 30):
        subspace.append(X[i])
    S = [3, 17, 30]
    inside = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    assert length_outside(subspace, y) == pytest.approx(np.sqrt(y @ (K - inside) @ y), rel=1e-5)


# ---------------------------------------------------------------- streams


def stream(X, y, rules, memory="1MB", tol=1e-12, C=1.0, max_iter=2000):
    source = ArraySource(X.astype(np.float32), y)
    options = Options(tol=tol, seed=0, max_iter=max_iter)
    plan = StreamPlan(C=C, memory=memory, bias=0.0, patient=True, options=options, rules=rules)
    return train_stream(source, plan).solutions[0].certificate


def test_a_stream_ends_by_the_spread_of_projected_gradients():
    X, y = points(400, 5)
    rough, fine = (stream(X, y, Rules(spread=spread)) for spread in (0.3, 1e-3))
    assert rough.status == fine.status == Status.RULE_MET
    assert rough.n_iter < fine.n_iter and fine.relative_gap < rough.relative_gap < 1
    assert stream(X, y, Rules(), tol=1e-3).status == Status.OPTIMAL


def test_eviction_of_the_paper_has_one_threshold_for_both_sides():
    """The first row has the gradient -3 and w stays 0, so that both rows stay at u = 0 or 1."""
    X = np.array([[1.0], [1.0]])
    codes, costs = np.array([1, 1], np.int32), np.array([1e-9, 1e-9])
    kept = {}
    for as_the_paper in (False, True):
        format_ = _core.row_format(_core.dense_rows(X, 0.0), 0.0, None)
        loops = _core.CachedLoops(format_, 1000, 1, 1 << 20, 0)
        if as_the_paper:
            loops.evict_as_the_paper()
        shares, w = np.zeros(1000), np.array([3.0])
        loops.set_problem(0, 1, shares, w)
        block = _core.pack_rows(_core.dense_rows(X, 0.0), 0, codes, costs, format_)
        loops.start_pass()
        loops.consume(block, POOL)  # G = 3 - 1 = 2 at u = 0: at the bound, no projected gradient
        w[:] = -1.0  # now G = -2 at u = 0: projected gradients of -2
        loops.consume(block, POOL)
        most, least = loops.pass_tally(0)[2:]
        assert (most, least) == pytest.approx((0.0, -2.0), abs=1e-6)
        loops.end_pass()
        w[:] = 4.0  # u = 1, G = 3: steps back to u = 0
        loops.consume(block, POOL)
        loops.consume(block, POOL)  # u = 0, G = 3
        kept[as_the_paper] = loops.active
    assert kept == {False: 2, True: 0}, "ours: no gradient was positive, so none is too large"
