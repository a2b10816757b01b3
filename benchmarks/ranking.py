"""Ranking, ordinal regression and measures beside their peers.

    python -m benchmarks.ranking --data DIR [--repeat 3] [--quick] [roc f1 real mq2008 ordinal]

DIR holds a9a.svm, a9a.t.svm, covtype.svm, mq2008.S1.svm .. S5.svm and ordinal/*.csv. LightGBM and
mord are used where they are installed; without mord the all-threshold logistic reference is the
one in this file. Seconds are the best of `--repeat` fits, data already in memory.

The constants of SVM-perf: it counts losses in per cent, so its ``-c c`` is our ``C = 100 c / n``,
and its precision of 0.1 is a gap of ``0.001 C n``. Ours is asked for 0.001 of the objective, which
is smaller. Its seconds, and SVM-rank's, are those of one earlier measurement on two cores: run both
programs again on the machine at hand before quoting a ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score, mean_absolute_error, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import MeasureSVC, OrdinalSVC, RankSVM
from maxmargin.metrics import mean_average_precision, ndcg

SVM_PERF_SECONDS = {("roc", "a9a"): 1.85, ("roc", "covtype"): 57.5, ("f1", "a9a"): 97.6}
SVM_RANK_SECONDS = 0.92  # MQ2008, three parts, c = 100
PERCENT_C = 20.0  # SVM-perf's -c


def fitted(make: Callable, repeat: int, *data, **more):
    """A fitted estimator and the seconds of the fastest of several fits."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        model = make().fit(*data, **more)
        best = min(best, time.perf_counter() - start)
    return model, best


