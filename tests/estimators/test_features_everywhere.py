"""Feature maps with every linear machine, in memory and from disk: as if made before."""

import warnings

import numpy as np
import pytest

from maxmargin import (
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    MeasureSVC,
    MeasureSVCCV,
    OrdinalSVC,
    OrdinalSVCCV,
    RankSVM,
    RankSVMCV,
    StreamSVC,
    StreamSVR,
    data,
    load,
)
from maxmargin.data.features import Stats, feature_map

MACHINES = {
    "ocas": (LinearSVC, {"solver": "ocas"}),
    "newton": (LinearSVC, {"solver": "newton", "loss": "logistic"}),
    "free": (LinearSVC, {"intercept": "free", "solver": "ocas"}),
    "f1": (MeasureSVC, {"measure": "f1"}),
    "roc": (MeasureSVC, {"measure": "roc_auc"}),
    "rank": (RankSVM, {}),
    "ordinal": (OrdinalSVC, {}),
    "quantile": (LinearSVR, {"loss": "quantile", "quantile": [0.3, 0.7]}),
}
MAPS = ["weighted_degree:3", "weighted_degree:2,bits=8", "spectrum:3", "char_ngrams:2,bits=9"]


def texts():
    rng = np.random.default_rng(0)
    rows = ["".join(row) for row in rng.choice(list("ACGTN"), (120, 12), p=[0.24] * 4 + [0.04])]
    return rows, np.array(["GA" in row for row in rows]) * 2 - 1


def fitted(machine, X, y=None, **more):
    estimator, own = machine
    if estimator is RankSVM and y is not None:
        more["qid"] = np.arange(len(y)) // 10
        return estimator(tol=1e-5, **own, features=more.pop("features", None)).fit(X, y, **more)
    return estimator(tol=1e-5, **own, **more).fit(X, *([] if y is None else [y]))


@pytest.mark.parametrize("column", ["array", "objects", "series"])
def test_texts_may_be_an_array_or_a_column(column):
    make = {"array": np.array, "objects": lambda X: np.array(X, dtype=object)}
    if column == "series":
        make["series"] = pytest.importorskip("pandas").Series
    X, y = texts()
    as_list = LinearSVC(features="spectrum:2").fit(X, y)
    other = LinearSVC(features="spectrum:2").fit(make[column](X), y)
    np.testing.assert_array_equal(other.coef_, as_list.coef_)
    np.testing.assert_array_equal(other.predict(make[column](X)), as_list.predict(X))


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("features", MAPS)
def test_made_on_the_fly_they_have_the_optimum_of_those_made_before(name, features, tmp_path):
    X, y = texts()
    strings = next(data.ArraySource(X, block_bytes=1 << 40).blocks()).X
    Z = feature_map(features).fitted(Stats().add(strings)).transform(strings)
    before, made = (
        fitted(MACHINES[name], rows, y, **more)
        for rows, more in ((Z, {}), (X, {"features": features}))
    )
    assert made.certificate_.status == "optimal"
    found, known = ([c.primal for c in model.certificates_] for model in (made, before))
    assert found == pytest.approx(known, rel=2e-5)
    np.testing.assert_allclose(made.predict(X[:9]), before.predict(Z[:9]), atol=0.02)
    made.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(made)
    np.testing.assert_array_equal(again.predict(X), made.predict(X))


@pytest.mark.parametrize("name", ["ocas", "roc", "ordinal"])
def test_files_of_strings_are_the_strings(name, tmp_path):
    X, y = texts()
    rows = "".join(f">s label={label}\n{text.lower()}\n" for text, label in zip(X, y))
    (tmp_path / "rows.fa").write_text(rows)
    more = {"features": "weighted_degree:3"}
    memory = fitted(MACHINES[name], X, y, **more)
    disk = fitted(MACHINES[name], str(tmp_path / "rows.fa"), **more)
    assert disk.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=1e-6)
    assert disk.score(str(tmp_path / "rows.fa")) == pytest.approx(memory.score(X, y))


