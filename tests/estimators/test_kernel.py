"""KernelSVC and KernelSVCCV as a user meets them."""

import os
import signal
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import maxmargin
from maxmargin import KernelSVC, KernelSVCCV
from maxmargin.problem import Status

MOONS = make_moons(200, noise=0.15, random_state=0)
IRIS = load_iris(return_X_y=True)


def objective(K, y, beta, C):
    """The no-offset primal, computed here and not by the solver."""
    f = K @ beta
    return 0.5 * beta @ f + C * np.maximum(0, 1 - y * f).sum()


# ---------------------------------------------------------------- one fit


def test_the_certificate_bounds_the_objective_of_the_returned_model():
    X, y = MOONS
    signs = np.where(y == 1, 1, -1)
    model = KernelSVC(C=5.0, gamma=1.0, tol=1e-4).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    P = objective(rbf_kernel(X, gamma=1.0), signs, beta, 5.0)
    certificate = model.certificate_
    assert certificate.status is Status.OPTIMAL
    assert pytest.approx(certificate.primal, rel=1e-12) == P
    assert certificate.gap >= 0
    assert certificate.relative_gap <= 1e-4
    assert model.history_ and model.n_iter_ == certificate.n_iter > 0


def test_the_offset_of_libsvm_buys_nothing_below_our_optimum():
    """LIBSVM's function without its offset is a candidate for our problem: ours is no worse."""
    X, y = MOONS
    signs = np.where(y == 1, 1, -1)
    K = rbf_kernel(X, gamma=2.0)
    ours = KernelSVC(C=3.0, gamma=2.0, tol=1e-6, stopping="plain").fit(X, y)
    peer = SVC(C=3.0, kernel="precomputed", tol=1e-6).fit(K, signs)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    assert ours.certificate_.primal <= objective(K, signs, beta, 3.0) * (1 + 1e-6)
    # A constant added to the kernel is an offset that costs as good as nothing: then both agree.
    offset = KernelSVC(C=3.0, kernel="precomputed", tol=1e-7, stopping="plain").fit(K + 1e3, y)
    theirs = (
        0.5 * beta @ K @ beta + 3.0 * np.maximum(0, 1 - signs * peer.decision_function(K)).sum()
    )
    assert offset.certificate_.primal == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_sparse_and_dense_rows_give_the_same_predictions(kernel):
    X, y = IRIS
    options = {"kernel": kernel, "gamma": 0.3, "coef0": 1.0, "tol": 1e-6, "stopping": "plain"}
    dense = KernelSVC(**options).fit(X, y)
    sparse = KernelSVC(**options).fit(sp.csr_matrix(X), y)
    f = dense.decision_function(X)
    assert f.shape == (150, 3)
    scale = np.abs(f).max()
    assert np.allclose(f, sparse.decision_function(X), atol=2e-3 * scale)
    assert np.allclose(f, dense.decision_function(sp.csr_matrix(X)), atol=1e-5 * scale)
    assert dense.score(X, y) > 0.9


