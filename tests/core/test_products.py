"""Products of rows with vectors: equal to numpy's, in place, for any number of threads."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, is_surely_finite

N, D = 3001, 37  # enough entries for several pieces of work, and no multiple of a vector's length


def values(dtype):
    return np.random.default_rng(0).normal(size=(N, D)).astype(dtype)


def sparse(dtype, index, density=0.3):
    rng = np.random.default_rng(1)
    X = sp.csr_matrix(values(dtype) * (rng.random((N, D)) < density))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    assert X.data.dtype == dtype and X.indices.dtype == index and X.indptr.dtype == index
    return X


def read_only(X):
    X.flags.writeable = False
    return X


def spread(dtype, order):
    """A view whose rows (or columns) lie apart in memory."""
    if order == "C":
        return np.repeat(np.repeat(values(dtype), 2, axis=1), 2, axis=0)[::2, :D]
    return np.asfortranarray(np.repeat(values(dtype), 2, axis=1))[:, ::2]


KINDS = {
    "C order": lambda dtype: values(dtype),
    "Fortran order": lambda dtype: np.asfortranarray(values(dtype)),
    "rows apart": lambda dtype: spread(dtype, "C"),
    "columns apart": lambda dtype: spread(dtype, "F"),
    "read-only": lambda dtype: read_only(values(dtype)),
    "one column": lambda dtype: values(dtype)[:, 5:6],
    "one row": lambda dtype: values(dtype)[5:6],
    "one row apart": lambda dtype: np.asfortranarray(values(dtype))[5:6],
    "CSR int32": lambda dtype: sparse(dtype, np.int32),
    "CSR int64": lambda dtype: sparse(dtype, np.int64),
    "CSR few entries": lambda dtype: sparse(dtype, np.int32, density=0.02),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["float32", "float64"])
def X(request, kind):
    return KINDS[kind](np.dtype(request.param))


@pytest.fixture(params=[0.0, 2.5], ids=["no bias", "bias"])
def bias(request):
    return request.param


def vectors(rows):
    rng = np.random.default_rng(2)
    w, subgrad = rng.normal(size=rows.width), rng.normal(size=rows.n)
    subgrad[rng.random(rows.n) < 0.5] = 0.0
    return w, subgrad


MANY = (1200, 100)  # rows and features from which on float32 is worth it


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11 * np.abs(theirs).max())


def test_products_equal_those_of_numpy(X, bias, svm):
    rows, full = ArrayRows(X, bias), svm.with_bias(X, bias)
    w, subgrad = vectors(rows)
    h = np.abs(subgrad)
    assert (rows.n, rows.width) == full.shape
    close(rows.matvec(w), full @ w)
    close(rows.rmatvec(subgrad), full.T @ subgrad)
    close(rows.squared_norms(), (full**2).sum(axis=1))
    close(rows.gram(h), (full.T * h) @ full)
    close(rows.hessian_product(h, w), (full.T * h) @ (full @ w))
    h[::2], image = 0.0, np.empty(rows.n)
    close(rows.hessian_product(h, w, image), (full.T * h) @ (full @ w))
    close(image, full @ w)


def test_products_are_the_same_for_any_number_of_threads(X, bias):
    def everything(threads):
        rows = ArrayRows(X, bias, _core.Pool(threads))
        w, subgrad = vectors(rows)
        h = np.abs(subgrad)
        return [
            rows.matvec(w),
            rows.rmatvec(subgrad),
            rows.squared_norms(),
            rows.gram(h),
            rows.hessian_product(h, w),
            np.array([rows.inner(subgrad, h)]),
            rows.axpby(0.3, subgrad, 0.7, h),
        ]

    alone = everything(1)
    for threads in (2, 3, 7):
        for one, many in zip(alone, everything(threads)):
            np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize("step", [2, 7])
def test_every_so_many_rows_can_be_used_where_they_lie(X, bias, step, svm):
    rows, full = ArrayRows(X, bias).subsample(step), svm.with_bias(X, bias)[::step]
    w, subgrad = vectors(rows)
    h = np.abs(subgrad)
    assert rows.n == len(full)
    close(rows.matvec(w), full @ w)
    close(rows.rmatvec(subgrad), full.T @ subgrad)
    close(rows.gram(h), (full.T * h) @ full)
    close(rows.subsample(3).matvec(w), full[::3] @ w)


def test_a_thinned_gram_stands_for_the_rows_left_out(svm):
    X = values(np.float64)
    h = np.where(np.arange(N) % 3 == 0, 1.5, 0.0)
    kept = np.flatnonzero(h)[::4]
    close(ArrayRows(X).gram(h, every=4), 4 * (X[kept].T * h[kept]) @ X[kept])


def test_the_view_looks_at_the_array_itself(kind):
    if kind == "read-only":
        pytest.skip("a read-only array cannot be changed to see it")
    X = KINDS[kind](np.float32)
    rows = ArrayRows(X)
    w = np.ones(rows.width)
    before = rows.matvec(w)
    if sp.issparse(X):
        X.data *= 2
    else:
        X *= 2
    close(rows.matvec(w), 2 * before)


def test_numpy_allocates_nothing_of_the_size_of_the_rows(kind):
    X = KINDS[kind](np.float32)
    size = X.data.nbytes if sp.issparse(X) else X.nbytes
    ArrayRows(X)  # whatever scipy caches about a matrix is cached now
    tracemalloc.start()
    rows = ArrayRows(X)
    rows.rmatvec(rows.matvec(np.ones(rows.width)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 8 * (rows.n + rows.width) + 20_000
    assert size < 20_000 or peak < size


def test_memory_mapped_rows_are_used_through_the_map(tmp_path, svm):
    X = values(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = ArrayRows(mapped, 1.0)
    w, subgrad = vectors(rows)
    full = svm.with_bias(X, 1.0)
    close(rows.matvec(w), full @ w)
    close(rows.rmatvec(subgrad), full.T @ subgrad)


def test_memory_mapped_csr_is_used_through_the_map(tmp_path, svm):
    X = sparse(np.float32, np.int64)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    parts = [np.load(tmp_path / f"{p}.npy", mmap_mode="r") for p in ("data", "indices", "indptr")]
    mapped = sp.csr_matrix(tuple(parts), shape=X.shape, copy=False)
    rows = ArrayRows(mapped)
    w, _ = vectors(rows)
    close(rows.matvec(w), X.toarray().astype(float) @ w)


def test_the_rows_keep_their_arrays_alive():
    rows = ArrayRows(values(np.float64))
    thin = rows.subsample(2)
    del rows
    close(thin.matvec(np.ones(D)), values(np.float64)[::2].sum(axis=1))


@pytest.mark.parametrize(
    "X",
    [
        values(np.float64)[::-1],
        values(np.float64)[:, ::-1],
        values(np.float64)[::2, ::3],
        values(np.float64).astype(">f8"),
        values(np.float64).astype(np.float16),
        (values(np.float64) * 10).astype(np.int32),
        np.broadcast_to(values(np.float64)[0], (N, D)),
        np.broadcast_to(values(np.float64)[:, :1], (N, D)),
        values(np.float64).tolist(),
    ],
    ids=[
        "back",
        "left",
        "both strides",
        "big endian",
        "half",
        "int",
        "same row",
        "same column",
        "list",
    ],
)
def test_what_cannot_be_used_in_place_is_converted(X):
    full = np.asarray(X).astype(np.float64)
    rows = ArrayRows(X)
    w, subgrad = vectors(rows)
    close(rows.matvec(w), full @ w)
    close(rows.rmatvec(subgrad), full.T @ subgrad)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_and_repeated_entries_count_as_scipy_counts_them(index, svm):
    rng = np.random.default_rng(3)
    starts = np.r_[0, np.cumsum(rng.integers(0, 60, size=500))].astype(index)
    indices = rng.integers(0, D, size=starts[-1]).astype(index)
    X = sp.csr_matrix((rng.normal(size=starts[-1]), indices, starts), shape=(500, D))
    assert not X.has_canonical_format
    rows, full = ArrayRows(X, 1.0), svm.with_bias(X.copy(), 1.0)
    w, subgrad = vectors(rows)
    h = np.abs(subgrad)
    close(rows.matvec(w), full @ w)
    close(rows.rmatvec(subgrad), full.T @ subgrad)
    close(rows.squared_norms(), (full**2).sum(axis=1))
    close(rows.gram(h), (full.T * h) @ full)
    np.testing.assert_array_equal(X.indices, indices)  # the user's matrix is left alone


@pytest.mark.parametrize("format", ["csc", "coo", "lil", "dok", "bsr"])
def test_other_sparse_formats_are_converted(format):
    X = sparse(np.float64, np.int32)
    rows = ArrayRows(X.asformat(format))
    w, _ = vectors(rows)
    close(rows.matvec(w), X @ w)


def corrupt(data, indices, starts, d=3, index=np.int32):
    return _core.sparse_rows(
        np.array(data, dtype=float), np.array(indices, dtype=index), np.array(starts, index), d, 0.0
    )


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    "indices, starts, message",
    [
        ([0, 3], [0, 1, 2], "column 3"),
        ([0, -1], [0, 1, 2], "column -1"),
        ([0, 1], [0, 2, 1, 2], "decrease at row 1"),
        ([0, 1], [0, 1, 3], "outside"),
        ([0, 1], [0, 10**6, 2], "row 0 .* outside"),
        ([0, 1], [-1, 1, 2], "outside"),
        ([0, 1], [], "n \\+ 1"),
        ([0], [0, 1, 2], "outside"),
    ],
)
def test_a_corrupt_csr_structure_is_refused(indices, starts, message, index):
    with pytest.raises(ValueError, match=message):
        corrupt([1.0, 2.0], indices, starts, index=index)


def test_a_negative_start_in_the_middle_is_refused():
    with pytest.raises(ValueError, match="decrease"):
        corrupt([1.0, 2.0], [0, 1], [0, -5, 2])


def test_the_first_corrupt_row_is_named_whatever_the_number_of_threads():
    n = 50_000
    indices = np.tile([0, 1], n).astype(np.int32)
    for bad in (49_000, 20_001, 3):
        indices[2 * bad : 2 * bad + 2] = [1, 0]
    starts = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    for threads in (1, 3):
        with pytest.raises(_core.Unordered, match="row 3 "):
            _core.sparse_rows(np.ones(2 * n), indices, starts, 2, 0.0, _core.Pool(threads))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_not_finite_are_noticed(dtype):
    x = np.random.default_rng(0).normal(size=(1000, 300)).astype(dtype)
    x[5, 5] = np.finfo(dtype).max
    assert is_surely_finite(x, 2) and is_surely_finite(np.asfortranarray(x), 2)
    assert is_surely_finite(sp.csr_matrix(x), None)
    assert not is_surely_finite(x[:, ::2], 2)  # would need a copy: somebody else must look
    for bad in (np.nan, np.inf, -np.inf):
        x[999, 299] = bad
        assert not is_surely_finite(x, 2)
        assert not is_surely_finite(sp.csr_matrix(x), 1)


def test_vectors_of_the_wrong_length_are_refused():
    rows = ArrayRows(values(np.float64))
    with pytest.raises(ValueError, match=f"w has {D + 1} entries; expected {D}"):
        rows.matvec(np.zeros(D + 1))
    with pytest.raises(ValueError, match=f"l has {D} entries; expected {N}"):
        rows.rmatvec(np.zeros(D))
    with pytest.raises(ValueError, match="step"):
        rows.subsample(0)


def test_more_than_2_to_the_31_entries_are_reached_by_int64():
    """The entries before the first row are never touched: they take address space, not memory."""
    first = 2**31 - 3
    try:
        data = np.zeros(first + 6, dtype=np.float32)
        indices = np.zeros(first + 6, dtype=np.int64)
    except MemoryError:
        pytest.skip("no 26 GB of address space to be had here")
    data[first:] = [1, 2, 3, 4, 5, 6]
    indices[first:] = [0, 2, 1, 0, 1, 2]
    starts = np.array([first, first + 2, first + 3, first + 6], dtype=np.int64)
    rows = _core.sparse_rows(data, indices, starts, 3, 0.0)
    full, pool = np.array([[1, 0, 2], [0, 3, 0], [4, 5, 6]], dtype=float), _core.Pool(2)
    w, p, a = np.array([1.0, 10.0, 100.0]), np.empty(3), np.empty(3)
    _core.matvec(rows, w, p, pool)
    np.testing.assert_array_equal(p, full @ w)
    _core.rmatvec(rows, w, a, pool)
    np.testing.assert_array_equal(a, full.T @ w)
    assert rows.nnz == 6


def test_a_csr_matrix_that_lies_about_its_order_gives_no_wrong_gram():
    """scipy caches whether columns are sorted; the arrays may have changed since."""
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([20, 5, 0]), np.array([0, 3])), (1, D))
    X.has_canonical_format = True
    full = X.toarray()
    try:
        H = ArrayRows(X).gram(np.ones(1))
    except ValueError:
        return
    close(H, full.T @ full)


def test_a_gram_for_a_direction_keeps_float32_digits_and_no_fewer(X, bias, svm):
    rows, full = ArrayRows(X, bias), svm.with_bias(X, bias)
    h = np.random.default_rng(3).random(rows.n)
    H = (full.T * h) @ full
    assert np.abs(rows.gram(h, for_direction=True) - H).max() <= 2e-6 * np.abs(H).max()


@pytest.mark.parametrize("scale", [1e4, 1e30, 1e100])
def test_a_gram_for_a_direction_is_float64_where_float32_would_drown_the_identity(scale):
    X, h = scale * np.random.default_rng(4).normal(size=MANY), np.ones(MANY[0])
    close(ArrayRows(X).gram(h, for_direction=True), X.T @ X)


def test_a_large_gram_for_a_direction_is_of_float32_products():
    X, h = np.random.default_rng(4).normal(size=MANY), np.ones(MANY[0])
    H, error = X.T @ X, np.abs(ArrayRows(X).gram(h, for_direction=True) - X.T @ X).max()
    assert 1e-10 < error <= 2e-6 * np.abs(H).max()


def test_a_row_too_large_for_float32_is_noticed_wherever_it_lies():
    X, h = np.random.default_rng(4).normal(size=MANY), np.ones(MANY[0])
    X[1] = 1e60  # not among the rows that are looked at first
    close(ArrayRows(X).gram(h, for_direction=True), X.T @ X)


@pytest.mark.parametrize("d", [1, 7, 64, 129, 300])
def test_cholesky_solves_systems_of_any_size_the_same_for_any_number_of_threads(d):
    A = np.random.default_rng(d).normal(size=(d + 5, d))
    H, b = A.T @ A + np.eye(d), np.arange(1.0, d + 1)
    answers = []
    for threads in (1, 3):
        x = b.copy()
        factor = H.copy()
        assert _core.cholesky_solve(factor, x, _core.Pool(threads))
        again = b.copy()
        _core.solve_triangles(factor, again)
        answers += [x, again]
    np.testing.assert_allclose(H @ answers[0], b, rtol=1e-8)
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)
    assert not _core.cholesky_solve(H - 1e6 * np.eye(d), b.copy(), _core.Pool(1))
