from __future__ import annotations

import numpy as np
import pytest

from maxmargin import OrdinalSVC


def problem(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n), [-1.5, 0, 1])


def test_labels_are_predicted_and_errors_are_small():
    X, y = problem()
    model = OrdinalSVC(C=1.0).fit(X, y)
    assert model.score(X, y) > 0.75
    assert model.mean_absolute_error(X, y) == pytest.approx(
        np.abs(model.predict(X) - y).mean(), rel=1e-12
    )
    assert np.all(np.diff(model.thresholds_) >= 0)
    np.testing.assert_array_equal(
        model.classes_[np.argmax(model.decision_function(X), axis=1)], model.predict(X)
    )


def test_order_says_which_label_is_higher():
    X, y = problem()
    names = np.array(["poor", "fair", "good", "best"])
    model = OrdinalSVC(order=names).fit(X, names[y])
    plain = OrdinalSVC().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
    assert model.mean_absolute_error(X, names[y]) == plain.mean_absolute_error(X, y)
    with pytest.raises(ValueError, match="y has the label 'fair'; expected one of"):
        OrdinalSVC(order=["poor", "good", "best"]).fit(X, names[y])
    with pytest.raises(ValueError, match="twice"):
        OrdinalSVC(order=["poor", "poor"]).fit(X, names[y])


def test_class_weights_move_the_thresholds():
    X, y = problem()
    plain = OrdinalSVC().fit(X, y)
    heavy = OrdinalSVC(class_weight={0: 20.0}).fit(X, y)
    assert np.mean(heavy.predict(X) == 0) > np.mean(plain.predict(X) == 0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        OrdinalSVC().fit(np.eye(3), [2, 2, 2])
    with pytest.raises(ValueError, match="one class only"):
        OrdinalSVC().fit(np.eye(3), [1, 2, 2], sample_weight=[0, 1, 1])
