"""Rankers and ordinal regressions side by side: ours, LightGBM's lambdarank, mord, LinearSVC."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import OrdinalSVC, RankSVM
from maxmargin.metrics import mean_average_precision, ndcg

# ---------------------------------------------------------------- rankings


def compare_rankers(parts, folds: int, repeat: int, fitted: Callable) -> dict[str, list]:
    """NDCG@10, MAP and seconds of a fit, for each ranker and fold.

    Fold f trains on three of the five parts, chooses on the next and is tested on the last, as the
    folds of LETOR do. `fitted(make, repeat, X, y, ...)` fits and takes the time.
    """
    results: dict[str, list] = {}
    for fold in range(folds):
        train = join([parts[(fold + k) % 5] for k in range(3)])
        valid, test = join([parts[(fold + 3) % 5]]), join([parts[(fold + 4) % 5]])
        for name, fit in (("RankSVM", rank_svm), ("LightGBM lambdarank", lambdarank)):
            chosen = fit(train, valid, repeat, fitted)
            if chosen is None:
                continue
            predict, seconds = chosen
            X, y, qid = test
            score = predict(X)
            values = [ndcg(y, score, qid=qid, k=10), mean_average_precision(y, score, qid=qid)]
            results.setdefault(name, []).append([*values, seconds])
    return results


def join(parts):
    X = np.vstack([part.X.toarray() if sp.issparse(part.X) else part.X for part in parts])
    y = np.concatenate([np.asarray(part.y, dtype=float) for part in parts])
    return X, y, np.concatenate([part.qid for part in parts])


def rank_svm(train, valid, repeat: int, fitted: Callable):
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


def lambdarank(train, valid, repeat: int, fitted: Callable):
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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # older releases know eval_set only
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


def compare_ordinal(path: Path) -> tuple[int, int, dict[str, list[float]]]:
    """Rows, ranks, and the mean absolute error of each method on five folds."""
    lines = [line.replace('"', "") for line in path.read_text().splitlines()]
    values = np.genfromtxt(lines, delimiter=",", skip_header=1)
    y, X = values[:, 0].astype(int), values[:, 1:]
    errors: dict[str, list[float]] = {method: [] for method in ordinal_methods()}
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        scale = StandardScaler().fit(X[train])
        for method, fit in ordinal_methods().items():
            predicted = fit(scale.transform(X[train]), y[train])(scale.transform(X[test]))
            errors[method].append(mean_absolute_error(y[test], predicted))
    return len(y), np.unique(y).size, errors


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
