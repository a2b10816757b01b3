"""A search on a stream: folds trained beside each other are what they would be alone."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from maxmargin import (
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    StreamSVC,
    StreamSVCCV,
    StreamSVRCV,
    data,
)
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.parameters import Options
from maxmargin.training.stream import StreamPlan, StreamRegressionPlan
from maxmargin.training.stream_search import ClassesOnStream, FoldsTogether, ValuesOnStream

N, D, BLOCK = 300, 5, 2048
TIGHT = 1e-6


def rows(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    score = X @ rng.normal(size=D) + 0.5 * rng.normal(size=N)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score), score


def thirds():
    return [np.arange(k, N, 3) for k in range(3)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("memory", ["100KB", "1MB"])  # less than the rows take, and more
@pytest.mark.parametrize("weighted", [False, True])
def test_each_fold_is_certified_as_the_machine_of_its_rows(classes, memory, weighted):
    X, y, _ = rows(classes)
    weight = np.random.default_rng(1).integers(0, 3, N) * 0.37 if weighted else None
    plan = StreamPlan(memory=memory, options=Options(tol=TIGHT), patient=True)
    task = ClassesOnStream(y, plan, weight)
    together = FoldsTogether(ArraySource(X, y, block_bytes=BLOCK), task, thirds())
    for C in (0.01, 1.0, 0.1):  # with a start, and without one
        together.held_out(C)
        own = np.array([s.certificate for s in together.run.solutions]).reshape(3, -1)
        for fold, test in enumerate(thirds()):
            kept = np.setdiff1d(np.arange(N), test)
            given = None if weight is None else weight[kept]
            alone = LinearSVC(C, tol=TIGHT).fit(X[kept], y[kept], given)
            for ours, theirs in zip(own[fold], alone.certificates_, strict=True):
                assert ours.relative_gap <= TIGHT
                assert ours.dual <= theirs.primal * (1 + 1e-12)
                assert theirs.dual <= ours.primal * (1 + 1e-12)


def test_each_fold_of_a_regression_is_the_machine_of_its_rows():
    X, _, y = rows()
    options = {"loss": "quantile", "quantile": [0.2, 0.7]}
    plan = StreamRegressionPlan(
        memory="100KB", options=Options(tol=1e-5), patient=True, **options, C=0.5
    )
    task = ValuesOnStream(y, plan)
    together = FoldsTogether(ArraySource(X, y, block_bytes=BLOCK), task, thirds())
    together.held_out(0.5)
    for fold, test in enumerate(thirds()):
        kept = np.setdiff1d(np.arange(N), test)
        alone = LinearSVR(0.5, tol=1e-5, **options).fit(X[kept], y[kept])
        for ours, theirs in zip(
            together.run.solutions[2 * fold : 2 * fold + 2], alone.certificates_, strict=True
        ):
            assert ours.certificate.primal == pytest.approx(theirs.primal, rel=2e-5)


@pytest.mark.parametrize(
    "cv",
    [4, 11, KFold(3), ShuffleSplit(4, test_size=0.3, random_state=0)],
    ids=["four", "more than a byte has bits", "in order", "overlapping"],
)
def test_scores_are_those_of_the_search_in_memory(cv):
    X, y, _ = rows()
    settings = {"Cs": [0.01, 0.1, 1.0], "cv": cv, "tol": TIGHT, "scoring": "roc_auc"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = StreamSVCCV(memory="100KB", **settings).fit(X, y)
        memory = LinearSVCCV(**settings).fit(X, y)
    np.testing.assert_allclose(stream.scores_, memory.scores_, atol=2e-3)
    assert stream.C_ == memory.C_
    assert stream.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=1e-5)


def test_a_regression_chooses_what_the_search_in_memory_does():
    X, _, y = rows()
    settings = {"Cs": [1e-4, 0.01, 1.0], "cv": 3, "tol": 1e-5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = StreamSVRCV(memory="100KB", **settings).fit(X, y)
        memory = LinearSVRCV(**settings).fit(X, y)
    np.testing.assert_allclose(stream.scores_, memory.scores_, rtol=1e-3)
    assert stream.C_ == memory.C_


class CountedPasses(ArraySource):
    passes = 0

    def blocks(self):
        self.passes += 1
        return super().blocks()


def test_the_folds_share_their_passes(monkeypatch):
    """Five folds read the rows less than twice as often as one machine a C, not five times."""
    X, y, _ = rows()
    Cs = [0.01, 0.1, 1.0]
    one, search = (CountedPasses(X, y, block_bytes=BLOCK) for _ in range(2))
    for C in Cs:
        StreamSVC(C, memory="16KB", deterministic=True).fit(one)
    StreamSVCCV(Cs, cv=5, memory="18KB", deterministic=True, scoring="roc_auc").fit(search)
    assert search.passes < 2 * one.passes


def test_a_file_of_strings_is_searched_where_it_lies(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "sites.fa"
    with open(path, "w") as file:
        for k in range(80):
            letters = rng.choice(list("acgt"), 12)
            if k % 2:
                letters[4:7] = list("gat")
            file.write(f">{k % 2}\n{''.join(letters)}\n")
    model = StreamSVCCV([0.01, 1.0], cv=4, features="weighted_degree:3", memory="10MB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(str(path))
    assert model.best_score_ > 0.9
    assert model.features_.degree == 3
    assert model.score(str(path)) > 0.95


def test_a_fold_with_nothing_to_tell_apart_is_named():
    X, y, _ = rows()
    folds = [(np.arange(10, N), np.arange(10)), (np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    with pytest.raises(ValueError, match="fold 2 cannot be trained: y has one class only among"):
        StreamSVCCV([0.1, 1.0], cv=folds).fit(X, y)


def test_the_best_threshold_is_kept():
    X, y, score = rows()
    y = (score > np.quantile(score, 0.8)).astype(int)
    model = StreamSVCCV([0.01, 0.1], cv=3, tune_threshold=True, scoring="f1", widen=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        untuned = StreamSVCCV([model.C_], cv=3, scoring="f1").fit(X, y)
    assert model.threshold_ != 0
    np.testing.assert_allclose(untuned.intercept_ - model.intercept_, model.threshold_, atol=1e-9)


@pytest.mark.parametrize("estimator", [StreamSVCCV, LinearSVCCV])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "balanced_accuracy", "average_precision"])
def test_scorers_of_scikit_learn_judge_rows_on_disk(tmp_path, estimator, scoring):
    X, y, _ = rows()
    path = tmp_path / "rows.svm"
    data.save(data.Dataset(X, y.astype(float)), path)
    options = {"Cs": [0.01, 0.1], "cv": 3, "loss": "logistic", "scoring": scoring, "tol": TIGHT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = estimator(**options).fit(data.open_source(path))
        here = LinearSVCCV(**options).fit(X, y)
    np.testing.assert_allclose(there.scores_, here.scores_, atol=1e-2)


def test_rows_whose_groups_are_in_the_file_stay_together(tmp_path):
    X, y, _ = rows()
    path = tmp_path / "rows.svm"
    qid = np.arange(N) // 100 + 1
    data.save(data.Dataset(X, y.astype(float), qid=qid), path)
    with pytest.raises(ValueError, match="cannot make 4 folds of 3 groups"):
        StreamSVCCV([0.1, 1.0], cv=4).fit(str(path))


def test_without_labels_the_column_is_asked_for(tmp_path):
    path = tmp_path / "rows.arrow"
    data.save(data.Dataset(rows()[0], None), path)
    with pytest.raises(ValueError, match="has no labels: name their column"):
        StreamSVCCV([0.1, 1.0]).fit(str(path))
