"""Joachims 2006: what stands for the programs that are not here, C for each size, pairs and C."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.papers.items import (
    DIFFERS,
    HOLDS,
    Curves,
    Found,
    Given,
    Table,
    absent,
    exponent,
    item,
)
from benchmarks.papers.svm_perf import iterations_to, solve
from maxmargin import LinearSVC, MeasureSVC


def decomposition(X, y, C: float) -> float:
    """CPU seconds of LIBSVM with its linear kernel, which takes two variables a step as SVM-light does."""
    from sklearn.svm import SVC

    began = time.process_time()
    SVC(kernel="linear", C=C, tol=1e-3, cache_size=1000).fit(X, y)
    return time.process_time() - began


@item(
    "svm-perf",
    "Figure 1, decomposition",
    "SVM-light's time grows faster than linearly with n, and SVM-perf is orders of magnitude faster.",
    "LIBSVM stands for SVM-light, which is for research only and not installed by anything here: both decompose the dual. It has an offset. n C is fixed.",
    ("a9a",),
)
def beside_decomposition(given: Given) -> Found:
    sizes, rows = given.pick((1000, 2000, 4000), (1000, 2000, 4000, 8000, 16_000, 32_561)), []
    for n in sizes:
        X, y = given.load("a9a", n)
        C = 3000.0 / len(y)
        theirs, (_, ours) = decomposition(X, y, C), solve(X, y, C, 1e-3)
        rows.append([len(y), theirs, ours, theirs / ours])
    n = [row[0] for row in rows]
    growth, ours = (exponent(n, [row[k] for row in rows]) for k in (1, 2))
    return Found(
        f"decomposition's time grows as n^{growth:.2f}, CPA's as n^{ours:.2f}; at {n[-1]} rows it takes {rows[-1][3]:.0f} times as long.",
        HOLDS if growth > 1.2 else DIFFERS,
        [
            Table(
                "a9a, n C = 3000, CPU seconds of one thread",
                ["rows", "LIBSVM, linear kernel", "CPA", "ratio"],
                rows,
            )
        ],
    )


@item(
    "svm-perf",
    "Figure 1, best C for each size",
    "with the best C for every n time still grows about linearly.",
    "n C is that of five whose machine, trained on 70 % of the rows, predicts the others best.",
    ("covtype",),
)
def best_C_for_each_size(given: Given) -> Found:
    sizes = given.pick((1_000, 5_000, 20_000), (1_000, 5_000, 20_000, 100_000, 581_012))
    rows = []
    for n in sizes:
        X, y = given.load("covtype", n)
        order, cut = np.random.default_rng(0).permutation(len(y)), int(0.7 * len(y))
        train, held = order[:cut], order[cut:]

        def right(C_j: float, X=X, y=y, train=train, held=held) -> float:
            w = solve(X[train], y[train], C_j / len(train), 1e-3)[0].w
            return float(np.mean(np.sign(X[held] @ w) == y[held]))

        best = max((10.0**k for k in range(1, 6)), key=right)
        solution, spent = solve(X, y, best / len(y), 1e-3)
        rows.append([len(y), best, solution.certificate.n_iter, spent])
    growth = exponent([row[0] for row in rows], [row[3] for row in rows])
    return Found(
        f"time grows as n^{growth:.2f}; the best n C goes from {rows[0][1]:g} to {rows[-1][1]:g}.",
        HOLDS if growth < 1.2 else DIFFERS,
        [Table("covtype, CPU seconds", ["rows", "best n C", "CPA iterations", "seconds"], rows)],
    )


@item(
    "svm-perf",
    "Figure 8, ordinal regression",
    "iterations of ordinal regression grow with about the square root of C, too.",
    "Two ranks, so that the loss is that of ROC area; epsilon = 0.001 in mean slack.",
    ("a9a", "ijcnn1"),
)
def pairs_against_C(given: Given) -> Found:
    Cs, lines, rows = (10.0, 100.0, 1e3, 1e4), {}, []
    for name in ("a9a", "ijcnn1"):
        X, y = given.load(name, given.pick(5_000, None))
        counts = []
        for C_j in Cs:
            C = C_j / len(y)
            settings = {"solver": "cpa", "tol": 1e-5, "max_time": given.pick(5, 30), "n_jobs": 1}
            fit = MeasureSVC("roc_auc", C=C, **settings).fit(X, y)
            counts.append(max(iterations_to(fit.history_, C, len(y), 1e-3), 1))
        lines[name] = (list(Cs), counts)
        rows.append([name, *counts, exponent(list(Cs), counts)])
    powers = [row[-1] for row in rows]
    return Found(
        f"iterations grow as C^{min(powers):.2f} to C^{max(powers):.2f}.",
        HOLDS if max(powers) < 0.75 else DIFFERS,
        [
            Table(
                "CPA's iterations, ROC area",
                ["set", *(f"n C = {C:g}" for C in Cs), "exponent"],
                rows,
            )
        ],
        [Curves("ROC area: iterations against C", "n C", "iterations", lines, "xy")],
    )


@item(
    "svm-perf",
    "L2-SVM-MFN",
    "on sets of some ten thousand rows the modified finite Newton method, for squared slacks, takes about the time of SVM-perf.",
    "Its authors provide no program. Newton's method with conjugate gradients and an exact line search stands for it: our own, which is of the same kind.",
    ("a9a",),
)
def newton(given: Given) -> Found:
    X, y = given.load("a9a")
    settings = {"loss": "squared_hinge", "solver": "newton", "fit_intercept": False, "n_jobs": 1}
    rows = []
    for C in (0.01, 0.1, 1.0):
        began = time.process_time()
        LinearSVC(C=C, **settings).fit(X, y)
        rows.append(["a9a", C, time.process_time() - began, solve(X, y, C, 1e-3)[1]])
    ratio = [row[2] / row[3] for row in rows]
    return Found(
        f"Newton takes {min(ratio):.2f} to {max(ratio):.2f} times as long as CPA.",
        HOLDS if min(ratio) > 0.3 and max(ratio) < 3 else DIFFERS,
        [Table("CPU seconds", ["set", "C", "Newton, squared hinge", "CPA"], rows)],
    )


absent(
    "svm-perf",
    "SVM-light and LSVM",
    "SVM-light cannot train ordinal regression on more than some thousand rows, gains less than a factor of two from a larger epsilon, and is slower for every C; Lagrangian SVM is comparable on a few features, and cannot be had with thousands.",
    "neither program is installed by anything here; SVM-light is for research use only.",
)
