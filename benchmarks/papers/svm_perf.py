"""Joachims 2006: cutting planes for classification and ordinal regression.

The digits of the paper's tables did not survive in the text at hand, so shapes are compared, not
seconds. Their epsilon is a precision in mean slack: ``(P - D) / (n C)``.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks import bundle
from benchmarks import svm_perf as program
from benchmarks.papers.items import (
    DIFFERS,
    FAILS,
    HOLDS,
    Curves,
    Found,
    Given,
    Table,
    exponent,
    item,
)
from maxmargin import MeasureSVC
from maxmargin.solvers.linear.bundle import Variant

SETS = ("a9a", "ijcnn1", "covtype", "imdb")
EPSILONS = (0.1, 0.03, 0.01, 0.003, 0.001)


def iterations_to(history, C: float, n: int, epsilon: float) -> int:
    """The first iteration whose gap is below epsilon in mean slack."""
    for moment in history:
        if moment.primal - moment.dual <= epsilon * C * n:
            return moment.iteration
    return history[-1].iteration


def solve(X, y, C: float, tol: float, most: float = 60.0):
    began = time.process_time()
    solution = bundle.solve(X, y, C, "cpa", tol=tol, max_time=most)
    return solution, time.process_time() - began


def roc(X, y, C: float):
    """Ordinal regression with two ranks: ROC area."""
    began = time.process_time()
    model = MeasureSVC("roc_auc", C=C, solver="cpa", n_jobs=1, max_time=60).fit(X, y)
    return model, time.process_time() - began


@item(
    "svm-perf",
    "Table 1",
    "SVM-perf is orders of magnitude faster than SVM-light; ordinal regression is somewhat slower than classification, and tractable.",
    "SVM-light is not installed, nor is SVM-perf unless `svm_perf_learn` is on the PATH; its own CPA is beside ours then.",
    SETS,
)
def table_1(given: Given) -> Found:
    rows, slower = [], 0
    for name in given.pick(("a9a", "ijcnn1"), SETS):
        X, y = given.load(name)
        C = 0.1
        cpa, t_cpa = solve(X, y, C, 1e-3)
        ranked, t_roc = roc(X, y, C)
        theirs = "not installed"
        if program.is_there():
            answer = program.learn(X, np.where(y > 0, 1, 0), C * len(y) / 100, [], [])
            theirs = f"{answer.seconds:.3g} s, {answer.iterations} iterations"
        slower += t_roc > t_cpa
        rows.append(
            [name, C, t_cpa, cpa.certificate.n_iter, t_roc, ranked.certificate_.n_iter, theirs]
        )
    return Found(
        f"ROC area took longer than classification on {slower} of {len(rows)} sets, by at most {max(r[4] / r[2] for r in rows):.1f} times.",
        HOLDS if slower == len(rows) else DIFFERS,
        [
            Table(
                "CPU seconds, one thread",
                ["set", "C", "CPA", "iterations", "ROC area (CPA)", "iterations", "SVM-perf"],
                rows,
            )
        ],
    )


@item(
    "svm-perf",
    "Figures 1 and 2",
    "training time grows less than linearly with n, since iterations do not grow.",
    needs=("covtype",),
)
def against_n(given: Given) -> Found:
    sizes = given.pick((1_000, 5_000, 20_000, 80_000), (1_000, 5_000, 20_000, 100_000, 581_012))
    seconds, ordinal, rows = [], [], []
    for n in sizes:
        X, y = given.load("covtype", n)
        C = 1e4 / len(y)
        solution, spent = solve(X, y, C, 1e-3)
        ranked, longer = roc(X, y, C)
        seconds.append(spent), ordinal.append(longer)
        rows.append(
            [len(y), solution.certificate.n_iter, spent, ranked.certificate_.n_iter, longer]
        )
    n = [row[0] for row in rows]
    growth, steeper = exponent(n, seconds), exponent(n, ordinal)
    flat = rows[-1][1] <= 1.5 * max(row[1] for row in rows[:-1])
    return Found(
        f"time grows as n^{growth:.2f} for classification and n^{steeper:.2f} for ordinal regression; CPA's iterations go from {rows[0][1]} to {rows[-1][1]}.",
        HOLDS if growth < 1.1 and flat else DIFFERS,
        [
            Table(
                "covtype, n C = 1e4, CPU seconds",
                ["rows", "CPA iterations", "seconds", "ROC iterations", "seconds"],
                rows,
            )
        ],
        [
            Curves(
                "covtype, n C = 1e4",
                "rows",
                "CPU seconds",
                {"classification": (n, seconds), "ordinal": (n, ordinal)},
                "xy",
            )
        ],
    )


@item(
    "svm-perf",
    "Figure 3",
    "the rules are as accurate as SVM-light's for almost all C.",
    "LIBLINEAR at a tight tolerance stands for SVM-light.",
    ("a9a",),
)
def accuracy_against_C(given: Given) -> Found:
    from benchmarks.papers.ocas_peers import liblinear

    X, y = given.load("a9a")
    cut = int(0.7 * len(y))
    rows = []
    for C in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        w = solve(X[:cut], y[:cut], C, 1e-3)[0].w
        v = liblinear(X[:cut], y[:cut], C)[0]
        ours, theirs = (100 * float(np.mean(np.sign(X[cut:] @ u) == y[cut:])) for u in (w, v))
        rows.append([C, ours, theirs, ours - theirs])
    largest = max(abs(row[3]) for row in rows)
    return Found(
        f"accuracies differ by at most {largest:.2f} points.",
        HOLDS if largest < 0.5 else DIFFERS,
        [Table("a9a, 30 % held out", ["C", "CPA", "LIBLINEAR", "difference"], rows)],
    )


@item(
    "svm-perf",
    "Figures 4 to 7",
    "small epsilons all predict within half a point, larger ones vary more; iterations grow far less than the bound's 1/epsilon^2; the objective is close to the optimum.",
    needs=("a9a",),
)
def against_epsilon(given: Given) -> Found:
    X, y = given.load("a9a", given.pick(10_000, None))
    cut, C = int(0.7 * len(y)), 0.1
    solution = bundle.solve(X[:cut], y[:cut], C, "cpa", tol=1e-6, max_time=60)
    optimum = solution.certificate.primal
    rows = []
    for epsilon in EPSILONS:
        steps = max(iterations_to(solution.history, C, cut, epsilon), 1)
        began = time.process_time()
        rough = bundle.solve(X[:cut], y[:cut], C, "cpa", tol=1e-9, max_iter=steps)
        spent = time.process_time() - began
        right = 100 * float(np.mean(np.sign(X[cut:] @ rough.w) == y[cut:]))
        rows.append([epsilon, steps, right, 100 * (rough.certificate.primal / optimum - 1), spent])
    variant = Variant(stopping="mean slack")
    excesses = []
    for other in (1e-3, 1e-2, 1e-1, 1.0):
        exact = bundle.solve(X[:cut], y[:cut], other, "ocas", tol=1e-6, max_time=60)
        rough = bundle.solve(X[:cut], y[:cut], other, "cpa", tol=1e-3, variant=variant)
        excesses.append([other, 100 * (rough.certificate.primal / exact.certificate.primal - 1)])
    growth = -exponent([r[0] for r in rows], [r[1] for r in rows])
    spread = max(r[2] for r in rows if r[0] <= 0.01) - min(r[2] for r in rows if r[0] <= 0.01)
    return Found(
        f"iterations grow as 1/epsilon^{growth:.2f}; from epsilon = 0.01 down the accuracy varies by {spread:.2f} points.",
        HOLDS if growth < 1.2 and spread < 0.5 else DIFFERS,
        [
            Table(
                f"a9a, C = {C:g}",
                [
                    "epsilon",
                    "iterations",
                    "accuracy",
                    "objective above optimum, %",
                    "CPU seconds",
                ],
                rows,
            ),
            Table("a9a, epsilon = 0.001", ["C", "objective above optimum, %"], excesses),
        ],
        [
            Curves(
                "a9a",
                "epsilon",
                "iterations",
                {"CPA": ([r[0] for r in rows], [r[1] for r in rows])},
                "xy",
            )
        ],
    )


@item(
    "svm-perf",
    "Figures 8 and 9",
    "iterations grow with about the square root of C, where the bound says C.",
    "At epsilon = 0.001 in mean slack, as in the paper.",
    ("a9a", "ijcnn1"),
)
def against_C(given: Given) -> Found:
    lines, rows, powers, times = {}, [], [], []
    Cs = (10.0, 100.0, 1e3, 1e4, 1e5)
    for name in ("a9a", "ijcnn1"):
        X, y = given.load(name, given.pick(10_000, None))
        counts, spent = [], []
        for C_j in Cs:
            C = C_j / len(y)
            solution = bundle.solve(
                X, y, C, "cpa", tol=1e-6, max_time=given.pick(10, 60), max_iter=3000
            )
            counts.append(max(iterations_to(solution.history, C, len(y), 1e-3), 1))
            began = time.process_time()
            bundle.solve(X, y, C, "cpa", tol=1e-9, max_iter=counts[-1])
            spent.append(time.process_time() - began)
        lines[name] = (list(Cs), counts)
        times.append([name, *spent, exponent(list(Cs), spent)])
        powers.append(exponent(list(Cs), counts))
        rows.append([name, *counts, powers[-1]])
    return Found(
        f"iterations grow as C^{min(powers):.2f} to C^{max(powers):.2f}.",
        HOLDS if max(powers) < 0.75 else DIFFERS,
        [
            Table(what, ["set", *(f"n C = {C:g}" for C in Cs), "exponent"], values)
            for what, values in (("CPA's iterations", rows), ("CPU seconds", times))
        ],
        [Curves("iterations against C", "n C", "iterations", lines, "xy")],
    )


@item(
    "svm-perf",
    "Lemma 2",
    "at most max(2 / eps, 8 C R^2 / eps^2) constraints, R the longest row.",
    "C is theirs, n C in ours; counted by CPA.",
    ("a9a", "ijcnn1"),
)
def lemma_2(given: Given) -> Found:
    rows, within = [], True
    for name in ("a9a", "ijcnn1"):
        X, y = given.load(name, given.pick(10_000, None))
        R2 = float(X.multiply(X).sum(axis=1).max())
        for C_j in (100.0, 1e4):
            C = C_j / len(y)
            solution = bundle.solve(X, y, C, "cpa", tol=1e-6, max_time=20)
            for eps in (0.1, 0.01):
                seen = iterations_to(solution.history, C, len(y), eps)
                bound = max(2 / eps, 8 * C_j * R2 / eps**2)
                within &= seen <= bound
                rows.append([name, C_j, eps, bound, seen])
    return Found(
        f"never more than the bound, which is at least {min(r[3] / max(r[4], 1) for r in rows):.1e} times as large.",
        HOLDS if within else FAILS,
        [Table("Constraints", ["set", "n C", "epsilon", "Lemma 2", "seen"], rows)],
    )
