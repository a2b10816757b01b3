"""Thresholds between labels that have an order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maxmargin.models.ordinal import best_thresholds, places_of


@pytest.mark.parametrize("seed", range(6))
def test_thresholds_have_the_least_absolute_error_of_all(seed):
    rng = np.random.default_rng(seed)
    n, classes = 12, 4
    score = np.round(rng.normal(size=n), 1)
    place = rng.integers(0, classes, n).astype(float)
    weight = rng.integers(0, 3, n).astype(float)

    def error(cuts):
        return np.sum(weight * np.abs(np.searchsorted(cuts, score, side="left") - place))

    found = best_thresholds(score, place, classes, weight)
    values = np.unique(score)
    cuts = np.concatenate(([values[0] - 1], 0.5 * (values[1:] + values[:-1]), [values[-1] + 1]))
    best = min(error(c) for c in itertools.combinations_with_replacement(cuts, classes - 1))
    assert np.all(np.diff(found) >= 0)
    assert error(found) == pytest.approx(best, abs=1e-12)


def test_thresholds_of_many_labels_are_each_the_best_cut():
    rng = np.random.default_rng(7)
    n, classes = 500, 60
    place = rng.integers(0, classes, n).astype(float)
    score = np.round(place + 8 * rng.normal(size=n), 1)
    weight = rng.integers(0, 3, n).astype(float)
    found = best_thresholds(score, place, classes, weight)
    assert np.all(np.diff(found) >= 0)
    values = np.unique(score)
    cuts = np.concatenate(([values[0] - 1], values))
    for k in range(classes - 1):
        errors = [weight @ ((score > cut) != (place > k)) for cut in cuts]
        assert weight @ ((score > found[k]) != (place > k)) == min(errors)


def test_places_follow_the_order_given():
    y = np.array(["good", "bad", "good", "fair"])
    classes, place = places_of(y, ["bad", "fair", "good"])
    assert classes.tolist() == ["bad", "fair", "good"]
    assert place.tolist() == [2, 0, 2, 1]
    assert places_of(np.array([5, 3, 5]), None)[1].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="label 'good'; expected one of"):
        places_of(y, ["bad", "fair"])
