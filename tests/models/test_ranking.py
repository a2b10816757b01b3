"""Files of ranking, ordinal and measure models: what goes in comes out, what lies is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as to_bytes

import maxmargin
from maxmargin.models import OrdinalModel, RankModel, liblinear_text, load_model, save


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    grade = np.clip(np.round(X @ rng.normal(size=5)) + 1, 0, 3).astype(int)
    return X, grade


WORDS = np.array(["poor", "fair", "good", "excellent"])
CASES = {
    "rank": (maxmargin.RankSVM(C=0.5, tol=1e-2), lambda grade: grade),
    "ordinal": (maxmargin.OrdinalSVC(C=0.5, class_weight={1: 2.0}), lambda grade: grade),
    "ordinal words": (maxmargin.OrdinalSVC(order=WORDS.tolist()), lambda grade: WORDS[grade]),
    "measure": (maxmargin.MeasureSVC("fbeta", beta=2.0, max_iter=1000), lambda grade: grade > 1),
    "measure at k": (
        maxmargin.MeasureSVC("precision_at_k", k=20, class_weight={True: 2}),
        lambda grade: grade > 1,
    ),
    "measure of classes": (
        maxmargin.MeasureSVC("error"),
        lambda grade: WORDS[grade],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_saved_estimator_comes_back_fitted(case, rows, tmp_path):
    (estimator, target), (X, grade) = CASES[case], rows
    y = target(grade)
    fitted = estimator.fit(X, y)
    fitted.save(tmp_path / "m")
    again = maxmargin.load(tmp_path / "m")
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.certificate_ == fitted.certificate_
    assert again.n_iter_ == fitted.n_iter_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.predict(X).dtype == fitted.predict(X).dtype
    assert again.score(X, y) == fitted.score(X, y)
    kind = case.split()[0]
    assert f'\\"kind\\": \\"{kind}\\"'.encode() in (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_the_model_alone_says_what_the_estimator_says(case, rows, tmp_path):
    (estimator, target), (X, grade) = CASES[case], rows
    fitted = estimator.fit(X, target(grade))
    fitted.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(model.decision_function(X, 2), fitted.decision_function(X))


def test_names_of_features_are_kept(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, grade = rows
    table = pandas.DataFrame(X, columns=list("abcde"))
    maxmargin.RankSVM().fit(table, grade).save(tmp_path / "m")
    assert maxmargin.load(tmp_path / "m").feature_names_in_.tolist() == list("abcde")


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    for estimator in (maxmargin.RankSVM(), maxmargin.OrdinalSVC(), maxmargin.MeasureSVC()):
        with pytest.raises(NotFittedError):
            estimator.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def damaged(path, change_content=lambda c: None, change_tensors=lambda t: None):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["maxmargin"])
    tensors = tensors_of(data)
    change_content(header["content"])
    change_tensors(tensors)
    path.write_bytes(to_bytes(tensors, metadata={"maxmargin": json.dumps(header)}))
    return path


ordinal = OrdinalModel(np.ones((1, 2)), np.array([0.0, 1.0]), np.array(["low", "mid", "high"]))
rank = RankModel(np.ones((1, 2)))


@pytest.mark.parametrize(
    "model, change_content, change_tensors, message",
    [
        (rank, {}, {"intercept": np.zeros(1)}, "tensors"),
        (rank, {}, {"coef": np.zeros((2, 2))}, r"coef \(1, d\)"),
        (rank, {}, {"coef": np.zeros((1, 0))}, r"coef \(1, d\)"),
        (rank, {}, {"coef": np.zeros((1, 2), np.float32)}, "float32"),
        (rank, {}, {"coef": np.full((1, 2), np.nan)}, "NaN"),
        (rank, {"certificates": [{}]}, {}, "certificate"),
        (rank, {"feature_names": ["a"]}, {}, "1 feature names do not fit 2"),
        (rank, {"parameters": {"C": {"list": [[1]]}}}, {}, "'C'"),
        (ordinal, {}, {"thresholds": np.zeros(3)}, "3 classes do not fit"),
        (ordinal, {}, {"thresholds": np.zeros((2, 1))}, "1-d"),
        (ordinal, {}, {"thresholds": np.array([1.0, 0.0])}, "increasing"),
        (ordinal, {}, {"thresholds": np.array([0.0, np.inf])}, "infinity"),
        (ordinal, {"classes": {"dtype": "str", "values": ["a", "b", "a"]}}, {}, "distinct"),
        (ordinal, {"classes": {"dtype": "str", "values": ["a"]}}, {}, "1 classes do not fit"),
        (ordinal, {"classes": None}, {}, "classes"),
    ],
)
def test_files_that_contradict_themselves_are_refused(
    model, change_content, change_tensors, message, tmp_path
):
    save(model, tmp_path / "m")
    path = damaged(
        tmp_path / "m", lambda c: c.update(change_content), lambda t: t.update(change_tensors)
    )
    with pytest.raises(ValueError, match=message):
        load_model(path)


@pytest.mark.parametrize("model", [rank, ordinal])
def test_formats_for_classifiers_refuse_rankings(model, tmp_path):
    with pytest.raises(ValueError, match=r"models cannot be written.*\.safetensors"):
        liblinear_text.write(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_measure_models_are_linear_classifiers_for_others(rows, tmp_path):
    X, grade = rows
    fitted = maxmargin.MeasureSVC("f1").fit(X, (grade > 1).astype(int))
    liblinear_text.write(fitted.to_model(), tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), fitted.predict(X))
