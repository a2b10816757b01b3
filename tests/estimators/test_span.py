"""Regressions, rankings and ordered labels on few basis vectors."""

import numpy as np
import pytest

import maxmargin as mm

LOSSES = (
    *("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared"),
    *("quantile", "expectile"),
)
QID = np.arange(120) // 10


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_regression_in_the_span_of_all_rows_is_the_exact_one(loss, wave):
    X, t = wave
    given = {"C": 2.0, "loss": loss, "epsilon": 0.05, "quantile": 0.3, "gamma": 0.5, "tol": 1e-5}
    exact = mm.KernelSVR(**given).fit(X, t)
    whole = mm.SparseKernelSVR(120, basis="cholesky", **given).fit(X, t)
    assert whole.certificate_.status == "optimal"
    assert whole.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
    np.testing.assert_allclose(whole.predict(X), exact.predict(X), atol=0.05)


@pytest.mark.parametrize("basis", ["free", "training", "nystroem"])
def test_bounds_of_few_vectors_hold_the_exact_regression(basis, wave):
    X, t = wave
    given = {"C": 2.0, "gamma": 0.5, "epsilon": 0.05, "tol": 1e-5}
    exact = mm.KernelSVR(**given).fit(X, t).certificate_
    few = mm.SparseKernelSVR(12, basis=basis, bounds="exact", **given).fit(X, t)
    assert few.n_basis_ == 12
    assert few.certificate_.primal >= exact.dual
    assert few.certificate_.primal - few.exact_gap_ <= exact.primal
    assert few.certificate_.primal - few.theorem2_bound_ <= exact.primal


def test_the_objective_is_that_of_the_model_that_is_kept(wave):
    X, t = wave
    model = mm.SparseKernelSVR(10, C=3.0, gamma=0.5, loss="huber", delta=0.2).fit(X, t)
    B, beta = model.basis_vectors_, model.dual_coef_[0]
    G = np.exp(-0.5 * ((B[:, None] - B[None]) ** 2).sum(axis=2))
    r = np.abs(t - model.predict(X))
    loss = np.where(r <= 0.2, 0.5 * r**2, 0.2 * (r - 0.1)).sum()
    primal = 0.5 * beta @ G @ beta + 3.0 * loss
    assert primal == pytest.approx(model.certificate_.primal, rel=1e-6)


def test_quantiles_share_a_basis_and_do_not_cross_on_request(wave):
    X, t = wave
    levels = [0.1, 0.5, 0.9]
    model = mm.SparseKernelSVR(
        15, C=2.0, gamma=0.5, loss="quantile", quantile=levels, non_crossing=True
    ).fit(X, t)
    columns = model.predict(X)
    assert columns.shape == (120, 3)
    assert len(model.basis_vectors_) == model.n_basis_ <= 15
    assert (np.diff(columns, axis=1) >= 0).all()
    assert [round((t < column).mean(), 1) for column in columns.T] == levels


def test_a_linear_kernel_ranks_and_orders_as_the_linear_machines_do(wave):
    X, t = wave
    grades = np.searchsorted([-0.5, 0.5], t)
    whole = {"kernel": "linear", "basis": "cholesky", "C": 0.3, "tol": 1e-5}
    ranker = mm.SparseKernelRankSVM(2, **whole).fit(X, grades, qid=QID)
    linear = mm.RankSVM(C=0.3, tol=1e-5).fit(X, grades, qid=QID)
    assert ranker.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-5)
    assert ranker.score(X, grades, qid=QID) == pytest.approx(linear.score(X, grades, qid=QID))
    ordered = mm.SparseKernelOrdinalSVC(2, **whole).fit(X, grades)
    flat = mm.OrdinalSVC(C=0.3, tol=1e-5).fit(X, grades)
    assert ordered.certificate_.primal == pytest.approx(flat.certificate_.primal, rel=2e-5)
    assert ordered.mean_absolute_error(X, grades) == pytest.approx(
        flat.mean_absolute_error(X, grades), abs=0.02
    )


