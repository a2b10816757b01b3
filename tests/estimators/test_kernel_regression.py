"""KernelSVR and KernelSVRCV: objectives beside other systems, quantiles, bad input, files."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

import maxmargin
from maxmargin import KernelSVR, KernelSVRCV, _core
from maxmargin.solvers.kernel import regression
from maxmargin.solvers.kernel.regression_newton import RegressionNewton

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PLAIN = {
    "epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.2),
    "squared_epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.2) ** 2,
    "huber": lambda r: np.where(np.abs(r) <= 0.5, r**2 / 2, 0.5 * np.abs(r) - 0.125),
    "squared": lambda r: r**2 / 2,
    "quantile": lambda r: np.maximum(0.8 * r, -0.2 * r),
    "expectile": lambda r: np.where(r > 0, 0.8, 0.2) * r**2,
}
GIVEN = {"epsilon": 0.2, "delta": 0.5, "quantile": 0.8}


def rows(n=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_t(3, size=n)


def objective(loss, K, y, beta, C, weight=1.0):
    f = K @ beta
    return 0.5 * beta @ f + C * np.sum(weight * PLAIN[loss](y - f))


def coefficients(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("loss", PLAIN)
def test_the_certificate_is_that_of_the_model_and_no_neighbour_is_below_it(loss, C):
    X, y = rows()
    weight = np.random.default_rng(1).random(len(y))
    model = KernelSVR(C=C, gamma=0.7, loss=loss, tol=1e-5, **GIVEN).fit(X, y, sample_weight=weight)
    K, beta, certificate = rbf_kernel(X, gamma=0.7), coefficients(model, len(y)), model.certificate_
    assert certificate.status == "optimal" and certificate.relative_gap <= 1e-5
    assert certificate.primal == pytest.approx(objective(loss, K, y, beta, C, weight), rel=1e-8)
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        other = beta + size * np.abs(beta).mean() * rng.normal(size=len(y))
        assert objective(loss, K, y, other, C, weight) >= certificate.dual


@pytest.mark.parametrize("loss", PLAIN)
def test_steps_and_newton_find_the_same_value(loss, monkeypatch):
    X, y = rows(120)
    found = []
    for patience in (0, regression.NO_LIMIT):
        monkeypatch.setattr(regression, "patience_of", lambda problem, p=patience: p)
        model = KernelSVR(C=3.0, gamma=1.0, loss=loss, tol=1e-6, **GIVEN).fit(X, y)
        assert model.certificate_.status == "optimal"
        found.append(model.certificate_)
    assert found[0].primal == pytest.approx(found[1].primal, rel=2e-6)
    assert found[0].n_iter < found[1].n_iter or loss == "squared"


@pytest.mark.parametrize("loss", PLAIN)
def test_newton_alone_closes_the_gap_at_any_C(loss):
    X, y = rows(80)
    K = rbf_kernel(X, gamma=1.0)
    parameter = {"huber": 0.5, "quantile": 0.8, "expectile": 0.8, "squared": 0.0}.get(loss, 0.2)
    spec = maxmargin.losses.pointwise.LossSpec(loss, parameter)
    for C in (1e-4, 1.0, 1e6):
        newton = RegressionNewton(K, y, np.full(len(y), C), spec)
        beta, steps = newton.solve(1e-7, lambda: None)
        gap, primal = newton.gap(beta, K @ beta)
        assert gap <= 1e-6 * primal and steps <= 60
        assert primal == pytest.approx(objective(loss, K, y, beta, C), rel=1e-9)


def test_squared_is_kernel_ridge():
    X, y = rows()
    mine = KernelSVR(C=10, gamma=0.5, loss="squared").fit(X, y)
    theirs = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), atol=1e-6)
    assert mine.n_iter_ == 1


def test_epsilon_insensitive_is_SVR_without_its_offset():
    """Targets and their negatives at opposite points: the best offset is 0."""
    X, y = rows(60)
    X, y = np.vstack([X, -X]), np.concatenate([y, -y])
    mine = KernelSVR(C=2, gamma=0.5, epsilon=0.1, tol=1e-8).fit(X, y)
    theirs = SVR(C=2, gamma=0.5, epsilon=0.1, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X) - theirs.intercept_, atol=1e-3)
    assert len(mine.support_) < len(y)


def test_several_quantiles_share_the_data_and_do_not_cross():
    X, y = rows(400, 1)
    levels = [0.1, 0.5, 0.9]
    quantiles = KernelSVR(C=1, gamma=2.0, loss="quantile", tol=1e-7)
    model = clone(quantiles).set_params(quantile=levels, non_crossing=True)
    band = model.fit(X, y).predict(X)
    assert band.shape == (400, 3) and len(model.certificates_) == 3
    assert np.all(np.diff(band, axis=1) >= 0)
    np.testing.assert_allclose(np.mean(y[:, None] < band, axis=0), levels, atol=0.05)
    alone = quantiles.set_params(quantile=0.9).fit(X, y)
    assert alone.certificate_.primal == pytest.approx(model.certificates_[2].primal, rel=1e-6)
    assert model.score(X, y) > 0.2


def test_weights_are_repetitions_and_rows_that_weigh_nothing_are_not_there():
    X, y = rows(60)
    weight = np.random.default_rng(3).integers(0, 4, 60)
    mine = KernelSVR(C=1, gamma=0.5, tol=1e-6).fit(X, y, sample_weight=weight)
    many = KernelSVR(C=1, gamma=0.5, tol=1e-6).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(mine.predict(X), many.predict(X), atol=1e-9)


def test_sparse_rows_and_given_matrices():
    X, y = rows(80, 5)
    X[np.abs(X) < 0.7] = 0
    dense = KernelSVR(gamma=0.3, tol=1e-7).fit(X, y)
    sparse = KernelSVR(gamma=0.3, tol=1e-7).fit(sp.csr_matrix(X), y)
    K = rbf_kernel(X, gamma=0.3)
    given = KernelSVR(kernel="precomputed", tol=1e-7).fit(K, y)
    np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), dense.predict(X), atol=1e-3)
    np.testing.assert_allclose(given.predict(K), dense.predict(X), atol=1e-3)


def test_too_little_memory_for_the_matrix_gives_the_same_answer():
    X, y = rows(200)
    whole = KernelSVR(C=1, gamma=0.5, tol=1e-4).fit(X, y)
    rows_only = KernelSVR(C=1, gamma=0.5, tol=1e-4, memory=40_000).fit(X, y)
    assert rows_only.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "expectile"])
def test_a_run_cut_short_says_how_far_it_is(loss):
    X, y = rows()
    model = KernelSVR(C=100, gamma=1.0, loss=loss, max_iter=20, tol=1e-9, **GIVEN).fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "max_iter" and certificate.n_iter <= 20
    value = objective(loss, rbf_kernel(X, gamma=1.0), y, coefficients(model, len(y)), 100)
    assert certificate.primal == pytest.approx(value, rel=1e-9)
    assert 0 <= certificate.dual <= certificate.primal


def test_a_target_of_one_value_and_of_nothing_but_zeros():
    X, _ = rows(50)
    assert KernelSVR(C=1e3, gamma=0.1, epsilon=0.1).fit(X, np.full(50, 3.0)).predict(
        X
    ) == pytest.approx(np.full(50, 3.0), abs=0.2)
    nothing = KernelSVR().fit(X, np.zeros(50))
    assert nothing.certificate_.primal == 0 and len(nothing.support_) == 0
    assert not nothing.predict(X).any()


@pytest.mark.parametrize(
    "given, message",
    [
        ({"quantile": 1.0, "loss": "quantile"}, "quantile"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"delta": 0.0, "loss": "huber"}, "delta"),
        ({"loss": "hinge"}, "loss"),
        ({"C": 0}, "C"),
        ({"kernel": "sigmoid"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"C": 1e300}, "floating point"),
    ],
)
def test_bad_input_is_named(given, message):
    X, y = rows(20)
    with pytest.raises(ValueError, match=message):
        KernelSVR(**given).fit(X, y)


def test_a_matrix_that_is_no_kernel_is_refused():
    X, y = rows(30)
    K = -rbf_kernel(X)
    with pytest.raises(ValueError, match="positive"):
        KernelSVR(kernel="precomputed").fit(K, y)


# ---------------------------------------------------------------- grids


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile", "squared", "expectile"])
def test_a_grid_scores_as_single_fits_do(loss):
    X, y = rows(90)
    halves = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    Cs, gammas = [0.1, 1.0], [0.3, 3.0]
    search = KernelSVRCV(Cs, gammas, cv=halves, loss=loss, tol=1e-6, **GIVEN).fit(X, y)
    for g, gamma in enumerate(gammas):
        for c, C in enumerate(Cs):
            for k, (train, test) in enumerate(halves):
                alone = KernelSVR(2 * C, gamma=gamma, loss=loss, tol=1e-8, **GIVEN)
                predicted = alone.fit(X[train], y[train]).predict(X[test])
                mean = np.mean(PLAIN[loss](y[test] - predicted))
                assert -search.scores_[g, c, k] == pytest.approx(mean, rel=2e-2)
    best = np.unravel_index(search.scores_.mean(axis=2).argmax(), (2, 2))
    assert search.best_index_ == best
    assert search.best_params_ == {"C": Cs[best[1]], "gamma": gammas[best[0]]}
    refitted = KernelSVR(search.C_, gamma=search.gamma_, loss=loss, tol=1e-6, **GIVEN).fit(X, y)
    np.testing.assert_allclose(search.predict(X), refitted.predict(X), atol=1e-9)


def test_a_search_of_its_own_grid_beats_a_constant():
    X, y = rows(200, 1)
    model = KernelSVRCV(loss="quantile", quantile=0.8, cv=3).fit(X, y)
    constant = mean_pinball_loss(y, np.full(200, np.quantile(y, 0.8)), alpha=0.8)
    assert model.best_score_ > -0.8 * constant
    assert model.certificate_.status == "optimal"


def test_a_search_that_is_stopped_says_so():
    X, y = rows(300)
    with pytest.warns(UserWarning, match="ended early"):
        model = KernelSVRCV(cv=5, max_time=1e-4).fit(X, y)
    assert np.isnan(model.scores_).any() and model.predict(X).shape == (300,)


def test_a_grid_does_not_depend_on_threads():
    X, y = rows(120)
    one, two = (
        KernelSVRCV([1.0, 10.0], [0.5, 2.0], cv=3, n_jobs=jobs, loss="quantile").fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)


# ---------------------------------------------------------------- models


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_saved_and_as_onnx(tmp_path, kernel):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from maxmargin.models.onnx_export import to_onnx

    X, y = rows(60)
    quantiles = {"loss": "quantile", "quantile": [0.1, 0.9], "non_crossing": True}
    for given in ({}, quantiles):
        model = KernelSVR(kernel=kernel, gamma=0.5, **given).fit(X, y)
        path = tmp_path / f"{len(given)}.model"
        model.save(path)
        loaded = maxmargin.load(path)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.get_params()["kernel"] == kernel and loaded.gamma_ == model.gamma_
        to_onnx(model, tmp_path / "m.onnx", input_type="float64")
        session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
        (values,) = session.run(None, {"X": X})
        np.testing.assert_allclose(values, model.predict(X), atol=1e-6)


def test_one_row_is_predicted_as_many_are():
    X, y = rows(60)
    model = KernelSVR(gamma=0.5).fit(X, y)
    one_by_one = [model.predict(row[None])[0] for row in X]
    np.testing.assert_allclose(one_by_one, model.predict(X), atol=1e-6)


def test_report_has_residuals_and_the_search(tmp_path):
    X, y = rows(100)
    model = KernelSVRCV([0.1, 1.0], [0.1, 1.0], cv=2).fit(X, y)
    model.report(X, y).save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "Least validation loss" in text and "Validation loss in per cent" not in text
    assert "residuals" in text.lower()


# ---------------------------------------------------------------- the core


def test_the_core_refuses_losses_of_margins_and_ranges_outside():
    with pytest.raises(ValueError, match="residuals"):
        _core.LossShape("hinge", 0.0)


def test_commands(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from maxmargin.cli.main import app

    monkeypatch.chdir(tmp_path)
    X, y = rows(80)
    lines = ["t,a,b"] + [f"{t:.6f},{a:.6f},{b:.6f}" for t, (a, b) in zip(y, X)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    run = CliRunner().invoke
    kind = ["--kind", "kernel-regression", "--target", "t", "--loss", "quantile"]
    trained = run(app, ["train", *kind, "--quantile", "0.1,0.9", "--gamma", "1", "d.csv", "m"])
    assert trained.exit_code == 0, trained.output
    told = json.loads(run(app, ["evaluate", "--json", "d.csv", "m"]).stdout)
    assert [f["name"] for f in told["functions"]] == ["quantile 0.1", "quantile 0.9"]
    grid = ["--Cs", "0.1,1", "--gammas", "0.5,1", "-v", "2", "--report", "r.html", "--json"]
    searched = run(app, ["cv", *kind, "--quantile", "0.9", *grid, "d.csv", "best"])
    assert searched.exit_code == 0, searched.output
    told = json.loads(searched.stdout)
    assert told["best_C"] in (0.1, 1.0) and told["best_gamma"] in (0.5, 1.0)
    assert np.shape(told["losses"]) == (2, 2, 2)
    assert "Least validation loss" in (tmp_path / "r.html").read_text()
