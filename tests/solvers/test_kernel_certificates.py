"""Certificates of kernel machines: no number may be refuted by an evaluation in float64."""

import multiprocessing
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import KernelSVC, KernelSVCCV, _core
from maxmargin.problem import Settings, Status
from maxmargin.solvers.kernel import exact, gram, starts
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.newton import solve_box
from maxmargin.solvers.kernel.path import BinaryProblem, Method
from maxmargin.solvers.kernel.sources import source_of
from maxmargin.solvers.kernel.two_variable import solve

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def points(n, d=2, seed=0, noise=0.3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, np.where(X[:, 0] + noise * random.normal(size=n) > 0, 1, -1)


def values(K, y, model, costs):
    """P of the model and D of its coefficients cut to the box, by plain numpy."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    f = K @ beta
    a = np.clip(y * beta, 0, costs)
    return (
        0.5 * beta @ f + costs @ np.maximum(0, 1 - y * f),
        a.sum() - 0.5 * (a * y) @ K @ (a * y),
    )


def check(K, y, model, costs):
    """The certificate against plain numpy, up to what rounding does to a sum of K beta."""
    certificate = model.certificate_
    P, D = values(K, y, model, costs)
    noise = 1e-14 * costs.sum() * np.abs(model.dual_coef_).sum() * K.max()
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert certificate.primal == pytest.approx(P, rel=1e-9, abs=noise)
    assert certificate.dual <= P * (1 + 1e-9) + noise
    assert (certificate.status is Status.OPTIMAL) == (certificate.relative_gap <= model.tol)
    return certificate, P, D


# ---------------------------------------------------------------- numbers that hold


@pytest.mark.parametrize(
    ("n", "gamma", "C", "tol"),
    [
        (202, 0.089, 1.1e6, 1e-3),
        (300, 0.01, 1e5, 1e-4),
        (150, 1e-3, 1e7, 1e-5),
        (80, 30.0, 1e8, 1e-3),
    ],
)
def test_values_at_large_C_are_those_of_float64(n, gamma, C, tol):
    X, y = points(n)
    model = KernelSVC(C=C, gamma=gamma, tol=tol).fit(X, y)
    certificate, _, D = check(rbf_kernel(X, gamma=gamma), y, model, np.full(n, C))
    assert certificate.status is Status.OPTIMAL
    assert certificate.dual <= D * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_random_certificates_are_not_refuted(seed):
    random = np.random.default_rng(seed)
    X, y = points(int(random.integers(10, 120)), int(random.integers(1, 4)), seed, random.random())
    C, gamma = 10 ** random.uniform(-6, 8), 10 ** random.uniform(-5, 4)
    weights = 10 ** random.uniform(-2, 3, len(y)) if seed % 3 else np.ones(len(y))
    memory = 4 * len(y) * 8 if seed % 2 else None
    tol = 10 ** random.uniform(-5, -2)
    model = KernelSVC(C=C, gamma=gamma, tol=tol, memory=memory).fit(X, y, weights)
    check(rbf_kernel(X, gamma=gamma), y, model, C * weights)


def test_a_lower_bound_lies_below_the_objective_of_every_machine_found():
    X, y = points(120, noise=1.0)
    for C in (1.0, 1e4):
        found = [
            KernelSVC(C=C, gamma=0.2, tol=tol, stopping=rule).fit(X, y).certificate_
            for tol in (1e-1, 1e-3, 1e-6)
            for rule in ("relative", "clipped", "plain")
        ]
        assert max(c.dual for c in found) <= min(c.primal for c in found) * (1 + 1e-9)


def test_the_clipped_rule_is_not_called_optimal_unless_the_gap_is_within_tol():
    X, y = points(150, noise=1.5)
    clipped = KernelSVC(C=100.0, gamma=5.0, tol=1e-2, stopping="clipped").fit(X, y).certificate_
    relative = KernelSVC(C=100.0, gamma=5.0, tol=1e-2).fit(X, y).certificate_
    assert clipped.status is Status.RULE_MET
    assert clipped.relative_gap > 1e-2 >= clipped.normalised_clipped_gap
    assert relative.status is Status.OPTIMAL


def test_a_row_is_at_no_distance_from_itself():
    """Norms and products round k(x, x) to a hair below 1, which a large C would make a loss."""
    X = sp.csr_matrix([[2.0, -0.8], [0.3, 2.0]])
    certificate = KernelSVC(C=1.34e7, gamma=3.78).fit(X, ["a", "b"]).certificate_
    assert certificate.primal == pytest.approx(1.0, rel=1e-12)


def test_raw_features_and_a_linear_kernel_are_solved():
    """Of kernel values up to three millions float32 leaves no digit after the point."""
    X, classes = load_wine(return_X_y=True)
    y = np.where(classes == 1, 1, -1)
    model = KernelSVC(C=100.0, kernel="linear").fit(X, y)
    certificate, *_ = check(X @ X.T, y, model, np.full(len(y), 100.0))
    assert certificate.status is Status.OPTIMAL


def test_a_grid_ends_with_a_certified_machine():
    X, y = points(100, noise=1.0)
    model = KernelSVCCV(Cs=[1.0, 1e3], gammas=[0.1, 1.0], cv=3).fit(X, y)
    K = rbf_kernel(X, gamma=model.gamma_)
    certificate, *_ = check(K, y, model, np.full(100, model.C_))
    assert certificate.status is Status.OPTIMAL


def test_newton_finds_the_optimum_of_a_box():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0.3 * random.normal(size=40), 1.0, -1.0)
    Q = (X @ X.T) * np.outer(y, y)
    for C in (1e-3, 1.0, 1e4, 1e8):
        a, steps = solve_box(Q, np.ones(40), np.full(40, C), 1e-9, lambda: None)
        g = 1 - Q @ a
        P = 0.5 * a @ Q @ a + C * np.maximum(g, 0).sum()
        assert np.all((a >= 0) & (a <= C)) and steps < 100
        assert P - (a.sum() - 0.5 * a @ Q @ a) <= 1e-6 * P


@pytest.mark.parametrize("shape", ["dense", "wide", "sparse"])
@pytest.mark.parametrize("name, gamma", [("rbf", 0.5), ("rbf", 1e4), ("poly", 0.5), ("linear", 1)])
def test_sums_of_float64_values_agree_with_plain_ones_across_tiles(name, gamma, shape, monkeypatch):
    monkeypatch.setattr(gram, "TILE", 32)
    monkeypatch.setattr(exact, "TILE", 32)
    monkeypatch.setattr(exact, "STRIP", 8)
    X, _ = points(120, 20 if shape == "wide" else 3)
    beta = np.random.default_rng(1).normal(size=77)
    order = np.random.default_rng(2).permutation(120)[:101]
    kernel = Kernel(name, gamma, coef0=1.0)
    given = sp.csr_matrix(X) if shape == "sparse" else X
    named = exact.NamedValues(gram.points_for(given, kernel), kernel)
    f, error = named.combine(order, order[:77], beta, _core.Pool(2))
    differences = X[order][:, None] - X[order[:77]][None]
    K = X[order] @ X[order[:77]].T
    if name == "rbf":
        K = np.exp(-gamma * (differences**2).sum(axis=2))
    elif name == "poly":
        K = (gamma * K + 1.0) ** 3
    assert np.all(np.abs(f - K @ beta) <= error + 1e-10 * (np.abs(K) @ np.abs(beta)))
    assert np.all(error <= 1e-9 * np.sqrt(named.diagonal[order] * named.diagonal.max()) * 77)


def test_a_certificate_evaluates_half_a_square_of_support_vectors_in_float64(monkeypatch):
    monkeypatch.setattr(exact, "STRIP", 16)
    evaluated = []

    class Counted(gram.Products):
        def __call__(self, left, right):
            G = super().__call__(left, right)
            evaluated.append(G.size)
            return G

    monkeypatch.setattr(exact, "Products", Counted)
    X, y = points(400, noise=0.5)
    model = KernelSVC(C=1.0, gamma=1.0).fit(X, y)
    m, near = len(model.support_), 20
    assert m < 200
    assert 0 < sum(evaluated) <= m * (m + 16) / 2 + m * near


# ---------------------------------------------------------------- weights beyond measure


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e20, 1e100, 1e300])
def test_huge_weights_give_numbers_or_a_clear_refusal(weight):
    X, y = points(30, noise=1.0)
    weights = np.ones(30)
    weights[::3] = weight
    try:
        model = KernelSVC(C=1e8, gamma=1.0).fit(X, y, weights)
    except ValueError as error:
        assert "smaller weights" in str(error)
        assert weight > 1e6
        return
    certificate = model.certificate_
    assert np.isfinite([certificate.primal, certificate.dual, certificate.clipped_gap]).all()
    assert (certificate.status is Status.OPTIMAL) == (certificate.relative_gap <= 1e-3)


def test_a_polynomial_beyond_float64_is_refused_without_a_warning():
    X, y = points(20, 1)
    with warnings.catch_warnings(), pytest.raises(ValueError, match=r"k\(x, x\) is up to inf"):
        warnings.simplefilter("error")
        KernelSVC(kernel="poly", gamma=1.0, memory=4 * 20 * 8).fit(X * 1e144, y)


# ---------------------------------------------------------------- kernels that are none


def indefinite(n, seed):
    """Unit diagonal, entries of size 0.9 at most: every 2 x 2 minor is positive."""
    random = np.random.default_rng(seed)
    signs = np.triu(np.where(random.random((n, n)) < 0.5, 0.9, -0.9), 1)
    return signs + signs.T + np.eye(n)


@pytest.mark.parametrize("estimator", [KernelSVC(), KernelSVCCV(Cs=2, cv=2)])
def test_indefinite_matrices_are_refused_with_their_smallest_eigenvalue(estimator):
    y = np.tile([0, 1], 20)
    with pytest.raises(ValueError, match=r"smallest eigenvalue is about -.*add .* to the diagonal"):
        estimator.set_params(kernel="precomputed").fit(indefinite(40, 0), y)


def test_indefinite_functions_are_refused():
    X, y = points(30)
    with pytest.raises(ValueError, match=r"not positive (semi)?definite"):
        KernelSVC(kernel=lambda A, B: np.tanh(A @ B.T + 1)).fit(X + 2, y)


def test_an_indefinite_matrix_is_refused_even_without_time():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelSVC(kernel="precomputed", max_time=1e-9).fit(indefinite(40, 0), np.tile([0, 1], 20))


def test_values_beyond_float32_are_refused_without_a_warning():
    with warnings.catch_warnings(), pytest.raises(ValueError, match="contains inf"):
        warnings.simplefilter("error")
        KernelSVC(kernel="precomputed").fit(1e60 * np.eye(4), [0, 1, 0, 1])


def test_singular_matrices_and_those_rounded_to_float32_are_taken():
    X, y = points(60, 2)
    for K in (X @ X.T, (X @ X.T).astype(np.float32), rbf_kernel(X, gamma=1e-3).astype(np.float32)):
        certificate = KernelSVC(kernel="precomputed").fit(K, y).certificate_
        assert certificate.status is Status.OPTIMAL


def test_large_indefinite_matrices_are_found_by_a_sample(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.kernel.given.WHOLE", 50)
    monkeypatch.setattr("maxmargin.solvers.kernel.given.MINOR", 40)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelSVC(kernel="precomputed").fit(indefinite(80, 1), np.tile([0, 1], 40))


# ---------------------------------------------------------------- runs that are cut short


def test_a_start_cut_short_is_certified_by_what_it_left(monkeypatch):
    X, y = points(60)
    source = source_of(X, Kernel("rbf", 0.5), 10**9, _core.Pool(1))
    problem = BinaryProblem(source, y, np.ones(60))

    def stopped(line, c, ratio=1.0):
        line.beta[:] = c
        raise _core.Stopped

    monkeypatch.setitem(starts.COLD, "I1", stopped)
    stop = _core.Stop()
    stop.interrupt()
    solution = solve(problem, 0.5, Settings(stop=stop), _core.Pool(1), Method(cold="I1"))
    certificate = solution.certificate
    K = rbf_kernel(X, gamma=0.5)
    f = K @ solution.beta
    assert certificate.scale == 30
    assert certificate.primal == pytest.approx(
        0.5 * solution.beta @ f + 0.5 * np.maximum(0, 1 - y * f).sum()
    )
    assert certificate.dual <= certificate.primal
    assert certificate.status is Status.INTERRUPTED


@pytest.mark.parametrize("max_time", [1e-9, 1e-3, 5e-3, 2e-2])
def test_a_grid_cut_short_is_never_falsely_certified(max_time):
    X, y = points(200, noise=1.0)
    model = KernelSVCCV(Cs=4, gammas=4, max_time=max_time).fit(X, y)
    check(rbf_kernel(X, gamma=model.gamma_), y, model, np.full(200, model.C_))
    assert model.certificate_.scale == pytest.approx(200 * model.C_)


@pytest.mark.parametrize("rows", [[0, 50], [-1, 3], [0.5, 1.0]])
def test_folds_that_name_rows_outside_the_data_are_refused(rows):
    X, y = points(50)
    folds = [(np.arange(25), np.arange(25, 50)), (np.arange(25, 50), np.array(rows))]
    with pytest.raises(ValueError, match="a fold"):
        KernelSVCCV(Cs=2, gammas=2, cv=folds).fit(X, y)


# ---------------------------------------------------------------- after a fork


def fit_and_say(queue):
    X, y = points(60)
    queue.put(str(KernelSVC(gamma=1.0).fit(X, y).certificate_.status))


def test_kernels_are_fitted_in_a_child_forked_while_a_kernel_fit_runs():
    """The lock around BLAS is held by a thread that the child does not have."""
    from maxmargin.solvers.kernel.blas import OneBlasThread

    held, done = threading.Event(), threading.Event()

    def hold():
        with OneBlasThread()():
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=fit_and_say, args=(queue,))
        child.start()
    child.join(timeout=300)
    alive = child.is_alive()
    if alive:
        child.kill()
    done.set()
    holder.join()
    assert not alive
    assert queue.get() == "optimal"


def test_a_machine_that_is_best_at_zero_has_a_certificate():
    X, y = np.array([[2.0], [1.0], [2.0], [2.0], [1.0]]), np.array([0, 0, 1, 1, 1])
    weight = np.array([838000.0, 383000.0, 936000.0, 0.072, 136000.0])
    options = {"cv": 2, "kernel": "poly", "degree": 2, "tol": 0.1}
    model = KernelSVCCV([1130000.0, 53.3, 1240.0], [0.252, 1.0], **options).fit(X, y, weight)
    assert model.certificate_.status == "optimal"