def test_precomputed_and_called_kernels_agree_with_named_ones():
    X, y = MOONS
    K = rbf_kernel(X, gamma=1.5)
    options = {"C": 2.0, "tol": 1e-6, "stopping": "plain"}
    named = KernelSVC(gamma=1.5, **options).fit(X[:150], y[:150])
    given = KernelSVC(kernel="precomputed", **options).fit(K[:150, :150], y[:150])
    called = KernelSVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=1.5), **options)
    called.fit(X[:150], y[:150])
    f = named.decision_function(X[150:])
    assert np.allclose(f, given.decision_function(K[150:, :150]), atol=1e-3)
    assert np.allclose(f, called.decision_function(X[150:]), atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_share_the_matrix(multi_class):
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    model = KernelSVC(C=10, multi_class=multi_class, n_jobs=2).fit(X, names)
    assert set(model.predict(X)) == {"a", "b", "c"}
    assert model.score(X, names) > 0.96
    assert len(model.certificates_) == 3
    assert model.certificate_.primal == pytest.approx(sum(c.primal for c in model.certificates_))
    scores = model.decision_function(X)
    assert np.array_equal(model.classes_[np.argmax(scores, axis=1)], model.predict(X))


def test_each_pair_of_classes_is_the_machine_of_its_rows():
    X, y = (part[10:] for part in IRIS)  # pairs of two sizes, in the same memory
    model = KernelSVC(C=10, gamma=0.5, multi_class="ovo", tol=1e-6, n_jobs=2).fit(X, y)
    again = KernelSVC(C=10, gamma=0.5, multi_class="ovo", tol=1e-6, n_jobs=1).fit(X, y)
    assert np.array_equal(model.dual_coef_, again.dual_coef_)
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(y, (a, b))
        alone = KernelSVC(C=10, gamma=0.5, tol=1e-6).fit(X[rows], y[rows])
        assert model.certificates_[k].primal == pytest.approx(alone.certificate_.primal, rel=2e-6)
        assert not model.dual_coef_[k][~rows[model.support_]].any()


def test_class_weights_move_the_boundary():
    X, y = make_circles(150, noise=0.3, factor=0.5, random_state=0)
    shares = [
        KernelSVC(gamma=1.0, class_weight=weights).fit(X, y).predict(X).mean()
        for weights in ({0: 10.0}, None, {1: 10.0})
    ]
    assert shares[0] < shares[1] < shares[2]
    assert KernelSVC(class_weight="balanced").fit(X, y).score(X, y) > 0.6


def test_a_small_memory_gives_the_same_model():
    X, y = MOONS
    whole = KernelSVC(C=5, gamma=1.0, tol=1e-6, stopping="plain").fit(X, y)
    cached = KernelSVC(C=5, gamma=1.0, tol=1e-6, stopping="plain", memory=8000).fit(X, y)
    assert whole.certificate_.primal == pytest.approx(cached.certificate_.primal, rel=1e-5)
    assert np.allclose(whole.decision_function(X), cached.decision_function(X), atol=1e-2)


def test_opposite_labels_at_equal_points_cost_what_they_must():
    X = np.repeat(np.array([[0.0], [5.0]]), 10, axis=0)
    y = np.tile([0, 0, 1, 0, 1], 4)
    certificate = KernelSVC(C=1e4, gamma=1.0, tol=1e-7, stopping="plain").fit(X, y).certificate_
    # At each place 6 rows say 0 and 4 say 1: the 4 lose 2 each, 1e4 * 2 * 8 in all, plus norms.
    assert certificate.primal == pytest.approx(1e4 * 16 + 1.0, rel=1e-4)


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_C_ends_with_a_certificate(C):
    model = KernelSVC(C=C, gamma=1.0, max_time=5).fit(*MOONS)
    assert np.isfinite(model.certificate_.primal) and np.isfinite(model.certificate_.dual)
    assert model.score(*MOONS) > 0.8


def test_the_answer_does_not_depend_on_the_number_of_threads():
    X, y = IRIS
    models = [KernelSVC(n_jobs=jobs).fit(X, y) for jobs in (1, 3)]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)


def test_limits_warn_and_keep_the_best_model():
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = KernelSVC(C=100, tol=1e-9, max_iter=3).fit(*MOONS)
    assert model.certificate_.status is Status.MAX_ITER
    assert model.certificate_.gap > 0
    with pytest.warns(ConvergenceWarning, match="callback"):
        KernelSVC(C=1e5, gamma=50.0, tol=1e-12, callback=lambda progress: True).fit(
            *make_moons(600, noise=0.5, random_state=0)
        )


@pytest.mark.parametrize("estimator", [KernelSVC(max_time=1e-9), KernelSVCCV(max_time=1e-9)])
def test_no_time_at_all_gives_the_zero_function_with_its_gap(estimator):
    with pytest.warns(ConvergenceWarning):
        model = estimator.fit(*MOONS)
    assert model.certificate_.status is Status.MAX_TIME
    assert model.certificate_.gap > 0
    assert model.predict(MOONS[0]).shape == (200,)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_gives_the_best_model_so_far(threads):
    X, y = make_moons(900, noise=0.6, random_state=0)
    y = y + 2 * (X[:, 0] > 1)  # four classes: several problems at a time

    def press_ctrl_c(progress):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)  # the main thread handles it

    model = KernelSVC(C=1e7, gamma=100.0, tol=1e-14, stopping="plain", n_jobs=threads)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.set_params(callback=press_ctrl_c).fit(X, y)
    assert Status.INTERRUPTED in {certificate.status for certificate in model.certificates_}
    assert model.score(X, y) > 0.3


def test_verbose_writes_to_stderr_only(capsys):
    X, y = make_moons(600, noise=0.5, random_state=0)
    KernelSVC(C=1e4, gamma=50.0, tol=1e-9, stopping="plain", verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == "" and "iteration" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be a positive number; got 0"),
        ({"C": float("nan")}, "C must be"),
        ({"gamma": -1.0}, "gamma must be a positive"),
        ({"gamma": "big"}, "gamma must be a positive number, 'scale' or 'auto'"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"tol": 0}, "tol must be"),
        ({"stopping": "soon"}, "stopping must be"),
        ({"working_set": 5000}, "working_set must be"),
        ({"cold_start": "W4"}, "cold start must be"),
        ({"multi_class": "all"}, "multi_class must be"),
        ({"memory": "much"}, "memory must be"),
        ({"memory": 100}, "is too small: 3 kernel rows"),
        ({"max_iter": -1}, "max_iter must be a positive whole number"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"class_weight": {0: -1}}, "class_weight of label 0 must"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": lambda A, B: np.zeros(3)}, "returned an array of shape"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "not positive definite"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelSVC(**options).fit(*MOONS)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only, 7"):
        KernelSVC().fit(np.eye(3), [7, 7, 7])
    with pytest.raises(ValueError, match="at least two classes"):
        KernelSVC().fit(np.eye(3), [1, 2, 2], sample_weight=[0, 1, 1])


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_survives_its_file(tmp_path, sparse):
    X, y = IRIS
    X = sp.csr_matrix(X) if sparse else X
    model = KernelSVC(C=3, kernel="laplacian", class_weight="balanced").fit(X, y)
    model.save(tmp_path / "model")
    loaded = maxmargin.load(tmp_path / "model")
    assert isinstance(loaded, KernelSVC)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certificate_ == model.certificate_
    assert loaded.C == 3 and loaded.kernel == "laplacian"


