"""Subspace pursuit: the same optimum as the exact machine on a full basis, and what must hold on
the way there."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core, data
from maxmargin.losses import Hinge
from maxmargin.problem import Settings, Status
from maxmargin.solvers.kernel.gram import Kernel, kernel_matrix
from maxmargin.solvers.kernel.path import BinaryProblem, Method
from maxmargin.solvers.kernel.sources import MatrixSource
from maxmargin.solvers.kernel.two_variable import solve as solve_exactly
from maxmargin.solvers.subspace import kernel_values, subspace_pursuit
from maxmargin.solvers.subspace.basis_choice import choice_of
from maxmargin.solvers.subspace.preimages import PreImageOptions
from maxmargin.solvers.subspace.span import Subspace
from tests.solvers.brute_force import kernel_block

RBF = Kernel("rbf", 0.5)


def moons(n=300, noise=0.25, seed=0):
    """Two interleaved half circles that overlap."""
    rng = np.random.default_rng(seed)
    angle, y = rng.random(n) * np.pi, np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * y[:, None]
    X += np.where(y[:, None] > 0, [0.0, 0.0], [1.0, 0.5]) + noise * rng.normal(size=(n, 2))
    return X, y


def pursue(X, y, sizes, C=10.0, kernel=RBF, basis="free", threads=1, seed=0, weights=None, **more):
    pool = _core.Pool(threads)
    cost = C * (np.ones(len(y)) if weights is None else weights)
    subspace = Subspace(X, kernel, max(sizes), pool)
    choice = choice_of(basis, subspace, PreImageOptions(), seed)
    settings = Settings(seed=seed, **more)
    return subspace, subspace_pursuit.solve(
        subspace, [Hinge(y, cost, pool)], choice, sizes, settings
    )


def exact_optimum(X, y, C, kernel=RBF):
    pool = _core.Pool(1)
    source = MatrixSource(kernel_matrix(X, kernel, pool))
    problem = BinaryProblem(source, y, np.ones(len(y)))
    found = solve_exactly(problem, C, Settings(tol=1e-6), pool, Method())
    return found.certificate


@pytest.mark.parametrize("kernel", [RBF, Kernel("laplacian", 1.0), Kernel("poly", 0.5, 3, 1.0)])
def test_with_all_rows_as_basis_the_objective_is_that_of_the_exact_machine(kernel):
    X, y = moons(200)
    exact = exact_optimum(X, y, 10.0, kernel)
    _, [stage] = pursue(X, y, [200], kernel=kernel, basis="nystroem", tol=1e-5)
    found = stage.solutions[0].certificate
    assert found.status == Status.OPTIMAL
    assert abs(found.primal - exact.primal) <= 2e-5 * found.scale + 1e-3 * exact.primal
    assert found.primal >= exact.dual - 1e-6 * found.scale


def test_primal_falls_always_and_dual_rises_once_the_basis_is_fixed():
    X, y = moons()
    _, [stage] = pursue(X, y, [12], tol=1e-5)
    history = stage.solutions[0].history
    primal = np.array([p.primal for p in history])
    assert np.all(np.diff(primal) <= 1e-9 * primal[:-1])
    fixed = np.array([p.dual for p in history if p.iteration >= 12])
    assert len(fixed) > 3
    assert np.all(np.diff(fixed) >= 0)
    assert np.all(fixed <= primal[-1] * (1 + 1e-9))


@pytest.mark.parametrize("basis", ["free", "training", "nystroem", "cholesky"])
def test_residual_norm_never_grows_when_a_vector_is_added(basis):
    X, y = moons(150)
    subgrad = -y * (np.arange(150) % 3 > 0)
    K = kernel_block(RBF, X, X)
    pool = _core.Pool(1)
    subspace = Subspace(X, RBF, 25, pool)
    choice = choice_of(basis, subspace, PreImageOptions(), 0)
    before = subgrad @ K @ subgrad
    for _ in range(25):
        if subspace_pursuit.extend_basis(subspace, choice, subgrad) is None:
            break
        a = subspace.rows.rmatvec(subgrad)
        after = subgrad @ K @ subgrad - a @ a
        assert after <= before + 1e-6 * (subgrad @ K @ subgrad)
        before = after
    assert before >= -1e-4 * (subgrad @ K @ subgrad)


def test_coordinates_reproduce_the_kernel_of_basis_vectors():
    X, y = moons(100)
    subspace, _ = pursue(X, y, [15])
    z = subspace.coordinates(np.arange(100))
    values = kernel_block(RBF, X, subspace.basis.vectors)
    assert np.allclose(z @ subspace.L[: subspace.k, : subspace.k].T, values, atol=1e-5)


def test_the_certificate_is_that_of_the_coefficients_kept():
    X, y = moons()
    subspace, [stage] = pursue(X, y, [10], C=3.0)
    found, B = stage.solutions[0], subspace.basis.vectors
    f = kernel_block(RBF, X, B) @ found.beta
    norm = found.beta @ kernel_block(RBF, B, B) @ found.beta
    P = norm / 2 + 3.0 * np.maximum(0, 1 - y * f).sum()
    assert found.certificate.primal == pytest.approx(P, rel=1e-5)
    assert found.certificate.dual <= P
    assert found.certificate.normalised_gap <= 1e-3


def test_free_vectors_beat_rows_at_a_small_budget():
    train, _ = data.load_demo()
    X, y = train.X, np.where(train.y == train.y.max(), 1.0, -1.0)
    kernel = Kernel("rbf", 0.05)
    value = {
        basis: np.mean(
            [
                pursue(X, y, [5], 1.0, kernel, basis, seed=seed)[1][0]
                .solutions[0]
                .certificate.primal
                for seed in range(3)
            ]
        )
        for basis in ("free", "training", "nystroem", "cholesky")
    }
    assert value["free"] < value["training"] < value["nystroem"]
    assert value["free"] < value["cholesky"]


def test_bounds_hold_against_the_exact_optimum():
    X, y = moons(400)
    exact = exact_optimum(X, y, 1.0)
    for k in (3, 10, 40):
        _, [stage] = pursue(X, y, [k], C=1.0)
        found = stage.solutions[0]
        excess = found.certificate.primal - exact.dual
        assert 0 <= found.certificate.gap <= found.bounds.exact_gap
        assert excess <= found.bounds.exact_gap + 1e-6 * exact.primal
        assert excess <= found.bounds.theorem2 + 1e-6 * exact.primal
    assert found.bounds.exact_gap < 0.5 * exact.primal  # and says something at 40 vectors


def test_a_path_gives_every_size_and_never_a_worse_objective():
    X, y = moons()
    _, stages = pursue(X, y, [2, 5, 10])
    assert [stage.k for stage in stages] == [2, 5, 10]
    values = [stage.solutions[0].certificate.primal for stage in stages]
    assert values[0] > values[1] > values[2]
    assert [len(stage.solutions[0].beta) for stage in stages] == [2, 5, 10]


def test_several_problems_share_the_basis():
    X, y = moons()
    pool = _core.Pool(1)
    subspace = Subspace(X, RBF, 8, pool)
    losses = [Hinge(y, 1.0, pool), Hinge(-y, 1.0, pool)]
    choice = choice_of("free", subspace, PreImageOptions(), 0)
    [stage] = subspace_pursuit.solve(subspace, losses, choice, [8], Settings())
    first, second = (solution.certificate for solution in stage.solutions)
    assert first.status == second.status == Status.OPTIMAL
    assert first.primal == pytest.approx(second.primal, rel=5e-2)


@pytest.mark.parametrize("basis", ["free", "training"])
def test_answers_do_not_depend_on_the_number_of_threads(basis):
    X, y = moons(20000, seed=1)
    betas = [
        pursue(X, y, [6], basis=basis, threads=threads)[1][0].solutions[0].beta
        for threads in (1, 3)
    ]
    assert np.array_equal(*betas)


def test_equal_points_leave_one_vector():
    X, y = np.ones((20, 3)), np.where(np.arange(20) < 12, 1.0, -1.0)
    for basis in ("free", "training", "nystroem", "cholesky"):
        subspace, stages = pursue(X, y, [5], C=1.0, basis=basis)
        found = stages[-1].solutions[0]
        assert subspace.k == 1
        # f = 1 everywhere costs 1/2 + 2 * 8; no function does better.
        assert found.certificate.primal == pytest.approx(16.5, rel=1e-3)


def test_separable_rows_end_with_nothing_left_to_add():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    subspace, stages = pursue(X, y, [50], C=1e4, kernel=Kernel("rbf", 1.0), tol=1e-6)
    f = kernel_block(subspace.kernel, X, subspace.basis.vectors) @ stages[-1].solutions[0].beta
    assert np.all(y * f > 0.99)
    assert stages[-1].solutions[0].certificate.status == Status.OPTIMAL


def test_rows_without_weight_do_not_matter():
    X, y = moons(200)
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    part = pursue(X[:150], y[:150], [40], C=1.0, basis="cholesky", tol=1e-5)
    whole = pursue(X, y, [60], C=1.0, basis="cholesky", weights=weights, tol=1e-5)
    a, b = (stages[-1].solutions[0].certificate for _, stages in (part, whole))
    assert b.scale == a.scale
    assert b.primal == pytest.approx(a.primal, rel=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_what_dense_rows_give(dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((300, 20)) * (rng.random((300, 20)) < 0.3)).astype(dtype)
    y = np.where(X[:, 0] + X[:, 1] > 0.3, 1.0, -1.0)
    dense, sparse = (pursue(Z, y, [8], basis="cholesky")[1][0] for Z in (X, sp.csr_matrix(X)))
    a, b = dense.solutions[0].certificate, sparse.solutions[0].certificate
    assert a.primal == pytest.approx(b.primal, rel=1e-3)


@pytest.mark.parametrize("rows", ["wide", "dense", "few"])
@pytest.mark.parametrize("vectors", ["dense", "csr", "thin"])
def test_kernel_tiles_are_kernel_values(rows, vectors, monkeypatch):
    """Whatever of both is sparse, and copied in slabs or not."""
    rng = np.random.default_rng(0)
    X = sp.random(3 if rows == "few" else 90, 2000, 0.01, "csr", random_state=0)
    X = X.toarray() if rows == "dense" else X
    V = rng.normal(size=(7, 2000)) * (rng.random((7, 2000)) < (0.005 if vectors == "thin" else 0.3))
    V = V if vectors == "dense" else sp.csr_matrix(V)
    monkeypatch.setattr(kernel_values, "SLAB_VALUES", 3 * 2000)
    K, slabs = np.empty((X.shape[0], 7)), set()
    kernel = Kernel("rbf", 0.01)
    for part, columns, values in kernel_values.kernel_tiles(X, V, kernel, _core.Pool(1)):
        K[part, columns] = values
        slabs.add((columns.start, columns.stop))
    copied = {(0, 3), (3, 6), (6, 7)}
    cut = {("wide", "dense"), ("wide", "csr"), ("dense", "csr"), ("few", "dense")}
    assert slabs == (copied if (rows, vectors) in cut else {(0, 7)})
    assert np.allclose(K, kernel_block(kernel, X, V))


@pytest.mark.parametrize("threads", [2, 3])
def test_kernel_tiles_of_several_threads_are_those_of_one(threads, monkeypatch):
    """In their order, bit by bit, though more tiles are made than there is memory for."""
    monkeypatch.setattr(kernel_values, "TILE_VALUES", 256)
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(3000, 20)), rng.normal(size=(5, 20))

    def all_tiles(threads):
        tiles = kernel_values.kernel_tiles(X, V, RBF, _core.Pool(threads))
        return [(rows.start, values.copy()) for rows, _, values in tiles]

    for (start, values), (again, same) in zip(all_tiles(1), all_tiles(threads), strict=True):
        assert start == again
        np.testing.assert_array_equal(values, same)


def test_a_stop_ends_kernel_tiles_between_two():
    stop = _core.Stop()
    pool = _core.Pool(2, stop)
    X = np.random.default_rng(0).normal(size=(60000, 3))
    tiles = kernel_values.kernel_tiles(X, X[:4], RBF, pool)
    next(tiles)
    stop.interrupt()
    with pytest.raises(_core.Stopped):
        list(tiles)


def test_kernel_values_of_long_wide_rows_are_exact():
    """A common column of large numbers: products in float32 would lose the digits of distances."""
    common = np.full((60, 1), 1e3)
    X = sp.hstack([sp.random(60, 4000, 0.005, "csr", random_state=0) * 3, common], "csr")
    kernel = Kernel("rbf", 0.1)
    subspace = Subspace(X, kernel, 1, _core.Pool(1))
    subspace.keep_products()
    b = X[:1].toarray()
    assert np.allclose(subspace.append(b[0]), kernel_block(kernel, X, b)[:, 0], atol=1e-6)


def test_wide_sparse_rows_keep_sparse_basis_vectors():
    rng = np.random.default_rng(0)
    X = sp.random(400, 50000, density=0.0002, format="csr", random_state=rng)
    y = np.where(np.asarray(X[:, :25000].sum(axis=1)).ravel() > 2.5, 1.0, -1.0)
    subspace, [stage] = pursue(X, y, [6], kernel=Kernel("rbf", 0.1))
    kept = subspace.basis.kept()
    assert sp.issparse(kept)
    assert kept.nnz < 0.5 * 6 * 50000
    found = stage.solutions[0]
    f = kernel_block(subspace.kernel, X, kept) @ found.beta
    w2 = found.beta @ kernel_block(subspace.kernel, kept, kept) @ found.beta
    P = w2 / 2 + 10.0 * np.maximum(0, 1 - y * f).sum()
    assert found.certificate.primal == pytest.approx(P, rel=1e-4)


def test_a_limit_on_iterations_ends_growth_too():
    X, y = moons()
    subspace, stages = pursue(X, y, [5, 30], max_iter=9)
    assert subspace.k < 30
    assert stages[-1].solutions[0].certificate.status == Status.MAX_ITER


def test_points_far_from_the_origin_keep_their_digits():
    X, y = moons()
    near, far = (pursue(Z, y, [10], basis="cholesky")[1][0] for Z in (X, X + 1e6))
    a, b = near.solutions[0].certificate, far.solutions[0].certificate
    assert a.primal == pytest.approx(b.primal, rel=2e-3)
