"""`TableEncoder` among scikit-learn's transformers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC
from maxmargin.data import TableEncoder


@parametrize_with_checks([TableEncoder()])
def test_it_keeps_the_conventions(estimator, check):
    check(estimator)


def frame(n=90):
    rng = np.random.default_rng(0)
    colour = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    size = rng.normal(size=n)
    return pd.DataFrame({"colour": colour, "size": size}), (colour == "red") | (size > 1)


def test_it_works_in_a_pipeline():
    X, y = frame()
    assert cross_val_score(make_pipeline(TableEncoder(), LinearSVC()), X, y, cv=3).mean() > 0.9


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_output_is_as_asked_for(sparse, dtype):
    X, _ = frame()
    made = TableEncoder(sparse_output=sparse, dtype=dtype).fit_transform(X)
    assert hasattr(made, "indptr") == sparse and made.dtype == dtype


@pytest.mark.parametrize(
    "option", [{"sparse_output": "no"}, {"dtype": "int8"}, {"min_count": 0}, {"text_bits": 99}]
)
def test_bad_parameters_are_refused(option):
    with pytest.raises(ValueError, match=f"{next(iter(option))} is"):
        TableEncoder(**option).fit(frame()[0])
