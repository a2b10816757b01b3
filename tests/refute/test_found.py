"""Problems whose certificates were refuted once."""

import numpy as np
import pytest

from tests.refute import linear_claims
from tests.refute.arithmetic import long
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


def test_features_that_are_infinite_in_float32_refute_nothing_but_weights_on_them():
    """A fit that ends before its first pass has seen no rows, and w = 0 needs none."""
    X = np.array([[1.1e22, -3e21], [-2.6e22, 6.7e21]], dtype=np.float32)
    common = {"C": 1.6e-06, "features": "squares", "loss": "squared_hinge", "fit_intercept": False}
    for seconds in (2e-5, 20.0):
        verdict = judge(
            Problem("stream-features", X, np.arange(2), options=common | {"max_time": seconds})
        )
        assert verdict.faults == []
        assert verdict.outcome == "refused" or seconds < 1


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_claim_about_infinite_features_is_refuted_where_they_have_weight():
    X = np.array([[1.0, np.inf], [2.0, np.inf]])
    y, cost = np.array([-1, 1]), long([1, 1])
    for w, known in ([0.5, 0.0], True), ([0.5, 0.1], False):
        claim = linear_claims.hinge_claim(None, long(X), y, cost, long(w))
        assert np.isfinite(claim.value.value) == known


def test_a_fold_without_a_class_is_named_with_the_class_that_it_has():
    y = np.array(["a"] * 4 + ["b"] * 4 + ["a"] * 6)
    weight = np.where(y == "a", 1.0, [0.0] * 6 + [0.5] + [0.0] * 7)
    X = np.random.default_rng(0).normal(size=(14, 1))
    options = {"Cs": [0.371, 1700.0], "cv": 2, "solver": "cpa", "max_time": 20.0}
    verdict = judge(Problem("ordinal-cv", X, y, weight, options=options))
    assert verdict.faults == []
    assert "fold" in verdict.refusal and verdict.refusal.endswith("at least two classes")


def test_a_class_that_is_a_word_is_quoted_where_it_is_the_only_one():
    X, y, weight = np.array([[-0.6], [0.1]]), np.array(["b", "a"]), np.array([0.0, 3.0])
    verdict = judge(Problem("stream", X, y, weight, options={"C": 1480.0, "max_time": 20.0}))
    assert verdict.faults == []
    assert "one class only among rows of positive weight, 'a'; " in verdict.refusal


def test_rows_too_large_to_be_squared_are_refused_without_warnings():
    pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    X = np.random.default_rng(1).normal(size=(52, 2)) * 1e123
    options = {"C": 7.44, "loss": "squared_hinge", "solver": "ocas", "as_large": True}
    verdict = judge(Problem("dask-linear", X, np.arange(52) % 4, layout="csr", options=options))
    assert verdict.faults == []
    assert "Scale the features" in verdict.refusal


def test_dual_variables_beyond_float32_start_another_fit():
    """They were kept as infinity in float32, with a warning of numpy."""
    X = np.array([[0.8], [1.0]], dtype=np.float32)
    options = {"C": 3140.0, "loss": "expectile", "solver": "dual", "warm_from": 0.1}
    verdict = judge(Problem("regression-dual", X, np.array([6.9e46, 6.3e46]), options=options))
    assert verdict.faults == []
    assert verdict.outcome == "optimal"


def test_a_saved_machine_in_cells_sends_sparse_float32_rows_where_it_did():
    """Rows that lay on a cut were routed by float32 products, and by float64 ones once saved."""
    first = [0.98758, -0.6774, 1.46596, -1.03914, -1.2598, 0.11893, -0.6774, 0.30211, 0.07292]
    second = [-0.83431, -0.24531, 0.29112, -1.02544, -0.65544, 0.24513, -0.24531, -3.20637]
    first, second = [*first, -1.61895, 0.30211], [*second, -0.28624, 1.44213, -3.20637]
    X = np.column_stack([first, second]).astype(np.float32)
    y = np.array([0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1])
    options = {"C": 588.0, "max_time": 20.0, "kernel": "poly", "cells": 6}
    assert judge(Problem("cells", X, y, layout="csr", options=options)).faults == []


def test_a_map_that_makes_infinite_features_is_refused_without_warnings():
    X = [[0, 0, 0], [0, 0, 0], [2, 2, 0], [0, 1, -1], [2, 0, 1], [0, 2, 0], [-2, 0, 1]]
    X = np.array(X, dtype=np.float32) * np.float32(1e25)
    options = {"C": 4.73, "max_time": 20.0, "features": "squares", "as_large": True}
    verdict = judge(Problem("linear-features", X, np.arange(7) == 0, options=options))
    assert verdict.faults == []
    assert "Scale the features" in verdict.refusal


def test_an_offset_may_make_a_given_matrix_definite():
    """It was the judge that forgot the offset."""
    options = {"C": 0.0224, "kernel": "linear", "offset": 27.3, "indefinite": 0.0817}
    X, y = np.array([[-9.0], [50.0]]), np.arange(2)
    assert judge(Problem("kernel-precomputed", X, y, options=options)).faults == []


def test_rows_of_a_partition_that_cannot_be_used_are_a_refusal():
    pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    X, options = np.array([[np.inf], [np.inf]], np.float32), {"C": 1.8, "solver": "auto"}
    verdict = judge(Problem("dask-linear", X, np.arange(2), options=options))
    assert verdict.faults == [] and "holds NaN or infinity" in verdict.refusal
