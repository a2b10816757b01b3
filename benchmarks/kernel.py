"""Kernel SVMs without offset: the findings of the paper, and how we stand beside LIBSVM.

    python -m benchmarks.kernel working-sets heart.svm sonar.svm ...
    python -m benchmarks.kernel starts       heart.svm sonar.svm ...
    python -m benchmarks.kernel stopping     heart.svm sonar.svm ...
    python -m benchmarks.kernel libsvm       heart.svm sonar.svm ...
    python -m benchmarks.kernel errors       heart.svm sonar.svm ...
    python -m benchmarks.kernel grid         covtype.svm --rows 4858
    python -m benchmarks.kernel large        a9a.svm ijcnn1.svm
    python -m benchmarks.kernel tables

Numbers are added to ``results/kernel.json`` (``--json`` names another file); `tables` writes
``kernel.md`` and ``kernel.png`` beside it. One thread except for `grid`, `large` and `errors`.
Seconds are of the process (CPU), so that a busy machine disturbs them less; those of `grid` and
`large` are wall-clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import kernel_tables
from benchmarks.kernel_data import Set, read, read_with_test
from benchmarks.machine import describe
from maxmargin import KernelSVC, KernelSVCCV, _core
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel import grid_problem
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import MatrixSource

TOL = 1e-3  # epsilon of the paper, and LIBSVM's default
POOL = _core.Pool(1)
WORKING_SETS = {"1D": -1, "1": 1, "2": 2, "3": 3, "5": 5, "7": 7, "16": 16, "32": 32, "0": 0}
STARTS = ["I0-W0", "I1-W1", "I0-W2", "I0-W3", "I0-W5", "I0-W4", "I1-W4", "I0-W6"]
ALL_PAIRS_ROWS = 300  # working set 0 costs O(n^2) an iteration
SPLITS, MANY_ROWS = 50, 4000  # random splits for test errors; a fifth of them for many rows


def widths(found: Set, count: int):
    """The kernel matrix of every width of the paper's grid, in one piece of memory."""
    D = kernels.distance_matrix(found.X, POOL)
    near = kernels.neighbours_in(D, kernels.NEIGHBOURS, POOL)
    K = kernels.empty_matrix(found.n)
    for gamma in grid_problem.paper_gammas(found.n, found.X.shape[1], "rbf", count):
        kernels.kernel_from_distances(Kernel("rbf", gamma), D, K, POOL)
        yield MatrixSource(K, near)


def run_line(found: Set, source: MatrixSource, method: Method, Cs: np.ndarray) -> tuple[int, float]:
    """Iterations and CPU seconds of a path of C, from the matrix on."""
    began = time.process_time()
    path = RegularisationPath(BinaryProblem(source, found.y, np.ones(found.n)), method, POOL)
    for C in Cs:
        path.start(C)
        path.run(TOL)
    return path.core.iterations, time.process_time() - began


def over_grid(found: Set, size: int, methods: dict[str, Method]) -> dict[str, dict[str, float]]:
    """Mean iterations and milliseconds a grid point, for each way of solving."""
    Cs = grid_problem.paper_Cs(found.n, size)
    total = {name: np.zeros(2) for name in methods}
    for source in widths(found, size):
        for name, method in methods.items():
            falling = method.warm in ("W5", "W6")
            total[name] += run_line(found, source, method, Cs[::-1] if falling else Cs)
    return {
        name: {"iterations": t[0] / size**2, "ms": 1e3 * t[1] / size**2}
        for name, t in total.items()
    }


# ---------------------------------------------------------------- findings of the paper


def working_sets(found: Set, size: int) -> dict:
    methods = {
        name: Method(working_set=code, rule="clipped", cold="I0", warm="W0")
        for name, code in WORKING_SETS.items()
        if code != 0 or found.n <= ALL_PAIRS_ROWS
    }
    return over_grid(found, size, methods)


def starts(found: Set, size: int) -> dict:
    methods = {name: Method(rule="clipped", cold=name[:2], warm=name[3:]) for name in STARTS}
    return over_grid(found, size, methods)


def stopping(found: Set, size: int) -> dict:
    methods = {name: Method(rule=name, cold="I0", warm="W0") for name in ("clipped", "plain")}
    return over_grid(found, size, methods)


