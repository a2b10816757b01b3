"""Grids of C and gamma: the same answers as one fit after another, for any threads and budget."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from maxmargin import _core
from maxmargin.problem import Settings
from maxmargin.solvers.kernel import adaptive_grid, grid_matrices
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel import grid as kernel_grid
from maxmargin.solvers.kernel import grid_problem as problems
from maxmargin.solvers.kernel.coding import OneVsOne, coding_of
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import source_of
from maxmargin.solvers.kernel.two_variable import solve

POOL = _core.Pool(1)
CS, GAMMAS = np.geomspace(0.02, 50, 5), np.array([0.05, 0.5, 5.0])


def grid_problem(n=150, classes=2, multi_class="ovr", folds=None, kernel=None, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.4 * random.normal(size=n)
    codes = np.floor((angle + np.pi) / (2 * np.pi) * classes).astype(int) % classes
    weights = random.uniform(0.5, 1.5, n)
    if folds is None:
        folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, codes))
    return problems.GridProblem(
        X,
        codes,
        weights,
        np.ones(n),
        folds,
        coding_of(classes, multi_class),
        kernel or Kernel(),
        CS,
        GAMMAS,
    )


def one_by_one(problem, tol):
    """Errors of every point and fold from separate cold fits on copies of the rows."""
    error = np.empty((len(problem.gammas), len(problem.Cs), len(problem.folds)))
    for w, gamma in enumerate(problem.gammas):
        kernel = problem.kernel.with_gamma(gamma)
        for k, (train, test) in enumerate(problem.folds):
            source = source_of(problem.X[train], kernel, 10**9, POOL)
            points = kernels.Points(problem.X[train], kernels.centre_of(problem.X[train]))
            for c, C in enumerate(
                problem.Cs * problem.weights.sum() / problem.weights[train].sum()
            ):
                beta = np.column_stack(
                    [
                        solve(
                            BinaryProblem(source, y, problem.weights[train]),
                            C,
                            Settings(tol=tol),
                            POOL,
                            Method(cold="I0"),
                        ).beta
                        for y in problem.coding.labels(problem.codes[train])
                    ]
                )
                f = kernels.expand(problem.X[test], points, kernel, beta, POOL)
                error[w, c, k] = np.mean(problem.coding.decide(f) != problem.codes[test])
    return error


@pytest.mark.parametrize(
    ("classes", "multi_class", "name"),
    [(2, "ovr", "rbf"), (3, "ovr", "laplacian"), (3, "ovo", "rbf")],
)
def test_a_grid_gives_the_errors_of_separate_fits(classes, multi_class, name):
    problem = grid_problem(120, classes, multi_class, kernel=Kernel(name))
    result = kernel_grid.search(
        problem, Settings(tol=1e-7), _core.Pool(2), method=Method(rule="plain")
    )
    expected = one_by_one(problem, 1e-7)
    assert result.complete
    # A prediction within rounding of 0 may fall on either side.
    assert np.abs(result.error - expected).max() <= 1.01 / 30
    assert np.mean(result.error == expected) > 0.95
    assert result.error[result.best].mean() == result.error.mean(axis=2).min()


def test_results_do_not_depend_on_threads_or_memory():
    problem = grid_problem()
    size = kernels.matrix_bytes(problem.n)
    results = [
        kernel_grid.search(problem, Settings(), _core.Pool(threads), memory=memory)
        for threads, memory in ((1, None), (3, None), (2, 2 * size), (2, size))
    ]
    for other in results[1:]:
        # Without room for the distances the kernel comes from inner products: other roundings.
        assert np.abs(other.error - results[0].error).mean() < 0.01
        assert other.best == results[0].best
    assert np.array_equal(results[0].error, results[1].error)
    assert np.array_equal(results[0].solutions[0].beta, results[1].solutions[0].beta)


def test_the_refit_is_the_fit_of_the_best_point_on_all_rows():
    problem = grid_problem()
    result = kernel_grid.search(problem, Settings(tol=1e-6), POOL, method=Method(rule="plain"))
    source = source_of(problem.X, Kernel("rbf", result.gamma), 10**9, POOL)
    y = problem.coding.labels(problem.codes)[0]
    alone = solve(
        BinaryProblem(source, y, problem.weights),
        result.C,
        Settings(tol=1e-6),
        POOL,
        Method(),
    )
    warm = result.solutions[0]
    assert warm.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-4)
    assert np.allclose(warm.f, alone.f, atol=0.05)
    assert warm.certificate.n_iter < alone.certificate.n_iter


def test_folds_that_overlap_or_leave_rows_out_are_served_too():
    random = np.random.default_rng(0)
    folds = list(
        ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=1).split(np.zeros(150))
    )
    folds.append((random.permutation(150)[:60], np.arange(10)))
    problem = grid_problem(folds=folds)
    result = kernel_grid.search(problem, Settings(tol=1e-7), POOL, method=Method(rule="plain"))
    assert np.abs(result.error - one_by_one(problem, 1e-7)).max() <= 0.11


def test_a_fold_with_one_class_is_solved():
    codes = grid_problem(60).codes
    only = np.flatnonzero(codes == 1)
    problem = grid_problem(60, folds=[(only, np.flatnonzero(codes == 0)), (np.arange(60), only)])
    result = kernel_grid.search(problem, Settings(), POOL)
    assert result.complete
    assert np.all(result.error[:, :, 0] >= 0.5)


def test_a_callback_sees_every_task_and_can_end_the_search():
    problem, seen = grid_problem(), []
    kernel_grid.search(problem, Settings(), POOL, callback=seen.append)
    assert [p.done for p in seen] == list(range(1, 13))
    assert seen[-1].best_error < 0.5 and seen[-1].seconds_left == 0
    result = kernel_grid.search(problem, Settings(), POOL, callback=lambda p: p.done == 5)
    assert not result.complete
    # narrow kernels take longest and come first
    assert not np.isnan(result.error[2]).any() and np.isnan(result.error[0]).all()
    assert len(result.solutions) == 1


def test_a_budget_below_one_matrix_is_refused_with_numbers():
    with pytest.raises(ValueError, match=r"of 150 rows takes 94 KB.* is 1000 B, too.*fewer rows"):
        kernel_grid.search(grid_problem(), Settings(), POOL, memory=1000)


def test_a_cache_of_rows_serves_a_grid_that_does_not_fit(monkeypatch):
    monkeypatch.setattr(grid_matrices, "LEAST_ROWS", 10)
    problem = grid_problem(classes=3)
    exact = {"settings": Settings(tol=1e-6), "method": Method(rule="plain")}
    whole = kernel_grid.search(problem, **exact, pool=POOL)
    for threads in (1, 2):
        pool = _core.Pool(threads)
        found = kernel_grid.search(problem, **exact, pool=pool, memory=threads * 4 * 150 * 20)
        assert found.complete and np.abs(found.error - whole.error).max() <= 0.03
    assert found.best == whole.best
    for one, other in zip(found.solutions, whole.solutions):
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-5)


def test_only_kernels_by_name_can_do_without_a_matrix():
    problem = grid_problem(kernel=lambda X, Z: X @ Z.T)
    problem.gammas = GAMMAS[:1]
    with pytest.raises(ValueError, match="a kernel by name"):
        kernel_grid.search(problem, Settings(), POOL, memory=95000)


@pytest.mark.parametrize("warm", ["W2", "W3", "W5", "W6", "hybrid"])
def test_every_start_and_order_finds_the_same_optimum(warm):
    problem = grid_problem(80)
    found, auto = (
        kernel_grid.search(
            problem, Settings(tol=1e-7), POOL, method=Method(rule="plain", warm=name), refit=False
        )
        for name in (warm, "auto")
    )
    assert found.complete and np.abs(found.error - auto.error).max() <= 1.01 / 20
    assert np.allclose(found.loss, auto.loss, atol=1e-3)


def test_the_hybrid_start_goes_up_and_down_from_a_medium_C():
    problem = grid_problem(80)
    source = source_of(problem.X, Kernel("rbf", 0.5), 10**9, POOL)
    y = problem.coding.labels(problem.codes)[0]
    binary = BinaryProblem(source, y, problem.weights)
    path = RegularisationPath(binary, Method(rule="plain", warm="hybrid"), POOL)
    Cs, seen = np.array([5.0, 0.1, 20.0, 1.0, 0.3]), []
    for at in path.along(Cs):
        path.run(1e-7)
        seen.append(at)
        primal, dual = path.bounds()
        assert Cs[at] == path.C and primal - dual <= 1e-6 * path.scale
    assert seen == [3, 0, 2, 4, 1]


# ---------------------------------------------------------------- searches that screen


def test_screening_spares_the_other_folds_what_the_first_rules_out():
    problem = grid_problem(400)
    whole = kernel_grid.search(problem, Settings(), POOL, refit=False)
    found = kernel_grid.GridSearch(problem, Settings(), Method(), 10**9, POOL)
    result = found.search(least=np.inf)
    best = whole.error[whole.best].mean()
    assert result.complete and result.error[result.best].mean() == pytest.approx(best, abs=0.005)
    spared = np.isnan(result.error)
    assert not spared[:, :, 0].any() and 0 < spared[:, :, 1].sum() < spared[:, :, 1].size
    assert np.array_equal(spared[:, :, 1], spared[:, :, 3])
    tried = ~spared[:, :, 1]
    worse = result.error[:, :, 0][~tried].min()
    assert worse > result.error[:, :, 0].min() + 0.05
    fewer = kernel_grid.GridSearch(problem, Settings(), Method(), 10**9, POOL)
    fewer.search(least=0.0)  # a point elsewhere never errs
    assert np.isnan(fewer.result.error[:, :, 1]).sum() > spared[:, :, 1].sum()


def test_what_chance_explains_is_promising():
    error = np.array([0.1, 0.13, 0.2, np.nan])
    assert problems.promising(error, 0.1, np.ones(100)).tolist() == [True, True, True, True]
    assert problems.promising(error, 0.1, np.ones(1000)).tolist() == [True, True, False, True]
    # ten rows of weight 100 tell as much as ten rows
    assert problems.promising(error, 0.1, np.append(np.full(10, 100.0), 0)).all()


def test_a_point_is_judged_after_its_steps():
    problem = grid_problem()
    found = kernel_grid.GridSearch(problem, Settings(), Method(), 10**9, POOL, most_steps=7)
    result = found.search()
    assert result.complete and result.iterations.max() == 7


def test_the_last_fit_is_that_of_the_point_named_best_whichever_round_tried_it():
    problem = grid_problem()
    rounds = adaptive_grid.Rounds(problem, Settings(tol=1e-6), POOL, Method(), 10**9, None)
    assert rounds.search(CS[:3], GAMMAS[:2]) and rounds.search(CS[2:], GAMMAS[1:])
    result = rounds.result()
    for best in [(0, 1), (2, 4), (1, 2)]:
        result.best = best
        (solution,) = rounds.refit(result)
        y = problem.coding.labels(problem.codes)[0]
        source = source_of(problem.X, Kernel("rbf", result.gamma), 10**9, POOL)
        alone = solve(BinaryProblem(source, y, problem.weights), result.C, Settings(tol=1e-6), POOL)
        assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-5)


def test_precomputed_and_called_kernels_have_one_width():
    problem = grid_problem()
    problem.gammas = np.array([0.5])
    expected = kernel_grid.search(problem, Settings(tol=1e-6), POOL)

    def rbf(X, Z):
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(-1))

    for X, kernel in ((problem.X, rbf), (rbf(problem.X, problem.X), "precomputed")):
        problem.X, problem.kernel = X, kernel
        result = kernel_grid.search(problem, Settings(tol=1e-6), POOL)
        assert np.abs(result.error - expected.error).max() <= 0.03


def test_the_grid_of_the_paper():
    Cs = problems.paper_Cs(1000, 10)
    assert Cs[0] == pytest.approx(1 / 2000) and Cs[-1] == pytest.approx(1000 / 20)
    assert np.allclose(np.diff(np.log(Cs)), np.log(Cs[1] / Cs[0]))
    gammas = problems.paper_gammas(1000, 3, "rbf", 10)
    assert gammas[0] == pytest.approx(0.01) and gammas[-1] == pytest.approx(400)
    assert problems.paper_gammas(1000, 3, "laplacian", 10)[-1] == pytest.approx(20)


def test_one_vs_one_scores_decide_by_votes():
    coding = OneVsOne(3)
    f = np.array([[1.0, -5.0, 0.1], [-0.1, -9.0, -0.2], [1.0, -1.0, 1.0]])
    assert list(coding.decide(f)) == [2, 2, 1] or list(coding.decide(f))[:2] == [2, 2]
    assert coding.scores(f).shape == (3, 3)


def test_an_unknown_coding_is_refused():
    with pytest.raises(ValueError, match="multi_class must be"):
        coding_of(3, "all")


def test_a_grid_holds_as_many_neighbours_as_are_asked_for():
    problem = grid_problem()
    for count in (5, 40):
        found = kernel_grid.GridSearch(problem, Settings(), Method(n_neighbours=count), 10**9, POOL)
        assert found.matrices.neighbours.shape[1] > count
