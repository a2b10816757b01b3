"""What may be a label, and what it costs to find out."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import LinearSVC
from maxmargin.estimators.conventions import check_labels
from maxmargin.training.targets import classes_in


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1],
        ["a", "b", "a"],
        np.array(["a", "b", "a"], dtype=object),
        np.array([True, False, True]),
        np.array([1.0, -1.0, 1.0, -1.0]),
        np.array([3, 3, 7, 7], dtype=np.uint8),
        np.array([1.0]),
    ],
)
def test_labels_of_any_type_pass(y):
    check_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        [1, -1, 1],
        [2.0, 1.0, 3.0],
        [1, 1],
        [np.nan, 1, 1],
        [1, np.nan, np.nan],
        [True, False],
        ["b", "a"],
        [],
    ],
)
def test_classes_are_the_sorted_labels_that_differ(y):
    y = np.array(y)
    assert classes_in(y).dtype == y.dtype
    np.testing.assert_array_equal(classes_in(y), np.unique(y))


@pytest.mark.parametrize("odd", [1.5, np.nan, np.inf])
def test_numbers_that_are_no_labels_are_refused(odd):
    with pytest.raises(ValueError):
        check_labels(np.array([0.0, 1.0, 0.0, 1.0, odd, odd]))


def test_hardly_any_labels_equal_is_worth_a_warning():
    with pytest.warns(UserWarning, match="number of unique classes"):
        check_labels(np.arange(30))


@pytest.mark.parametrize("C", [1, 1.0, np.float32(1)])
def test_the_type_of_C_does_not_matter(C, svm):
    X, y = svm.blobs(60, 3)
    expected = LinearSVC(C=1.0).fit(X, y)
    np.testing.assert_array_equal(LinearSVC(C=C).fit(X, y).coef_, expected.coef_)
