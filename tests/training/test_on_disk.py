"""Training on rows that stay on disk gives what training in memory gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core, data
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import Passes, Product, SourceRows, read_metadata
from maxmargin.losses import Hinge
from maxmargin.problem import Status
from maxmargin.solvers.linear import bundle
from maxmargin.training.linear import train

from ..plans import linear_plan


def problem(classes=2, sparse=True, n=600, d=20, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)).astype(dtype)
    scores = X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))
    y = np.argmax(scores, axis=1)
    return (sp.csr_matrix(X) if sparse else X), y


@pytest.fixture
def stored(tmp_path):
    """Writes rows to a store of many blocks and opens it."""

    def stored(X, y, **metadata):
        path = tmp_path / "rows.arrow"
        data.write_store(data.ArraySource(X, y, **metadata), path, block_bytes=3000)
        return data.open_source(path)

    return stored


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("threads", [1, 3])
def test_products_are_those_of_arrays(stored, sparse, dtype, bias, threads):
    X, y = problem(sparse=sparse, dtype=dtype)
    pool = _core.Pool(threads)
    here, there = ArrayRows(X, bias, pool), SourceRows(Passes(stored(X, y), bias, pool), pool)
    assert (here.n, here.width) == (there.n, there.width)
    rng = np.random.default_rng(1)
    w, subgrad = rng.normal(size=here.width), rng.normal(size=here.n)
    subgrad[::3] = 0
    np.testing.assert_allclose(there.matvec(w), here.matvec(w), rtol=1e-12)
    np.testing.assert_allclose(
        there.rmatvec(subgrad), here.rmatvec(subgrad), rtol=1e-10, atol=1e-10
    )
    assert there.inner(subgrad, subgrad) == here.inner(subgrad, subgrad)
    assert np.array_equal(there.axpby(2.0, subgrad, -1.0, subgrad), subgrad)


def test_products_do_not_depend_on_the_number_of_threads(stored):
    X, y = problem(n=5000, d=7, sparse=False)
    path = stored(X, y)
    results = []
    for threads in (1, 2, 5):
        pool = _core.Pool(threads)
        rows = SourceRows(Passes(path, 1.0, pool), pool)
        results.append((rows.matvec(np.ones(8)), rows.rmatvec(np.linspace(-1, 1, 5000))))
    for p, a in results[1:]:
        assert np.array_equal(p, results[0][0])
        assert np.array_equal(a, results[0][1])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("solver", ["ocas", "cpa"])
@pytest.mark.parametrize("options", [{}, {"bias": 0.0}, {"class_weight": "balanced", "bias": 3.0}])
def test_the_optimum_is_that_in_memory(stored, classes, solver, options):
    X, y = problem(classes)
    weight = np.random.default_rng(2).uniform(0, 2, len(y))
    plan = linear_plan(C=0.1, solver=solver, tol=1e-4, threads=2, **options)
    source = stored(X, y, weight=weight)
    metadata = read_metadata(source)
    here, there = train(X, y, plan, weight), train(source, metadata.y, plan, metadata.weight)
    assert len(here.model.certificates) == (1 if classes == 2 else classes)
    for ours, theirs in zip(there.model.certificates, here.model.certificates):
        assert ours.status is Status.OPTIMAL
        assert ours.relative_gap <= 1e-4
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-4)
    assert there.model.solver == solver
    assert np.array_equal(there.model.classes, here.model.classes)


def test_classes_share_their_passes(stored):
    X, y = problem(classes=5)
    passes_made = []

    class Counting:
        def __init__(self, source):
            self.source = source

        def __getattr__(self, name):
            return getattr(self.source, name)

        def blocks(self):
            passes_made.append(1)
            return self.source.blocks()

    trained = train(Counting(stored(X, y)), y, linear_plan(C=0.1, solver="ocas", threads=2))
    products = [2 * c.n_iter + 1 for c in trained.model.certificates]
    # Threads that start late may have missed the first passes: one each at most.
    assert len(passes_made) <= max(products) + len(products)
    assert len(passes_made) < sum(products) / 2


def test_a_failed_pass_fails_for_all_who_wait(stored):
    X, y = problem(classes=4)

    class Breaking(data.ArraySource):
        left = 9

        def blocks(self):
            Breaking.left -= 1
            if not Breaking.left:
                raise data.DataError("the disk is gone")
            return super().blocks()

    with pytest.raises(data.DataError, match="the disk is gone"):
        train(Breaking(X, y), y, linear_plan(solver="ocas", tol=1e-9))


def test_a_product_that_fails_is_raised_where_it_was_asked_for(stored):
    passes = Passes(stored(*problem()), 0.0, _core.Pool(1))

    def fail(first, rows, pool):
        raise ZeroDivisionError

    with passes.member():
        with pytest.raises(ZeroDivisionError):
            passes.run(Product(fail))
        assert SourceRows(passes, passes.pool).matvec(np.zeros(20)).tolist() == [0.0] * 600


def test_solvers_that_need_rows_in_memory_are_refused(stored):
    X, y = problem()
    source = stored(X, y)
    for solver in ("newton", "dual"):
        with pytest.raises(ValueError, match=f"solver '{solver}' needs .*rows in memory.* on disk"):
            train(source, y, linear_plan(solver=solver))
    assert train(source, y, linear_plan()).model.solver == "ocas"


def test_limits_and_callbacks_give_the_best_so_far(stored):
    X, y = problem(classes=3)
    source = stored(X, y)
    few = train(source, y, linear_plan(tol=1e-12, max_iter=3))
    assert {c.status for c in few.model.certificates} == {Status.MAX_ITER}
    short = train(source, y, linear_plan(tol=1e-12, max_time=1e-9))
    assert {c.status for c in short.model.certificates} == {Status.MAX_TIME}
    asked = train(
        source, y, linear_plan(tol=1e-12, callback=lambda progress: progress.iteration > 1)
    )
    assert {c.status for c in asked.model.certificates} == {Status.CALLBACK}


@pytest.mark.parametrize("size, is_fresh", [(1.0, False), (1e9, True)])
def test_after_a_stop_a_file_is_read_once_more_where_predictions_may_have_drifted(
    stored, size, is_fresh
):
    X, y = problem(sparse=False, dtype=np.float64)
    stop = _core.Stop()
    stop.interrupt()
    pool, w = _core.Pool(1, stop), np.full(20, 0.01)
    rows = SourceRows(Passes(stored(size * X, y), 0.0, pool), pool)
    loss, p = Hinge(np.where(y > 0, 1.0, -1.0), 1.0, _core.Pool(1)), size * X @ w
    drifted = bundle.Point(w, 1.001 * p, 1.0, float(w @ w), steps=1000)
    fresh = 0.5 * drifted.w_squared + loss.value(p)
    P = bundle.exact_primal(rows, loss, drifted)
    assert np.isclose(P, fresh, rtol=1e-9, atol=0) == is_fresh


def test_values_that_are_not_finite_are_refused(stored):
    X, y = problem(sparse=False)
    X[417, 3] = np.nan
    with pytest.raises(data.DataError, match="row 418 holds nan; expected finite numbers"):
        read_metadata(stored(X, y))
    with pytest.raises(data.DataError, match="row 418 holds nan; expected finite numbers"):
        read_metadata(stored(sp.csr_matrix(X), y))


def test_a_file_that_changes_in_training_ends_it(tmp_path):
    X, y = problem()
    path = tmp_path / "rows.arrow"
    data.write_store(data.ArraySource(X, y), path, block_bytes=3000)

    def change(progress):
        if progress.iteration == 3:
            with open(path, "ab") as file:
                file.write(b"!")

    with pytest.raises(data.DataError, match=r"rows.arrow: changed while it was in use: it has"):
        train(data.open_source(path), y, linear_plan(tol=1e-9, callback=change))
