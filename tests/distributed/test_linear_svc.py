"""The same optimum as in memory, from any number of parts and every kind of input."""

from __future__ import annotations

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import data
from maxmargin.distributed import LinearSVC
from maxmargin.problem import Status


@pytest.fixture(scope="module")
def rows(svm):
    X, y = svm.blobs(3000, 12, noise=1.5, seed=1)
    return X, y.astype(int)


@pytest.fixture(scope="module")
def exact(rows):
    return maxmargin.LinearSVC(C=0.1, solver="ocas", tol=1e-4).fit(*rows)


def cut(array, parts):
    """A dask array of so many blocks, the last ones shorter."""
    size = -(-len(array) // parts)
    return da.from_array(array, chunks=(size, *array.shape[1:]))


def sparse_blocks(X, parts):
    return cut(X, parts).map_blocks(sp.csr_matrix, dtype=X.dtype)


def path_of(model):
    return [(step.primal, step.dual) for step in model.history_]


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
@pytest.mark.parametrize("blocks", [cut, sparse_blocks])
def test_every_iteration_is_that_of_the_local_method(client, rows, exact, parts, blocks):
    X, y = rows
    model = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client).fit(
        blocks(X, parts), cut(y, parts)
    )
    np.testing.assert_allclose(path_of(model), path_of(exact), rtol=1e-9, atol=1e-9)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
    assert (model.n_partitions_, model.n_features_in_, model.solver_) == (parts, 12, "ocas")
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)


def test_the_same_parts_give_the_same_answer_but_for_rounding(client, rows):
    X, y = rows
    fits = [LinearSVC(client=client).fit(cut(X, 3), cut(y, 3)) for _ in range(2)]
    # A part that moved to another worker has its predictions made anew, as X w in one product.
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-9, atol=1e-12)
    for once, again in zip(path_of(fits[0]), path_of(fits[1]), strict=True):
        assert once == pytest.approx(again, rel=1e-9)


def test_cutting_planes_without_a_line_search(client, rows):
    X, y = rows
    model = LinearSVC(C=0.01, solver="cpa", client=client).fit(cut(X, 2), cut(y, 2))
    local = maxmargin.LinearSVC(C=0.01, solver="cpa").fit(X, y)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-9)


def test_weights_of_rows_and_classes(client, rows):
    X, y = rows
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for class_weight in ({1: 2.0, -1: 0.5}, "balanced"):
        options = {"C": 0.1, "class_weight": class_weight, "solver": "ocas", "tol": 1e-4}
        local = maxmargin.LinearSVC(**options).fit(X, y, weight)
        model = LinearSVC(client=client, **options).fit(cut(X, 3), cut(y, 3), cut(weight, 3))
        np.testing.assert_allclose(path_of(model), path_of(local), rtol=1e-9, atol=1e-9)


def test_several_classes_with_names_and_no_intercept(client, rows):
    X, _ = rows
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.5])]
    options = {"C": 0.1, "fit_intercept": False, "solver": "ocas"}
    local = maxmargin.LinearSVC(**options).fit(X, y)
    model = LinearSVC(client=client, **options).fit(cut(X, 2), cut(y, 2))
    np.testing.assert_allclose(
        [c.primal for c in model.certificates_], [c.primal for c in local.certificates_], rtol=1e-9
    )
    scores = model.decision_function(cut(X, 2))
    assert scores.shape == (3000, 3)
    np.testing.assert_allclose(scores.compute(), model.decision_function(X))
    np.testing.assert_array_equal(model.predict(cut(X, 2)).compute(), model.predict(X))


def test_predictions_are_lazy_and_scores_travel_as_two_numbers(client, rows, exact):
    X, y = rows
    model = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client).fit(cut(X, 2), cut(y, 2))
    for blocks in (cut(X, 4), sparse_blocks(X, 4)):
        labels = model.predict(blocks)
        assert isinstance(labels, da.Array) and labels.shape == (3000,)
        np.testing.assert_array_equal(labels.compute(), exact.predict(X))
        np.testing.assert_allclose(
            model.decision_function(blocks).compute(), exact.decision_function(X), rtol=1e-4
        )
    assert model.score(cut(X, 2), cut(y, 2)) == pytest.approx(model.score(X, y))


def test_dataframes_by_series_and_by_names_of_columns(client, rows, exact):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    whole = dd.from_pandas(frame.assign(label=y, s=1.0), npartitions=3)
    by_series = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client).fit(
        whole[list(frame.columns)], whole["label"]
    )
    by_name = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client).fit(
        whole, "label", sample_weight="s"
    )
    for model in (by_series, by_name):
        assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
        assert list(model.feature_names_in_) == list(frame.columns)
    lazy = by_name.predict(whole[list(frame.columns)])
    np.testing.assert_array_equal(lazy.compute(), exact.predict(X))
    with pytest.raises(ValueError, match="same columns in the same order"):
        by_name.predict(whole[list(frame.columns)[::-1]])


def test_delayed_pairs_of_rows_and_labels_one_of_them_empty(client, rows, exact):
    X, y = rows
    pieces = [*np.array_split(np.arange(len(y)), 3), np.arange(0)]
    pairs = [dask.delayed((X[piece], y[piece])) for piece in pieces]
    model = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client).fit(pairs)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
    lazy = model.predict([dask.delayed(X[piece]) for piece in pieces])
    np.testing.assert_array_equal(np.concatenate(dask.compute(*lazy)), exact.predict(X))


