"""StreamSVC: the optimum of LinearSVC whatever the memory, and what is told on the way."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import LinearSVC, StreamSVC, StreamSVR
from maxmargin.data import ArraySource, open_source
from maxmargin.data.errors import DataError
from maxmargin.solvers.streaming.progress import SlowProgress

N = 3000


@pytest.fixture(scope="module")
def rows(svm):
    return svm.blobs(N, 30, sparse=True, noise=0.5, dtype=np.float32)


def objective(model, X, y, svm, C, weight=None):
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    w = np.append(model.coef_.ravel(), model.intercept_)
    cost = C * (np.ones(len(y)) if weight is None else weight)
    return svm.primal(X, sign, w, cost, bias=1.0)


@pytest.mark.parametrize("share", [1.5, 0.2, 0.05, 0.01, 0.0])
def test_the_optimum_does_not_depend_on_the_memory(rows, svm, share):
    X, y = rows
    size = X.data.nbytes + X.indices.nbytes + 100 * N
    source = ArraySource(X, y, block_bytes=1 << 12)
    memory = int(share * size) + 6 * source.largest_block + 4 * N + 1000
    model = StreamSVC(C=0.1, memory=memory, deterministic=True).fit(source)
    exact = LinearSVC(C=0.1, tol=1e-6, solver="newton").fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.relative_gap <= 1e-3
    P = objective(model, X, y, svm, 0.1)
    assert pytest.approx(model.certificate_.primal, rel=1e-9) == P
    assert exact.certificate_.dual * (1 - 1e-9) <= P <= exact.certificate_.primal * (1 + 1.1e-3)
    assert model.certificate_.dual <= exact.certificate_.primal
    cached = model.history_[-1].cached
    assert cached == N if share > 1 else cached <= share * N * 1.3 + 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "fortran", "csr"])
def test_arrays_of_every_kind(svm, dtype, kind):
    X, y = svm.blobs(400, 8, dtype=dtype)
    made = {"dense": X, "fortran": np.asfortranarray(X), "csr": sp.csr_matrix(X)}[kind]
    model = StreamSVC(C=1.0, memory="100KB", tol=1e-4).fit(made, y)
    exact = LinearSVC(C=1.0, tol=1e-6).fit(X, y)
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-4)


def test_weights_equal_repetition(svm):
    X, y = svm.blobs(200, 5)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[:2] = 1
    weighted = StreamSVC(tol=1e-5).fit(X, y, sample_weight=weight)
    repeated = StreamSVC(tol=1e-5).fit(
        np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-5)


def test_class_weights(svm):
    X, y = svm.blobs(200, 5)
    by_class = StreamSVC(tol=1e-5, class_weight={1.0: 3.0}).fit(X, y)
    by_row = StreamSVC(tol=1e-5).fit(X, y, sample_weight=np.where(y > 0, 3.0, 1.0))
    assert by_class.certificate_.primal == pytest.approx(by_row.certificate_.primal, rel=2e-5)
    balanced = StreamSVC(tol=1e-5, class_weight="balanced").fit(X, y)
    linear = LinearSVC(tol=1e-6, class_weight="balanced").fit(X, y)
    assert balanced.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("memory", ["1GB", "60KB"])
def test_several_classes_in_the_same_passes(n_jobs, memory):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 800)
    X = rng.normal(size=(800, 6)) + 1.5 * np.eye(4, 6)[y]
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    model = StreamSVC(C=0.1, memory=memory, n_jobs=n_jobs).fit(X, names)
    linear = LinearSVC(C=0.1, tol=1e-5).fit(X, names)
    assert model.coef_.shape == (4, 6)
    assert len(model.certificates_) == 4
    for ours, theirs in zip(model.certificates_, linear.certificates_):
        assert ours.relative_gap <= 1e-3
        assert theirs.dual * (1 - 1e-9) <= ours.primal <= theirs.primal * (1 + 1.1e-3)
    assert (model.predict(X) == linear.predict(X)).mean() > 0.97


def test_threads_do_not_change_the_answer(svm):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 500)
    X = rng.normal(size=(500, 6)) + np.eye(3, 6)[y]
    one, two = (StreamSVC(memory="60KB", n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_seeds(rows):
    X, y = rows
    fits = [StreamSVC(memory="150KB", random_state=seed).fit(X, y) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert (fits[0].coef_ != fits[2].coef_).any()


@pytest.mark.parametrize("by_class", [False, True])
def test_many_rows_in_the_cache(by_class):
    """So many that a round visits neighbours together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 8)).astype(np.float32)
    y = np.where(X @ rng.normal(size=8) + rng.normal(size=9000) > 0, 1, -1)
    order = np.argsort(y, kind="stable") if by_class else np.arange(9000)
    exact = LinearSVC(C=0.1, tol=1e-5).fit(X, y).certificate_
    for seed in range(2):
        model = StreamSVC(C=0.1, tol=1e-4, random_state=seed).fit(X[order], y[order])
        assert model.certificate_.relative_gap <= 1e-4
        assert exact.dual <= model.certificate_.primal <= exact.primal * (1 + 1e-4)


