"""LinearSVR and LinearSVRCV: objectives beside other systems, quantiles, bad input, files."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC as TheirSVC
from typer.testing import CliRunner

import maxmargin
from maxmargin import LinearSVC, LinearSVR, LinearSVRCV
from maxmargin.cli.main import app

SOLVERS = ["newton", "dual", "ocas"]
PLAIN = {
    "epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.2),
    "squared_epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.2) ** 2,
    "huber": lambda r: np.where(np.abs(r) <= 0.5, r**2 / 2, 0.5 * np.abs(r) - 0.125),
    "squared": lambda r: r**2 / 2,
    "quantile": lambda r: np.maximum(0.8 * r, -0.2 * r),
    "expectile": lambda r: np.where(r > 0, 0.8, 0.2) * r**2,
}
GIVEN = {"epsilon": 0.2, "delta": 0.5, "quantile": 0.8}


def rows(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 + rng.standard_t(3, size=n)


def objective(loss, X, y, model, C, weight=1.0):
    r = y - X @ model.coef_ - model.intercept_
    b = model.intercept_ if model.fit_intercept else 0.0
    return 0.5 * (model.coef_ @ model.coef_ + b**2) + C * np.sum(weight * PLAIN[loss](r))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", PLAIN)
def test_every_solver_certifies_the_objective_of_every_loss(loss, solver):
    X, y = rows()
    weight = np.random.default_rng(1).random(len(y))
    model = LinearSVR(C=0.5, loss=loss, solver=solver, tol=1e-6, **GIVEN)
    model.fit(X, y, sample_weight=weight)
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-6 and certificate.status == "optimal"
    assert certificate.primal == pytest.approx(objective(loss, X, y, model, 0.5, weight), rel=1e-9)
    # no neighbour is better than the certificate allows
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = LinearSVR(C=0.5, loss=loss, **GIVEN)
        other.coef_ = model.coef_ + 0.05 * rng.normal(size=6)
        other.intercept_ = model.intercept_ + 0.05 * rng.normal()
        assert objective(loss, X, y, other, 0.5, weight) >= certificate.dual


@pytest.mark.parametrize("loss", PLAIN)
def test_sparse_rows_and_small_C_and_large_C(loss):
    X, y = rows(200, 40)
    X[np.abs(X) < 1] = 0
    for C in (1e-6, 1e3):
        found = [
            LinearSVR(C=C, loss=loss, solver=solver, tol=1e-4, **GIVEN).fit(sp.csr_matrix(X), y)
            for solver in ("newton", "dual")
        ]
        primal = [model.certificate_.primal for model in found]
        assert primal[0] == pytest.approx(primal[1], rel=2e-4)


def test_the_squared_loss_is_ridge_regression():
    X, y = rows()
    ours = LinearSVR(C=2.0, loss="squared", fit_intercept=False, tol=1e-10).fit(X, y)
    theirs = Ridge(alpha=0.5, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_squared_hinge_is_that_of_scikit_learn(solver):
    X, y = rows()
    labels = (y > 0).astype(int)
    ours = LinearSVC(C=0.3, loss="squared_hinge", solver=solver, tol=1e-8).fit(X, labels)
    theirs = TheirSVC(C=0.3, tol=1e-10, max_iter=100_000, dual=False).fit(X, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_logistic_loss_is_logistic_regression(solver):
    X, y = rows()
    labels = (y > 0).astype(int)
    ours = LinearSVC(C=0.3, loss="logistic", fit_intercept=False, solver=solver, tol=1e-9)
    ours.fit(X, labels)
    theirs = LogisticRegression(C=0.3, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(X, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_probabilities_of_several_classes_sum_to_one_and_lead_to_the_label():
    X, y = rows()
    labels = np.digitize(y, [-1, 1])
    model = LinearSVC(loss="logistic").fit(X, labels)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert not hasattr(LinearSVC(), "predict_proba")
    with pytest.raises(AttributeError, match="loss='logistic'"):
        _ = LinearSVC().fit(X, labels).predict_proba


def test_several_quantiles_are_columns_and_cover_their_share():
    X, y = rows(3000)
    levels = [0.1, 0.5, 0.9]
    model = LinearSVR(C=10, loss="quantile", quantile=levels, tol=1e-5).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (3000, 3) and model.coef_.shape == (3, 6)
    np.testing.assert_allclose((y[:, None] < predicted).mean(axis=0), levels, atol=0.01)
    one = LinearSVR(C=10, loss="quantile", quantile=0.9, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(predicted[:, 2], one.predict(X), atol=0.05)
    assert 0.3 < model.score(X, y) < 1


def test_non_crossing_quantiles_do_not_cross():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    y = rng.normal(size=40)
    levels = [0.45, 0.5, 0.55]
    far = 5 * rng.normal(size=(500, 8))
    crossing = LinearSVR(C=100, loss="quantile", quantile=levels).fit(X, y).predict(far)
    assert (np.diff(crossing, axis=1) < 0).any()
    model = LinearSVR(C=100, loss="quantile", quantile=levels, non_crossing=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(far), np.sort(crossing, axis=1))


@pytest.mark.parametrize("loss", PLAIN)
def test_a_target_of_one_value_is_fitted(loss):
    X, _ = rows(50)
    model = LinearSVR(C=1e6, loss=loss, intercept_scaling=10.0).fit(X, np.full(50, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, atol=0.25)


def test_a_warm_start_takes_fewer_steps():
    X, y = rows(2000)
    for solver in ("newton", "dual"):
        model = LinearSVR(C=1.0, solver=solver, tol=1e-6, warm_start=True).fit(X, y)
        first = model.n_iter_
        model.set_params(C=1.05).fit(X, y)
        assert model.n_iter_ < first


def test_the_best_C_has_the_least_loss_on_held_out_rows():
    X, y = rows(200)
    model = LinearSVRCV(Cs=[1e-5, 1.0], cv=4, loss="huber").fit(X, y)
    assert model.C_ == 1.0 and model.scores_.shape == (4, 2)
    assert (model.scores_[:, 1] > model.scores_[:, 0]).all()


BAD = [
    ({"quantile": 1.0, "loss": "quantile"}, "quantile must be a number between 0 and 1"),
    ({"quantile": [0.5, 0.1], "loss": "quantile"}, "several that increase"),
    ({"quantile": [0.1, 0.9]}, "the loss is 'epsilon_insensitive', which fits one function"),
    ({"epsilon": -1.0}, "epsilon must be a number >= 0; got -1.0"),
    ({"delta": 0, "loss": "huber"}, "delta must be a positive number; got 0"),
    ({"loss": "hinge"}, "loss must be one of epsilon_insensitive, .*; got 'hinge'"),
]


@pytest.mark.parametrize("given, said", BAD)
def test_bad_parameters_are_refused(given, said):
    X, y = rows(20)
    with pytest.raises(ValueError, match=said):
        LinearSVR(**given).fit(X, y)


def test_a_loss_for_the_other_task_is_refused():
    X, y = rows(20)
    with pytest.raises(ValueError, match="loss must be one of hinge, squared_hinge, logistic"):
        LinearSVC(loss="huber").fit(X, y > 0)


def test_real_valued_labels_are_refused_by_a_classifier():
    X, y = rows(20)
    with pytest.raises(ValueError, match="Unknown label type"):
        LinearSVC().fit(X, y)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows(120, 3)
    lines = [",".join(f"{v:.6f}" for v in [*x, t]) for x, t in zip(X, y)]
    (tmp_path / "rows.csv").write_text("a,b,c,target\n" + "\n".join(lines) + "\n")
    return X, y


def command(*args):
    outcome = CliRunner().invoke(app, [str(arg) for arg in args])
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout


def test_commands_train_evaluate_and_predict_quantiles(table):
    told = json.loads(
        command("train", "rows.csv", "m", "--kind", "regression", "--loss", "quantile",
                "--quantile", "0.1,0.9", "--target", "target", "-c", "10", "--json")
    )  # fmt: skip
    assert told["certificate"]["relative_gap"] <= 1e-3
    facts = json.loads(command("evaluate", "rows.csv", "m", "--target", "target", "--json"))
    assert [f["name"] for f in facts["functions"]] == ["quantile 0.1", "quantile 0.9"]
    assert facts["functions"][1]["below"] == pytest.approx(0.9, abs=0.05)
    loaded = maxmargin.load("m")
    assert isinstance(loaded, LinearSVR) and loaded.quantile == [0.1, 0.9]


def test_train_refuses_real_values_as_classes(table):
    outcome = CliRunner().invoke(app, ["train", "rows.csv", "m", "--target", "target"])
    assert outcome.exit_code == 1
    assert "predict numbers with --kind regression" in " ".join(outcome.stderr.split())


def test_train_refuses_a_loss_for_the_other_task(table):
    outcome = CliRunner().invoke(app, ["train", "rows.csv", "m", "--loss", "huber"])
    assert outcome.exit_code in (1, 2)
    assert "loss must be one of hinge" in " ".join(outcome.stderr.split())


def test_cv_searches_C_of_a_regression(table):
    told = json.loads(
        command("cv", "rows.csv", "--kind", "regression", "--target", "target", "--Cs", "0.001,1",
                "--folds", "3", "--json")
    )  # fmt: skip
    assert told["best_C"] == 1.0


def test_rows_that_stay_on_disk_give_the_same_regression(tmp_path):
    X, y = rows(500)
    lines = [
        f"{t!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)) for t, x in
        zip(y.tolist(), X.tolist())
    ]  # fmt: skip
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    for loss in ("huber", "quantile"):
        disk = LinearSVR(loss=loss, tol=1e-5).fit(str(tmp_path / "rows.svm"))
        memory = LinearSVR(loss=loss, tol=1e-5).fit(X, y)
        assert disk.solver_ == "newton"
        assert disk.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=2e-5)