def errors(found: Set, size: int) -> dict:
    """Test errors of random 70 / 30 splits, C and gamma by 10-fold cross-validation (Table 1).

    A set with a split of its own keeps it: the folds alone are random.
    """
    result = []
    splits = SPLITS if found.n < MANY_ROWS else SPLITS // 5
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(found.n)
        train, test = order[: int(0.7 * found.n)], order[int(0.7 * found.n) :]
        if found.given:
            train, test = order[order < found.given], order[order >= found.given]
        model = KernelSVCCV(size, size, cv=10, random_state=seed).fit(
            found.X[train], found.y[train]
        )
        result.append(100 * (1 - model.score(found.X[test], found.y[test])))
    return {
        "test": {
            "error": float(np.mean(result)),
            "std": float(np.std(result, ddof=1)),
            "splits": splits,
        }
    }


# ---------------------------------------------------------------- beside LIBSVM


def libsvm(found: Set, size: int) -> dict:
    """One fit after another from the same matrix, both cold, one thread, each to its tolerance."""
    from sklearn.svm import SVC

    Cs = grid_problem.paper_Cs(found.n, size)
    ratios, ours_total, theirs_total = [], 0.0, 0.0
    for source in widths(found, size):
        K = source.K.astype(np.float64)
        for C in Cs:
            _, ours = run_line(found, source, Method(rule="clipped"), [C])
            peer = SVC(kernel="precomputed", C=C, tol=TOL, cache_size=4000)
            began = time.process_time()
            peer.fit(K, found.y)
            theirs = time.process_time() - began
            ratios.append(theirs / max(ours, 1e-6))
            ours_total, theirs_total = ours_total + ours, theirs_total + theirs
    geometric = float(np.exp(np.mean(np.log(ratios))))
    return {
        "ours": {"ms": 1e3 * ours_total / size**2},
        "LIBSVM": {"ms": 1e3 * theirs_total / size**2},
        "ratio": {"geometric mean": geometric, "of sums": theirs_total / ours_total},
    }


def grid(found: Set, size: int, repeats: int = 3) -> dict:
    """KernelSVCCV, and GridSearchCV(SVC) over the same points and folds, on all cores."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        ours = KernelSVCCV(size, size, cv=cv).fit(found.X, found.y)
        seconds.append(time.perf_counter() - began)
    points = {"C": list(ours.Cs_), "gamma": list(ours.gammas_)}
    began = time.perf_counter()
    theirs = GridSearchCV(SVC(), points, cv=cv, n_jobs=-1).fit(found.X, found.y)
    peer = time.perf_counter() - began
    return {
        "ours": {
            "seconds": float(np.median(seconds)),
            "fastest": min(seconds),
            "slowest": max(seconds),
            "error": 100 * (1 - ours.best_score_),
        },
        "GridSearchCV": {"seconds": peer, "error": 100 * (1 - theirs.best_score_)},
        "ratio": {"times faster": peer / float(np.median(seconds))},
    }


LARGE = {"a9a": (1.0, 0.05), "ijcnn1": (10.0, 1.0)}  # C and gamma of usual good error


def large(found: Set, size: int) -> dict:
    """One fit on all rows: the whole matrix in memory, and rows cached within 2 GB."""
    C, gamma = LARGE.get(found.name, (1.0, 1.0 / found.X.shape[1]))
    result = {}
    for name, memory in (("matrix", "16GB"), ("2 GB", "2GB")):
        model = KernelSVC(C=C, gamma=gamma, memory=memory)
        began = time.perf_counter()
        model.fit(found.X, found.y)
        certificate = model.certificate_
        result[name] = {
            "seconds": time.perf_counter() - began,
            "iterations": certificate.n_iter,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "train error": 100 * (1 - model.score(found.X[:2000], found.y[:2000])),
        }
    return result


# ---------------------------------------------------------------- the command

TASKS: dict[str, Callable[..., dict]] = {
    "working-sets": working_sets,
    "starts": starts,
    "stopping": stopping,
    "libsvm": libsvm,
    "errors": errors,
    "grid": grid,
    "large": large,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=[*TASKS, "tables"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--size", type=int, default=10, help="the grid is SIZE x SIZE")
    parser.add_argument("--rows", type=int, help="a random subset of this many rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results/kernel.json")
    chosen = parser.parse_args(arguments)
    if chosen.task == "tables":
        kernel_tables.write(json.loads(chosen.json.read_text()), chosen.json)
        return
    for path in chosen.files:
        if chosen.task == "errors":
            found = read_with_test(path, chosen.rows, chosen.seed)
        else:
            found = read(path, chosen.rows, chosen.seed, dense=chosen.task != "large")
        rows = {found.title: TASKS[chosen.task](found, chosen.size)}
        kernel_tables.keep(chosen.json, chosen.task, rows, describe(threads=1))
        print(kernel_tables.table(rows))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