def test_rows_sorted_by_class(rows):
    X, y = rows
    order = np.argsort(y, kind="stable")
    model = StreamSVC(C=0.1, memory="100KB").fit(X[order], y[order])
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("how", ["float32", "file"])
def test_dual_variables_in_less_memory(rows, tmp_path, how):
    X, y = rows
    options = {"alpha_dtype": "float32"} if how == "float32" else {"alpha_file": tmp_path / "a"}
    model = StreamSVC(C=0.1, memory="150KB", **options).fit(X, y)
    exact = LinearSVC(C=0.1, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-3)


def test_degenerate_rows(svm):
    X, y = svm.blobs(60, 4)
    X = np.concatenate([X, np.zeros((5, 4)), X[:5]])
    y = np.concatenate([y, [1.0, -1.0, 1.0, -1.0, 1.0], -y[:5]])
    model = StreamSVC(C=10.0, fit_intercept=False, tol=1e-4).fit(X, y)
    exact = LinearSVC(C=10.0, fit_intercept=False, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-4)


@pytest.mark.parametrize("ending", ["svm", "arrow"])
def test_files_as_arrays(rows, tmp_path, ending):
    X, y = rows
    path = tmp_path / f"rows.{ending}"
    maxmargin.data.save(maxmargin.data.Dataset(X, y), tmp_path / "rows.svm")
    if ending == "arrow":
        maxmargin.data.write_store(open_source(tmp_path / "rows.svm"), path, block_bytes=1 << 12)
    source = open_source(path)
    memory = 8 * source.largest_block + (1 << 17)
    model = StreamSVC(C=0.1, memory=memory).fit(path)
    exact = LinearSVC(C=0.1, tol=1e-6).fit(X, y)
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-3)
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    scores = model.decision_function(path)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-6, atol=1e-9)
    both = StreamSVC(C=0.1, memory=2 * memory).fit([path, path])
    assert both.certificate_.relative_gap <= 1e-3


def test_history_tells_of_the_run(rows):
    X, y = rows
    seen = []
    model = StreamSVC(C=0.1, memory="150KB", callback=seen.append).fit(X, y)
    assert model.history_
    assert {id(p) for p in seen} <= {id(p) for p in model.history_}
    last = model.history_[-1]
    assert last.relative_gap <= 1e-3
    assert last.iteration == model.n_iter_ > 1
    assert 0 < last.cache_hit_rate < 1
    assert last.rows_per_second > 0
    primal = [p.primal for p in model.history_]
    assert all(a >= b for a, b in itertools.pairwise(primal))


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ({"max_iter": 2}, "max_iter"),
        ({"max_time": 1e-9}, "max_time"),
        ({"callback": lambda p: True}, "callback"),
    ],
)
def test_limits_give_the_best_model_so_far(rows, limit, status):
    X, y = rows
    with pytest.warns(ConvergenceWarning) as caught:
        model = StreamSVC(C=10.0, tol=1e-9, memory="150KB", **limit).fit(X, y)
    assert caught[0].filename == __file__
    assert model.certificate_.status == status
    assert model.certificate_.dual <= model.certificate_.primal


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_many_passes_as_are_allowed(svm):
    X, y = svm.blobs(12, 2, noise=2.0)
    model = StreamSVC(C=1e9, tol=1e-15, max_iter=110_000).fit(X * [1e-3, 1e3], y)
    assert (model.n_iter_, model.certificate_.status) == (110_000, "max_iter")


