"""Newton's method on a cluster: the optimum of the local estimators, in few rounds."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin import data
from maxmargin.distributed import LinearSVC, LinearSVR, losses, newton, parts
from maxmargin.distributed.cluster import Cluster
from maxmargin.distributed.losses import ClassTask
from maxmargin.distributed.parts import Layout, Order, Part, Step
from maxmargin.losses.pointwise import LossSpec
from maxmargin.problem import Status
from tests.distributed.conftest import distributed, start_cluster
from tests.distributed.test_resilience import holder

N, D = 6000, 8


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-1, 1, D)
    return X, X @ rng.normal(size=D) + 3 * rng.standard_t(3, size=N)


def cut(array, pieces=4):
    return da.from_array(array, chunks=(-(-len(array) // pieces), *array.shape[1:]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
def test_classifiers(client, rows, loss, C):
    X, y = rows[0], (rows[1] > 1).astype(int)
    options = {"C": C, "loss": loss, "tol": 1e-5, "class_weight": "balanced"}
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float)
    local = maxmargin.LinearSVC(**options).fit(X, y, weight)
    remote = LinearSVC(solver="newton", client=client, **options)
    remote.fit(cut(X), cut(y), cut(weight))
    assert remote.certificate_.status is Status.OPTIMAL
    assert remote.certificate_.dual <= local.certificate_.primal * (1 + 1e-9)
    assert remote.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-5)
    assert remote.solver_ == "newton"


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile", "huber", "expectile"])
def test_regressions(client, rows, loss):
    X, y = rows
    options = {"C": 0.1, "loss": loss, "tol": 1e-5}
    local = maxmargin.LinearSVR(**options).fit(X, y)
    remote = LinearSVR(solver="newton", client=client, **options).fit(cut(X), cut(y))
    assert remote.certificate_.relative_gap <= 1e-5
    assert remote.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-5)


def test_sparse_rows_in_several_classes(client, rows):
    X = np.where(np.abs(rows[0]) > 1, rows[0], 0.0)
    y = np.digitize(rows[1], [-5.0, 5.0])
    local = maxmargin.LinearSVC(C=0.1, tol=1e-4).fit(X, y)
    blocks = cut(X).map_blocks(sp.csr_matrix, dtype=X.dtype)
    remote = LinearSVC(C=0.1, tol=1e-4, solver="newton", client=client).fit(blocks, cut(y))
    for there, here in zip(remote.certificates_, local.certificates_, strict=True):
        assert there.primal == pytest.approx(here.primal, rel=2e-4)


def test_auto_takes_it_where_features_are_few_and_says_so(client, rows):
    X, y = rows[0], rows[1] > 0
    narrow = LinearSVC(client=client).fit(cut(X), cut(y))
    assert (narrow.solver_, narrow.to_model().parameters["solver"]) == ("newton", "auto")
    wide = sp.random(40, 3500, 0.01, "csr", random_state=0)
    blocks = da.from_array(wide.toarray(), chunks=(20, 3500)).map_blocks(sp.csr_matrix)
    labels = da.from_array(np.arange(40) % 2, chunks=20)
    assert LinearSVC(client=client).fit(blocks, labels).solver_ == "ocas"
    with pytest.raises(ValueError, match=r"at most 3000 features.*there are 3501"):
        LinearSVC(solver="newton", client=client).fit(blocks, labels)


def test_the_same_parts_give_the_same_answer(client, rows):
    X, y = rows[0], rows[1] > 0
    fits = [LinearSVC(solver="newton", client=client).fit(cut(X), cut(y)) for _ in range(2)]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-9)


@pytest.fixture(scope="module")
def mortal(rows, tmp_path_factory):
    """A client whose workers may be killed, and files of rows."""
    X, y = rows[0], np.where(rows[1] > 0, 1.0, -1.0)
    paths = [str(tmp_path_factory.mktemp("parts") / f"{k}.parquet") for k in range(4)]
    for k, path in enumerate(paths):
        data.save(data.Dataset(X[k::4], y[k::4]), path)
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client, paths


@pytest.fixture(scope="module")
def undisturbed(mortal):
    client, paths = mortal
    options = {"C": 10.0, "tol": 1e-6, "client": client}
    return {solver: LinearSVC(solver=solver, **options).fit(paths) for solver in ("newton", "ocas")}


@pytest.mark.parametrize(
    ("solver", "phase"),
    [
        ("newton", newton.every_row),
        ("newton", newton.sums_of),
        ("newton", newton.slopes_along),
        ("newton", parts.touch),
        ("ocas", losses.summarise_line),
        ("ocas", parts.touch),
    ],
)
def test_a_worker_killed_in_any_phase_changes_no_certificate(
    mortal, undisturbed, monkeypatch, solver, phase
):
    client, paths = mortal
    client.wait_for_workers(2)
    run, met, killed = Cluster.run, [], []

    def kill(self, sent, *arguments):
        met.extend([sent[0].job] if sent[0].job is phase else [])
        if not killed and (len(met) == 2 or (phase in (newton.every_row, parts.touch) and met)):
            killed.append(holder(client))
            os.kill(killed[0][1], signal.SIGKILL)
        return run(self, sent, *arguments)

    monkeypatch.setattr(Cluster, "run", kill)
    model = LinearSVC(C=10.0, tol=1e-6, solver=solver, client=client).fit(paths)
    whole = undisturbed[solver]
    assert killed
    assert model.certificate_.status is Status.OPTIMAL
    assert model.n_iter_ == whole.n_iter_
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-6)


def test_max_time_and_callbacks_give_the_best_model_so_far(client, rows):
    X, y = cut(rows[0]), cut(rows[1] > 0)
    with pytest.warns(UserWarning, match="time limit"):
        none = LinearSVC(solver="newton", max_time=1e-9, client=client).fit(X, y)
    assert none.certificate_.status is Status.MAX_TIME
    assert not none.coef_.any()
    stop = LinearSVC(solver="newton", tol=1e-9, callback=lambda step: step.iteration == 2)
    with pytest.warns(UserWarning, match="callback"):
        stop.set_params(client=client).fit(X, y)
    assert (stop.certificate_.status, stop.n_iter_) == (Status.CALLBACK, 2)


# ------------------------------------------------------------------------ multipliers, no cluster


@pytest.fixture
def hinge_part():
    rng = np.random.default_rng(0)
    X, classes = rng.normal(size=(50, 3)), np.array([-1.0, 1.0])
    part = Part(data.Dataset(X, np.where(rng.random(50) > 0.5, 1.0, -1.0)), 0)
    return part, ClassTask("k", Layout(3), LossSpec("hinge"), classes, np.ones(2), 1)


def order_at(task, w, tag=0, **options):
    options = {"s": 0.5, "n": 50, "updates": 0, "due": None} | options
    return Order(task, newton.sums_of, (tag,), (Step(tag),), frozenset([tag]), options, 9), w


def done(part, order, w):
    return parts.work([part], 1, order, None, True, w)


def test_a_part_that_forgot_its_multipliers_makes_them_again(hinge_part):
    part, task = hinge_part
    w = np.array([0.5, -1.0, 2.0])
    done(part, *order_at(task, w))
    kept = done(part, *order_at(task, w, s=0.2, updates=1, due=0.5)).results
    again = Part(part.data, 0)
    assert done(again, *order_at(task, w, s=0.2, updates=1)).forgotten == {0}
    history = (newton.Update(0.5, w),)
    told = done(again, *order_at(task, w, s=0.2, updates=1, history=history)).results
    for before, after in zip(kept, told, strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-12)


def test_an_order_given_twice_updates_once(hinge_part):
    part, task = hinge_part
    order, w = order_at(task, np.array([0.5, -1.0, 2.0]), s=0.2, updates=1, due=0.5)
    first, second = done(part, order, w), done(part, replace(order), w)
    for before, after in zip(first.results, second.results, strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_copy_that_missed_an_update_says_so(hinge_part):
    """It is at another w by now, so it must not make the update there."""
    part, task = hinge_part
    assert done(part, *order_at(task, np.ones(3), updates=1)).forgotten == {0}


@pytest.mark.parametrize("at", [0.004, 0.6, 1.0, 3.7, 40.0, 200.0])
def test_a_step_ends_where_the_slope_is_small_or_between_the_places_asked(at):
    """A parabola, whose slope is a line: interpolation is exact, up to the last place."""
    ks = np.array(newton.PLACES)
    k = newton.root(ks, ks - at, -at)
    assert abs(k - at) <= 0.1 * at or k == ks[-1]


def test_no_step_where_the_line_does_not_fall():
    ks = np.array(newton.PLACES)
    assert newton.root(ks, 1.0 + ks, 0.0) == 0.0


@pytest.mark.filterwarnings("error")
def test_sums_of_parts_that_are_not_finite_are_left_to_the_solver():
    """numpy warned of them, before the solver refused the features in a sentence."""
    huge = np.array([np.inf]), np.array([1e308])
    total = parts.sum_up([huge, (-huge[0], huge[1])])
    assert np.isnan(total[0]) and np.isinf(total[1])
