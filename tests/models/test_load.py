import numpy as np
import pytest

import maxmargin
from maxmargin.models import load_model


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    return X, np.array(["ant", "bee", "cat"])[np.argmax(X[:, :3], axis=1)]


def test_a_saved_estimator_comes_back_fitted(rows, tmp_path):
    X, y = rows
    fitted = maxmargin.LinearSVC(C=0.5, class_weight={"bee": 2.0}, tol=1e-4).fit(X, y)
    fitted.save(tmp_path / "m")
    again = maxmargin.load(tmp_path / "m")
    assert isinstance(again, maxmargin.LinearSVC)
    assert again.get_params() == fitted.get_params()
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.certificate_ == fitted.certificate_


def test_a_search_comes_back_as_the_machine_it_found(rows, tmp_path):
    X, y = rows
    fitted = maxmargin.LinearSVCCV(Cs=[0.1, 1.0], cv=3).fit(X, y)
    fitted.save(tmp_path / "m")
    again = maxmargin.load(tmp_path / "m")
    assert again.C == fitted.C_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_files_hold_no_callbacks_and_of_generators_the_seed_drawn(rows, tmp_path):
    state = np.random.RandomState(0)
    fitted = maxmargin.LinearSVC(random_state=state, callback=lambda progress: None).fit(*rows)
    fitted.save(tmp_path / "m")
    again = maxmargin.load(tmp_path / "m")
    assert again.callback is None
    assert isinstance(again.random_state, int)


def test_feature_names_are_kept(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    table = pandas.DataFrame(X, columns=list("abcde"))
    maxmargin.LinearSVC().fit(table, y).save(tmp_path / "m")
    assert load_model(tmp_path / "m").feature_names == tuple("abcde")
    assert maxmargin.load(tmp_path / "m").feature_names_in_.tolist() == list("abcde")


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        maxmargin.LinearSVC().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_damaged_file_is_a_value_error(tmp_path):
    (tmp_path / "m").write_bytes(b"\0" * 100)
    with pytest.raises(ValueError, match="cannot load"):
        maxmargin.load(tmp_path / "m")


def test_cells_of_small_integers_come_back(tmp_path):
    """A cell of one class has no vectors, and none of them were kept as integers."""
    X = np.array([-20, 20, 20, -20, -10, -10, 20, -10, 20, -20, 20, 20, -20, 20] * 2, dtype=np.int8)
    X, y = X[:, None], (X > 0).astype(int)
    fitted = maxmargin.KernelSVC(C=1930.0, kernel="linear", cells=20).fit(X, y)
    assert {cell.vectors.dtype for cell in fitted.model_.cells} == {np.dtype(np.float64)}
    fitted.save(tmp_path / "cells.model")
    assert (maxmargin.load(tmp_path / "cells.model").predict(X) == fitted.predict(X)).all()