def test_a_kernel_function_cannot_be_saved(tmp_path):
    model = KernelSVC(kernel=lambda A, B: A @ B.T).fit(*MOONS)
    with pytest.raises(ValueError, match="files hold no code"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- the grid


def test_the_grid_finds_what_grid_search_finds():
    X, y = make_moons(240, noise=0.3, random_state=1)
    Cs, gammas = np.geomspace(0.1, 100, 4), np.geomspace(0.1, 10, 3)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    ours = KernelSVCCV(Cs, gammas, cv=cv).fit(X, y)
    peer = GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, cv=cv).fit(X, y)
    assert ours.best_score_ >= peer.best_score_ - 0.02
    assert ours.scores_.shape == (3, 4, 4)
    assert ours.best_params_ == {"C": ours.C_, "gamma": ours.gamma_}
    table = ours.cv_results_
    best = np.argmin(table["rank_test_score"])
    assert table["mean_test_score"][best] == pytest.approx(ours.best_score_)
    assert table["params"][0] == {"C": Cs[0], "gamma": gammas[0]}
    assert np.isfinite(table["mean_test_loss"]).all()


def test_the_last_fit_equals_a_fit_with_the_best_parameters():
    X, y = MOONS
    grid = KernelSVCCV(4, 4, tol=1e-6, stopping="plain").fit(X, y)
    alone = KernelSVC(grid.C_, gamma=grid.gamma_, tol=1e-6, stopping="plain").fit(X, y)
    assert grid.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-4)
    assert np.allclose(grid.decision_function(X), alone.decision_function(X), atol=2e-2)


def test_a_grid_over_several_classes_and_weights():
    X, y = IRIS
    for multi_class in ("ovr", "ovo"):
        grid = KernelSVCCV(5, 4, cv=3, multi_class=multi_class, class_weight="balanced")
        grid.fit(X, y, sample_weight=np.linspace(0.5, 1.5, 150))
        assert grid.best_score_ > 0.93


def test_a_grid_stopped_early_fits_the_best_so_far():
    seen = []
    grid = KernelSVCCV(3, 3, cv=3, callback=lambda p: seen.append(p) or len(seen) == 3)
    with pytest.warns(ConvergenceWarning, match="search ended early"):
        grid.fit(*MOONS)
    assert grid.score(*MOONS) > 0.5
    assert np.isnan(grid.cv_results_["mean_test_score"]).any()


def test_kernels_without_a_width_search_a_line_of_C():
    X, y = MOONS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid = KernelSVCCV(4, kernel="precomputed", cv=3).fit(rbf_kernel(X, gamma=2.0), y)
        assert grid.gammas_.tolist() == [1.0] and grid.best_score_ > 0.9
        assert KernelSVCCV(4, kernel="linear", cv=3).fit(X, y).best_score_ > 0.8
        assert KernelSVCCV(3, [0.5, 1.0], kernel="poly", cv=3).fit(X, y).best_score_ > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": 0}, "Cs must be 'auto', a count"),
        ({"Cs": [1.0, -1.0]}, "Cs must be"),
        ({"gammas": [0.0]}, "gammas must be"),
        ({"memory": 1000}, "kernel matrix of 200 rows takes"),
    ],
)
def test_bad_grids_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelSVCCV(**options).fit(*MOONS)


def test_only_a_grid_of_its_own_is_screened():
    X, y = make_moons(400, noise=0.15, random_state=0)
    own = KernelSVCCV(cv=4, random_state=0).fit(X, y)
    first = np.isfinite(own.scores_[:, :, 0])
    others = np.isfinite(own.scores_[:, :, 1:]).all(axis=2)
    assert np.all(first | ~others) and (first & ~others).any()
    assert len(own.cv_results_["params"]) == others.sum()
    given = KernelSVCCV(Cs=own.Cs_[[0, -1]], gammas=own.gammas_[[0, -1]], cv=4).fit(X, y)
    assert np.isfinite(given.scores_).all()
    assert given.best_score_ <= own.best_score_ + 0.01
