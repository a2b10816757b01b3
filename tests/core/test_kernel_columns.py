"""Kernel values of rows with points that are not among them."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.solvers.brute_force import kernel_block

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.kernel_values import squared_norms

KERNELS = [
    Kernel("rbf", 0.7),
    Kernel("laplacian", 0.7),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel("linear"),
]
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "csr": sp.csr_matrix,
}


def columns(X, points, kernel, threads=1):
    rows = ArrayRows(X, pool=_core.Pool(threads))
    out = np.empty((len(points), rows.n))
    _core.kernel_columns(
        kernel.function,
        rows.core,
        rows.squared_norms(),
        points,
        squared_norms(points),
        out,
        rows.pool,
    )
    return out


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_kernel_values(kernel, layout, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(700, 5)) * (rng.random((700, 5)) < 0.6)).astype(dtype)
    points = rng.normal(size=(3, 5))
    wanted = kernel_block(kernel, points, X.astype(np.float64))
    assert np.allclose(columns(LAYOUTS[layout](X), points, kernel), wanted, rtol=1e-12, atol=1e-13)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(30000, 8)), rng.normal(size=(2, 8))
    one, three = (columns(X, points, KERNELS[0], threads) for threads in (1, 3))
    assert np.array_equal(one, three)


def test_distances_of_dense_rows_far_away_keep_their_digits():
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(50, 4)), rng.normal(size=(2, 4))
    near, far = columns(X, points, KERNELS[0]), columns(X + 1e7, points + 1e7, KERNELS[0])
    assert np.allclose(near, far, rtol=1e-5)


def test_shapes_that_do_not_fit_are_refused():
    rows = ArrayRows(np.ones((4, 3)))
    out = np.empty((1, 4))
    with pytest.raises(ValueError, match="points"):
        _core.kernel_columns(
            KERNELS[0].function, rows.core, np.ones(4), np.ones((1, 2)), np.ones(1), out, rows.pool
        )