def saved_parts(folder, X, y, ending):
    paths = []
    for k, piece in enumerate(np.array_split(np.arange(len(y)), 3)):
        paths.append(folder / f"{k}.{ending}")
        block = sp.csr_matrix(X[piece]) if ending == "svm" else X[piece]
        data.save(data.Dataset(block, y[piece]), paths[-1])
    return paths


@pytest.mark.parametrize("ending", ["svm", "parquet", "csv"])
def test_workers_read_files_themselves(client, rows, exact, tmp_path, ending):
    X, y = rows
    paths = saved_parts(tmp_path, X, y, ending)
    options = {"dtype": "float64"}
    if ending == "csv":
        options["target"] = "label"
    model = LinearSVC(C=0.1, tol=1e-4, solver="ocas", client=client, read_options=options)
    model.fit(paths)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
    labels = np.concatenate(dask.compute(*model.predict(paths)))
    np.testing.assert_array_equal(labels, exact.predict(X))
    assert model.score(paths) == pytest.approx(exact.score(X, y))


def test_a_relative_path_starts_where_the_caller_is(client, rows, exact, tmp_path, monkeypatch):
    """Workers were started elsewhere, and know nothing of the folder the caller stands in."""
    paths = saved_parts(tmp_path, *rows, "parquet")
    monkeypatch.chdir(tmp_path)
    model = LinearSVC(C=0.1, tol=1e-4, client=client).fit([path.name for path in paths])
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-3)
    assert len(model.predict([paths[0].name])[0].compute())


def test_text_files_agree_on_the_number_of_the_first_feature(client, tmp_path):
    """A file that names no feature 0 passes for one-based, beside one that does it is not."""
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    first.write_text("1 0:1 2:1\n-1 0:-1 1:1\n")
    second.write_text("1 1:2\n-1 3:1\n")
    model = LinearSVC(solver="ocas", client=client).fit([first, second])
    assert (model.n_features_in_, model.index_base_) == (4, 0)
    X = np.array([[1, 0, 1, 0], [-1, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 1.0]])
    local = maxmargin.LinearSVC(solver="ocas").fit(X, [1, -1, 1, -1])
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-6)
    labels = np.concatenate(dask.compute(*model.predict([first, second])))
    np.testing.assert_array_equal(labels, local.predict(X))


def test_an_averaged_start_is_better_than_none_and_ends_at_the_same_optimum(client, rows, exact):
    X, y = rows
    model = LinearSVC(C=0.1, tol=1e-4, start="average", client=client)
    model.fit(cut(X, 4), cut(y, 4))
    assert model.history_[0].primal < 1.05 * exact.certificate_.primal
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
    assert model.certificate_.status is Status.OPTIMAL
    assert max(step.dual for step in model.history_) <= exact.certificate_.primal


def test_a_warm_start_begins_where_the_last_fit_ended(client, rows):
    X, y = rows
    model = LinearSVC(C=0.1, warm_start=True, client=client).fit(cut(X, 2), cut(y, 2))
    before = model.certificate_.primal
    model.fit(cut(X, 2), cut(y, 2))
    assert model.history_[0].primal == pytest.approx(before)


def test_a_saved_model_loads_as_the_local_estimator(client, rows, tmp_path):
    X, y = rows
    model = LinearSVC(C=0.1, client=client).fit(cut(X, 2), cut(y, 2))
    model.save(tmp_path / "model")
    local = maxmargin.load(tmp_path / "model")
    assert type(local) is maxmargin.LinearSVC
    np.testing.assert_array_equal(local.predict(X), model.predict(X))


def test_limits_and_callbacks_give_the_best_model_so_far(client, rows):
    X, y = rows
    with pytest.warns(ConvergenceWarning):
        few = LinearSVC(max_iter=2, client=client).fit(cut(X, 2), cut(y, 2))
    assert few.certificate_.status is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning):
        none = LinearSVC(max_time=1e-9, client=client).fit(cut(X, 2), cut(y, 2))
    assert none.certificate_.status is Status.MAX_TIME
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped = LinearSVC(callback=lambda step: step.iteration == 3, client=client)
        stopped.fit(cut(X, 2), cut(y, 2))
    assert (stopped.certificate_.status, stopped.n_iter_) == (Status.CALLBACK, 3)


def test_what_cannot_be_fitted_is_refused_with_what_to_do(client, rows, tmp_path):
    X, y = rows
    with pytest.raises(TypeError, match="expected a dask array"):
        LinearSVC(client=client).fit(X, y)
    with pytest.raises(ValueError, match="on a cluster; use one of auto, ocas, cpa, newton"):
        LinearSVC(solver="dual", client=client).fit(cut(X, 2), cut(y, 2))
    with pytest.raises(ValueError, match="expected 3000, one per row"):
        LinearSVC(client=client).fit(cut(X, 2), cut(y[:-1], 2))
    with pytest.raises(ValueError, match="one class only"):
        LinearSVC(client=client).fit(cut(X, 2), cut(np.ones(3000), 2))
    with pytest.raises(maxmargin.distributed.PartitionError, match="holds NaN or infinity") as bad:
        LinearSVC(client=client).fit(cut(np.where(X > 3, np.nan, X), 2), cut(y, 2))
    assert bad.value.model is None
    with pytest.raises(maxmargin.distributed.PartitionError, match=r"absent\.svm"):
        LinearSVC(client=client).fit([tmp_path / "absent.svm"])
