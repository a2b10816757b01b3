"""The mean shift of weighted points under the Gaussian kernel."""

import numpy as np
import pytest

from maxmargin import _core


def mean_shift(points, v, b, gamma, threads=1):
    f, s = np.empty(len(b)), np.empty(b.shape)
    norms = (points.astype(np.float64) ** 2).sum(axis=1)
    _core.mean_shift(gamma, points, norms, v, b, f, s, _core.Pool(threads))
    return f, s


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, d, count", [(1, 1, 1), (5, 3, 2), (700, 37, 3), (3000, 120, 2)])
def test_sums_are_those_of_the_definition(m, d, count, dtype):
    rng = np.random.default_rng(m)
    points, b = (rng.normal(size=(n, d)).astype(dtype) for n in (m, count))
    v = rng.normal(size=m)
    f, s = mean_shift(points, v, b, 0.7 / d)
    squares = ((b[:, None, :].astype(float) - points[None, :, :]) ** 2).sum(axis=2)
    weights = np.exp(-0.7 / d * squares) * v
    scale = np.abs(weights).sum()
    np.testing.assert_allclose(f, weights.sum(axis=1), atol=1e-6 * scale)
    np.testing.assert_allclose(s, weights @ points, atol=1e-5 * scale)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    points, v = rng.normal(size=(4000, 50)).astype(np.float32), rng.normal(size=4000)
    b = points[:2].copy()
    for one, three in zip(
        mean_shift(points, v, b, 0.01), mean_shift(points, v, b, 0.01, threads=3)
    ):
        np.testing.assert_array_equal(one, three)


def test_arrays_of_other_sizes_are_refused():
    points = np.zeros((4, 3))
    with pytest.raises(ValueError, match="the rows of b"):
        mean_shift(points, np.zeros(4), np.zeros((1, 2)), 1.0)
    with pytest.raises(ValueError, match="weights"):
        mean_shift(points, np.zeros(3), np.zeros((1, 3)), 1.0)
