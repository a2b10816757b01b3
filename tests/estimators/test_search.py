"""One search for every kind: scores, folds, the edge of the grid, thresholds."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GroupKFold

from maxmargin import (
    KernelSVCCV,
    KernelSVRCV,
    LinearSVC,
    LinearSVCCV,
    LinearSVRCV,
    MeasureSVC,
    MeasureSVCCV,
    OrdinalSVC,
    OrdinalSVCCV,
    RankSVM,
    RankSVMCV,
    SparseKernelSVC,
    SparseKernelSVCCV,
    data,
    metrics,
)
from maxmargin.training.folds import folds_of

CS = [0.01, 0.1, 1.0]
pytestmark = pytest.mark.filterwarnings("ignore:the best C")


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 5))
    return X, (X[:, 0] + rng.normal(size=160) > 1.2).astype(int)


@pytest.fixture
def queries():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    grades = np.clip(np.round(X[:, 0] + 0.7 * rng.normal(size=120) + 1), 0, 3).astype(int)
    return X, grades, np.arange(120) // 8


def test_a_ranking_is_judged_by_ndcg_of_whole_queries(queries):
    X, y, qid = queries
    model = RankSVMCV(CS, cv=3, tol=1e-6).fit(X, y, qid=qid)
    assert model.scoring_ == "ndcg@10"
    for fold, (train, test) in enumerate(folds_of(3, 120, 0, groups=qid)):
        for j, C in enumerate(CS):
            alone = RankSVM(C, tol=1e-6).fit(X[train], y[train], qid=qid[train])
            expected = metrics.ndcg(y[test], alone.predict(X[test]), qid=qid[test], k=10)
            assert model.scores_[fold, j] == pytest.approx(expected, abs=0.02)
    assert CS[int(np.argmax(model.scores_.mean(axis=0)))] == model.C_
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("scoring", ["ndcg@3", "map", "precision@2", "pairwise_accuracy"])
def test_other_measures_of_rankings(queries, scoring):
    X, y, qid = queries
    model = RankSVMCV(CS, cv=3, scoring=scoring).fit(X, y, qid=qid)
    assert 0 < model.best_score_ <= 1 and model.scoring_ == scoring


def test_a_ranking_without_queries_has_no_folds(queries):
    with pytest.raises(ValueError, match="give qid"):
        RankSVMCV(CS, cv=3).fit(queries[0], queries[1])


def test_ordered_labels_are_judged_by_places(queries):
    X, y, _ = queries
    model = OrdinalSVCCV(CS, cv=3, tol=1e-6).fit(X, y)
    train, test = folds_of(3, 120, 0, np.unique(y, return_inverse=True)[1])[0]
    alone = OrdinalSVC(1.0, tol=1e-6).fit(X[train], y[train])
    expected = -alone.mean_absolute_error(X[test], y[test])
    assert model.scores_[0, 2] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep"])
def test_a_measure_judges_itself(two, measure):
    X, y = two
    model = MeasureSVCCV(measure, CS, cv=3, tol=1e-5).fit(X, y)
    train, test = folds_of(3, 160, 0, y)[1]
    alone = MeasureSVC(measure, C=0.1, tol=1e-5).fit(X[train], y[train])
    assert model.scores_[1, 1] == pytest.approx(alone.score(X[test], y[test]), abs=0.05)
    assert model.scoring_ == measure


def test_values_of_k_are_compared_by_one_measure(two):
    X, y = two
    model = MeasureSVCCV("precision_at_k", CS, cv=3, ks=[5, 20], scoring="precision@10").fit(X, y)
    assert model.scores_.shape == (2, 3, 3) and model.k_ in (5, 20)
    assert model.model_.parameters["k"] == model.k_
    with pytest.raises(ValueError, match="cannot be compared"):
        MeasureSVCCV("precision_at_k", CS, cv=3, ks=[5, 20]).fit(X, y)


def test_epsilon_and_C_of_a_regression():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=80)
    model = LinearSVRCV([0.1, 1.0, 10.0], epsilons=[0.0, 3.0], cv=3).fit(X, y)
    assert model.epsilon_ == 0.0 and model.scoring_ == "mean_absolute_error"
    assert model.scores_.shape == (2, 3, 3)
    assert model.best_params_ == {"C": model.C_, "epsilon": 0.0}


def test_C_and_gamma_of_a_sparse_kernel_machine():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    y = (np.sum(X**2, axis=1) > 1.4).astype(int)
    model = SparseKernelSVCCV(8, [0.1, 10.0], gammas=[1e-4, 0.5], cv=2).fit(X, y)
    assert model.gamma_ == 0.5
    alone = SparseKernelSVC(8, C=model.C_, gamma=0.5).fit(X, y)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-2)


def test_scorers_of_scikit_learn_and_functions(two):
    X, y = two
    ours = LinearSVCCV(CS, cv=3, scoring="f1").fit(X, y)
    theirs = LinearSVCCV(CS, cv=3, scoring=make_scorer(f1_score)).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-12)
    own = LinearSVCCV(CS, cv=3, scoring=lambda e, X, y: e.score(X, y)).fit(X, y)
    np.testing.assert_allclose(own.scores_, LinearSVCCV(CS, cv=3).fit(X, y).scores_)
    assert LinearSVCCV(CS, cv=3, scoring="balanced_accuracy").fit(X, y).best_score_ <= 1


def test_a_scorer_that_needs_probabilities_says_so(two):
    refused = r"fold 1 cannot be judged.*neg_log_loss.*does not suit it: it needs probabilities"
    with pytest.raises(ValueError, match=refused + ": fit with loss='logistic'"):
        LinearSVCCV(CS, cv=3, scoring="neg_log_loss").fit(*two)
    with pytest.raises(ValueError, match=refused + ", which this kind of machine does not have"):
        MeasureSVCCV("roc_auc", CS, cv=3, scoring="neg_log_loss").fit(*two)
    model = LinearSVCCV(CS, cv=3, scoring="neg_log_loss", loss="logistic").fit(*two)
    assert model.best_score_ < 0


@pytest.mark.parametrize("scoring", ["ndcg@10", "no_such_thing", "f1@3", "precision@x"])
def test_a_scoring_that_makes_no_sense_is_refused(two, scoring):
    with pytest.raises(ValueError, match=r"no measure of classes|scoring is|leave @3|no number"):
        LinearSVCCV(CS, cv=3, scoring=scoring).fit(*two)


def test_a_fold_without_positives_is_refused(two):
    X, y = two
    order = np.argsort(y, kind="stable")
    halves = [(order[80:], order[:80])]
    with pytest.raises(ValueError, match=r"fold 1 cannot be judged: no row is positive"):
        MeasureSVCCV("roc_auc", CS, cv=halves).fit(X, y)


def test_the_search_for_a_ranking_costs_less_than_three_fits_of_each_C():
    """Five folds and the last fit, each begun with the planes of the C before; in iterations."""
    rng = np.random.default_rng(2)
    X, qid, Cs = rng.normal(size=(1200, 20)), np.arange(1200) // 10, np.geomspace(1e-4, 1e4, 6)
    score = X @ np.array([1.0, 0.4, 0.4, 0.4, *[0.0] * 16]) + rng.normal(size=1200)
    y = np.clip(np.round(score + 1), 0, 3).astype(int)
    alone, together = [], []
    for C in Cs:
        RankSVM(C, callback=lambda seen: alone.append(seen.iteration > 0)).fit(X, y, qid=qid)
    search = RankSVMCV(Cs, widen=False, callback=lambda seen: together.append(seen.iteration > 0))
    search.fit(X, y, qid=qid)
    assert sum(together) < 3 * sum(alone)


def test_a_fold_without_training_rows_is_named(two):
    X, y = two
    with pytest.raises(ValueError, match="fold 1 cannot be trained: it has no training rows"):
        LinearSVCCV(CS, cv=[([], np.arange(len(y)))]).fit(X, y)


def test_values_that_are_no_numbers_or_for_other_measures_are_refused(two):
    with pytest.raises(ValueError, match="Cs must be positive numbers; got 'many'"):
        LinearSVCCV("many").fit(*two)
    with pytest.raises(ValueError, match="ks is for 'precision_at_k' and 'recall_at_k'; this is"):
        MeasureSVCCV("f1", CS, ks=[5, 10], scoring=None).fit(*two)


def test_groups_stay_together(two):
    X, y = two
    groups = np.arange(160) // 10
    ours = LinearSVCCV(CS, cv=4).fit(X, y, groups=groups)
    folds = folds_of(4, 160, 0, y, groups)
    np.testing.assert_allclose(ours.scores_, LinearSVCCV(CS, cv=folds).fit(X, y).scores_)
    assert LinearSVCCV(CS, cv=GroupKFold(4)).fit(X, y, groups=groups).scores_.shape == (4, 3)
    with pytest.raises(ValueError, match="5 folds of 2 groups"):
        LinearSVCCV(CS, cv=5).fit(X, y, groups=np.arange(160) // 80)


def test_the_grid_grows_beyond_an_end_that_is_best():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3)) * 1e-4  # wants a very large C
    y = X @ [1e4, 2e4, 0.0] + 0.1 * rng.normal(size=200)
    model = LinearSVRCV(Cs=3, cv=3, loss="squared").fit(X, y)
    assert model.Cs_[-1] > 1e4 and model.C_ > 1e4
    with pytest.warns(UserWarning, match="the largest that was tried"):
        told = LinearSVRCV(Cs=3, cv=3, loss="squared", widen=False).fit(X, y)
    assert told.C_ == told.Cs_[-1] == 1e4 and len(told.Cs_) == 3


def test_values_that_were_given_are_all_that_is_tried_unless_told(two):
    X, y = two
    np.testing.assert_array_equal(LinearSVCCV([1e-6, 1e-5], cv=3).fit(X, y).Cs_, [1e-6, 1e-5])
    values = LinearSVRCV([1e-6, 1e-5], cv=3, loss="squared", widen=True).fit(X, X[:, 0])
    assert values.Cs_[-1] > 1e-5


def test_the_best_threshold_is_kept_in_the_model(two):
    X, y = two
    plain = LinearSVCCV(CS, cv=4, scoring="f1").fit(X, y)
    tuned = LinearSVCCV(CS, cv=4, scoring="f1", tune_threshold=True).fit(X, y)
    shift = plain.decision_function(X) - tuned.decision_function(X)
    np.testing.assert_allclose(shift, tuned.threshold_, atol=1e-9)
    assert f1_score(y, tuned.predict(X)) >= f1_score(y, plain.predict(X))
    sparse = SparseKernelSVCCV(5, [1.0], cv=2, scoring="f1", tune_threshold=True).fit(X, y)
    assert sparse.intercept_ == pytest.approx([-sparse.threshold_])


def test_a_threshold_that_changes_nothing_is_refused(two, queries):
    with pytest.raises(ValueError, match="looks at the order"):
        LinearSVCCV(CS, cv=3, scoring="roc_auc", tune_threshold=True).fit(*two)
    with pytest.raises(ValueError, match="needs two classes"):
        LinearSVCCV(CS, cv=3, tune_threshold=True).fit(*queries[:2])
    with pytest.raises(ValueError, match="probabilities"):
        LinearSVCCV(CS, cv=3, tune_threshold=True, loss="logistic").fit(*two)


def test_rows_that_stay_on_disk_give_the_same_search(queries, tmp_path):
    X, y, qid = queries
    path = tmp_path / "rows.svm"
    data.save(data.Dataset(X, y, qid=qid), path)
    here = RankSVMCV(CS, cv=3).fit(X, y, qid=qid)
    there = RankSVMCV(CS, cv=3).fit(data.open_source(path))
    np.testing.assert_allclose(here.scores_, there.scores_, atol=1e-3)
    assert here.C_ == there.C_


def test_the_positive_class_of_a_measure(two):
    X, y = two
    words = np.where(y == 1, "fraud", "good")  # by order, "good" would be the positive one
    named = MeasureSVC("f1", C=1.0, tol=1e-6, pos_label="fraud").fit(X, words)
    plain = MeasureSVC("f1", C=1.0, tol=1e-6).fit(X, y)
    assert named.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    assert named.score(X, words) == pytest.approx(plain.score(X, y), abs=0.02)
    assert np.mean((named.predict(X) == "fraud") == (plain.predict(X) == 1)) > 0.98
    sparse = SparseKernelSVC(5, loss="roc_auc", gamma=0.3, pos_label="fraud").fit(X, words)
    other = SparseKernelSVC(5, loss="roc_auc", gamma=0.3).fit(X, y)
    assert sparse.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)
    assert sparse.score(X, words) == pytest.approx(other.score(X, y), abs=1e-6)
    for label in ("good", "fraud"):
        cut = MeasureSVC("roc_auc", pos_label=label).fit(X, words)
        assert np.sum(cut.predict(X) == label) == np.sum(words == label)


@pytest.mark.parametrize("label", ["spam", 3])
def test_a_positive_class_that_there_is_not_is_refused(two, label):
    with pytest.raises(ValueError, match="expected one of two labels"):
        MeasureSVC(pos_label=label).fit(*two)
    with pytest.raises(ValueError, match="pos_label is for measures"):
        SparseKernelSVC(5, pos_label=label).fit(*two)


def test_a_search_warns_of_nothing_else(two):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the best C")
        LinearSVCCV(CS, cv=3).fit(*two)
        assert LinearSVC().fit(*two) is not None


@pytest.mark.parametrize("rows", [[0, 50], [-1, 3], [0.5, 1.0]])
@pytest.mark.parametrize("machine", [LinearSVCCV, LinearSVRCV, KernelSVRCV])
def test_folds_that_name_rows_outside_the_data_are_refused(machine, rows):
    """A row of -1 was the last one, in training and test alike."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    folds = [(np.arange(25), np.arange(25, 50)), (np.arange(25, 50), np.array(rows))]
    with pytest.raises(ValueError, match="a fold"):
        machine(Cs=2, cv=folds).fit(X, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("part", ["training", "test"])
@pytest.mark.parametrize("machine", [KernelSVCCV, KernelSVRCV])
def test_kernel_folds_whose_rows_weigh_nothing_are_refused(two, machine, part):
    """Their scores were no numbers, and any point of the grid was the best."""
    X, y = two
    heavy, light = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    folds = [(heavy, light) if part == "test" else (light, heavy)]
    weight = np.ones(len(y))
    weight[light] = 0.0
    with pytest.raises(ValueError, match=f"fold 1 cannot be judged: its 80 {part} rows weigh"):
        machine(Cs=CS, gammas=[1.0], cv=folds).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("measure", ["prbep", "precision_at_k", "recall_at_k", "roc_auc"])
def test_held_out_positives_that_weigh_nothing_are_named(two, measure):
    X, y = two
    rows = np.arange(len(y))
    weight = np.where((y == y.max()) & (rows % 2 == 1), 0.0, 1.0)
    k = 0.5 if measure.endswith("_at_k") else None
    machine = MeasureSVCCV(measure=measure, k=k, Cs=CS, cv=[(rows[::2], rows[1::2])])
    with pytest.raises(ValueError, match="fold 1 cannot be judged: no row of positive weight"):
        machine.fit(X, y, sample_weight=weight)


def test_a_fold_whose_training_rows_are_of_one_class_is_named(two):
    X, y = two
    only = np.flatnonzero(y == 1)[:1]  # the one row of its class that weighs anything
    weight = np.where(y == 1, 0.0, 1.0)
    weight[only] = 1.0
    folds = [(np.setdiff1d(np.arange(len(y)), only), only)]
    with pytest.raises(ValueError, match="fold 1 cannot be trained: y has one class only among"):
        OrdinalSVCCV(Cs=CS, cv=folds).fit(X, y, sample_weight=weight)


def test_cells_leave_out_folds_that_weigh_nothing(two):
    """The rows of positive weight are so few that some folds of a cell have none of them."""
    X, y = two
    weight = np.zeros(len(y))
    for label in np.unique(y):
        weight[np.flatnonzero(y == label)[:2]] = 1.0
    machine = KernelSVCCV(Cs=CS, gammas=[0.1, 1.0], cells=len(y), cv=5)
    assert np.isfinite(machine.fit(X, y, sample_weight=weight).best_score_)
