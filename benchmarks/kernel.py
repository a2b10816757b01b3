"""Kernel SVMs without offset: the findings of the paper, and how we stand beside LIBSVM.

    python -m benchmarks.kernel working-sets heart.svm sonar.svm ...
    python -m benchmarks.kernel starts       heart.svm sonar.svm ...
    python -m benchmarks.kernel stopping     heart.svm sonar.svm ...
    python -m benchmarks.kernel libsvm       heart.svm sonar.svm ...
    python -m benchmarks.kernel errors       heart.svm sonar.svm ...
    python -m benchmarks.kernel grid         covtype.svm --rows 4858

Files are svmlight text (or anything ``maxmargin.data.open`` reads); features are scaled to [-1, 1],
the two largest classes are kept. One thread except for `grid`. Seconds are of the process (CPU), so
that a busy machine disturbs them less; `grid` is wall-clock.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin import _core, data
from maxmargin.solvers import kernel_grid, kernels
from maxmargin.solvers.kernels import Kernel, MatrixSource
from maxmargin.solvers.two_variable import BinaryProblem, Line, Method

TOL = 1e-3  # epsilon of the paper, and LIBSVM's default
POOL = _core.Pool(1)
WORKING_SETS = {"1D": -1, "1": 1, "2": 2, "3": 3, "5": 5, "7": 7, "16": 16, "32": 32, "0": 0}
STARTS = ["I0-W0", "I1-W1", "I0-W2", "I0-W3", "I0-W5", "I0-W4", "I1-W4", "I0-W6"]
ALL_PAIRS_ROWS = 300  # working set 0 costs O(n^2) an iteration


@dataclass
class Set:
    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def n(self) -> int:
        return len(self.y)


def read(path: str, rows: int | None, seed: int) -> Set:
    """Rows scaled to [-1, 1] and labels -1, +1, in random order."""
    found = data.open(path)
    X = found.X.toarray() if sp.issparse(found.X) else np.asarray(found.X)
    X, y = X.astype(np.float64), np.asarray(found.y)
    classes, counts = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, classes[np.argsort(counts)[-2:]]))
    order = np.random.default_rng(seed).permutation(kept)[:rows]
    X, y = X[order], np.where(y[order] == y[kept].max(), 1.0, -1.0)
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1
    return Set(os.path.basename(path).split(".")[0], X, y)


def widths(found: Set, count: int):
    """The kernel matrix of every width of the paper's grid, in one piece of memory."""
    D = kernels.distance_matrix(found.X, POOL)
    near = kernels.neighbours_in(D, kernels.NEIGHBOURS, POOL)
    K = kernels.empty_matrix(found.n)
    for gamma in kernel_grid.paper_gammas(found.n, found.X.shape[1], "rbf", count):
        kernels.kernel_from_distances(Kernel("rbf", gamma), D, K, POOL)
        yield MatrixSource(K, near)


def line_of(found: Set, source: MatrixSource, method: Method) -> Line:
    return Line(BinaryProblem(source, found.y, np.ones(found.n)), method, POOL)


def run_line(line: Line, Cs: np.ndarray) -> tuple[int, float]:
    """Iterations and CPU seconds of a line of C."""
    began = time.process_time()
    for C in Cs:
        line.start(C)
        line.run(TOL)
    return line.core.iterations, time.process_time() - began


def over_grid(found: Set, size: int, methods: dict[str, Method]) -> dict[str, dict[str, float]]:
    """Mean iterations and milliseconds a grid point, for each way of solving."""
    Cs = kernel_grid.paper_Cs(found.n, size)
    total = {name: np.zeros(2) for name in methods}
    for source in widths(found, size):
        for name, method in methods.items():
            falling = method.warm in ("W5", "W6")
            total[name] += run_line(line_of(found, source, method), Cs[::-1] if falling else Cs)
    return {
        name: {"iterations": t[0] / size**2, "ms": 1e3 * t[1] / size**2}
        for name, t in total.items()
    }


# ---------------------------------------------------------------- findings of the paper


def working_sets(found: Set, size: int) -> dict:
    methods = {
        name: Method(working_set=code, cold="I0", warm="W0")
        for name, code in WORKING_SETS.items()
        if code != 0 or found.n <= ALL_PAIRS_ROWS
    }
    return over_grid(found, size, methods)