@pytest.mark.parametrize("features", ["pairs:12", "hashing:3", "fourier:40,gamma=0.2", np.tanh])
def test_numbers_are_mapped_too(features, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 5)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    data.save(data.Dataset(X, y), tmp_path / "rows.svm")
    made = LinearSVC(tol=1e-5, features=features, solver="ocas").fit(X, y)
    phi = feature_map(features)
    Z = phi.fitted(Stats(5)).transform(X)
    before = LinearSVC(tol=1e-5, solver="ocas").fit(Z, y)
    assert made.certificate_.primal == pytest.approx(before.certificate_.primal, rel=2e-5)
    np.testing.assert_array_equal(made.predict(X), before.predict(Z))
    if not callable(features):
        disk = LinearSVC(tol=1e-5, features=features, solver="ocas").fit(tmp_path / "rows.svm")
        assert disk.certificate_.primal == pytest.approx(made.certificate_.primal, rel=2e-5)


def test_without_a_map_strings_are_refused(tmp_path):
    (tmp_path / "rows.fa").write_text(">a label=1\nACGT\n>b label=-1\nACGA\n")
    with pytest.raises(data.DataError, match="its rows are strings"):
        LinearSVC().fit(str(tmp_path / "rows.fa"))
    with pytest.raises(ValueError, match="X holds numbers; the model was trained on strings"):
        LinearSVC(features="spectrum:2").fit(["ACGT", "ACCA"], [0, 1]).predict(np.ones((2, 3)))


SEARCHES = [LinearSVCCV, LinearSVRCV, MeasureSVCCV, OrdinalSVCCV, RankSVMCV]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_makes_them_too(search):
    """The folds' machines were given rows, and made features of what were features already."""
    X, y = texts()
    strings = next(data.ArraySource(X, block_bytes=1 << 40).blocks()).X
    Z = feature_map("spectrum:3").fitted(Stats().add(strings)).transform(strings)
    more = {"qid": np.arange(len(y)) // 10} if search is RankSVMCV else {}
    same = {"Cs": [0.1, 1.0, 10.0], "cv": 3, "tol": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a best C at the end of the grid
        before = search(**same).fit(Z, y, **more)
        made = search(**same, features="spectrum:3").fit(X, y, **more)
    np.testing.assert_allclose(made.scores_, before.scores_, atol=0.02)
    assert made.C_ == before.C_ and made.features_.alphabet == "ACGT"
    np.testing.assert_allclose(made.predict(X), before.predict(Z), atol=1e-2)


@pytest.mark.parametrize("estimator", [LinearSVC, MeasureSVC, OrdinalSVC, StreamSVC])
def test_texts_that_are_no_rows_are_refused_with_what_to_do(estimator):
    X, y = texts()
    as_array = np.array(X)
    with pytest.raises(ValueError, match="say which features to make of them"):
        estimator().fit(as_array, y)
    made = estimator(features="spectrum:3")
    with pytest.raises(ValueError, match=r"X\[119\] is None; expected a text in every row"):
        made.fit(np.array([*X[:-1], None], dtype=object), y)
    with pytest.raises(ValueError, match="X holds texts in a matrix of 1 columns; expected a list"):
        made.fit(as_array[:, None], y)
    with pytest.raises(ValueError, match="all strings are empty"):
        made.fit([""] * len(y), y)
    with pytest.raises(ValueError, match="X: has dense rows, but the features 'spectrum' are for"):
        made.fit(np.ones((len(y), 2)), y)
    with pytest.raises(ValueError, match="X holds numbers; the model was trained on strings"):
        made.fit(X, y).predict(np.ones((3, 2)))


@pytest.mark.parametrize("estimator", [LinearSVR, RankSVM, StreamSVR])
def test_targets_that_are_words_are_named(estimator):
    X, y = np.ones((4, 2)), np.array(["low", "high", "low", "high"])
    with pytest.raises(ValueError, match=f"y holds 'low'; {estimator.__name__} needs a number"):
        estimator().fit(X, y)