def test_an_rbf_span_ranks_what_no_line_can(wave):
    X, _ = wave
    grades = np.searchsorted([0.5, 1.5], np.abs(X[:, 0]))
    kernel = mm.SparseKernelRankSVM(20, C=1.0, gamma=1.0).fit(X, grades, qid=QID)
    line = mm.RankSVM(C=1.0).fit(X, grades, qid=QID)
    assert kernel.score(X, grades, qid=QID) > 0.95 > 0.7 > line.score(X, grades, qid=QID)
    order = ["low", "some", "much"]
    words = np.array(order)[grades]
    ordered = mm.SparseKernelOrdinalSVC(20, C=10.0, gamma=1.0, order=order).fit(X, words)
    assert ordered.score(X, words) > 0.9
    assert list(ordered.classes_) == order


@pytest.mark.parametrize("make", [mm.SparseKernelSVR, mm.SparseKernelOrdinalSVC])
def test_a_weight_of_two_is_the_row_twice(make, wave):
    X, t = wave
    y = t if make is mm.SparseKernelSVR else np.searchsorted([-0.5, 0.5], t)
    weight = np.where(np.arange(120) % 3 == 0, 2, 1)
    given = {"gamma": 0.5, "basis": "cholesky", "tol": 1e-6}
    one = make(120, **given).fit(X, y, sample_weight=weight)
    two = make(120, **given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-4)


def test_vectors_join_until_planes_are_near_their_span(wave):
    X, t = wave
    for make, name in ((mm.SparseKernelSVR, "span_delta"), (mm.SparseKernelRankSVM, "delta")):
        model = make(120, C=1.0, gamma=0.5, bounds="exact", **{name: 1.0}).fit(X, t)
        assert 0 < model.n_basis_ < 120
        assert model.delta_ <= 1.0


def test_targets_within_the_tube_need_nothing(wave):
    X, t = wave
    model = mm.SparseKernelSVR(5, epsilon=9.0).fit(X, t)
    assert model.certificate_.primal == 0
    assert not model.predict(X).any()


def test_models_of_every_size_come_from_one_training(wave):
    X, t = wave
    model = mm.SparseKernelSVR([3, 6, 12], C=2.0, gamma=0.5).fit(X, t)
    assert [part.n_basis for part in model.path_] == [3, 6, 12]
    objectives = [part.certificate.primal for part in model.path_]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize(
    ("make", "given", "told"),
    [
        (mm.SparseKernelSVR, {"loss": "hinge"}, "loss"),
        (mm.SparseKernelSVR, {"quantile": [0.1, 0.9]}, "several quantiles are for"),
        (mm.SparseKernelSVR, {"span_delta": 0.0}, "span_delta"),
        (mm.SparseKernelRankSVM, {"delta": -1.0}, "delta"),
        (mm.SparseKernelRankSVM, {"n_basis": 0}, "n_basis"),
        (mm.SparseKernelOrdinalSVC, {"kernel": "laplacian"}, "laplacian"),
        (mm.SparseKernelOrdinalSVC, {"n_basis": 200, "basis": "nystroem"}, "at most 120"),
    ],
)
def test_wrong_values_are_refused_by_name(make, given, told, wave):
    X, t = wave
    with pytest.raises(ValueError, match=told):
        make(**given).fit(X, np.round(t))


def test_a_ranking_without_pairs_says_what_rankings_say(wave):
    X, _ = wave
    told = []
    for make in (mm.RankSVM, mm.SparseKernelRankSVM):
        with pytest.raises(ValueError, match="there is nothing to rank") as error:
            make().fit(X, np.zeros(120), qid=QID)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_a_search_finds_a_gamma_that_ranks(wave):
    X, _ = wave
    grades = np.searchsorted([0.5, 1.5], np.abs(X[:, 0]))
    search = mm.SparseKernelRankSVMCV(
        n_basis=8, Cs=[0.1, 1.0], gammas=[1e-6, 1.0], cv=2, widen=False
    )
    with pytest.warns(UserWarning, match="the best"):
        search.fit(X, grades, qid=QID)
    assert search.gamma_ == 1.0
    assert search.scores_.shape == (2, 2, 2)
    assert search.scoring_ == "ndcg@10"