def starts(found: Set, size: int) -> dict:
    methods = {name: Method(cold=name[:2], warm=name[3:]) for name in STARTS}
    return over_grid(found, size, methods)


def stopping(found: Set, size: int) -> dict:
    methods = {
        name: Method(clipped=name == "clipped", cold="I0", warm="W0")
        for name in ("clipped", "plain")
    }
    return over_grid(found, size, methods)


def errors(found: Set, size: int, splits: int = 5) -> dict:
    """Test errors of random 70 / 30 splits, C and gamma by 10-fold cross-validation (Table 1)."""
    from maxmargin import KernelSVCCV

    result = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(found.n)
        train, test = order[: int(0.7 * found.n)], order[int(0.7 * found.n) :]
        model = KernelSVCCV(size, size, cv=10, random_state=seed).fit(
            found.X[train], found.y[train]
        )
        result.append(100 * (1 - model.score(found.X[test], found.y[test])))
    return {"test": {"error": float(np.mean(result)), "std": float(np.std(result))}}


# ---------------------------------------------------------------- beside LIBSVM


def libsvm(found: Set, size: int) -> dict:
    """One fit after another from the same matrix, both cold, one thread, each to its tolerance."""
    from sklearn.svm import SVC

    Cs = kernel_grid.paper_Cs(found.n, size)
    ratios, ours_total, theirs_total = [], 0.0, 0.0
    for source in widths(found, size):
        K = source.K.astype(np.float64)
        for C in Cs:
            line = line_of(found, source, Method())
            _, ours = run_line(line, [C])
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


def grid(found: Set, size: int, peer_points: int = 6) -> dict:
    """KernelSVCCV, and GridSearchCV(SVC) timed on some points of the same grid and extrapolated."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    from maxmargin import KernelSVCCV

    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    began = time.perf_counter()
    ours = KernelSVCCV(size, size, cv=cv).fit(found.X, found.y)
    seconds = time.perf_counter() - began
    points = [(C, gamma) for C in ours.Cs_ for gamma in ours.gammas_]
    chosen = np.random.default_rng(0).choice(len(points), min(peer_points, len(points)), False)
    theirs = 0.0
    for at in chosen:
        C, gamma = points[at]
        began = time.perf_counter()
        cross_val_score(SVC(C=C, gamma=gamma), found.X, found.y, cv=cv, n_jobs=-1)
        theirs += time.perf_counter() - began
    at_best = cross_val_score(SVC(C=ours.C_, gamma=ours.gamma_), found.X, found.y, cv=cv, n_jobs=-1)
    estimate = theirs / len(chosen) * len(points)
    return {
        "ours": {"seconds": seconds, "error": 100 * (1 - ours.best_score_)},
        "GridSearchCV": {
            "seconds": estimate,
            "timed": len(chosen),
            "error there": 100 * (1 - float(at_best.mean())),
        },
        "ratio": {"times faster": estimate / seconds},
    }


# ---------------------------------------------------------------- tables

TASKS: dict[str, Callable[..., dict]] = {
    "working-sets": working_sets,
    "starts": starts,
    "stopping": stopping,
    "libsvm": libsvm,
    "errors": errors,
    "grid": grid,
}


def print_table(rows: dict[str, dict]) -> None:
    """One line a data set, one column a way and a measure."""
    columns = list(
        dict.fromkeys((way, what) for row in rows.values() for way in row for what in row[way])
    )
    print("| set | " + " | ".join(f"{way} {what}" for way, what in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in rows.items():
        values = [row.get(way, {}).get(what) for way, what in columns]
        print(f"| {name} | " + " | ".join("" if v is None else f"{v:.4g}" for v in values) + " |")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--size", type=int, default=10, help="the grid is SIZE x SIZE")
    parser.add_argument("--rows", type=int, help="a random subset of this many rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="also write the numbers here")
    chosen = parser.parse_args(arguments)
    rows = {}
    for path in chosen.files:
        found = read(path, chosen.rows, chosen.seed)
        rows[f"{found.name} ({found.n} x {found.X.shape[1]})"] = TASKS[chosen.task](
            found, chosen.size
        )
        print(f"{path} done", file=sys.stderr)
    print_table(rows)
    if chosen.json:
        with open(chosen.json, "w") as out:
            json.dump({"task": chosen.task, "size": chosen.size, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
