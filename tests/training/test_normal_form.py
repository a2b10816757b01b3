"""Weights and repeated rows in one form."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import KernelSVC, KernelSVCCV
from maxmargin.training.normal_form import normal_form


def rows(n=40, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    codes = (X[:, 0] + 0.5 * random.normal(size=n) > 0).astype(int)
    return X, codes, random.integers(0, 4, n)


def test_plain_rows_stay_where_they_are():
    X, codes, _ = rows()
    form = normal_form(X, codes, np.ones(40), np.ones(40))
    assert form.X is X
    assert np.array_equal(form.kept, np.arange(40))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_weights_and_repetitions_have_one_form(container):
    X, codes, times = rows()
    order = np.random.default_rng(1).permutation(40)
    weights = times.astype(float)
    weighted = normal_form(container(X[order]), codes[order], weights[order], weights[order])
    again = np.repeat(np.arange(40), times)
    repeated = normal_form(
        container(X[again]), codes[again], np.ones(len(again)), np.ones(len(again))
    )
    for form in (weighted, repeated):
        assert form.X.shape[0] == np.count_nonzero(times)
        assert form.weights.sum() == times.sum()
    same = weighted.X != repeated.X
    assert (same.nnz if sp.issparse(same) else np.count_nonzero(same)) == 0
    assert np.array_equal(weighted.codes, repeated.codes)
    assert np.array_equal(weighted.weights, repeated.weights)


def test_equal_rows_of_other_classes_or_folds_stay_apart():
    X = np.ones((6, 2))
    codes = np.array([0, 0, 0, 1, 1, 1])
    folds = [(np.array([0, 1, 3, 4]), np.array([2, 5])), (np.array([2, 5]), np.array([0, 1, 3, 4]))]
    form = normal_form(X, codes, np.ones(6), np.ones(6), folds)
    assert sorted(form.weights) == [1, 1, 2, 2]
    for (train, test), (old_train, old_test) in zip(form.folds, folds, strict=True):
        assert form.weights[train].sum() == len(old_train)
        assert form.weights[test].sum() == len(old_test)


def test_a_kernel_model_is_the_same_for_weights_and_repetitions_to_the_last_digit():
    X, codes, times = rows()
    again = np.repeat(np.arange(40), times)
    weighted = KernelSVC(C=3.0).fit(X, codes, sample_weight=times)
    repeated = KernelSVC(C=3.0).fit(X[again], codes[again])
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert set(weighted.support_) <= set(np.flatnonzero(times))


def test_a_grid_counts_a_validation_row_as_often_as_its_weight_says():
    X, codes, times = rows()
    times = times + 1
    group = np.arange(40) % 4
    again = np.repeat(np.arange(40), times)

    def folds(groups):
        return [(np.flatnonzero(groups != k), np.flatnonzero(groups == k)) for k in range(4)]

    weighted = KernelSVCCV(3, 3, cv=folds(group)).fit(X, codes, sample_weight=times)
    repeated = KernelSVCCV(3, 3, cv=folds(group[again])).fit(X[again], codes[again])
    assert np.array_equal(weighted.scores_, repeated.scores_)
    assert np.array_equal(weighted.Cs_, repeated.Cs_)
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
