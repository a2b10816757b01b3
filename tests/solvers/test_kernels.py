"""Kernel matrices, cached rows, neighbours, budgets."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel import sources as kernel_sources
from maxmargin.solvers.kernel.given import given_matrix
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method
from maxmargin.solvers.kernel.sources import EARLIEST, EARLY, CachedSource, PartialSource, source_of
from maxmargin.solvers.kernel.two_variable import solve

POOL = _core.Pool(2)


def rows(n=70, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_hand(X, kernel):
    X = np.asarray(X, dtype=np.float64)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    G = X @ X.T
    return {
        "rbf": lambda: np.exp(-kernel.gamma * D),
        "laplacian": lambda: np.exp(-kernel.gamma * np.sqrt(D)),
        "poly": lambda: (kernel.gamma * G + kernel.coef0) ** kernel.degree,
        "linear": lambda: G,
    }[kernel.name]()


KINDS = [
    Kernel("rbf", 0.3),
    Kernel("laplacian", 0.3),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel("linear"),
]
FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csr64": lambda X: sp.csr_array(
        (
            sp.csr_matrix(X).data,
            *map(np.int64, (sp.csr_matrix(X).indices, sp.csr_matrix(X).indptr)),
        ),
        shape=X.shape,
    ),
}


@pytest.mark.parametrize("kernel", KINDS, ids=lambda k: k.name)
@pytest.mark.parametrize("form", FORMS)
def test_matrix_and_cached_rows_hold_the_kernel(kernel, form):
    X = rows()
    X[np.random.default_rng(1).random(X.shape) < 0.4] = 0
    expected = by_hand(X, kernel)
    given = FORMS[form](X)
    scale = np.abs(expected).max()
    K = kernels.kernel_matrix(given, kernel, POOL)
    assert np.allclose(K, expected, atol=2e-6 * scale)
    assert np.array_equal(K, K.T)
    cache = kernel_sources.cached_rows(given, kernel, 4 * len(X) * 5, POOL)
    for i in (0, 3, 69, 0, 5, 9, 11, 3, 3, 60):
        assert np.allclose(cache.row(i), expected[i], atol=2e-6 * scale)
    assert np.allclose(cache.diagonal, np.diagonal(expected), rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 63, 64, 65, 130, 131])
def test_the_matrix_is_symmetric_whatever_its_size(n, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 96)
    monkeypatch.setattr(kernels, "BAND", 40)
    X = rows(n)
    K = kernels.kernel_matrix(X, KINDS[0], POOL)
    assert np.array_equal(K, K.T)
    assert np.allclose(K, by_hand(X, KINDS[0]), rtol=1e-6, atol=0)


def test_half_of_a_matrix_is_multiplied_and_little_more(monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 64)
    monkeypatch.setattr(kernels, "BAND", 16)
    made = []
    monkeypatch.setattr(kernels, "Products", counting(made))
    n = 300
    kernels.kernel_matrix(rows(n), KINDS[0], POOL)
    assert sum(made) <= n * (n + 16) / 2


def counting(made):
    """Products that say how many they were asked for."""

    class Counted(kernels.Products):
        def __call__(self, left, right):
            made.append(left.shape[0] * right.shape[0])
            return super().__call__(left, right)

    return Counted


def test_wide_sparse_rows_are_multiplied_as_sparse_ones():
    X = sp.random(60, 5000, density=0.002, random_state=0, format="csr")
    assert sp.issparse(kernels.Points(X).tile(0, 10))
    assert np.allclose(
        kernels.kernel_matrix(X, Kernel("rbf", 0.5), POOL),
        by_hand(X.toarray(), Kernel("rbf", 0.5)),
        atol=2e-6,
    )


def test_distances_keep_their_digits_far_from_the_origin():
    X = rows(40, 3) * 1e-3 + 1e4
    K = kernels.kernel_matrix(X, Kernel("rbf", 1e5), POOL)
    assert np.allclose(K, by_hand(X - X.mean(0), Kernel("rbf", 1e5)), atol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_one_matrix_of_distances_serves_every_width(name):
    X = rows(130)
    D = kernels.distance_matrix(X, POOL)
    for gamma in (1e-3, 0.1, 10.0, 1e4):
        K = kernels.kernel_from_distances(Kernel(name, gamma), D, kernels.empty_matrix(130), POOL)
        assert np.allclose(K, by_hand(X, Kernel(name, gamma)), atol=1e-6)
        assert np.all(np.diagonal(K) == 1)


def test_an_order_permutes_the_matrix():
    X, order = rows(30), np.random.default_rng(2).permutation(30)
    assert np.allclose(
        kernels.distance_matrix(X, POOL, order),
        kernels.distance_matrix(X, POOL)[np.ix_(order, order)],
        atol=1e-5,
    )


def test_the_matrix_does_not_depend_on_the_threads():
    X = rows(200)
    matrices = [
        kernels.kernel_from_distances(
            Kernel("rbf", 1.0), D := kernels.distance_matrix(X, pool), D, pool
        )
        for pool in (_core.Pool(1), _core.Pool(3))
    ]
    assert np.array_equal(*matrices)


def test_threads_of_blas_are_put_back_after_overlapping_uses():
    before = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    X = rows(600, 50)
    with ThreadPoolExecutor(4) as executor:
        pools = [_core.Pool(1 + k % 2) for k in range(8)]
        list(executor.map(lambda pool: kernels.kernel_matrix(X, Kernel("linear"), pool), pools))
    after = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    assert before == after


def test_exp_underflows_to_zero_and_is_accurate():
    D = np.array([[0, 1e-30, 1e-3], [1, 80, 86.9], [90, 1e4, 3e38]], dtype=np.float32)
    K = kernels.kernel_from_distances(Kernel("rbf", 1.0), D, np.empty_like(D), POOL)
    assert np.allclose(K, np.exp(-D.astype(np.float64)), rtol=3e-7, atol=1e-37)


# ---------------------------------------------------------------- neighbours


def test_neighbours_are_the_nearest():
    X = rows(150, 4)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    np.fill_diagonal(D, np.inf)
    expected = np.argsort(D, axis=1)[:, :7]
    matrix = kernels.distance_matrix(X, POOL)
    assert np.array_equal(kernels.neighbours_in(matrix, 7, POOL), expected)
    K = by_hand(X, Kernel("linear")).astype(np.float32)
    same = kernels.neighbours_by_kernel(K, 7, POOL) == expected
    assert same.mean() > 0.99  # float32 may swap neighbours that are equally near


@pytest.mark.filterwarnings("error")
def test_kernel_values_at_the_end_of_float32_have_neighbours():
    """k(x, x) + k(z, z) was infinite, and infinity less infinity no distance."""
    X = np.array([1.0, 2.0, 2.2, -2.2])[:, None]
    K = (6e37 * X @ X.T).astype(np.float32)
    assert kernels.neighbours_by_kernel(K, 1, POOL).ravel().tolist() == [1, 2, 1, 0]


def test_few_points_have_few_neighbours():
    K = np.eye(3, dtype=np.float32)
    assert kernels.neighbours_by_kernel(K, 10, POOL).shape == (3, 2)
    assert kernels.neighbours_by_kernel(np.eye(1, dtype=np.float32), 10, POOL).shape == (1, 0)


# ---------------------------------------------------------------- sources and budgets


@pytest.mark.parametrize("kernel", KINDS, ids=lambda k: k.name)
def test_a_small_budget_gives_the_same_optimum_through_the_cache(kernel):
    X = rows(90, 3)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    method = Method()
    values = []
    for budget in (10**9, 4 * 90 * 6):
        source = source_of(X, kernel, budget, POOL)
        assert isinstance(source, PartialSource if budget == 10**9 else CachedSource)
        problem = BinaryProblem(source, y, np.ones(90))
        values.append(solve(problem, 1.0, Settings(tol=1e-6), POOL, method).certificate)
    assert values[0].primal == pytest.approx(values[1].primal, rel=1e-4)
    assert values[1].normalised_gap <= 1e-6


def test_few_support_vectors_need_few_rows_and_many_the_whole_matrix():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(-2, 0.3, (400, 3)), random.normal(2, 0.3, (400, 3))])
    y = np.repeat([-1.0, 1.0], 400)
    noisy = np.where(random.random(800) < 0.3, -y, y)
    filled = []
    for labels, gamma in ((y, 0.1), (noisy, 10.0)):
        source = source_of(X, Kernel("rbf", gamma), 10**9, POOL)
        problem = BinaryProblem(source, labels, np.ones(800))
        found = solve(problem, 10.0, Settings(tol=1e-4), POOL, Method(cold="I0"))
        assert found.certificate.status == "optimal"
        filled.append(source.rows.whole)
        if not source.rows.whole:
            assert source.rows.computed < source.fill_at
    assert filled == [False, True]


def test_a_matrix_filled_half_way_gives_the_same_optimum():
    X = rows(300, 3)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    primal = []
    for whole_first in (True, False):
        source = source_of(X, Kernel("rbf", 1.0), 10**9, POOL)
        if whole_first:
            source.fill(POOL)
        problem = BinaryProblem(source, y, np.ones(300))
        found = solve(problem, 1.0, Settings(tol=1e-6), POOL, Method())
        assert found.certificate.status == "optimal"
        primal.append(found.certificate.primal)
    assert primal[0] == pytest.approx(primal[1], rel=2e-6)


@pytest.mark.parametrize("d", [1, 3, 16])
def test_products_of_few_features_are_those_of_numpy(d):
    random = np.random.default_rng(d)
    left, right = random.normal(size=(37, d)), random.normal(size=(301, d))
    for threads in (1, 2):
        out = np.empty((37, 301))
        _core.narrow_products(left, np.ascontiguousarray(right.T), out, _core.Pool(threads))
        assert np.allclose(out, left @ right.T, rtol=1e-14, atol=1e-14)


def test_the_cache_keeps_rows_used_last():
    cache = kernel_sources.cached_rows(rows(20), Kernel("rbf", 1.0), 4 * 20 * 4, POOL)
    for i in (0, 1, 2, 3, 0, 4, 0, 1):  # 4 pushes out 1, the oldest; 0 stays
        cache.row(i)
    assert cache.computed == 6
    assert cache.capacity == 4


def test_working_sets_that_read_everywhere_need_the_matrix():
    source = source_of(rows(50), Kernel("rbf", 1.0), 4 * 50 * 5, POOL)
    problem = BinaryProblem(source, np.repeat([1.0, -1.0], 25), np.ones(50))
    with pytest.raises(ValueError, match="need the whole kernel matrix"):
        solve(problem, 1.0, Settings(), POOL, Method(working_set=256))


def test_a_budget_too_small_for_rows_is_refused_with_numbers():
    with pytest.raises(ValueError, match=r"3 kernel rows of 50 points take 600 bytes.*fewer rows"):
        source_of(rows(50), Kernel("rbf", 1.0), 500, POOL)
    with pytest.raises(ValueError, match="needs its whole matrix"):
        source_of(rows(50), lambda X, Z: X @ Z.T, 500, POOL)


@pytest.mark.parametrize(
    ("text", "value"), [("2GB", 2 * 1024**3), ("512 MiB", 512 * 1024**2), ("1.5k", 1536), (7, 7)]
)
def test_bytes_are_read_from_text(text, value):
    assert kernel_sources.parse_bytes(text) == value


@pytest.mark.parametrize("text", ["lots", "-1GB", 0, -5])
def test_bad_byte_amounts_are_refused(text):
    with pytest.raises(ValueError, match="memory must be"):
        kernel_sources.parse_bytes(text)


@pytest.mark.parametrize("size", [1, 1000, 1024, 90_000, 1 << 20, 1.5 * 2**30, 3 * 2**40])
def test_bytes_are_spelled_as_they_are_read(size):
    assert kernel_sources.parse_bytes(kernel_sources.spell_bytes(size)) == pytest.approx(
        size, rel=0.05
    )


# ---------------------------------------------------------------- matrices given by others


def test_a_float32_matrix_is_used_in_place_and_others_are_converted():
    K = kernels.kernel_matrix(rows(30), Kernel("rbf", 1.0), POOL)
    assert given_matrix(K, POOL) is K
    assert np.array_equal(given_matrix(K.astype(np.float64), POOL), K)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:, :5], r"square matrix.*got shape \(6, 5\)"),
        (lambda K: np.where(np.arange(6) == 2, np.nan, K), "contains nan at row 0, column 2"),
        (lambda K: K + np.triu(np.full((6, 6), 0.1), 1), "not symmetric"),
        (lambda K: K - 2 * np.eye(6), "not positive definite"),
        (lambda K: K + 3 - 3 * np.eye(6), "not positive definite"),
    ],
)
def test_bad_precomputed_matrices_are_refused(change, message):
    K = by_hand(rows(6), Kernel("rbf", 0.1))
    with pytest.raises(ValueError, match=message):
        given_matrix(change(K), POOL)


def test_a_kernel_function_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="returned an array of shape"):
        source_of(rows(8), lambda X, Z: X[:, 0], 10**9, POOL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rbf", 0.0), "gamma must be a positive"),
        (("rbf", -1.0), "gamma must be a positive"),
        (("laplacian", float("nan")), "gamma must be a positive"),
        (("poly", 1.0, 0), "degree must be"),
        (("poly", 1.0, 2, -1.0), "coef0 must not be negative"),
        (("sigmoid",), "kernel must be one of"),
    ],
)
def test_bad_kernel_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Kernel(*arguments)


def test_an_overflowing_polynomial_is_refused():
    with pytest.raises(ValueError, match="inf at row"):
        source_of(rows(10) * 1e10, Kernel("poly", 1.0, 5), 10**9, POOL)


def test_a_matrix_is_filled_early_while_every_step_asks_for_new_rows():
    X = np.random.default_rng(0).normal(size=(400, 3))
    pool = _core.Pool(1)

    def source_after(rows, steps, waiting=0):
        source = PartialSource(X, Kernel("rbf", 1.0), pool)
        for i in range(rows):
            source.rows.row(i)
        source.fill_if_cheaper(steps, pool, waiting)
        return source

    early = int(np.ceil(EARLY * source_after(0, 1).fill_at))
    assert source_after(early, early).rows.whole
    assert not source_after(early, early + 1).rows.whole  # steps come back to rows they know
    assert not source_after(early - 1, 1).rows.whole
    worth = source_after(0, 1).fill_at
    assert source_after(worth, 10**6).rows.whole
    earliest = int(np.ceil(EARLIEST * worth))
    assert source_after(earliest, 10**6, waiting=worth).rows.whole
    assert not source_after(earliest, 10**6, waiting=worth - 1).rows.whole
    assert not source_after(earliest - 1, 1, waiting=400).rows.whole


def test_noisy_rows_fill_the_matrix_before_single_rows_cost_as_much():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 20))
    y = np.where(rng.random(1000) < 0.5, 1.0, -1.0)
    pool = _core.Pool(1)
    source = PartialSource(X, Kernel("rbf", 0.05), pool)
    solve(BinaryProblem(source, y, np.ones(1000)), 1.0, Settings(), pool)
    # Most points wait for a step for long: the matrix is made as soon as that is believed.
    assert source.rows.whole and source.rows.computed < EARLY * source.fill_at
