"""Ranking, ordinal regression and measures beside their peers.

    python -m benchmarks.ranking [--data DIR] [--repeat 3] [--quick]
        [roc f1 kernels real mq2008 ordinal]

The data folder holds a9a, a9a.t, covtype and mq2008.S1 .. S5 as svmlight text (.svm, or .svm.xz),
and ordinal/*.csv. LightGBM and mord are used where they are installed; without mord the
all-threshold logistic reference is our own. Seconds are the best of `--repeat` fits, data already
in memory, float64. The sections measured go to results/ranking.md, in the place of older ones.

The constants of SVM-perf: it counts losses in per cent, so its ``-c c`` is our ``C = 100 c / n``
for every loss (its own help says so for the error rate; for the ROC area its planes are sums over
pairs times 100 / m, the same). Its precision of 0.1 is a gap of ``0.001 C n``: on a9a and covtype
more than 0.001 of the objective, so ours at tol = 0.001 is the more precise. For the ROC area it
is run beside us if its programs are on the PATH. Its seconds for F1, and SVM-rank's, are those of
one earlier measurement on two cores: run both programs again on the machine at hand before quoting
a ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks import ranking_kernels, ranking_peers, svm_perf
from benchmarks.paths import RESULTS, data_folder
from benchmarks.reports import measured_on, put, table
from maxmargin import MeasureSVC, RankSVM, data

SVM_PERF_EPSILON = (0.1, 0.01)  # its default for ROC area, and a tenth
SVM_PERF_SECONDS = {("f1", "a9a"): 97.6}
SVM_RANK_SECONDS = 0.92  # MQ2008, three parts, c = 100
PERCENT_C = 20.0  # SVM-perf's -c
PACKAGES = ("scipy", "scikit-learn", "lightgbm", "mord")


def fitted(make: Callable, repeat: int, *rows, **more):
    """A fitted estimator and the seconds of the fastest of several fits."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        model = make().fit(*rows, **more)
        best = min(best, time.perf_counter() - start)
    return model, best


def read(folder: Path, name: str, **options) -> data.Dataset:
    """A set from its plain or compressed file."""
    for ending in (".svm", ".svm.xz"):
        if (folder / f"{name}{ending}").is_file():
            return data.open(folder / f"{name}{ending}", dtype="float64", **options)
    raise SystemExit(f"no file {name}.svm or {name}.svm.xz in the data folder")


def binary(folder: Path, name: str, n_features: int | None = None):
    """Rows and labels 0/1."""
    found = read(folder, name, n_features=n_features)
    return found.X, (found.y == found.y.max()).astype(int)


# ---------------------------------------------------------------- ROC area


def roc(folder: Path, repeat: int, quick: bool) -> str:
    rows = []
    for name, train, test in roc_sets(folder, quick):
        known = [train] if test is None else [train, test]
        for *about, scores in roc_runs(*train, [X for X, _ in known], repeat):
            areas = [f"{100 * roc_auc_score(y, s):.3f}" for (_, y), s in zip(known, scores)]
            rows.append([name, *about, *areas, *[""] * (2 - len(areas))])
    header = ["set", "by", "asked for", "seconds", "iterations", "objective", "train %", "test %"]
    return table(header, rows)


def roc_runs(X, y: np.ndarray, asked: list, repeat: int):
    """Who, how precisely, seconds, iterations, objective, and scores of the rows asked about."""
    C = 100 * PERCENT_C / len(y)
    for tol in (1e-3, 1e-5):
        model, s = fitted(lambda t=tol: MeasureSVC("roc_auc", C, tol=t), repeat, X, y)
        scores = [model.decision_function(rows) for rows in asked]
        P = f"{model.certificate_.primal:.2f}"
        yield "maxmargin", f"tol {tol:g}", s, model.n_iter_, P, scores
    for e in SVM_PERF_EPSILON if svm_perf.is_there() else ():
        peer = svm_perf.learn(X, y, PERCENT_C, ["-l", "10", "-w", "3", "-e", str(e)], asked)
        P = f"{peer.objective:.2f}"
        yield "SVM-perf", f"-e {e:g}", peer.seconds, peer.iterations, P, peer.scores


