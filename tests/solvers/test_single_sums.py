"""Sums in float32 say what they err by, and matrices of subsets keep what they have in common."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.exact import NamedValues
from maxmargin.solvers.kernel.gram import Kernel, kernel_matrix, points_for
from maxmargin.solvers.kernel.single import SingleSums
from maxmargin.solvers.kernel.sources import MatrixSource, PartialSource
from maxmargin.solvers.kernel.subset_gram import SubsetGram

POOL = _core.Pool(1)


def drawn(seed, n=300, d=7, shift=0.0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)) + shift, 1e3 * random.normal(size=n)


def sums_of(X, kernel):
    return SingleSums(NamedValues(points_for(X, kernel), kernel))


@pytest.mark.parametrize("gamma", [1e-6, 0.05, 1.0])
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("constant", [0.0, 25.0])
def test_errors_of_sums_in_float32_are_bounded(gamma, shift, constant):
    X, beta = drawn(1, shift=shift)
    sums = sums_of(X, Kernel("rbf", gamma, constant=constant))
    rows, columns = np.arange(0, 300, 2), np.arange(1, 300, 2)
    f, e = sums.at(rows, columns, beta[columns], POOL)
    squares = np.square(X[rows, None] - X[None, columns]).sum(axis=2)
    expected = (np.exp(-gamma * squares) + constant) @ beta[columns]
    assert sums.suits
    assert np.all(np.abs(f - expected) <= e)
    assert np.all(e <= 1e-3 * np.abs(beta[columns]).sum() * (1 + constant))
    assert np.any(f != sums.exact.at_others(rows, columns, beta[columns], POOL)[0])


@pytest.mark.parametrize(
    "X, kernel",
    [
        (drawn(2)[0], Kernel("poly", 0.5)),
        (drawn(2)[0], Kernel("laplacian", 0.5)),
        (drawn(2)[0], Kernel("rbf", 1e4)),
        (1e20 * drawn(2)[0], Kernel("rbf", 1e-45)),
        (sp.random(300, 5000, 0.002, format="csr", random_state=0), Kernel("rbf", 0.5)),
    ],
)
def test_where_float32_would_lose_digits_sums_are_those_of_float64(X, kernel):
    sums, beta = sums_of(X, kernel), drawn(2)[1]
    rows, columns = np.arange(0, 300, 2), np.arange(1, 300, 2)
    found, error = sums.at(rows, columns, beta[columns], POOL)
    everyone = np.concatenate([columns, rows])
    expected, bound = sums.exact.combine(everyone, columns, beta[columns], POOL)
    assert not sums.suits
    np.testing.assert_allclose(found, expected[150:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(error, bound[150:])


def test_no_coefficients_are_no_sum():
    X, nothing = drawn(3)[0], np.empty(0, dtype=np.int64)
    f, e = sums_of(X, Kernel("rbf", 0.5)).at(np.arange(9), nothing, np.empty(0), POOL)
    assert not np.any(f) and not np.any(e)


@pytest.mark.parametrize("d", [3, 60])
def test_a_matrix_that_keeps_common_values_is_that_of_its_subset(d):
    X, kernel = drawn(4, n=2500, d=d)[0], Kernel("rbf", 0.5 / d)
    gram = SubsetGram(NamedValues(points_for(X, kernel), kernel), POOL)
    random = np.random.default_rng(0)
    subset = np.sort(random.choice(2500, 1200, replace=False))
    for size in (1200, 1500, 700, 2200):
        others = np.setdiff1d(np.arange(2500), subset)
        common = subset[: min(len(subset), size) - 50]
        more = random.choice(others, min(size - len(common), len(others)), replace=False)
        subset = np.sort(np.concatenate([common, more]))
        found, source = gram.of(subset, used=len(subset))
        assert np.array_equal(np.sort(found), subset)
        expected = kernel_matrix(X[found], kernel, POOL)
        np.testing.assert_allclose(source.K, expected, rtol=1e-5, atol=1e-7)
        subset = np.sort(found)
        assert isinstance(source, MatrixSource)


def test_rows_of_a_subset_are_computed_when_asked_for_if_few_will_be():
    X, kernel = drawn(5)[0], Kernel("rbf", 0.1)
    gram = SubsetGram(NamedValues(points_for(X, kernel), kernel), POOL)
    subset, source = gram.of(np.arange(10, 200), used=3)
    assert isinstance(source, PartialSource) and not source.rows.whole
    expected = kernel_matrix(X[subset], kernel, POOL)
    np.testing.assert_allclose(source.some_rows(np.arange(5)), expected[:5], rtol=1e-5)


def test_a_block_is_copied_within_its_own_memory():
    square = np.arange(36, dtype=np.float32).reshape(6, 6)
    before, places = square.copy(), np.array([1, 2, 5])
    _core.copy_block(square, places, square)
    assert np.array_equal(square[:3, :3], before[np.ix_(places, places)])
    for wrong in ([2, 1], [-1], [6]):
        with pytest.raises(ValueError, match="ascend"):
            _core.copy_block(square, np.array(wrong), square)
    with pytest.raises(ValueError, match="fit"):
        _core.copy_block(square, places, square[:2, :2])