def table(title: str, header: list[str], rows: list[list]) -> None:
    """Prints one table in Markdown."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        cells = [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
        print("| " + " | ".join(cells) + " |", flush=True)


def binary(data: Path, name: str):
    """Rows and labels 0/1 of an svmlight file."""
    X, y = load_svmlight_file(str(data / f"{name}.svm"))
    return X, (y == y.max()).astype(int)


# ---------------------------------------------------------------- ROC area


def roc(data: Path, repeat: int, quick: bool) -> None:
    rows = []
    for name in ("a9a",) if quick else ("a9a", "covtype"):
        X, y = binary(data, name)
        C = 100 * PERCENT_C / len(y)
        model, seconds = fitted(lambda C=C: MeasureSVC("roc_auc", C), repeat, X, y)
        area = 100 * roc_auc_score(y, model.decision_function(X))
        test = "none"
        if (data / f"{name}.t.svm").exists():
            X_test, y_test = load_svmlight_file(str(data / f"{name}.t.svm"), n_features=X.shape[1])
            test = f"{100 * roc_auc_score(y_test > 0, model.decision_function(X_test)):.2f}"
        peer = SVM_PERF_SECONDS["roc", name]
        gap = model.certificate_.relative_gap
        rows.append([name, seconds, model.n_iter_, gap, area, test, peer, peer / seconds])
    header = ["set", "seconds", "iterations", "gap", "train %", "test %", "SVM-perf s", "ratio"]
    table("ROC area (SVM-perf on a9a: 90.25 on test)", header, rows)


# ---------------------------------------------------------------- F1


def f1(data: Path, repeat: int, quick: bool) -> None:
    X, y = binary(data, "a9a")
    X_test, y_test = load_svmlight_file(str(data / "a9a.t.svm"), n_features=X.shape[1])
    C, rows, last = 100 * PERCENT_C / len(y), [], None
    for share in (0.25, 0.5, 1.0):
        n = int(share * len(y))
        # The same C n: the same problem on more rows.
        model, seconds = fitted(lambda n=n: MeasureSVC("f1", C * len(y) / n), repeat, X[:n], y[:n])
        test = 100 * f1_score(y_test > 0, model.predict(X_test))
        growth = seconds / last if last else float("nan")
        rows.append([n, seconds, growth, model.n_iter_, model.certificate_.relative_gap, test])
        last = seconds
    error = MeasureSVC("error", C).fit(X, y)
    test = 100 * f1_score(y_test > 0, error.predict(X_test))
    rows.append(["error rate", "", "", error.n_iter_, error.certificate_.relative_gap, test])
    header = ["rows", "seconds", "x for 2x rows", "iterations", "gap", "test F1 %"]
    table(f"F1 on a9a (SVM-perf: {SVM_PERF_SECONDS['f1', 'a9a']} s)", header, rows)


# ---------------------------------------------------------------- a real-valued target


def real(data: Path, repeat: int, quick: bool) -> None:
    X, y = binary(data, "covtype")
    if quick:
        X, y = X[::10], y[::10]
    elevation, rest = X[:, 0].toarray().ravel(), X[:, 1:].tocsr()
    C = 100 * PERCENT_C / len(y)
    hinge, hinge_seconds = fitted(lambda: MeasureSVC("error", C), repeat, rest, y)
    rank, rank_seconds = fitted(lambda: RankSVM(C), repeat, rest, elevation)
    rows = []
    for name, model, seconds in (("hinge", hinge, hinge_seconds), ("ranks", rank, rank_seconds)):
        gap = model.certificate_.relative_gap
        rows.append([name, seconds, model.n_iter_, 1e3 * seconds / model.n_iter_, gap])
    rows.append(["ratio", "", "", rows[1][3] / rows[0][3], ""])
    header = ["loss", "seconds", "iterations", "ms an iteration", "gap"]
    ranks = np.unique(elevation).size
    table(f"covtype's elevation, {len(y)} rows, {ranks} different values", header, rows)


# ---------------------------------------------------------------- MQ2008


def mq2008(data: Path, repeat: int, quick: bool) -> None:
    parts = [
        load_svmlight_file(str(data / f"mq2008.S{k}.svm"), n_features=46, query_id=True)
        for k in range(1, 6)
    ]
    results: dict[str, list[list[float]]] = {}
    for fold in range(1 if quick else 5):
        train = join([parts[(fold + k) % 5] for k in range(3)])
        valid, test = join([parts[(fold + 3) % 5]]), join([parts[(fold + 4) % 5]])
        for name, fit in (("RankSVM", rank_svm), ("LightGBM lambdarank", lambdarank)):
            chosen = fit(train, valid, repeat)
            if chosen is None:
                continue
            predict, seconds = chosen
            X, y, qid = test
            score = predict(X)
            values = [ndcg(y, score, qid=qid, k=10), mean_average_precision(y, score, qid=qid)]
            results.setdefault(name, []).append([*values, seconds])
    rows = [[name, *np.mean(values, axis=0).tolist()] for name, values in results.items()]
    rows.append(["SVM-rank, c = 100", "", "", SVM_RANK_SECONDS])
    header = ["", "NDCG@10", "MAP", "seconds a fold (one fit)"]
    table("MQ2008, mean of the folds", header, rows)


def join(parts):
    X = np.vstack([part[0].toarray() for part in parts])
    return X, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])


def rank_svm(train, valid, repeat: int):
    """C chosen on the validation part; seconds at the C that weighs as SVM-rank's c = 100 does."""
    X, y, qid = train
    best, model = -np.inf, None
    for C in np.geomspace(1e-4, 10, 11):
        one = RankSVM(C).fit(X, y, qid=qid)
        value = ndcg(valid[1], one.predict(valid[0]), qid=valid[2], k=10)
        if value > best:
            best, model = value, one
    # SVM-rank sums over pairs and divides by queries: c times the pairs of a mean query is our C n.
    pairs = [np.sum(y[qid == q][:, None] > y[qid == q][None, :]) for q in np.unique(qid)]
    C = 100 * np.mean(pairs) / len(y)
    _, seconds = fitted(lambda: RankSVM(C), repeat, X, y, qid=qid)
    return model.predict, seconds


def lambdarank(train, valid, repeat: int):
    """LightGBM with early stopping on the validation part; seconds of one fit of that length."""
    try:
        import lightgbm
    except ImportError:
        return None
    (X, y, qid), (X_valid, y_valid, qid_valid) = by_query(train), by_query(valid)
    best, settings = None, {}
    for leaves in (7, 15, 31):
        for rate in (0.02, 0.1):
            one = lightgbm.LGBMRanker(
                n_estimators=1000, num_leaves=leaves, learning_rate=rate, verbose=-1, random_state=0
            )
            one.fit(
                X, y, group=sizes(qid), eval_set=[(X_valid, y_valid)], eval_at=[10],
                eval_group=[sizes(qid_valid)],
                callbacks=[lightgbm.early_stopping(50, verbose=False)],
            )  # fmt: skip
            value = ndcg(y_valid, one.predict(X_valid), qid=qid_valid, k=10)
            if best is None or value > best[0]:
                best = value, one
                settings = {"num_leaves": leaves, "learning_rate": rate}
    trees = max(best[1].best_iteration_, 1)
    _, seconds = fitted(
        lambda: lightgbm.LGBMRanker(n_estimators=trees, verbose=-1, random_state=0, **settings),
        repeat, X, y, group=sizes(qid),
    )  # fmt: skip
    return best[1].predict, seconds