def roc_sets(folder: Path, quick: bool):
    """Names, rows and labels to train on, and to test on if there are any."""
    X, y = binary(folder, "a9a")
    yield "a9a", (X, y), binary(folder, "a9a.t", X.shape[1])
    if quick:
        return
    X, y = binary(folder, "covtype")
    yield "covtype", (X, y), None
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.sort(order[: len(y) // 5]), np.sort(order[len(y) // 5 :])
    yield "covtype, four fifths", (X[train], y[train]), (X[test], y[test])


# ---------------------------------------------------------------- F1


def f1(folder: Path, repeat: int, quick: bool) -> str:
    rows = []
    for name in ("a9a",) if quick else ("a9a", "covtype"):
        X, y = binary(folder, name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y, last = X[order], y[order], None
        for share in (0.25, 0.5, 1.0):
            n = int(share * len(y))
            # The same C n: the same problem on more rows.
            C = 100 * PERCENT_C / n
            model, seconds = fitted(lambda C=C: MeasureSVC("f1", C), repeat, X[:n], y[:n])
            each = 1e3 * seconds / model.n_iter_
            growth = "" if last is None else f"{seconds / last:.2f}"
            peer = SVM_PERF_SECONDS.get(("f1", name), "not known") if share == 1 else ""
            test = ""
            if name == "a9a":
                X_test, y_test = binary(folder, "a9a.t", X.shape[1])
                test = f"{100 * f1_score(y_test, model.predict(X_test)):.2f}"
            rows.append([name, n, seconds, growth, model.n_iter_, each, test, peer])
            last = seconds
    header = ["set", "rows", "seconds", "x for 2x rows", "iterations", "ms an iteration"]
    return table([*header, "test F1 %", "SVM-perf s"], rows)


def kernels(folder: Path, repeat: int, quick: bool) -> str:
    rows = []
    for problem in ranking_kernels.PROBLEMS[: 1 if quick else None]:
        X, y = binary(folder, problem.name)
        X_test, y_test = binary(folder, f"{problem.name}.t", X.shape[1])
        if problem.dense:
            X, X_test = X.toarray(), X_test.toarray()
        test = X_test, y_test
        for measure in ranking_kernels.LOSS_OF:
            found = ranking_kernels.rows_of(problem, measure, (X, y), test, repeat)
            rows += [[problem.name, measure, *cells] for cells in found]
    return table(ranking_kernels.HEADER, rows)


# ---------------------------------------------------------------- a real-valued target


def real(folder: Path, repeat: int, quick: bool) -> str:
    X, y = binary(folder, "covtype")
    if quick:
        X, y = X[::10], y[::10]
    elevation, rest = X[:, [0]].toarray().ravel(), X[:, 1:].tocsr()
    C = 100 * PERCENT_C / len(y)
    rows = []
    for name, make, target in (
        ("hinge (the two largest classes)", lambda: MeasureSVC("error", C), y),
        ("ranks (elevation)", lambda: RankSVM(C), elevation),
    ):
        model, seconds = fitted(make, repeat, rest, target)
        gap = model.certificate_.relative_gap
        rows.append([name, seconds, model.n_iter_, 1e3 * seconds / model.n_iter_, gap])
    rows.append(["ratio", "", "", f"{rows[1][3] / rows[0][3]:.2f}", ""])
    header = [f"{len(y)} rows", "seconds", "iterations", "ms an iteration", "gap"]
    return table(header, rows)


# ---------------------------------------------------------------- rankings and ordered labels


def mq2008(folder: Path, repeat: int, quick: bool) -> str:
    parts = [read(folder, f"mq2008.S{k}", n_features=46) for k in range(1, 6)]
    results = ranking_peers.compare_rankers(parts, 1 if quick else 5, repeat, fitted)
    rows = []
    for name, folds in results.items():
        means = [f"{value:.4f}" for value in np.mean(folds, axis=0)[:2]]
        seconds = [fold[2] for fold in folds]
        rows.append([name, *means, f"{np.mean(seconds):.3f}", f"{np.max(seconds):.3f}"])
    rows.append(["SVM-rank, c = 100", "", "", str(SVM_RANK_SECONDS), ""])
    header = ["", "NDCG@10", "MAP", "seconds of a fit, mean of folds", "slowest fold"]
    return table(header, rows)


def ordinal(folder: Path, repeat: int, quick: bool) -> str:
    names = ("abalone", "winequality-white", "californiahousing", "fireman_example")
    rows = []
    for name in ("machine_ord",) if quick else names:
        n, ranks, errors = ranking_peers.compare_ordinal(folder / "ordinal" / f"{name}.csv")
        rows.append([name, n, ranks, *[f"{np.mean(e):.4f}" for e in errors.values()]])
    return table(["set", "rows", "ranks", *errors], rows)


# ---------------------------------------------------------------- the report


@dataclass(frozen=True)
class Section:
    title: str
    run: Callable[[Path, int, bool], str]
    note: str
    timed: bool = True


SECTIONS = {
    "roc": Section(
        "ROC area beside SVM-perf, its -c 20",
        roc,
        "Our C is 2000 / n, the same problem. Our seconds are of the wall clock, with all "
        "CPUs; SVM-perf, if it is there, runs beside (CPU seconds of its one thread); it stops at "
        "a gap of 0.01 e C n. On another machine with two cores it took "
        "1.85 s on a9a and 57.5 s on covtype.",
    ),
    "f1": Section(
        "F1 beside SVM-perf, its -c 20",
        f1,
        "Rows in random order, the first quarter, half and all of them, with the same C n.",
    ),
    "kernels": Section(
        "ROC area and F1 with a Gaussian kernel beside SVM-perf",
        kernels,
        ranking_kernels.NOTE,
    ),
    "real": Section(
        "A real-valued target: covtype's elevation from the other features",
        real,
        "Seconds of a whole fit divided by its iterations, on the same rows.",
    ),
    "mq2008": Section(
        "MQ2008, mean of the five standard folds",
        mq2008,
        "C, and the trees of LightGBM, chosen by NDCG@10 on the validation part. Seconds: RankSVM "
        "at the C that weighs as SVM-rank's c = 100, LightGBM at its chosen setting. NDCG counts "
        "queries without a relevant document as 0, as LETOR's tables do.",
    ),
    "ordinal": Section(
        "Mean absolute error in places, 5 folds",
        ordinal,
        "Features standardised on the training rows; the constant of each method chosen among "
        "three on a third of them.",
        timed=False,
    ),
}


FROM_DISK = "Rankings larger than their memory"  # by benchmarks.ranking_from_disk
HEAD = [
    "# Ranking, ordinal regression, and training for a measure",
    "`python -m benchmarks.ranking`. Seconds are of a fit with the data in memory; those of "
    "SVM-perf for F1 and of SVM-rank are of one earlier measurement on two cores.",
]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--data", help="folder of the data sets (or set MAXMARGIN_DATA)")
    parser.add_argument("--repeat", type=int, default=3, help="fits of which the best is shown")
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "ranking.md", help="the report")
    options = parser.parse_args(arguments)
    folder = data_folder(options.data)
    if folder is None:
        parser.error("no data: name its folder with --data, or set MAXMARGIN_DATA")
    unknown = [section for section in options.sections if section not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}; expected some of {', '.join(SECTIONS)}")
    for section in options.sections:
        chosen = SECTIONS[section]
        text = chosen.run(folder, options.repeat, options.quick)
        text += f"\n\n{chosen.note}"
        if chosen.timed:
            text += f" Best of {options.repeat} fits."
        text += "\n\n" + measured_on(*PACKAGES)
        print(f"\n## {chosen.title}\n\n{text}", flush=True)
        titles = [*(each.title for each in SECTIONS.values()), FROM_DISK]
        put(options.out, HEAD, titles, {chosen.title: text})


if __name__ == "__main__":
    main()
