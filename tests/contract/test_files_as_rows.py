"""Files are accepted wherever arrays are, and say the same."""

import numpy as np
import pytest

from maxmargin import data
from maxmargin.estimators import sources

from .machines import MACHINES, Rows, scores_of, write_svmlight

# whose fit leaves the rows on disk
FROM_FILES = ["LinearSVC", "LinearSVC-ocas", "RankSVM", "OrdinalSVC", "MeasureSVC", "StreamSVC"]


@pytest.fixture
def file(tmp_path):
    """Writes the rows of a machine; gives the path."""

    def write(given: Rows, name="rows.svm"):
        write_svmlight(tmp_path / name, given)
        return tmp_path / name

    return write


@pytest.mark.parametrize("machine", MACHINES)
def test_predictions_of_a_file_are_those_of_its_rows(machine, file):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].fit()
    path = file(given)
    np.testing.assert_allclose(
        scores_of(model, path), scores_of(model, given.X), rtol=1e-5, atol=1e-6
    )
    labels = hasattr(model, "classes_")
    compare = np.testing.assert_array_equal if labels else np.testing.assert_allclose
    compare(model.predict(str(path)), model.predict(given.X))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_score_of_a_file_is_by_its_own_labels(machine, file):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].fit()
    expected = model.score(given.X, given.y, **given.more)
    assert model.score(file(given)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_file_that_lacks_the_last_features_is_read_with_zeros(machine, file):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].fit()
    short = given.X.copy()
    short[:, -1] = 0.0
    path = file(Rows(short, given.y, given.more), "short.svm")
    np.testing.assert_allclose(
        scores_of(model, path), scores_of(model, short), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("machine", FROM_FILES)
def test_a_fit_on_a_file_is_the_fit_on_its_rows(machine, file):
    given = MACHINES[machine].rows()
    on_disk = MACHINES[machine].make(tol=1e-5).fit(file(given))
    in_memory = MACHINES[machine].fit(tol=1e-5)
    assert on_disk.certificate_.primal == pytest.approx(in_memory.certificate_.primal, rel=2e-5)
    np.testing.assert_allclose(
        scores_of(on_disk, given.X), scores_of(in_memory, given.X), atol=0.05
    )


@pytest.mark.parametrize("machine", ["LinearSVC-ocas", "RankSVM", "OrdinalSVC", "MeasureSVC"])
def test_rows_of_a_fit_on_a_file_are_never_all_in_memory(machine, file, monkeypatch):
    """Queries that span blocks too."""
    given = MACHINES[machine].rows()
    parts = np.array_split(np.arange(len(given.y)), 4)
    files = [file(given.only(rows), f"part{k}.svm") for k, rows in enumerate(parts)]
    source = data.open_source(files)
    assert len(list(source.blocks())) >= 4
    monkeypatch.setattr(sources, "read_rows", None)
    on_disk = MACHINES[machine].make(tol=1e-5).fit(source)
    in_memory = MACHINES[machine].fit(tol=1e-5)
    assert on_disk.certificate_.primal == pytest.approx(in_memory.certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("machine", ["LinearSVC-ocas", "RankSVM"])
def test_a_warm_start_on_a_file_begins_where_the_last_fit_ended(machine, file):
    path = file(MACHINES[machine].rows())
    model = MACHINES[machine].make(tol=1e-5, warm_start=True).fit(path)
    first = model.n_iter_
    assert model.fit(path).n_iter_ < first


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("method", ["fit", "predict", "decision_function", "score"])
def test_a_missing_file_is_named(machine, method, file, tmp_path):
    given = MACHINES[machine].rows()
    missing = str(tmp_path / "missing.svm")
    model = MACHINES[machine].fit()
    if not hasattr(model, method):
        pytest.skip("a regression predicts values")
    with pytest.raises(ValueError, match=r"missing\.svm: there is no such file"):
        getattr(model, method)(missing)
    with pytest.raises(ValueError, match=r"missing\.svm: there is no such file"):
        getattr(model, method)([str(file(given)), missing])


@pytest.mark.parametrize("machine", MACHINES)
def test_labels_beside_a_file_are_refused(machine, file):
    given = MACHINES[machine].rows()
    path = file(given)
    with pytest.raises(ValueError, match=r"y was given, but X is .*, whose labels are in it"):
        MACHINES[machine].make().fit(path, given.y)