def by_query(part):
    X, y, qid = part
    order = np.argsort(qid, kind="stable")
    return X[order], y[order], qid[order]


def sizes(qid: np.ndarray) -> np.ndarray:
    return np.unique(qid, return_counts=True)[1]


# ---------------------------------------------------------------- ordinal regression


def ordinal(data: Path, repeat: int, quick: bool) -> None:
    rows = []
    names = ("abalone", "winequality-white", "californiahousing", "fireman_example")
    for name in ("machine_ord",) if quick else names:
        values = np.genfromtxt(
            [line.replace('"', "") for line in (data / "ordinal" / f"{name}.csv").open()],
            delimiter=",", skip_header=1,
        )  # fmt: skip
        y, X = values[:, 0].astype(int), StandardScaler().fit_transform(values[:, 1:])
        errors = {method: [] for method in ordinal_methods()}
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            for method, fit in ordinal_methods().items():
                predicted = fit(X[train], y[train])(X[test])
                errors[method].append(mean_absolute_error(y[test], predicted))
        rows.append([name, len(y), np.unique(y).size, *[np.mean(e) for e in errors.values()]])
    header = ["set", "rows", "ranks", *ordinal_methods()]
    table("Mean absolute error, 5 folds", header, rows)


def ordinal_methods() -> dict[str, Callable]:
    """Each takes training rows and gives a function that predicts."""
    penalties, alphas = (0.01, 0.1, 1.0), (0.01, 1.0, 100.0)

    def ours(C, X, y):
        return OrdinalSVC(C).fit(X, y).predict

    def one_against_rest(C, X, y):
        return LinearSVC(C=C, dual=False).fit(X, y).predict

    return {
        "OrdinalSVC": lambda X, y: chosen(ours, X, y, penalties),
        "all-threshold logistic": lambda X, y: chosen(all_threshold, X, y, alphas),
        "LinearSVC": lambda X, y: chosen(one_against_rest, X, y, penalties),
    }


def chosen(fit: Callable, X, y, values):
    """The fit with the value whose mean absolute error is least on a held-out third of the rows."""
    train, test = next(iter(KFold(3, shuffle=True, random_state=1).split(X)))
    errors = [mean_absolute_error(y[test], fit(v, X[train], y[train])(X[test])) for v in values]
    return fit(values[int(np.argmin(errors))], X, y)


def all_threshold(alpha: float, X, y):
    """mord's LogisticAT, or the same objective by L-BFGS."""
    try:
        import mord
    except ImportError:
        return all_threshold_reference(alpha, X, y)
    labels, place = np.unique(y, return_inverse=True)
    model = mord.LogisticAT(alpha=alpha).fit(X, place)
    return lambda X: labels[model.predict(X)]


def all_threshold_reference(alpha: float, X, y):
    """``sum_ik log(1 + exp(-+(theta_k - <w, x_i>))) + alpha/2 ||w||^2`` (Rennie, Srebro 2005)."""
    labels, place = np.unique(y, return_inverse=True)
    K, d = labels.size - 1, X.shape[1]
    above = np.where(place[:, None] > np.arange(K), 1.0, -1.0)

    def loss(v):
        w, theta = v[:d], np.cumsum(np.concatenate((v[d : d + 1], np.exp(v[d + 1 :]))))
        z = above * ((X @ w)[:, None] - theta)
        g = -above / (1 + np.exp(z))
        steps = -np.cumsum(g.sum(axis=0)[::-1])[::-1]
        steps[1:] *= np.exp(v[d + 1 :])
        value = np.logaddexp(0, -z).sum() + 0.5 * alpha * w @ w
        return value, np.concatenate((X.T @ g.sum(axis=1) + alpha * w, steps))

    v = minimize(loss, np.zeros(d + K), jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    theta = np.cumsum(np.concatenate((v[d : d + 1], np.exp(v[d + 1 :]))))
    return lambda X: labels[np.searchsorted(theta, X @ v[:d], side="left")]


SECTIONS = {"roc": roc, "f1": f1, "real": real, "mq2008": mq2008, "ordinal": ordinal}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--data", type=Path, required=True, help="folder of the unpacked sets")
    parser.add_argument("--repeat", type=int, default=3, help="fits of which the best is shown")
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it runs")
    options = parser.parse_args(arguments)
    for section in options.sections:
        if section not in SECTIONS:
            parser.error(f"unknown section {section!r}; expected some of {', '.join(SECTIONS)}")
        SECTIONS[section](options.data, options.repeat, options.quick)


if __name__ == "__main__":
    main()
