"""Tiles of kernel values have all digits of float64: certificates are made of them."""

import numpy as np
import pytest

from maxmargin import _core
from maxmargin.solvers.kernel.gram import Kernel


@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", 0.3), Kernel("laplacian", 0.7), Kernel("poly", 0.2, 5, 1.5)]
)
def test_values_of_a_tile_are_those_of_float64(kernel):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(70, 9)), rng.normal(size=(40, 9))
    norms, others = (left**2).sum(axis=1), (right**2).sum(axis=1)
    products = left @ right.T
    if kernel.name == "poly":
        expected = (kernel.gamma * products + kernel.coef0) ** kernel.degree
    else:
        squares = norms[:, None] + others - 2 * products
        exponent = squares if kernel.name == "rbf" else np.sqrt(squares)
        expected = np.exp(-kernel.gamma * exponent)
    _core.kernel_values(kernel.function, products, norms, others, _core.Pool(1))
    np.testing.assert_allclose(products, expected, rtol=1e-12, atol=1e-14)


def test_exponents_of_all_sizes():
    exponents = np.concatenate(
        [-np.logspace(-20, 4, 1000), [0.0, -0.5 * np.log(2), -708.0, -1e300]]
    )
    K = (exponents / 2)[:, None].copy()  # 0 + 0 - 2 <x, z> = -exponent
    zeros = np.zeros(len(K))
    _core.kernel_values(Kernel("rbf", 1.0).function, K, zeros, np.zeros(1), _core.Pool(1))
    np.testing.assert_allclose(K[:, 0], np.exp(exponents), rtol=1e-15, atol=1e-307)
