"""LinearSVC on files: the rows stay on disk, the answer is the one of arrays."""

import numpy as np
import pytest

from maxmargin import LinearSVC, data, load


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The bundled data as arrays and as files."""
    folder = tmp_path_factory.mktemp("demo")
    train, test = data.load_demo()
    data.save(train, folder / "train.svm")
    data.save(test, folder / "test.svm")
    data.write_store(data.open_source(train), folder / "train.arrow", block_bytes=1 << 16)
    return folder, train, test


@pytest.mark.parametrize("name", ["train.svm", "train.arrow"])
def test_a_file_in_the_place_of_arrays(demo, name):
    folder, train, test = demo
    here = LinearSVC(C=0.1, solver="ocas").fit(train.X, train.y)
    X = folder / name if name == "train.arrow" else data.open_source(folder / name, n_features=123)
    there = LinearSVC(C=0.1, solver="ocas").fit(X)
    assert there.certificate_.relative_gap <= 1e-3
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-3)
    assert there.n_features_in_ == 123
    np.testing.assert_allclose(
        there.decision_function(folder / "test.svm"), there.decision_function(test.X)
    )
    assert np.array_equal(there.predict(folder / "test.svm"), there.predict(test.X))
    assert there.score(folder / "test.svm") == there.score(test.X, test.y) > 0.84


def test_auto_takes_newton_for_few_features_and_models_are_saved_as_usual(demo, tmp_path):
    folder, _, test = demo
    model = LinearSVC(C=0.1).fit(str(folder / "*.arrow"))  # a glob
    assert model.solver_ == "newton"
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(test.X), model.predict(test.X))


def test_a_list_of_files_and_a_source(demo):
    folder, train, _ = demo
    twice = LinearSVC(C=0.05, tol=1e-5).fit([folder / "train.svm", folder / "train.arrow"])
    once = LinearSVC(C=0.05, tol=1e-5).fit(
        data.open_source(folder / "train.svm"), sample_weight=np.full(6000, 2.0)
    )
    assert twice.certificate_.primal == pytest.approx(once.certificate_.primal, rel=1e-4)
    assert train.X.shape[0] == 6000


def test_names_of_columns_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text("height,label,age\n1,no,2\n2,yes,1\n3,yes,0\n0,no,5\n")
    model = LinearSVC().fit(tmp_path / "a.csv")
    assert model.feature_names_in_.tolist() == ["height", "age"]
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(tmp_path / "a.csv").tolist() == ["no", "yes", "yes", "no"]


def test_what_makes_no_sense_for_files_is_refused(demo, tmp_path):
    folder, train, _ = demo
    path = folder / "train.svm"
    for options, arguments, message in [
        ({"solver": "dual"}, {}, "solver 'dual' needs single rows in memory"),
        ({}, {"y": train.y}, "y was given, but X is .*, whose labels are in it"),
        ({}, {"sample_weight": [1.0]}, r"sample_weight has shape \(1,\); expected \(6000,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            LinearSVC(**options).fit(path, **arguments)
    data.write_store(data.ArraySource(["ACGT", "GATT"], np.array([1, -1])), tmp_path / "s.arrow")
    with pytest.raises(ValueError, match="its rows are strings; expected rows of numbers"):
        LinearSVC().fit(tmp_path / "s.arrow")
    data.write_store(data.ArraySource(np.eye(2)), tmp_path / "u.arrow")
    with pytest.raises(ValueError, match=r"u.arrow: has no labels: name their column"):
        LinearSVC().fit(tmp_path / "u.arrow")
    model = LinearSVC(C=0.1).fit(path)
    with pytest.raises(ValueError, match="has 2 features, but the model was trained on 122"):
        model.predict(tmp_path / "u.arrow")
    with pytest.raises(ValueError, match="requires y to be passed"):
        LinearSVC().fit(train.X)
