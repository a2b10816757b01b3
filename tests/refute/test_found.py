"""Problems whose certificates were refuted once."""

import numpy as np
import pytest

from tests.refute.judge import judge
from tests.refute.problem import Problem

CERTAIN = {"C": 2.5e6, "tol": 1e-6, "gamma": 1.0, "max_time": 20.0}


@pytest.mark.parametrize("seed", [11, 27])
def test_large_costs_do_not_show_the_rounding_of_products(seed):
    """Distances from norms and products erred by 1e-12, and costs of 2.5e6 made 8e-8 of it."""
    random = np.random.default_rng(seed)
    t = np.linspace(-1, 1, 12) * random.choice([1, 0.3, 0.1], size=12)
    direction = random.normal(size=20)
    X = np.outer(t - t.mean(), 28 * direction / np.linalg.norm(direction))
    options = CERTAIN | {"basis": "cholesky", "n_basis": 12}
    verdict = judge(Problem("sparse-kernel", X, np.arange(12) % 2, options=options))
    assert verdict.faults == []
    assert verdict.outcome == "optimal"


@pytest.mark.parametrize("seed", [3, 28])
def test_close_rows_far_from_the_mean_keep_their_distances(seed):
    """Rows were centred before their differences were taken: that rounds them."""
    random = np.random.default_rng(seed)
    X = np.repeat([1e5, -1e5], 12)[:, None] + random.normal(size=(24, 2))
    y = random.permutation(np.arange(24) % 2)
    verdict = judge(Problem("kernel", X, y, options=CERTAIN | {"C": 1e5}))
    assert verdict.faults == []
    assert verdict.outcome == "optimal"
