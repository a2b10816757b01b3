"""Random problems for every estimator: mostly small, some benign, some as hostile as data get."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.refute.hostile import PATIENT, harden
from tests.refute.options import OPTIONS, chance, constant, decades, family_of
from tests.refute.problem import Problem

KINDS = (
    "linear-auto",
    "linear-newton",
    "linear-dual",
    "linear-ocas",
    "linear-cpa",
    "linear-file",
    "linear-cv",
    "rank",
    "ordinal",
    "measure",
    "kernel",
    "kernel-precomputed",
    "kernel-callable",
    "kernel-cv",
    "sparse-kernel",
    "stream",
    "stream-file",
    "regression-auto",
    "regression-newton",
    "regression-dual",
    "regression-ocas",
    "regression-file",
    "regression-cv",
    "stream-regression",
    "stream-regression-file",
    "regression-kernel",
    "regression-kernel-precomputed",
    "regression-kernel-cv",
    "labels",
    "cells",
    "cells-cv",
    "rank-file",
    "rank-cv",
    "ordinal-file",
    "ordinal-cv",
    "measure-file",
    "measure-cv",
    "sparse-kernel-loss",
    "sparse-kernel-cv",
    "linear-features",
    "regression-features",
    "rank-features",
    "measure-features",
    "stream-features",
    "dask-linear",
    "dask-regression",
    "dask-rank",
    "dask-measure",
    "dask-ordinal",
    "cells-regression",
    "sparse-kernel-regression",
    "sparse-kernel-rank",
    "sparse-kernel-ordinal",
)
FILES = ("svm", "csv", "parquet", "arrow")
SECONDS = 1.0  # for a fit that no other limit ends
ENOUGH = 60  # iterations of fits whose verdict must repeat


def draw(kind: str, seed: int, index: int, quick: bool = False) -> Problem:
    """Problem number `index`, the same whenever and wherever it is drawn.

    Quick ones have few rows, and end by counts, not by the clock, so that verdicts repeat.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), index])
    n = (
        int(rng.integers(12 if kind.endswith("-cv") else 2, 20))
        if quick
        else number_of_rows(rng, kind)
    )
    y = labels(rng, kind, n)
    X = scaled(rng, features(rng, n, y), kind)
    weight = weights(rng, n)
    qid = None
    if family_of(kind).endswith("rank") and (rng.random() < 0.5 or kind.endswith("-cv")):
        qid = rng.integers(0, max(1, n // int(rng.integers(1, 9))), n)
    options = common_options(rng) | OPTIONS[family_of(kind)](rng, kind, y)
    if kind.endswith("-features"):
        X, options = mapped(rng, X, options, kind)
    if kind == "labels":
        y = indicators(rng, y)
    if quick:
        options["max_time"] = PATIENT
        options["max_iter"] = min(options.get("max_iter", ENOUGH), ENOUGH)
    if kind.endswith("-cv"):
        options.pop("C", None)
    layout = str(rng.choice(FILES if kind.endswith("-file") else ("C", "F", "csr")))
    if np.random.default_rng([seed, KINDS.index(kind), index, 1]).random() < 0.3:
        options["as_large"] = True
    if kind.endswith(("-precomputed", "-callable")) or X.dtype.kind == "U":
        layout = "C"
    if layout == "svm":  # such text has no weights
        weight = None
    problem = Problem(kind, X, y, weight, qid, layout, options)
    return harden(problem, np.random.default_rng([seed, KINDS.index(kind), index, 2]), quick)


def number_of_rows(rng, kind: str) -> int:
    low = 12 if kind.endswith("-cv") else 2
    size = rng.random()
    if size < 0.8:
        return int(rng.integers(low, 31))
    if size < 0.96:
        return int(rng.integers(31, 151))
    most = 1000 if kind.split("-")[0] in ("linear", "stream", "kernel") else 400
    return int(rng.integers(151, most + 1))


def labels(rng, kind: str, n: int) -> np.ndarray:
    if "regression" in kind:
        return rng.normal(size=n).round(3) * decades(rng, -3, 3) + rng.choice([0.0, 0.0, 10.0])
    if family_of(kind).endswith("rank"):
        grades = rng.integers(0, int(rng.choice([2, 3, 5])), n)
        return (rng.normal(size=n).round(2) if chance(rng, 0.3) else grades).astype(float)
    classes = int(rng.choice([2, 2, 2, 3, 4])) if n >= 12 else 2
    y = rng.integers(0, classes, n)
    if chance(rng, 0.2):  # one class is rare
        y = np.where(chance_each(rng, n, 0.9), 0, y)
    least = 4 if kind.endswith("-cv") else 1
    for k in range(classes):  # every class is there, often enough for folds
        y[k * least : (k + 1) * least] = k
    if chance(rng, 0.2):
        return np.array(["a", "b", "c", "d"])[y] if not kind.endswith("-file") else 2 * y - 1
    return y


def chance_each(rng, n: int, share: float) -> np.ndarray:
    return rng.random(n) < share


def features(rng, n: int, y: np.ndarray) -> np.ndarray:
    d = int(rng.choice([1, 1, 2, 2, 3, 5, 8, 20]))
    shape = rng.choice(["normal", "normal", "integer", "binary", "one-hot", "line"])
    if shape == "normal":
        X = rng.normal(size=(n, d))
    elif shape == "integer":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif shape == "binary":
        X = (rng.random((n, d)) < 0.3).astype(float)
    elif shape == "one-hot":
        X = np.eye(d)[rng.integers(0, d, n)]
    else:  # all features are multiples of one
        X = np.outer(rng.normal(size=n), rng.normal(size=d))
    if chance(rng, 0.6):  # something to learn
        signal = np.unique(y, return_inverse=True)[1] - 0.5
        X[:, 0] += decades(rng, -1, 1) * signal
    if chance(rng, 0.3) and n > 3:  # equal rows, of equal and of other labels
        X[rng.integers(0, n, n // 2)] = X[rng.integers(0, n, n // 2)]
    if chance(rng, 0.2):
        X[chance_each(rng, n, 0.3)] = 0.0
    if chance(rng, 0.1):
        X[:, rng.integers(d)] = 0.0
    if chance(rng, 0.1):
        X += decades(rng, 0, 4)
    return X


def indicators(rng, y: np.ndarray) -> np.ndarray:
    """Several labels a row: the classes as columns, and some more of rows at random."""
    columns = [y == c for c in np.unique(y)]
    columns += [chance_each(rng, len(y), rng.random()) for _ in range(int(rng.integers(0, 3)))]
    if chance(rng, 0.1):
        columns.append(np.full(len(y), chance(rng, 0.5)))
    return np.column_stack(columns).astype(str(rng.choice(["int64", "float64", "bool"])))


def mapped(rng, X: np.ndarray, options: dict[str, Any], kind: str):
    """Rows, and the map that makes features of them in every pass."""
    if chance(rng, 0.5):
        return X, options | {"features": "squares"}
    letters = "".join(rng.choice(list("ACGT"), size=int(rng.integers(1, 5)), replace=False))
    length = int(rng.integers(1, 8))
    texts = ["".join(rng.choice(list(letters), size=length)) for _ in X]
    name = str(rng.choice(["spectrum:1", "weighted_degree:1"]))
    return np.array(texts), options | {"features": f"{name},alphabet=ACGT"}


def scaled(rng, X: np.ndarray, kind: str) -> np.ndarray:
    """In float64 or float32, sometimes of sizes no one should use."""
    small = chance(rng, 0.3) or kind.endswith("-file")
    size = rng.random()
    most = 36 if small else 150
    if size < 0.2:
        X = X * decades(rng, -6, 6)
    elif size < 0.28:
        X = X * decades(rng, -most, most)
    elif size < 0.33:
        X = X * 10.0 ** rng.integers(-8, 9, X.shape[1])
    elif size < 0.35:
        X = X * 10.0 ** rng.integers(-most, most + 1, X.shape[1])
    with np.errstate(over="ignore"):  # infinity is for the estimator to refuse
        return X.astype(np.float32) if small else X


def weights(rng, n: int) -> np.ndarray | None:
    shape = rng.random()
    if shape < 0.6:
        return None
    if shape < 0.7:
        weight = rng.integers(0, 4, n).astype(float)
    elif shape < 0.8:
        weight = rng.random(n).round(3) * 2
    elif shape < 0.9:
        weight = np.array([decades(rng, -6, 6) for _ in range(n)])
    else:
        weight = np.where(chance_each(rng, n, 0.5), 0.0, decades(rng, -3, 6))
    weight[: max(2, n // 8)] += 1.0  # most often both classes count
    return weight


def common_options(rng) -> dict[str, Any]:
    options: dict[str, Any] = {
        "C": constant(rng),
        "tol": float(rng.choice([1e-1, 1e-2, 1e-3, 1e-3, 1e-4, 1e-6, 1e-9])),
        "n_jobs": 2 if chance(rng, 0.1) else 1,
        "max_time": SECONDS,
    }
    end = rng.random()
    if end < 0.1:
        options["max_iter"] = int(rng.integers(1, 30))
    elif end < 0.16:
        options["stop_after"] = int(rng.integers(1, 6))
    elif end < 0.24:
        options["max_time"] = decades(rng, -5, -1)
    return options
