"""Training on rows that stay on disk gives what training in memory gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin import LinearSVC, MeasureSVC, OrdinalSVC, _core, data
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.source_rows import Passes, Product, SourceRows, read_metadata
from maxmargin.losses import Hinge
from maxmargin.problem import Settings, Status
from maxmargin.solvers.common.run import Run
from maxmargin.solvers.linear import bundle, newton
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
@pytest.mark.parametrize("solver", ["newton", "ocas", "cpa"])
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


def test_newton_reads_a_file_twice_a_step(stored):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 4))
    y = np.where(X @ [1, -2, 0.5, 0] + rng.normal(size=6000) > 0, 1.0, -1.0)
    passes = Passes(stored(X, y), 1.0, _core.Pool(2))
    rows = SourceRows(passes, passes.pool)
    loss = Hinge(y, 1.0, passes.pool)
    assert newton.sample_steps(rows.n, rows.width)  # the start on a sample is counted too
    solution = newton.solve(rows, loss, Settings(tol=1e-6))
    certificate = solution.certificate
    assert certificate.relative_gap <= 1e-6
    updates = 12  # of multipliers, at most: another pass each
    assert passes.count <= 2 * certificate.n_iter + updates + 4
    there = newton.solve(ArrayRows(X, 1.0, passes.pool), loss, Settings(tol=1e-6)).certificate
    assert certificate.primal == pytest.approx(there.primal, rel=2e-6)


def test_columns_of_any_scale_are_solved_from_disk(stored):
    """Where a dual method on single rows creeps: an age in years, and an income."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(18, 80, 2000), rng.lognormal(10, 1, 2000)])
    y = np.where(X[:, 0] / 20 + np.log(X[:, 1]) + rng.normal(size=2000) > 12.5, 1.0, -1.0)
    model = train(stored(X, y), y, linear_plan(C=1.0)).model
    assert (model.solver, model.certificates[0].status) == ("newton", Status.OPTIMAL)
    assert model.certificates[0].n_iter <= 30


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
    with pytest.raises(ValueError, match=r"solver 'dual' needs .*rows in memory.* on disk"):
        train(source, y, linear_plan(solver="dual"))
    assert train(source, y, linear_plan()).model.solver == "newton"


def test_wide_rows_on_disk_are_not_for_newton(stored):
    X = sp.random(40, 4000, 0.01, format="csr", random_state=0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    source = stored(X, y)
    with pytest.raises(
        ValueError, match=r"at most 3000 features .* there are 4001; use one of auto"
    ):
        train(source, y, linear_plan(solver="newton"))
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


def test_a_stop_after_the_last_pass_of_newton_ends_in_a_certificate(stored):
    """The loss of its predictions was summed by threads that the flag stops."""
    X, y = problem(dtype=np.float64)
    stop = _core.Stop()
    rows = SourceRows(Passes(stored(X, y), 0.0, _core.Pool(1)), _core.Pool(1, stop))
    loss = Hinge(np.where(y == 1, 1.0, -1.0), np.ones(len(y)), _core.Pool(1, stop))
    best = newton.RowsBest(rows, loss)
    best.w = np.full(rows.width, 0.01)
    stop.interrupt()
    certificate = best.certify(rows, loss, Run(Settings(stop=stop)))
    whole = 0.5 * best.w @ best.w + loss_of(X, y, best.w)
    assert certificate.primal == pytest.approx(whole, rel=1e-12)
    assert certificate.dual == 0


def loss_of(X, y, w):
    return float(np.maximum(0, 1 - np.where(y == 1, 1.0, -1.0) * (X @ w)).sum())


@pytest.mark.parametrize("max_time", [1e-9, 1e-3])
@pytest.mark.parametrize(
    "machine",
    [OrdinalSVC(), MeasureSVC(measure="prbep"), LinearSVC(solver="cpa", probability="sigmoid")],
)
@pytest.mark.filterwarnings("ignore:no row of class")
def test_thresholds_and_maps_are_found_however_little_time_there_was(stored, machine, max_time):
    """The pass that finds them was ended by the limit of the fit: `Stopped` came out of it."""
    X, y = problem()
    source = stored(X, y)
    with pytest.warns(ConvergenceWarning):
        fitted = clone(machine).set_params(max_time=max_time, tol=1e-12).fit(source)
    assert np.all(np.isfinite(fitted.decision_function(X)))
    assert fitted.certificate_.status == "max_time"  # never said to be interrupted


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
