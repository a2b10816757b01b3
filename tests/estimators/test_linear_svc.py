"""LinearSVC as its users meet it."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import LinearSVC
from maxmargin.problem import Progress, Status

SOLVERS = ["newton", "dual", "ocas", "cpa"]


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


@pytest.fixture
def binary(svm):
    X, y = svm.blobs(200, 6)
    return X, np.where(y > 0, "yes", "no")


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    scores = X[:, :3] + 0.5 * rng.normal(size=(240, 3))
    return X, np.array(["ant", "bee", "cat"])[scores.argmax(axis=1)]


def objective(model, X, sign, cost, j=0):
    """P of problem j from the fitted attributes."""
    w, b = model.coef_[j], model.intercept_[j]
    B = model.intercept_scaling
    return (w @ w + (b / B) ** 2) / 2 + np.sum(cost * np.maximum(0, 1 - sign * (X @ w + b)))


# ---------------------------------------------------------------- labels and shapes


def test_string_labels(binary, solver):
    X, y = binary
    model = LinearSVC(solver=solver).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 6) and model.intercept_.shape == (1,)
    assert model.n_features_in_ == 6
    assert model.solver_ == solver
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_, rtol=1e-12)
    assert (model.predict(X) == np.where(scores > 0, "yes", "no")).all()
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [3, 7], [2.0, 5.0], [False, True]])
def test_labels_of_any_kind(svm, labels):
    X, y = svm.blobs(100, 4)
    wanted = LinearSVC().fit(X, y)
    model = LinearSVC().fit(X, np.array(labels)[(y > 0).astype(int)])
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    assert set(model.predict(X).tolist()) <= set(labels)


def test_several_classes_equal_their_binary_problems(three, solver):
    X, y = three
    model = LinearSVC(solver=solver, C=0.3, n_jobs=1).fit(X, y)
    assert model.coef_.shape == (3, 5) and len(model.certificates_) == 3
    for j, label in enumerate(["ant", "bee", "cat"]):
        alone = LinearSVC(solver=solver, C=0.3, n_jobs=1).fit(X, y == label)
        np.testing.assert_array_equal(model.coef_[j], alone.coef_[0])
        assert model.intercept_[j] == alone.intercept_[0]
        certificate = model.certificates_[j]
        assert certificate.primal == alone.certificate_.primal
        P = objective(model, X, np.where(y == label, 1, -1), 0.3, j)
        assert certificate.primal == pytest.approx(P, rel=1e-10)
    worst = max(model.certificates_, key=lambda certificate: certificate.relative_gap)
    assert model.certificate_.relative_gap == worst.relative_gap
    assert model.n_iter_ == max(certificate.n_iter for certificate in model.certificates_)


def test_scikit_learns_one_vs_rest_predicts_the_same(three):
    X, y = three
    ours = LinearSVC(tol=1e-6).fit(X, y)
    theirs = OneVsRestClassifier(LinearSVC(tol=1e-6)).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("n_jobs", [1, 2, 7, None, -1, -2])
def test_the_answer_does_not_depend_on_n_jobs(three, n_jobs):
    X, y = three
    alone = LinearSVC(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(LinearSVC(n_jobs=n_jobs).fit(X, y).coef_, alone.coef_)


def test_sparse_and_dense_rows_predict_the_same(three):
    X, y = three
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = LinearSVC(tol=1e-6).fit(X, y), LinearSVC(tol=1e-6).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)
    np.testing.assert_array_equal(dense.predict(X), dense.predict(sp.csr_matrix(X)))


def test_works_in_a_pipeline(binary):
    X, y = binary
    assert make_pipeline(StandardScaler(), LinearSVC()).fit(X, y).score(X, y) > 0.8


def test_pandas_tables_keep_their_column_names(binary):
    pandas = pytest.importorskip("pandas")
    X, y = binary
    names = [f"f{j}" for j in range(6)]
    table = pandas.DataFrame(X, columns=names)
    model = LinearSVC().fit(table, pandas.Series(y))
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_allclose(model.coef_, LinearSVC().fit(X, y).coef_, rtol=1e-9)
    assert (model.predict(table) == LinearSVC().fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[names[::-1]])


# ---------------------------------------------------------------- parameters


def test_class_weights_multiply_C(binary, solver):
    X, y = binary
    by_class = LinearSVC(solver=solver, class_weight={"yes": 3.0}, tol=1e-6).fit(X, y)
    weight = np.where(y == "yes", 3.0, 1.0)
    by_row = LinearSVC(solver=solver, tol=1e-6).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    P = objective(by_class, X, np.where(y == "yes", 1, -1), weight)
    assert by_class.certificate_.primal == pytest.approx(P, rel=1e-10)


def test_balanced_class_weights_make_classes_weigh_the_same(three):
    X, y = three
    weight = np.random.default_rng(1).random(240)
    balanced = LinearSVC(class_weight="balanced").fit(X, y, sample_weight=weight)
    total = {c: weight[y == c].sum() for c in np.unique(y)}
    by_hand = weight * np.array([weight.sum() / (3 * total[c]) for c in y])
    np.testing.assert_allclose(
        balanced.coef_, LinearSVC().fit(X, y, sample_weight=by_hand).coef_, atol=1e-8
    )


def test_balanced_class_weights_are_scikit_learns_without_row_weights(three):
    from sklearn.utils.class_weight import compute_class_weight

    X, y = three
    theirs = compute_class_weight("balanced", classes=np.unique(y), y=y)
    named = LinearSVC(class_weight=dict(zip(np.unique(y).tolist(), theirs))).fit(X, y)
    balanced = LinearSVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.coef_, named.coef_, atol=1e-8)


def test_a_weight_of_two_is_the_row_twice(three):
    X, y = three
    counts = np.random.default_rng(2).integers(0, 4, size=240)
    rows = np.repeat(np.arange(240), counts)
    weighted = LinearSVC(tol=1e-6).fit(X, y, sample_weight=counts)
    repeated = LinearSVC(tol=1e-6).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)


def test_without_an_intercept_there_is_none(binary, solver):
    model = LinearSVC(solver=solver, fit_intercept=False).fit(*binary)
    assert model.intercept_.tolist() == [0.0]


def test_a_larger_intercept_scaling_regularises_less(binary):
    X, y = binary
    X = X + 5.0
    small, large = (
        LinearSVC(intercept_scaling=s, tol=1e-6).fit(X, y).certificate_.primal for s in (1.0, 100.0)
    )
    assert large < small


def test_auto_says_which_solver_it_took(binary):
    X, y = binary
    assert LinearSVC().fit(X, y).solver_ in SOLVERS
    wide = sp.random(100, 5000, 0.01, format="csr", random_state=0)
    assert LinearSVC().fit(wide, np.arange(100) % 2).solver_ in SOLVERS


@pytest.mark.parametrize(
    "state",
    [None, 0, 5, -1, np.int64(3), 2**70, np.random.RandomState(0), np.random.default_rng(0)],
)
def test_random_states_of_any_kind(binary, state):
    model = LinearSVC(solver="dual", random_state=state, n_jobs=1).fit(*binary)
    assert model.certificate_.status is Status.OPTIMAL


def test_no_random_state_means_the_same_answer_every_time(binary):
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, other = (LinearSVC(solver="dual", n_jobs=1).fit(*binary).coef_ for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_a_seed_changes_the_path_of_dual_descent(binary):
    def w(seed):
        return LinearSVC(solver="dual", random_state=seed, n_jobs=1).fit(*binary).coef_

    np.testing.assert_array_equal(w(1), w(1))
    assert (w(1) != w(2)).any()


def test_warm_start_goes_on_from_the_last_fit(three, solver):
    X, y = three
    model = LinearSVC(C=1.0, solver=solver, warm_start=True, tol=1e-5).fit(X, y)
    model.set_params(C=1.02).fit(X, y)
    cold = LinearSVC(C=1.02, solver=solver, tol=1e-5).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.n_iter_ <= cold.n_iter_
    for warm, fresh in zip(model.certificates_, cold.certificates_):
        assert warm.primal == pytest.approx(fresh.primal, rel=2e-5)


def test_warm_start_may_change_the_solver(three):
    X, y = three
    model = LinearSVC(solver="ocas", warm_start=True).fit(X, y)
    for solver in ("newton", "dual", "cpa"):
        model.set_params(solver=solver).fit(X, y)
        assert model.certificate_.status is Status.OPTIMAL


def test_without_warm_start_a_second_fit_forgets_the_first(three):
    X, y = three
    model = LinearSVC().fit(X, y == "bee")
    np.testing.assert_array_equal(model.fit(X, y).coef_, LinearSVC().fit(X, y).coef_)


# ---------------------------------------------------------------- watching and stopping


def test_the_callback_sees_the_gap_fall(binary, solver):
    seen = []
    model = LinearSVC(solver=solver, callback=seen.append, tol=1e-4).fit(*binary)
    assert all(isinstance(moment, Progress) for moment in seen)
    assert [moment.primal for moment in model.history_][: len(seen)] == [m.primal for m in seen]
    assert model.history_[-1].relative_gap <= 1e-4 < model.history_[0].relative_gap


def test_the_callback_ends_the_fit(binary, solver):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match="callback asked to stop"):
        model = LinearSVC(solver=solver, tol=1e-9, callback=lambda p: p.iteration >= 2).fit(X, y)
    assert model.certificate_.status is Status.CALLBACK
    P = objective(model, X, np.where(y == "yes", 1, -1), 1.0)
    assert model.certificate_.primal == pytest.approx(P, rel=1e-9)
    assert model.predict(X).shape == (200,)


def test_verbose_goes_to_standard_error(binary, capfd):
    LinearSVC(verbose=1).fit(*binary)
    out, err = capfd.readouterr()
    assert out == ""
    assert "relative gap" in err and "iteration" in err
    LinearSVC().fit(*binary)
    assert capfd.readouterr() == ("", "")


def test_a_missed_tolerance_warns_with_the_gap(binary, solver):
    with pytest.warns(ConvergenceWarning) as caught:
        model = LinearSVC(solver=solver, tol=1e-10, max_iter=2).fit(*binary)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert str(model.certificate_) in message
    assert "tolerance 0.00000001 % not reached: iteration limit" in message
    assert model.certificate_.status is Status.MAX_ITER


def test_a_tolerance_that_is_met_does_not_warn(binary, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LinearSVC(solver=solver).fit(*binary).certificate_.relative_gap <= 1e-3


# ---------------------------------------------------------------- keeping


def test_clones_and_pickles(three):
    X, y = three
    model = LinearSVC(C=0.5, solver="ocas", class_weight={"ant": 2.0}, warm_start=True)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    assert not hasattr(clone(model), "coef_")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert again.set_params(C=0.6).fit(X, y).certificate_.relative_gap <= 1e-3


def test_saving_and_loading(three, tmp_path):
    X, y = three
    model = LinearSVC(C=0.5, solver="newton").fit(X, y)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificates_ == model.certificates_
    assert (
        again.solver_ == "newton" and again.n_features_in_ == 5 and again.n_iter_ == model.n_iter_
    )
    assert again.fit(X, y).certificate_.status is Status.OPTIMAL


def test_an_unfitted_model_does_not_predict(binary):
    with pytest.raises(NotFittedError):
        LinearSVC().predict(binary[0])


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_inf_are_refused(binary, bad, make, dtype):
    X, y = binary
    X = X.astype(dtype)
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|[Ii]nfinity"):
        LinearSVC().fit(make(X), y)
    fitted = LinearSVC().fit(*binary)
    with pytest.raises(ValueError, match=r"NaN|[Ii]nfinity"):
        fitted.predict(make(X))


def test_nan_labels_and_weights_are_refused(binary):
    X, y = binary
    labels = np.where(y == "yes", 1.0, -1.0)
    labels[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearSVC().fit(X, labels)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"[Ss]ample_?\s?weight|NaN|infinity"):
            LinearSVC().fit(X, y, sample_weight=np.full(200, bad))


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.ones((4, 2)), [1, 2, 1], "inconsistent|4"),
        (np.ones(4), [1, 2, 1, 2], "2D"),
        (np.ones((4, 2, 2)), [1, 2, 1, 2], "dim"),
        (np.ones((0, 2)), [], "0 sample"),
        (np.ones((4, 0)), [1, 2, 1, 2], "0 feature"),
        (np.ones((4, 2)), [1, 1, 1, 1], "two classes"),
        (np.ones((1, 2)), [1], "class"),
        (np.ones((4, 2)), [0.1, 0.2, 0.3, 0.4], "[Uu]nknown label type|continuous"),
        (np.ones((4, 2)), [[1, 3], [2, 1], [1, 3], [2, 1]], "1d|shape|label"),
        (np.ones((4, 2)), None, "y"),
        (np.array([["a", "b"]] * 4), [1, 2, 1, 2], "texts in a matrix of 2 columns"),
        (np.ones((4, 2), dtype=complex), [1, 2, 1, 2], "[Cc]omplex"),
    ],
    ids=[
        "rows differ",
        "1-D",
        "3-D",
        "no rows",
        "no features",
        "one class",
        "one row",
        "real labels",
        "2-D labels",
        "no labels",
        "text",
        "complex",
    ],
)
def test_impossible_data_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC().fit(X, y)


@pytest.mark.parametrize(
    "parameter",
    [
        {"intercept_scaling": 0.0},
        {"intercept_scaling": -1.0},
        {"intercept_scaling": np.nan},
    ],
    ids=str,
)
def test_impossible_parameters_are_refused_by_name_and_value(binary, parameter):
    ((name, value),) = parameter.items()
    with pytest.raises(ValueError, match=name) as refused:
        LinearSVC(**parameter).fit(*binary)
    assert str(value) in str(refused.value)


def test_negative_and_wrong_numbers_of_weights_are_refused(binary):
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        LinearSVC().fit(*binary, sample_weight=np.full(200, -1.0))
    with pytest.raises(ValueError, match="sample_weight"):
        LinearSVC().fit(*binary, sample_weight=np.ones(7))


def test_other_numbers_of_features_are_refused(binary):
    X, y = binary
    model = LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"5 features.*6 features"):
        model.predict(X[:, :5])


def test_the_data_is_never_changed(binary, solver):
    X, y = binary
    weight = np.random.default_rng(0).random(200)
    for array in (X, y, weight):
        array.flags.writeable = False
    LinearSVC(solver=solver).fit(X, y, sample_weight=weight).predict(X)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C_simply_works(binary, C):
    assert LinearSVC(C=C).fit(*binary).certificate_.relative_gap <= 1e-3


def test_two_rows_simply_work(solver):
    model = LinearSVC(solver=solver, C=100.0).fit([[0.0], [1.0]], ["low", "high"])
    assert model.predict([[-1.0], [2.0]]).tolist() == ["low", "high"]


CHANGES = {
    "fewer rows": lambda X, y: (X[:100], y[:100]),
    "fewer features": lambda X, y: (X[:, :3], y),
    "fewer classes": lambda X, y: (X, y == "ant"),
    "more classes": lambda X, y: (X, np.arange(240) % 4),
}


@pytest.mark.parametrize("change", CHANGES)
def test_warm_start_begins_anew_where_the_last_fit_does_not_fit(three, solver, change):
    model = LinearSVC(solver=solver, warm_start=True).fit(*three)
    X, y = CHANGES[change](*three)
    model.fit(X, y)
    cold = LinearSVC(solver=solver).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.coef_.shape == cold.coef_.shape
    for ours, fresh in zip(model.certificates_, cold.certificates_, strict=True):
        assert ours.primal == pytest.approx(fresh.primal, rel=2e-3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_that_ends_one_problem_is_the_reason_for_all(three, n_jobs):
    with pytest.warns(ConvergenceWarning, match="callback asked to stop"):
        model = LinearSVC(callback=lambda progress: True, n_jobs=n_jobs).fit(*three)
    assert {certificate.status for certificate in model.certificates_} == {Status.CALLBACK}


def test_the_warning_points_at_the_line_that_called_fit(binary):
    with pytest.warns(ConvergenceWarning) as caught:
        LinearSVC(max_iter=1, tol=1e-12).fit(*binary)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("seconds", [1e10, float("inf")])
def test_a_time_limit_of_centuries_is_no_limit(binary, seconds):
    assert LinearSVC(max_time=seconds).fit(*binary).certificate_.status is Status.OPTIMAL


@pytest.mark.filterwarnings("error")
def test_infinities_of_both_signs_are_refused_without_a_warning():
    with pytest.raises(ValueError, match="contains infinity"):
        LinearSVC().fit(np.array([[np.inf, -np.inf], [1.0, 2.0]]), [0, 1])
