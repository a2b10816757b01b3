"""Pre-images: never worse than their start, right where the answer is known."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.basis_choice import choice_of
from maxmargin.solvers.subspace.preimages import (
    PreImageOptions,
    Residual,
    fixed_points,
    gradient_ascents,
    pre_image,
    sample_of,
)
from maxmargin.solvers.subspace.span import Subspace
from maxmargin.solvers.subspace.span_residual import SpanResidual
from tests.solvers.brute_force import kernel_block

KERNELS = [Kernel("rbf", 0.3), Kernel("poly", 0.5, 3, 1.0), Kernel("poly", 1.0, 2, 0.0)]


def residual(kernel, n=200, count=2048, basis=0, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    subspace = Subspace(X, kernel, basis + 1, _core.Pool(1))
    for b in X[:basis].astype(np.float64):
        subspace.append(b)
    subgrad = rng.normal(size=n) * (rng.random(n) < 0.7)
    return X, subgrad, subspace, Residual(subspace, sample_of(subspace, subgrad, count, rng))


@pytest.mark.parametrize("kernel", [*KERNELS, Kernel("linear"), Kernel("laplacian", 0.4)])
def test_values_are_inner_products_with_the_residual(kernel):
    X, subgrad, subspace, r = residual(kernel, basis=3)
    points = np.random.default_rng(1).normal(size=(5, 4))
    B = subspace.basis.vectors
    c = np.linalg.solve(kernel_block(kernel, B, B), kernel_block(kernel, B, X) @ subgrad)
    wanted = kernel_block(kernel, points, X) @ subgrad - kernel_block(kernel, points, B) @ c
    assert np.allclose(r.values(r.place(points))[0], wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pre_image_is_never_worse_than_its_start(kernel):
    ascend = fixed_points if kernel.name == "rbf" else gradient_ascents
    for seed in range(10):
        _, _, _, r = residual(kernel, basis=2, seed=seed)
        starts = r.some_rows(6, np.random.default_rng(seed))
        ends, found = ascend(r, starts, PreImageOptions(iterations=20))
        before, after = r.quotients(starts), r.quotients(ends)
        assert np.allclose(found, after, rtol=1e-3)
        assert np.all(after >= before * (1 - 1e-9))
        assert after.max() > before.max()


def test_the_pre_image_of_one_point_is_that_point():
    X = np.array([[1.0, 2.0], [5.0, 5.0]])
    subspace = Subspace(X, Kernel("rbf", 0.5), 1, _core.Pool(1))
    r = Residual(subspace, sample_of(subspace, np.array([3.0, 0.0]), 10, np.random.default_rng(0)))
    b, quotient = pre_image(r, PreImageOptions(), np.random.default_rng(0))
    assert np.allclose(r.back(b), [1.0, 2.0])
    assert quotient == pytest.approx(9.0)


def test_the_linear_pre_image_is_the_sum_itself():
    X, subgrad, _, r = residual(Kernel("linear"))
    b, quotient = pre_image(r, PreImageOptions(iterations=100), np.random.default_rng(0))
    u = X.T @ subgrad
    cosine = r.back(b) @ u / np.linalg.norm(r.back(b)) / np.linalg.norm(u)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-4)
    assert quotient == pytest.approx(u @ u, rel=1e-3)


def test_a_sample_leaves_out_what_the_basis_spans():
    X, _, _, r = residual(Kernel("rbf", 0.3), n=3000, count=500, basis=5)
    assert len(r.rows) == 500
    at_basis = r.values(r.place(X[:5]))[0]
    assert np.abs(at_basis).max() < 1e-3 * np.abs(r.v).sum()


def wide_residual(basis=4, seed=0, scale=1.0):
    """A residual of wide sparse rows, whose points are combinations, and the same as vectors."""
    X = scale * sp.random(300, 4000, 0.005, "csr", random_state=seed)
    subgrad = np.random.default_rng(seed).normal(size=300)
    kernel = Kernel("rbf", 0.3 / scale**2)
    vectors = (X[:basis] + X[basis : 2 * basis]).toarray()
    found = []
    for rows, kind in ((X, SpanResidual), (X.toarray(), Residual)):
        subspace = Subspace(rows, kernel, basis, _core.Pool(1))
        if kind is SpanResidual:
            subspace.keep_products()
        for b in vectors:
            assert subspace.append(b) is not None
        found.append(kind(subspace, sample_of(subspace, subgrad, 300, np.random.default_rng(seed))))
    return X.toarray(), vectors, kernel, *found


@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_combinations_of_wide_rows_stand_for_vectors(scale):
    X, vectors, kernel, span, _ = wide_residual(scale=scale)
    u = 0.02 * np.random.default_rng(1).normal(size=(3, len(span.v)))
    b = u[:, :300] @ X[span.rows] + u[:, 300:] @ vectors
    points = np.vstack([X[span.rows], vectors])
    weights = kernel_block(kernel, b, points) * span.v
    f, target = span.mean_shift(u)
    scale_of_f = np.abs(weights).sum(axis=1).max()
    assert np.allclose(f, weights.sum(axis=1), atol=1e-5 * scale_of_f)
    assert np.allclose(span.quotients(u), weights.sum(axis=1) ** 2, atol=1e-4 * scale_of_f**2)
    wanted = weights @ points
    known = (target * f[:, None])[:, :300] @ X[span.rows] + (target * f[:, None])[:, 300:] @ vectors
    assert np.allclose(known, wanted, atol=1e-5 * np.abs(points).max() * scale_of_f)
    assert np.allclose(span.back(u[0]), b[0], atol=2e-3 * np.linalg.norm(b[0]))


def test_both_searches_of_wide_rows_find_the_same():
    *_, span, vectors = wide_residual()
    ends = [pre_image(r, PreImageOptions(), np.random.default_rng(2)) for r in (vectors, span)]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-3)
    assert np.allclose(vectors.back(ends[0][0]), span.back(ends[1][0]), atol=1e-2)


def clusters(spread, offset, n=600, seed=0):
    """Small clusters far apart, or far from the origin."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(30, 3))
    which = rng.integers(30, size=n)
    return centres[which] + rng.normal(size=(n, 3)) + offset, rng.normal(size=n)


@pytest.mark.parametrize("spread, offset", [(1e4, 0.0), (1.0, 1e7)])
def test_searches_keep_the_digits_that_the_data_need(spread, offset):
    X, subgrad = clusters(spread, offset)
    subspace = Subspace(X, Kernel("rbf", 0.5), 1, _core.Pool(1))
    r = Residual(subspace, sample_of(subspace, subgrad, 2048, np.random.default_rng(0)))
    values = r.values(r.place(X))[0]
    wanted = kernel_block(Kernel("rbf", 0.5), X, X) @ subgrad
    assert np.allclose(values, wanted, atol=1e-4 * np.abs(subgrad).sum())


def test_a_vector_that_is_not_finite_is_refused():
    subspace = Subspace(np.eye(3), Kernel("rbf", 1.0), 2, _core.Pool(1))
    assert subspace.append(np.array([np.nan, 0.0, 0.0])) is None
    assert subspace.append(np.array([np.inf, 0.0, 0.0])) is None
    assert subspace.k == 0


def test_kernels_without_pre_images_are_refused_with_what_to_do():
    subspace = Subspace(np.eye(3), Kernel("laplacian", 1.0), 1, _core.Pool(1))
    with pytest.raises(ValueError, match=r"laplacian.*basis='training'"):
        choice_of("free", subspace, PreImageOptions(), 0)
    with pytest.raises(ValueError, match="basis must be one of free"):
        choice_of("random", subspace, PreImageOptions(), 0)
