import dataclasses
import signal

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.problem import Status
from maxmargin.solvers.table import SOLVERS
from maxmargin.training.linear import train

from ..plans import linear_plan


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    scores = X @ rng.normal(size=(8, 3)) + 0.5 * rng.normal(size=(300, 3))
    return X, np.array(["ant", "bee", "cat"])[scores.argmax(axis=1)]


def objective(X, y, model, j, cost, bias):
    """P of problem j from the model alone."""
    sign = np.where(y == model.classes[j if len(model.classes) > 2 else 1], 1.0, -1.0)
    w, b = model.coef[j], model.intercept[j]
    squared = w @ w + ((b / bias) ** 2 if bias else 0.0)
    return squared / 2 + np.sum(cost * np.maximum(0, 1 - sign * (X @ w + b)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_every_problem_is_certified_by_its_own_objective(rows, solver, bias):
    X, y = rows
    trained = train(X, y, linear_plan(C=0.5, solver=solver, bias=bias, tol=1e-4))
    assert trained.model.solver == solver
    for j, certificate in enumerate(trained.model.certificates):
        assert certificate.relative_gap <= 1e-4
        P = objective(X, y, trained.model, j, 0.5, bias)
        assert pytest.approx(certificate.primal, rel=1e-9) == P
        assert certificate.dual <= P


def test_sparse_and_dense_rows_give_the_same_model(rows):
    X, y = rows
    dense = train(X, y, linear_plan(solver="newton", tol=1e-8)).model
    sparse = train(sp.csr_matrix(X), y, linear_plan(solver="newton", tol=1e-8)).model
    np.testing.assert_allclose(dense.coef, sparse.coef, atol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "ocas"])
def test_a_weight_of_two_is_the_row_twice(rows, solver):
    X, y = rows
    weight = np.where(np.arange(300) < 50, 2.0, 1.0)
    weight[-10:] = 0
    kept = np.r_[np.arange(290), np.arange(50)]
    plan = linear_plan(solver=solver, tol=1e-7, class_weight="balanced")
    weighted = train(X, y, plan, weight).model
    repeated = train(X[kept], y[kept], plan).model
    for ours, theirs in zip(weighted.certificates, repeated.certificates):
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-6)


def test_class_weights_multiply_C_in_every_problem(rows):
    X, y = rows
    named = train(X, y, linear_plan(class_weight={"bee": 3.0}, tol=1e-6)).model
    by_row = train(X, y, linear_plan(tol=1e-6), np.where(y == "bee", 3.0, 1.0)).model
    for ours, theirs in zip(named.certificates, by_row.certificates):
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-5)


def test_liblinear_finds_nothing_outside_the_certificate(rows):
    # LIBLINEAR draws from the C library's one generator and stops at its iteration limit, so how
    # near it comes depends on the tests before this one: only our bounds can be asserted.
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = rows
    sign = np.where(y == "cat", 1, -1)
    model = train(X, sign, linear_plan(C=0.3, tol=1e-6, bias=1.0)).model
    theirs = liblinear.train(sign.astype(float), X, "-s 3 -c 0.3 -B 1 -e 1e-8 -q")
    w = np.array([theirs.w[j] for j in range(9)]) * (1 if theirs.get_labels()[0] == 1 else -1)
    P = w @ w / 2 + 0.3 * np.maximum(0, 1 - sign * (X @ w[:8] + w[8])).sum()
    assert model.certificate.primal <= P * (1 + 1e-5)
    assert model.certificate.dual <= P == pytest.approx(model.certificate.primal, rel=0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_neighbouring_solution_saves_iterations(rows, solver):
    X, y = rows
    y = y == "cat"
    plan = linear_plan(C=1.0, solver=solver, tol=1e-5)
    near = train(X, y, plan)
    again = train(X, y, dataclasses.replace(plan, C=1.01), starts=near.starts)
    cold = train(X, y, dataclasses.replace(plan, C=1.01))
    assert again.model.certificate.relative_gap <= 1e-5
    assert again.model.certificate.n_iter <= cold.model.certificate.n_iter


def test_the_limits_end_a_run_with_a_valid_certificate(rows):
    X, y = rows
    model = train(X, y, linear_plan(solver="cpa", C=100.0, tol=1e-12, max_iter=3)).model
    assert {c.status for c in model.certificates} == {Status.MAX_ITER}
    model = train(X, y, linear_plan(solver="cpa", C=1e4, tol=1e-13, max_time=0.002)).model
    assert {c.status for c in model.certificates} == {Status.MAX_TIME}
    assert all(np.isfinite(c.primal) and c.dual <= c.primal for c in model.certificates)


def test_a_callback_ends_all_problems(rows):
    X, y = rows
    seen = []
    plan = linear_plan(
        solver="ocas", tol=1e-12, callback=lambda p: seen.append(p) or len(seen) >= 3
    )
    model = train(X, y, plan).model
    assert model.certificates[0].status == Status.CALLBACK
    assert all(np.isfinite(c.primal) for c in model.certificates)
    assert len(seen) < 10


def test_an_interrupt_ends_all_problems_with_what_they_have(rows):
    X, y = rows
    pressed = []

    def press(progress):
        if progress.iteration == 3 and not pressed:
            pressed.append(progress)
            signal.raise_signal(signal.SIGINT)

    plan = linear_plan(solver="cpa", C=1e4, tol=1e-13, max_time=20.0, callback=press)
    model = train(X, y, plan).model
    assert pressed and Status.INTERRUPTED in {c.status for c in model.certificates}
    assert all(np.isfinite(c.primal) and c.dual <= c.primal for c in model.certificates)
    assert np.isfinite(model.coef).all()


@pytest.mark.parametrize(
    "change",
    [
        {"C": 0.0},
        {"C": float("nan")},
        {"tol": -1.0},
        {"bias": -1.0},
        {"max_iter": 0},
        {"max_time": 0.0},
        {"threads": 0},
        {"solver": "magic"},
    ],
)
def test_impossible_plans_are_refused_by_name(change):
    (name, value), *_ = change.items()
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        linear_plan(**change)


@pytest.mark.parametrize(
    "weight",
    [np.ones(3), np.full(300, -1.0), np.full(300, np.nan)],
    ids=["short", "below 0", "nan"],
)
def test_impossible_row_weights_are_refused(rows, weight):
    with pytest.raises(ValueError, match="sample_weight"):
        train(*rows, linear_plan(), weight)


@pytest.mark.parametrize("weight", ["even", {"bee": -1.0}])
def test_impossible_class_weights_are_refused(rows, weight):
    with pytest.raises(ValueError, match="class_weight"):
        train(*rows, linear_plan(class_weight=weight))


def test_one_class_is_refused(rows):
    with pytest.raises(ValueError, match="two classes"):
        train(rows[0], np.ones(300), linear_plan())


def test_starts_of_another_shape_are_not_used(rows):
    X, y = rows
    starts = train(X, y, linear_plan()).starts
    again = train(X[:40, :5], y[:40], linear_plan(), starts=starts)
    assert again.model.certificate.relative_gap <= 1e-3


def test_class_weights_of_unknown_labels_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="names 5, which is not a label in y"):
        train(X, y, linear_plan(class_weight={5: 2.0}))