def test_a_limit_on_time_leaves_time_for_a_look(rows):
    X, y = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = StreamSVC(C=10.0, tol=1e-12, memory="150KB", max_time=0.5).fit(X, y)
    assert model.certificate_.primal < 10.0 * N / 2
    assert model.coef_.any()


def test_memory_smaller_than_the_blocks_is_refused(rows):
    X, y = rows
    source = ArraySource(X, y, block_bytes=1 << 16)
    with pytest.raises(ValueError, match=r"too small.*allow at least"):
        StreamSVC(memory=1 << 16).fit(source)


@pytest.mark.parametrize("ending", ["svm", "csv", "parquet"])
def test_blocks_of_files_adapt_to_the_memory(rows, tmp_path, ending):
    X, y = rows
    path = tmp_path / f"rows.{ending}"
    X = X if ending == "svm" else X.toarray()
    maxmargin.data.save(maxmargin.data.Dataset(X, y), path)
    memory = 300_000
    assert 6 * open_source(path).largest_block > memory
    model = StreamSVC(C=0.1, memory=memory, deterministic=True).fit(path)
    exact = LinearSVC(C=0.1, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("memory", ["1GB", "30KB"])
def test_columns_of_unlike_scale_are_pointed_out(memory):
    """Two raw columns, an age and an income: coordinate steps get nowhere, Newton needs a few."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(18, 80, 1000), rng.lognormal(10, 1, 1000)])
    y = X[:, 0] / 40 + np.log(X[:, 1]) / 10 + 0.3 * rng.normal(size=1000) > 2.1
    with pytest.warns(SlowProgress, match=r"unlike scale.*LinearSVC\(\)\.fit\(path\)"):
        model = StreamSVC(memory=memory).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.n_iter_ < 1000
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert StreamSVC(memory=memory).fit(scaled, y).certificate_.status == "optimal"


class Changing(ArraySource):
    """Labels that are others in the third pass."""

    passes = 0

    def blocks(self):
        self.passes += 1
        for block in super().blocks():
            if self.passes > 3 and block.first:
                block = type(block)(block.first, block.X, -block.y)
            yield block


def test_labels_that_change_between_passes_are_noticed(rows):
    X, y = rows
    source = Changing(X, y, block_bytes=1 << 12)
    with pytest.raises(DataError, match="not what they were in an earlier pass"):
        StreamSVC(C=10.0, memory=200_000, tol=1e-6).fit(source)


def test_one_class_is_refused(rows):
    X, _ = rows
    with pytest.raises(ValueError, match="one class"):
        StreamSVC().fit(X, np.ones(N))


@pytest.mark.parametrize(
    "options",
    [
        {"C": -1},
        {"memory": "much"},
        {"alpha_dtype": "float16"},
        {"checkpoint_every": -1},
        {"features": "nonsense"},
        {"intercept_scaling": 0},
        {"tol": 0},
    ],
)
def test_bad_parameters_are_refused(rows, options):
    with pytest.raises(ValueError):
        StreamSVC(**options).fit(*rows)


def test_saves_and_loads(rows, tmp_path):
    X, y = rows
    model = StreamSVC(C=0.1, class_weight={1.0: 2.0}).fit(X, y)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert isinstance(again, StreamSVC)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    assert again.get_params()["class_weight"] == {1.0: 2.0}


@pytest.mark.parametrize("machine", [StreamSVC, StreamSVR])
def test_names_of_columns_are_kept_and_held_against_those_of_new_rows(machine):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = machine().fit(X, y)
    assert (
        model.feature_names_in_.tolist() == X.columns.tolist() == list(model.model_.feature_names)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={X.columns[0]: "other"}))
    assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")
