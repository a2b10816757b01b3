"""Rates of false and true positives along the weight of a class."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from maxmargin import KernelSVC
from maxmargin.training.folds import stratified_folds
from maxmargin.training.roc_front import RocFront

X, Y = make_moons(200, noise=0.35, random_state=0)
NAMES = np.where(Y == 1, "yes", "no")
MACHINE = {"C": 2.0, "gamma": 1.0}


def by_hand(weight, odds, folds):
    """The rates of separate fits, one fold after another."""
    taken = np.zeros(len(Y), dtype=bool)
    front = RocFront(np.array([0, 1]), np.bincount(Y, weights=weight), odds, odds, odds)
    rates = np.empty((len(odds), 2))
    for k, value in enumerate(odds):
        per_class = np.array(front.weights(value))
        for train, test in folds:
            s = (weight * per_class[Y])[train]
            C = MACHINE["C"] * weight.sum() / weight[train].sum()
            model = KernelSVC(C=C, gamma=1.0, tol=1e-6).fit(X[train], Y[train], s)
            taken[test] = model.predict(X[test]) == 1
        rates[k] = [np.average(taken[here], weights=weight[here]) for here in (Y == 0, Y == 1)]
    return rates


def test_rates_are_those_of_separate_fits():
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))
    folds, odds = stratified_folds(Y, 3, 0), np.array([0.1, 1.0, 6.0])
    model = KernelSVC(tol=1e-6, stopping="plain", **MACHINE)
    front = model.roc_front(X, NAMES, weight, odds=odds[::-1], cv=folds)
    found = np.column_stack([front.false_positive_rate, front.true_positive_rate])
    assert np.array_equal(front.odds, odds) and list(front.classes) == ["no", "yes"]
    assert np.abs(found - by_hand(weight, odds, folds)).max() < 0.02  # a row at most
    assert found[0, 0] < found[1, 0] < found[2, 0] and found[0, 1] < found[2, 1]


def test_a_neyman_pearson_machine_keeps_to_its_rate():
    front = KernelSVC(**MACHINE).roc_front(X, NAMES, cv=4)
    assert front.odds[0] == pytest.approx(1 / 64) and len(front.odds) == 13
    at = front.best(0.1)
    allowed = front.false_positive_rate <= 0.1
    assert allowed[at]
    assert front.true_positive_rate[at] == front.true_positive_rate[allowed].max()
    model = KernelSVC(**MACHINE, class_weight=front.class_weight(0.1)).fit(X, NAMES)
    plain = KernelSVC(**MACHINE).fit(X, NAMES)
    negatives = X[NAMES == "no"]
    strict, usual = (np.mean(m.predict(negatives) == "yes") for m in (model, plain))
    assert strict <= 0.1 and strict < usual


def test_rows_that_do_not_fit_the_memory_give_the_same_front():
    whole, cached = (
        KernelSVC(**MACHINE, stopping="plain", tol=1e-6, memory=memory).roc_front(X, Y, odds=3)
        for memory in (None, 4 * 200 * 50)
    )
    assert np.allclose(whole.true_positive_rate, cached.true_positive_rate, atol=0.011)


def test_what_has_no_front_is_refused():
    three = make_classification(60, n_classes=3, n_informative=4, random_state=0)
    with pytest.raises(ValueError, match="two classes; got 3"):
        KernelSVC().roc_front(*three)
    with pytest.raises(ValueError, match="leave out class_weight"):
        KernelSVC(class_weight="balanced").roc_front(X, Y)
    with pytest.raises(ValueError, match="leave out cells"):
        KernelSVC(cells=50).roc_front(X, Y)
    with pytest.raises(ValueError, match="one class only"):
        KernelSVC().roc_front(X, Y, np.where(Y == 1, 1.0, 0.0))
    for odds in (1, 0.5, [0.0, 1.0], [[1.0]], [], [np.nan]):
        with pytest.raises(ValueError, match="odds"):
            KernelSVC().roc_front(X, Y, odds=odds)
    front = KernelSVC(**MACHINE).roc_front(X, Y, odds=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"at most 0\.001: the least is 0\.\d+"):
        front.class_weight(0.001)


def test_folds_that_hold_out_one_class_only_are_refused():
    """Rates were nan, with a warning of numpy about 0 / 0."""
    negatives = np.flatnonzero(Y == 0)
    with pytest.raises(ValueError, match="no row of class yes that weighs anything"):
        KernelSVC(**MACHINE).roc_front(X, NAMES, cv=[(np.arange(len(Y)), negatives)])


def test_a_time_limit_leaves_rates_unknown():
    front = KernelSVC(**MACHINE, max_time=1e-9).roc_front(X, Y)
    assert np.isnan(front.false_positive_rate).all()
    with pytest.raises(ValueError, match="unknown"):
        front.best(0.5)
