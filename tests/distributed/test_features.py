"""Features made by workers, strings as rows, ordered labels, and failures that are certain."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra [dask] is not installed")
import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd

import maxmargin as mm
from maxmargin import distributed as clusters
from maxmargin.distributed import PartitionError, asking


@pytest.fixture(scope="module")
def client():
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None) as client:
        yield client


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(0)
    texts = np.array(["".join(rng.choice(list("ACGT"), 20)) for _ in range(90)])
    return texts, np.where([("GAT" in t) or ("CC" in t[:9]) for t in texts], 1, -1)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(90, 3)) * 64) / 64
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=90)


MADE = {"features": "weighted_degree:4", "C": 0.3, "tol": 1e-5}


def test_strings_of_an_array_a_series_and_delayed_lists_give_one_machine(client, words):
    texts, y = words
    alone = mm.LinearSVC(solver="ocas", **MADE).fit(list(texts), y)
    frame = dd.from_pandas(pd.DataFrame({"dna": texts, "y": y}), npartitions=3)
    ways = {
        "array": (da.from_array(texts.astype(object), chunks=30), da.from_array(y, chunks=30)),
        "series": (frame["dna"], frame["y"]),
        "delayed": (
            [dask.delayed(list)(texts[k : k + 30]) for k in (0, 30, 60)],
            [dask.delayed(np.array)(y[k : k + 30]) for k in (0, 30, 60)],
        ),
    }
    for X, labels in ways.values():
        model = clusters.LinearSVC(client=client, **MADE).fit(X, labels)
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-5)
        assert model.n_features_in_ == 0
        scores = model.decision_function(X)
        if isinstance(scores, list):
            scores = np.concatenate(dask.compute(*scores))
        np.testing.assert_allclose(np.asarray(scores), model.decision_function(list(texts)))
        assert model.score(X, labels) == pytest.approx(model.score(list(texts), y))


def test_fasta_files_are_read_by_workers(client, words, tmp_path):
    texts, y = words
    paths = []
    for k in range(3):
        path = tmp_path / f"part{k}.fa"
        part = slice(30 * k, 30 * k + 30)
        records = zip(texts[part], y[part])
        path.write_text("".join(f">{label:+d}\n{text}\n" for text, label in records))
        paths.append(str(path))
    alone = mm.MeasureSVC("roc_auc", **MADE).fit(list(texts), y)
    model = clusters.MeasureSVC("roc_auc", client=client, **MADE).fit(paths)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-5)
    model.save(tmp_path / "m.model")
    loaded = mm.load(tmp_path / "m.model")
    np.testing.assert_allclose(
        loaded.decision_function(list(texts)), model.decision_function(list(texts))
    )
    assert model.score(paths) == pytest.approx(model.score(list(texts), y))


@pytest.mark.parametrize("features", ["pairs", "fourier:50,gamma=0.5", "hashing:12"])
def test_maps_of_numbers_are_those_of_one_machine(client, rows, features):
    X, t = rows
    given = {"features": features, "C": 0.3, "tol": 1e-5}
    alone = mm.LinearSVR(solver="ocas", **given).fit(X, t)
    parts = da.from_array(X, chunks=(30, -1)), da.from_array(t, chunks=30)
    model = clusters.LinearSVR(client=client, **given).fit(*parts)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-5)
    assert model.n_features_in_ == 3
    np.testing.assert_allclose(model.predict(parts[0]).compute(), model.predict(X))
    assert model.score(*parts) == pytest.approx(model.score(X, t))


def test_the_average_start_solves_parts_on_their_features(client, words):
    texts, y = words
    X, labels = da.from_array(texts.astype(object), chunks=30), da.from_array(y, chunks=30)
    model = clusters.LinearSVC(client=client, start="average", **MADE).fit(X, labels)
    plain = clusters.LinearSVC(client=client, **MADE).fit(X, labels)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=3e-5)


def test_strings_without_a_map_are_refused_as_elsewhere(client, words):
    texts, y = words
    X, labels = da.from_array(texts.astype(object), chunks=30), da.from_array(y, chunks=30)
    with pytest.raises(ValueError, match=r"strings; make features of them"):
        clusters.LinearSVC(client=client).fit(X, labels)
    with pytest.raises(ValueError, match="are for strings"):
        numbers = da.from_array(np.ones((90, 2)), chunks=(30, -1))
        clusters.LinearSVC(client=client, **MADE).fit(numbers, labels)


def test_ordered_labels_on_workers_are_those_of_one_machine(client, rows):
    X, t = rows
    names = np.array(["low", "middle", "high"])
    y = names[np.searchsorted([-0.5, 0.5], t)]
    given = {"order": names.tolist(), "C": 0.3, "tol": 1e-5}
    alone = mm.OrdinalSVC(**given).fit(X, y)
    parts = da.from_array(X, chunks=(30, -1)), da.from_array(y, chunks=30)
    model = clusters.OrdinalSVC(client=client, **given).fit(*parts)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-5)
    assert list(model.classes_) == names.tolist()
    np.testing.assert_allclose(model.thresholds_, alone.thresholds_, rtol=1e-2)
    assert model.score(*parts) == pytest.approx(model.score(X, y))
    assert model.mean_absolute_error(*parts) == pytest.approx(model.mean_absolute_error(X, y))
    assert list(model.predict(parts[0]).compute()) == list(model.predict(X))


def test_a_column_of_words_is_named_at_once(client, rows):
    X, t = rows

    def part(k):
        frame = pd.DataFrame(X[30 * k : 30 * k + 30], columns=["age", "size", "city"])
        if k == 1:
            frame["city"] = "Ulm"
        return frame

    frames = [dask.delayed(part)(k) for k in range(3)]
    labels = [dask.delayed(np.array)(t[30 * k : 30 * k + 30]) for k in range(3)]
    with pytest.raises(PartitionError, match=r"cannot be used.*'city' holds 'Ulm'") as error:
        clusters.LinearSVR(client=client).fit(frames, labels)
    assert error.value.partition == 1


def test_errors_that_would_come_again_are_asked_for_once():
    asked, part = [], SimpleNamespace(number=3)

    def refuse(part, error):
        asked.append(part)
        raise error

    refused = asking.ask_once(refuse, part, ValueError("no"))
    assert isinstance(refused, asking.Unusable) and refused.number == 3
    with pytest.raises(OSError, match="later"):
        asking.ask_once(refuse, part, OSError("later"))  # Dask tries that again
    assert asked == [part, part]


def test_numbers_that_are_not_finite_are_looked_at_once(client, rows):
    X, t = rows
    bad = X.copy()
    bad[40, 1] = np.nan
    parts = da.from_array(bad, chunks=(30, -1)), da.from_array(t, chunks=30)
    with pytest.raises(PartitionError, match=r"block 1\) cannot be used.*NaN or infinity"):
        clusters.LinearSVR(client=client).fit(*parts)


def test_probabilities_that_a_cluster_does_not_calibrate_are_refused(client, rows):
    X, t = rows
    parts = da.from_array(X, chunks=(30, -1)), da.from_array(t > 0, chunks=30)
    with pytest.raises(ValueError, match="calibrated in memory only"):
        clusters.LinearSVC(client=client, probability=True).fit(*parts)
    logistic = clusters.LinearSVC(client=client, loss="logistic", probability=True).fit(*parts)
    assert logistic.predict_proba(X).shape == (90, 2)


def test_newton_on_made_features_is_refused(client, words):
    texts, y = words
    parts = da.from_array(texts.astype(object), chunks=30), da.from_array(y, chunks=30)
    with pytest.raises(ValueError, match="on features that workers make use"):
        clusters.LinearSVC(client=client, features="spectrum:2", solver="newton").fit(*parts)
