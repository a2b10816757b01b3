"""Steinwart, Hush, Scovel 2011: kernel machines without offset, counted as the paper counts."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks import kernel
from benchmarks.datasets.base import locate
from benchmarks.kernel_data import Set, read
from benchmarks.papers.contents import SETS
from benchmarks.papers.items import DIFFERS, HOLDS, Found, Given, Table, absent, graded, item
from maxmargin.solvers.kernel import grid_problem
from maxmargin.solvers.kernel.path import Method

SMALL = (
    "sonar",
    "heart",
    "liver",
    "ionosphere",
    "australian",
    "breast",
    "diabetes",
    "fourclass",
    "german.numer",
    "svmguide3",
)
NEEDS = ("sonar", "heart", "diabetes", "ionosphere")  # sets that are not there are left out


def sets(
    given: Given,
    quick: tuple[str, ...] = ("sonar", "heart", "diabetes"),
    whole: tuple[str, ...] = SMALL,
) -> list[Set]:
    assert given.folder is not None
    found = []
    for name in given.pick(quick, whole):
        path = locate(given.folder / "small", f"{name}.svm") or locate(given.folder, f"{name}.svm")
        if path is not None:
            found.append(read(str(path), 3000, 0))
    return found


def size(given: Given) -> int:
    return given.pick(5, 10)


def counted(given: Given, methods: dict[str, Method]) -> tuple[list[Table], list[dict]]:
    """Of every method on every set and a grid point: mean iterations, and mean CPU time."""
    results = [(found, kernel.over_grid(found, size(given), methods)) for found in sets(given)]
    tables = []
    for what, key in (("iterations", "iterations"), ("CPU milliseconds, one thread", "ms")):
        rows = [
            [found.title, *(result[name][key] for name in methods)] for found, result in results
        ]
        tables.append(Table(f"Mean {what} a grid point", ["set", *methods], rows))
    return tables, [result for _, result in results]


def cold(code: int, rule: str = "clipped") -> Method:
    return Method(working_set=code, rule=rule, cold="I0", warm="W0")


SINGLE = (1, 2, 8, 16, 32, 64, 128, 256, 512)
SUMS = (3, 5, 7, 515, 519, 7 + 1024, 7 + 2048)


def all_pairs(given: Given) -> Table:
    """Working set 0, which takes O(n^2) an iteration, beside what comes near it, on small sets."""
    ways = {str(code): cold(code) for code in (0, 32, 128, 7)}
    rows = []
    for found in sets(given):
        if found.n <= kernel.ALL_PAIRS_ROWS:
            counts = kernel.over_grid(found, size(given), ways)
            rows.append([found.title, *(counts[name]["iterations"] for name in ways)])
    caption = f"Mean iterations a grid point, sets of at most {kernel.ALL_PAIRS_ROWS} rows"
    return Table(caption, ["set", *ways], rows)


@item(
    "no-offset",
    SETS,
    "two-variable working sets need fewer iterations than one variable; 7 = 1 + 2 + 4 needs hardly more than the best ones, and the least time.",
    "Cold starts. Working set 0 tries all pairs, and is run on small sets alone. 4 is tried in sums: alone it is the 1D solver until ten steps have been made.",
    NEEDS,
)
def working_sets(given: Given) -> Found:
    methods = {"1D": cold(-1)} | {str(code): cold(code) for code in sorted(SINGLE + SUMS)}
    tables, results = counted(given, methods)
    fewer = sum(result["7"]["iterations"] < result["1D"]["iterations"] for result in results)
    near = max(result["7"]["iterations"] / result["32"]["iterations"] for result in results)
    return Found(
        f"7 needs fewer iterations than 1D on {fewer} of {len(results)} sets, and at most {near:.2f} times those of 32.",
        HOLDS if fewer == len(results) and near < 1.6 else DIFFERS,
        [*tables, all_pairs(given)],
    )


TIMES = ("copied", "solving", "own cache")


def beside(found: Set, count: int) -> dict[str, float]:
    """CPU seconds and iterations of LIBSVM and of working set 7 over the grid, every fit cold.

    `copied`: from a given matrix. `solving`: that without what a fit of a single step takes. `own
    cache`: from rows that it computes.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    total = dict.fromkeys(("7", "copied", "solving", "own cache", "iterations"), 0.0)
    gammas = grid_problem.paper_gammas(found.n, found.X.shape[1], "rbf", count)
    for source, gamma in zip(kernel.widths(found, count), gammas):
        K = source.K.astype(np.float64)
        shared = {"tol": kernel.TOL, "cache_size": 4000}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            single = SVC(kernel="precomputed", C=1.0, max_iter=1, **shared)
            start = min(seconds_of(single, K, found.y) for _ in range(3))
        for C in grid_problem.paper_Cs(found.n, count):
            total["7"] += kernel.run_line(found, source, Method(rule="clipped"), [C])[1]
            given = SVC(kernel="precomputed", C=C, **shared)
            spent = seconds_of(given, K, found.y)
            total["copied"] += spent
            total["solving"] += max(spent - start, 0.0)
            total["iterations"] += int(given.n_iter_[0])
            total["own cache"] += seconds_of(SVC(C=C, gamma=gamma, **shared), found.X, found.y)
    return total


