"""The two-variable solver: its steps, its running values, its starts, its optima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from maxmargin import _core
from maxmargin.problem import Settings, Status
from maxmargin.solvers.kernel.gram import Kernel, neighbours_by_kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import MatrixSource, source_of
from maxmargin.solvers.kernel.two_variable import solve

POOL = _core.Pool(1)
WORKING_SETS = [-1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512, 515, 519, 1031, 2055]


def points(n=60, d=3, seed=0, noise=0.3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = np.where(X[:, 0] + noise * random.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def problem_of(X, y, kernel=None, s=None):
    source = source_of(X, kernel or Kernel("rbf", 0.5), 10**9, POOL)
    source.fill(POOL)
    return BinaryProblem(source, y, np.ones(len(y)) if s is None else s)


def matrix_problem(K, y, s=None):
    K = np.ascontiguousarray(K, dtype=np.float32)
    source = MatrixSource(K)
    return BinaryProblem(source, y, np.ones(len(y)) if s is None else s)


def exact_matrix(problem):
    return problem.source.exact.block(np.arange(problem.source.n))


def dual_value(problem, beta, K=None):
    K = exact_matrix(problem) if K is None else K
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta


def reference_optimum(problem, C):
    """W at the optimum by a quasi-Newton method that shares no code with ours."""
    K = exact_matrix(problem)
    Q = problem.y[:, None] * K * problem.y[None, :]
    bounds = [(0, C * s) for s in problem.s]
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1),
        np.zeros(len(bounds)),
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
    )
    return -found.fun


# ---------------------------------------------------------------- optima


@pytest.mark.parametrize("working_set", WORKING_SETS)
def test_every_working_set_reaches_the_optimum(working_set):
    problem = problem_of(*points())
    method = Method(working_set=working_set)
    solution = solve(problem, 5.0, Settings(tol=1e-6), POOL, method)
    certificate = solution.certificate
    assert certificate.status is Status.OPTIMAL
    assert 0 <= certificate.normalised_gap <= 1e-6
    optimum = reference_optimum(problem, 5.0)
    assert certificate.dual <= optimum + 1e-6 * optimum
    assert certificate.primal >= optimum - 1e-6 * optimum
    assert dual_value(problem, solution.beta) == pytest.approx(certificate.dual, rel=1e-9)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_every_kernel_reaches_the_optimum(name, C):
    X, y = points(50, 2)
    problem = problem_of(X, y, Kernel(name, 0.7, 2, 1.0))
    certificate = solve(problem, C, Settings(tol=1e-6), POOL, Method()).certificate
    optimum = reference_optimum(problem, C)
    scale = max(abs(optimum), 1e-3)
    assert certificate.status is Status.OPTIMAL
    assert certificate.dual <= optimum + 1e-5 * scale
    assert certificate.primal >= optimum - 1e-5 * scale


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.05, 1.0, 30.0]))
def test_random_problems_with_duplicates_weights_and_any_diagonal(seed, duplicates, scaled, C):
    random = np.random.default_rng(seed)
    X, y = points(24, 2, seed)
    if duplicates:  # equal points, with equal and with opposite labels
        X[12:] = X[:12]
        y[18:] = -y[6:12]
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    if scaled:
        d = random.uniform(0.3, 3.0, len(y))
        K *= d[:, None] * d[None]
    problem = matrix_problem(K, y, random.uniform(0.2, 2.0, len(y)))
    certificate = solve(problem, C, Settings(tol=1e-6), POOL, Method()).certificate
    optimum = reference_optimum(problem, C)
    assert certificate.dual <= optimum + 1e-4 * optimum
    assert certificate.primal >= optimum - 1e-4 * optimum
    assert certificate.normalised_gap <= 1e-6


def test_zero_rows_of_a_linear_kernel_take_the_whole_box():
    X, y = points(30, 2)
    X[:4] = 0
    problem = problem_of(X, y, Kernel("linear"))
    solution = solve(problem, 0.5, Settings(tol=1e-6), POOL, Method())
    assert np.array_equal(solution.beta[:4], 0.5 * y[:4])
    assert solution.certificate.primal == pytest.approx(reference_optimum(problem, 0.5), rel=1e-5)


def test_constant_data_is_solved():
    X, y = np.ones((20, 3)), np.repeat([1.0, -1.0], [13, 7])
    problem = problem_of(X, y)
    certificate = solve(problem, 2.0, Settings(tol=1e-8), POOL, Method()).certificate
    assert certificate.primal == pytest.approx(reference_optimum(problem, 2.0), rel=1e-6)


def test_a_weight_of_zero_leaves_a_point_out():
    X, y = points(40)
    s = np.ones(40)
    s[:10] = 0
    weighted = solve(problem_of(X, y, s=s), 3.0, Settings(tol=1e-7), POOL, Method())
    without = solve(problem_of(X[10:], y[10:]), 3.0, Settings(tol=1e-7), POOL, Method())
    assert np.all(weighted.beta[:10] == 0)
    assert weighted.certificate.primal == pytest.approx(without.certificate.primal, rel=1e-6)


def test_weights_equal_repetition():
    X, y = points(30)
    times = np.arange(30) % 3 + 1
    weighted = problem_of(X, y, s=times.astype(float))
    repeated = problem_of(np.repeat(X, times, axis=0), np.repeat(y, times))
    values = [
        solve(p, 2.0, Settings(tol=1e-7), POOL, Method()).certificate.primal
        for p in (weighted, repeated)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


# ---------------------------------------------------------------- running values


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.5), Kernel("poly", 0.5, 2, 1.0)])
@pytest.mark.parametrize("working_set", [-1, 7, 32])
@pytest.mark.parametrize("rule", ["relative", "clipped", "plain"])
def test_running_values_equal_recomputed_ones_after_every_step(kernel, working_set, rule):
    problem = problem_of(*points(40, 2), kernel=kernel)
    path = RegularisationPath(problem, Method(working_set=working_set, rule=rule, cold="I0"), POOL)
    path.start(3.0)
    K = problem.source.K.astype(np.float64)
    ceiling = 2.0 if rule == "clipped" else np.inf
    W = dual_value(problem, path.beta, K)
    for _ in range(60):
        gained = path.core.gained
        end = path.run(1e-9, 1)
        r = problem.y - K @ path.beta
        T = -path.beta @ r
        E = np.sum(3.0 * np.clip(problem.y * r, 0, ceiling))
        assert np.allclose(path.r, r, atol=1e-9)
        assert pytest.approx(T, abs=1e-8) == path.core.T
        assert pytest.approx(T + E, abs=1e-8) == path.core.S
        step, before = path.core.gained - gained, W
        W = dual_value(problem, path.beta, K)
        assert step >= 0
        assert W - before == pytest.approx(step, abs=1e-8)
        assert np.all(path.beta * problem.y >= 0) and np.all(np.abs(path.beta) <= 3.0)
        if end == _core.RunEnd.tolerance:
            break


def test_clipped_gap_never_stops_later_than_the_plain_one():
    problem = problem_of(*points(150, 2, noise=1.0))
    for C in (0.1, 10.0, 1000.0):
        iterations = [
            solve(problem, C, Settings(tol=1e-3), POOL, Method(rule=rule)).certificate.n_iter
            for rule in ("clipped", "plain")
        ]
        assert iterations[0] <= iterations[1]


# ---------------------------------------------------------------- starts


@pytest.mark.parametrize("cold", ["I0", "I1"])
@pytest.mark.parametrize("warm", ["W0", "W1", "W2", "W3", "W4", "W5", "W6"])
def test_starts_recycle_the_residuals_exactly_and_end_at_the_same_optimum(cold, warm):
    random = np.random.default_rng(3)
    X, y = points(80, 2, noise=1.0)
    problem = problem_of(X, y, s=random.uniform(0.5, 2.0, 80))
    K = problem.source.K.astype(np.float64)
    path = RegularisationPath(problem, Method(cold=cold, warm=warm), POOL)
    Cs = np.geomspace(0.01, 100, 7)
    if warm in ("W5", "W6"):
        Cs = Cs[::-1]
    for C in Cs:
        path.start(C)
        assert np.allclose(path.r, y - K @ path.beta, atol=1e-7 * max(1, C))
        assert np.all(np.abs(path.beta) <= np.abs(path.c) * (1 + 1e-12))
        path.run(1e-6)
        afresh = solve(problem, C, Settings(tol=1e-6), POOL, Method(cold="I0"))
        assert path.bounds()[1] == pytest.approx(afresh.certificate.dual, rel=1e-4)


def test_starts_that_need_growing_or_falling_C_say_so():
    problem = problem_of(*points(20))
    for warm, Cs in (("W2", (2.0, 1.0)), ("W4", (2.0, 1.0)), ("W6", (1.0, 2.0))):
        path = RegularisationPath(problem, Method(warm=warm), POOL)
        path.start(Cs[0])
        with pytest.raises(ValueError, match=f"{warm} needs"):
            path.start(Cs[1])


def test_the_kernel_rule_is_the_start_where_most_points_stay_at_it():
    problem = problem_of(*points(100, 2, noise=1.0))
    for C, at_bound in ((1e-3, True), (1e3, False)):
        path = RegularisationPath(problem, Method(), POOL)
        path.start(C)
        assert np.array_equal(path.beta, path.c) == at_bound
        assert np.any(path.beta != 0) == at_bound


def test_unknown_starts_are_refused():
    with pytest.raises(ValueError, match="cold start must be"):
        Method(cold="W9")
    with pytest.raises(ValueError, match="warm start must be"):
        Method(warm="I7")


# ---------------------------------------------------------------- subsets of the points


def test_a_problem_on_ranges_equals_the_problem_on_its_rows_alone():
    X, y = points(90, 2, noise=0.8)
    part = np.r_[0:20, 40:70, 80:90]
    labels = np.zeros(90)
    labels[part] = y[part]
    source = source_of(X, Kernel("rbf", 0.5), 10**9, POOL)
    ranges = np.array([[0, 20], [40, 70], [80, 90]])
    settings_ = Settings(tol=1e-7)
    on_ranges = solve(
        BinaryProblem(source, labels, np.ones(90), ranges),
        4.0,
        settings_,
        POOL,
        Method(),
    )
    alone = solve(problem_of(X[part], y[part]), 4.0, settings_, POOL, Method())
    assert on_ranges.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-6)
    assert np.all(on_ranges.beta[20:40] == 0)


def test_neighbours_found_on_the_way_equal_those_given():
    """The same pairs are tried, so the runs are the same step by step."""
    X, y = points(120, 2, noise=0.8)
    lazy = problem_of(X, y, Kernel("rbf", 2.0))
    near = neighbours_by_kernel(lazy.source.K, 10, POOL)
    source = MatrixSource(lazy.source.K, near, lazy.source.exact)
    given = BinaryProblem(source, y, np.ones(120))
    for method in (Method(4, rule="clipped"), Method(7, rule="clipped")):
        runs = [solve(p, 100.0, Settings(tol=1e-5), POOL, method) for p in (lazy, given)]
        assert runs[0].certificate.n_iter == runs[1].certificate.n_iter
        assert np.allclose(runs[0].beta, runs[1].beta)


# ---------------------------------------------------------------- stopping, bad kernels


def test_max_iter_returns_the_best_so_far_with_its_gap():
    problem = problem_of(*points(100, noise=1.0))
    certificate = solve(problem, 100.0, Settings(tol=1e-9, max_iter=20), POOL).certificate
    assert certificate.status is Status.MAX_ITER
    assert certificate.n_iter == 20
    assert certificate.gap > 0


def test_a_raised_stop_flag_returns_the_best_so_far():
    problem = problem_of(*points(100, noise=1.0))
    stop = _core.Stop()
    stop.interrupt()
    certificate = solve(problem, 100.0, Settings(tol=1e-9, stop=stop), POOL).certificate
    assert certificate.status is Status.INTERRUPTED
    stop = _core.Stop()
    stop.set_deadline(0.0)
    certificate = solve(problem, 100.0, Settings(tol=1e-9, stop=stop), POOL).certificate
    assert certificate.status is Status.MAX_TIME


def test_a_callback_sees_bounds_that_close_in_and_can_stop():
    problem = problem_of(*points(400, 2, noise=1.0), kernel=Kernel("rbf", 5.0))
    seen = []
    settings_ = Settings(tol=1e-9, callback=lambda p: seen.append(p) or len(seen) == 2)
    certificate = solve(problem, 1000.0, settings_, POOL).certificate
    assert certificate.status is Status.CALLBACK
    assert seen[1].dual >= seen[0].dual
    assert all(p.primal >= p.dual for p in seen)


def test_the_same_seed_gives_the_same_answer():
    problem = problem_of(*points(60))
    method = Method(working_set=7 + 64 + 256)
    runs = [solve(problem, 5.0, Settings(seed=4), POOL, method).beta for _ in range(2)]
    assert np.array_equal(*runs)


@pytest.mark.parametrize("K", [[[1.0, 3.0], [3.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]])
def test_an_indefinite_kernel_is_refused(K):
    problem_args = np.array(K), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="not positive definite"):
        solve(matrix_problem(*problem_args), 1.0, Settings(), POOL, Method(cold="I0"))


def test_unknown_working_sets_are_refused():
    with pytest.raises(ValueError, match="working set 5000 is unknown"):
        RegularisationPath(problem_of(*points(20)), Method(working_set=5000), POOL)


def test_inner_partners_alone_take_steps_in_two_variables():
    problem = problem_of(*points(200, 2, noise=1.0))
    found = {
        w: solve(problem, 100.0, Settings(tol=1e-4), POOL, Method(working_set=w, cold="I0"))
        for w in (-1, 512)
    }
    assert all(f.certificate.status == "optimal" for f in found.values())
    assert found[512].certificate.n_iter < 0.8 * found[-1].certificate.n_iter


def test_random_pairs_alone_move_two_variables():
    problem = problem_of(*points(60, 2))
    path = RegularisationPath(problem, Method(working_set=256, cold="I0"), POOL)
    path.start(3.0)
    path.run(1e-9, 1)
    assert np.count_nonzero(path.beta) == 2
