"""scikit-learn's own checks of every estimator; none is expected to fail."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC, LinearSVCCV


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(solver="dual", tol=1e-10, n_jobs=1),
        LinearSVC(solver="ocas", tol=1e-8),
        LinearSVCCV(Cs=3, cv=2),
    ]
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


X, Y = np.eye(4, 3), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    "change, words",
    [
        ({"X": np.full((4, 3), np.nan)}, "Input X contains NaN"),
        ({"X": X[:3]}, "inconsistent numbers of samples"),
        ({"X": X[:, 0]}, "Expected 2D array"),
        ({"X": np.empty((4, 0))}, "0 feature"),
        ({"X": X * 1j}, "Complex data"),
        ({"X": csr_array(X)[:3]}, "inconsistent numbers of samples"),
        ({"X": csr_array((4, 0))}, "0 feature"),
        ({"X": csr_array(X * np.nan)}, "Input X contains NaN"),
        ({"y": np.array([0, 1, np.inf, 1])}, "Input y contains infinity"),
        ({"y": Y * 1j}, "Complex data"),
        ({"y": np.stack([Y, Y + 5], axis=1)}, "one target a row"),
        ({"y": "target"}, "should be a 1d array"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        LinearSVC().fit(**{"X": X, "y": Y, **change})


def test_arrays_after_named_columns_are_told_apart():
    pandas = pytest.importorskip("pandas")
    named = LinearSVC().fit(pandas.DataFrame(X, columns=list("abc")), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)
    assert not hasattr(named.fit(X, Y), "feature_names_in_")
    with pytest.raises(ValueError, match="expecting 3 features"):
        named.predict(X[:, :2])