def seconds_of(peer, X: np.ndarray, y: np.ndarray) -> float:
    began = time.process_time()
    peer.fit(X, y)
    return time.process_time() - began


@item(
    "no-offset",
    "Figures 5, 6 and 17",
    "LIBSVM needs more iterations than working sets 3 and 7, and two to four times the time of 7, in a version of its solver that copies nothing.",
    "LIBSVM is scikit-learn's. `copied`: from a matrix that it copies on every fit. `solving`: the same without what a fit of one step takes (checks, the copy, the start), which comes closest to a solver that copies nothing; it still copies rows of the matrix into its cache. `own cache`: it computes and caches kernel rows itself. Our time has no kernel values in it: one matrix serves the line of C.",
    NEEDS,
)
def beside_libsvm(given: Given) -> Found:
    times, counts, each = [], [], []
    ways = {name: cold(code) for name, code in (("1D", -1), ("1", 1), ("3", 3), ("7", 7))}
    for found in sets(given):
        spent = beside(found, size(given))
        times.append([found.title, *(spent[w] / spent["7"] for w in TIMES)])
        mine = kernel.over_grid(found, size(given), ways)
        mean = spent["iterations"] / size(given) ** 2
        counts.append([found.title, mean, *(mine[name]["iterations"] for name in ways)])
        theirs = 1e6 * spent["solving"] / spent["iterations"]
        ours = (1e3 * mine[name]["ms"] / mine[name]["iterations"] for name in ways)
        each.append([found.title, theirs, *ours])
    of_7, of_3 = (sum(row[1] > row[place] for row in counts) for place in (5, 4))
    least, most = (f(row[2] for row in times) for f in (min, max))
    return Found(
        f"LIBSVM needs more iterations than 7 on {of_7} of {len(counts)} sets and than 3 on {of_3}; solving alone takes {least:.1f} to {most:.1f} times our time, a whole fit from a given matrix {min(row[1] for row in times):.1f} to {max(row[1] for row in times):.1f} times.",
        graded(of_7, len(counts)),
        [
            Table("LIBSVM's CPU time over ours, one thread", ["set", *TIMES], times),
            Table("Mean iterations a grid point, cold starts", ["set", "LIBSVM", *ways], counts),
            Table("CPU microseconds an iteration", ["set", "LIBSVM, solving", *ways], each),
        ],
    )


@item(
    "no-offset",
    "Figure 20",
    "the clipped rule (9) never takes more iterations than the gap (7), and often far fewer.",
    needs=NEEDS,
)
def stopping(given: Given) -> Found:
    tables, results = counted(given, {"clipped": cold(7), "plain": cold(7, "plain")})
    never = all(r["clipped"]["iterations"] <= r["plain"]["iterations"] for r in results)
    most = max(r["plain"]["iterations"] / r["clipped"]["iterations"] for r in results)
    return Found(
        f"by the gap a run takes up to {most:.1f} times the iterations.",
        HOLDS if never else DIFFERS,
        tables,
    )


@contextmanager
def more_neighbours(count: int) -> Iterator[None]:
    """Lets sources of matrices find that many."""
    standard, kernel.kernels.NEIGHBOURS = kernel.kernels.NEIGHBOURS, count
    try:
        yield
    finally:
        kernel.kernels.NEIGHBOURS = standard


@item(
    "no-offset",
    "Figure 23",
    "between 10 and 20 nearest neighbours make no difference.",
    needs=NEEDS,
)
def neighbours(given: Given) -> Found:
    rows = []
    for found in sets(given):
        with more_neighbours(20):
            methods = {
                str(N): dataclasses.replace(cold(7), n_neighbours=N) for N in (5, 10, 15, 20)
            }
            counts = kernel.over_grid(found, size(given), methods)
        rows.append([found.title, *(counts[name]["iterations"] for name in methods)])
    spread = max(max(row[2:]) / min(row[2:]) - 1 for row in rows)
    return Found(
        f"from N = 10 to 20 iterations differ by at most {100 * spread:.0f} %.",
        HOLDS if spread < 0.1 else DIFFERS,
        [Table("Mean iterations a grid point", ["set", "N = 5", "10", "15", "20"], rows)],
    )


@item(
    "no-offset",
    "Figures 7, 26 and 27",
    "warm starts save much; I1-W4, I0-W4 and I0-W6 are best.",
    "Iterations; the cheap ones inside Procedure 4 are not counted here, as in the paper's second count.",
    NEEDS,
)
def starts(given: Given) -> Found:
    methods = {name: Method(rule="clipped", cold=name[:2], warm=name[3:]) for name in kernel.STARTS}
    tables, results = counted(given, methods)
    saved = np.mean([r["I1-W4"]["iterations"] / r["I0-W0"]["iterations"] for r in results])
    best = [min(r, key=lambda name, r=r: r[name]["ms"]) for r in results]
    good = sum(name in ("I1-W4", "I0-W4", "I0-W6") for name in best)
    return Found(
        f"I1-W4 takes {100 * saved:.0f} % of the iterations of cold starts; the fastest start is one of the three on {good} of {len(results)} sets.",
        HOLDS if saved < 1 and good >= len(results) / 2 else DIFFERS,
        tables,
    )


absent(
    "no-offset",
    "Figure 28",
    "warm starts help LIBSVM less than solvers without offset.",
    "scikit-learn's SVC has no warm start.",
)
