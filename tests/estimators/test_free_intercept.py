"""An intercept that is not regularised."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR
from tests.losses.test_pointwise import SPECS

from maxmargin import LinearSVC, LinearSVCCV, LinearSVR, _core, data, load
from maxmargin.distributed import LinearSVC as DaskLinearSVC
from maxmargin.losses.free_intercept import FreeIntercept, balanced
from maxmargin.losses.table import losses_for
from maxmargin.parameters import ParameterError

TIGHT = {"intercept": "free", "tol": 1e-7}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) + 5
    return X, np.where(X[:, 0] + rng.normal(size=150) > 5.7, "b", "a")


@pytest.fixture(scope="module")
def values(rows):
    rng = np.random.default_rng(1)
    return rows[0] @ rng.normal(size=4) + rng.normal(size=150) + 100


def hinge_objective(X, y, w, b):
    return 0.5 * w @ w + np.maximum(0, 1 - np.where(y == "b", 1, -1) * (X @ w + b)).sum()


@pytest.mark.parametrize("solver", ["auto", "newton", "ocas", "cpa"])
def test_has_the_objective_of_libsvm(rows, solver):
    X, y = rows
    model = LinearSVC(solver=solver, **TIGHT).fit(X, y)
    theirs = SVC(kernel="linear", tol=1e-6).fit(X, y)
    best = hinge_objective(X, y, theirs.coef_[0], theirs.intercept_[0])
    ours = hinge_objective(X, y, model.coef_[0], model.intercept_[0])
    assert ours == pytest.approx(best, rel=1e-6)
    assert model.certificate_.primal == pytest.approx(ours, rel=1e-9)
    assert model.certificate_.dual <= best * (1 + 1e-9)


def test_regression_has_the_objective_of_libsvm(rows, values):
    X, y = rows[0], values
    model = LinearSVR(epsilon=0.1, **TIGHT).fit(X, y)
    theirs = SVR(kernel="linear", epsilon=0.1, tol=1e-6).fit(X, y)

    def objective(w, b):
        return 0.5 * w @ w + np.maximum(0, np.abs(y - X @ w - b) - 0.1).sum()

    best = objective(theirs.coef_[0], theirs.intercept_[0])
    assert objective(model.coef_, model.intercept_) == pytest.approx(best, rel=1e-6)


def test_smooth_losses_agree_with_scikit_learn(rows, values):
    X, y = rows
    ours = LinearSVC(loss="logistic", **TIGHT).fit(X, y)
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-2)
    ridge = Ridge(alpha=1.0).fit(X, values)
    ours = LinearSVR(loss="squared", **TIGHT).fit(X, values)
    np.testing.assert_allclose(ours.coef_, ridge.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(ridge.intercept_, abs=1e-2)


@pytest.mark.parametrize("solver", ["newton", "ocas"])
def test_a_shift_of_the_features_changes_nothing_else(rows, solver):
    X, y = rows
    here, there = (LinearSVC(solver=solver, **TIGHT).fit(Z, y) for Z in (X, X + 50))
    np.testing.assert_allclose(here.coef_, there.coef_, atol=2e-3)
    assert here.certificate_.primal == pytest.approx(there.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("solver", ["newton", "ocas"])
def test_a_weight_of_2_equals_the_row_twice(rows, solver):
    X, y = rows
    weight = np.where(np.arange(len(y)) < 20, 2.0, 1.0)
    weighted = LinearSVC(solver=solver, **TIGHT).fit(X, y, weight)
    twice = LinearSVC(solver=solver, **TIGHT).fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    assert weighted.certificate_.primal == pytest.approx(twice.certificate_.primal, rel=1e-6)


def test_many_features_and_sparse_rows(rows):
    X, y = rows
    wide = sp.hstack([sp.csr_matrix(X - 5), sp.csr_matrix((150, 4000))], format="csr")
    model = LinearSVC(**TIGHT).fit(wide, y)
    narrow = LinearSVC(**TIGHT).fit(X - 5, y)
    assert model.certificate_.primal == pytest.approx(narrow.certificate_.primal, rel=1e-6)


def test_rows_on_disk_and_model_files(rows, tmp_path):
    X, y = rows
    table = np.column_stack([np.where(y == "b", 1, 0), X])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="y,a,b,c,d", comments="")
    model = LinearSVC(**TIGHT).fit(
        data.open_source(tmp_path / "rows.csv", target="y", dtype="float64")
    )
    assert model.certificate_.primal == pytest.approx(
        LinearSVC(**TIGHT).fit(X, y).certificate_.primal, rel=1e-6
    )
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").intercept == "free"


def test_cross_validation_along_C(rows):
    X, y = rows
    found = LinearSVCCV(Cs=[0.1, 1.0], cv=3, intercept="free").fit(X, y)
    alone = LinearSVC(C=found.C_, intercept="free").fit(X, y)
    assert found.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)


def test_probabilities_of_a_free_intercept(rows):
    X, y = rows
    model = LinearSVC(intercept="free", probability=True).fit(X, y)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_refusals(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"regularised intercept.*use one of auto"):
        LinearSVC(solver="dual", intercept="free").fit(X, y)
    with pytest.raises(ParameterError, match="intercept"):
        LinearSVC(intercept="none").fit(X, y)
    for said in ({"fit_intercept": False}, {"intercept_scaling": 10.0}):
        with pytest.raises(ValueError, match="'free'"):
            LinearSVC(intercept="free", **said).fit(X, y)
    with pytest.raises(ValueError, match="on a cluster use"):
        DaskLinearSVC(intercept="free")._plan()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_planes_of_the_loss_lie_below_it_and_touch_it(spec):
    rng = np.random.default_rng(3)
    y, cost, pool = np.where(rng.random(30) < 0.4, 1.0, -1.0), rng.random(30), _core.Pool(1)
    on_margins = spec.name in losses_for("classification")
    loss = FreeIntercept((spec.on_margins if on_margins else spec.on_targets)(y, cost, pool))
    for _ in range(5):
        p, other = 3 * rng.normal(size=30), 3 * rng.normal(size=30)
        R, subgrad = loss.evaluate(p)
        assert abs(subgrad.sum()) <= 1e-12 * np.abs(subgrad).sum()
        assert pytest.approx(loss.value(p), rel=1e-9) == R
        shifted = min(loss.loss.value(other + b) for b in np.linspace(-10, 10, 2001))
        assert loss.value(other) <= shifted + 1e-12
        assert R + subgrad @ (other - p) <= loss.value(other) + 1e-9


def test_balanced_variables_add_up_to_0_and_stay_where_they_may_be():
    b = np.array([0.5, -0.2, 0.0, 0.9, -0.3])
    found = balanced(b)
    assert abs(found.sum()) < 1e-15 and np.all(found * b >= 0) and np.all(abs(found) <= abs(b))
    assert not balanced(np.array([1.0, 2.0])).any()
