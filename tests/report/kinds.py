"""Every kind of model that a report can be about, fitted to real data that comes along.

Adult (bundled), and diabetes, digits and wine of scikit-learn.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

import maxmargin as mm
from maxmargin import data

PATH = {"Cs": [0.01, 0.1, 1], "cv": 3}
GRID = {"Cs": [0.1, 1], "gammas": [0.01, 0.1], "cv": 3}


def adult(machine, n: int = 500):
    train, test = data.load_demo()
    return machine.fit(train.X[:n], train.y[:n]).report(test.X[:n], test.y[:n])


def diabetes(machine):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return machine.fit(20 * X[:300], y[:300]).report(20 * X[300:], y[300:])


def grades(machine, **more):
    X, y = load_diabetes(return_X_y=True)
    return machine.fit(20 * X, np.digitize(y, [100, 200]), **more)


def texts(machine, classes: int = 3):
    """Lines of the descriptions of three data sets, by the set they describe."""
    told = [load_wine().DESCR, load_diabetes().DESCR, load_breast_cancer().DESCR]
    lines = [(line, k) for k, text in enumerate(told) for line in text.splitlines() if line]
    X, y = np.array([line for line, _ in lines], dtype=object), np.array([k for _, k in lines])
    y = y if classes == 3 else (y > 1).astype(int)
    return machine.fit(X, y).report(X, y)


def rank(machine):
    X, y = load_diabetes(return_X_y=True)
    qid = np.arange(len(y)) // 20
    grades(machine, qid=qid)
    return machine.report(20 * X, np.digitize(y, [100, 200]), qid=qid)


def ordinal(machine):
    X, y = load_diabetes(return_X_y=True)
    return grades(machine).report(20 * X, np.digitize(y, [100, 200]))


def several():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return mm.LinearSVC(C=0.01).fit(X, y).report(X, y)


def of_digits(loss: str):
    """Several labels a row: what is true of a digit, from its picture."""
    pandas = pytest.importorskip("pandas")
    X, y = load_digits(return_X_y=True)
    facts = {"even": y % 2 == 0, "prime": np.isin(y, [2, 3, 5, 7]), "square": np.isin(y, [4, 9])}
    Y = pandas.DataFrame(facts).astype(int)
    machine = mm.LinearSVC(loss=loss).fit(X[:300] / 16, Y[:300])
    return machine.report(X[300:600] / 16, Y[300:600])


WORDS = "word_ngrams:1,bits=10"
QUANTILES = {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
REPORTS: dict[str, Callable] = {
    "linear": lambda: adult(mm.LinearSVC(C=0.1)),
    "probability": lambda: adult(mm.LinearSVC(C=0.1, probability=True)),
    "several": several,
    "labels": lambda: of_digits("hinge"),
    "labels-logistic": lambda: of_digits("logistic"),
    "linear-cv": lambda: adult(mm.LinearSVCCV(Cs=[0.01, 0.1, 1])),
    "kernel": lambda: adult(mm.KernelSVC(gamma=0.05)),
    "kernel-cv": lambda: adult(mm.KernelSVCCV(**GRID), 300),
    "kernel-cv-auto": lambda: adult(mm.KernelSVCCV(cv=3), 200),
    "kernel-cells": lambda: adult(mm.KernelSVC(gamma=0.05, cells=200)),
    "kernel-cv-cells": lambda: adult(mm.KernelSVCCV(**GRID, cells=200)),
    "sparse-kernel": lambda: adult(mm.SparseKernelSVC(n_basis=5, gamma=0.05)),
    "sparse-kernel-regression": lambda: diabetes(mm.SparseKernelSVR(n_basis=5, gamma=0.05)),
    "sparse-kernel-rank": lambda: rank(mm.SparseKernelRankSVM(n_basis=5, gamma=0.05)),
    "sparse-kernel-ordinal": lambda: ordinal(mm.SparseKernelOrdinalSVC(n_basis=5, gamma=0.05)),
    "features": lambda: texts(mm.LinearSVC(features=WORDS)),
    "measure-features": lambda: texts(mm.MeasureSVC(features=WORDS), 2),
    "regression-features": lambda: texts(mm.LinearSVR(features=WORDS)),
    "rank-features": lambda: texts(mm.RankSVM(features=WORDS)),
    "ordinal-features": lambda: texts(mm.OrdinalSVC(features=WORDS)),
    "measure": lambda: adult(mm.MeasureSVC()),
    "stream": lambda: adult(mm.StreamSVC(C=0.1)),
    "stream-regression": lambda: diabetes(mm.StreamSVR()),
    "stream-quantiles": lambda: diabetes(mm.StreamSVR(C=10, **QUANTILES)),
    "rank": lambda: rank(mm.RankSVM()),
    "rank-cv": lambda: rank(mm.RankSVMCV(**PATH)),
    "ordinal": lambda: ordinal(mm.OrdinalSVC()),
    "ordinal-cv": lambda: ordinal(mm.OrdinalSVCCV(**PATH)),
    "measure-cv": lambda: adult(mm.MeasureSVCCV(measure="f1", **PATH)),
    "measure-at-k-cv": lambda: adult(
        mm.MeasureSVCCV(measure="precision_at_k", ks=[10, 20], scoring="roc_auc", **PATH)
    ),
    "sparse-kernel-cv": lambda: adult(mm.SparseKernelSVCCV(n_basis=3, **GRID), 200),
    "kernel-regression": lambda: diabetes(mm.KernelSVR(C=10, gamma=0.05)),
    "kernel-regression-cells": lambda: diabetes(mm.KernelSVR(C=10, gamma=0.05, cells=100)),
    "kernel-regression-cv-cells": lambda: diabetes(mm.KernelSVRCV(**GRID, cells=100)),
    "kernel-quantiles": lambda: diabetes(mm.KernelSVR(C=10, gamma=0.05, **QUANTILES)),
    "kernel-regression-cv": lambda: diabetes(mm.KernelSVRCV(**GRID)),
    "regression": lambda: diabetes(mm.LinearSVR()),
    "quantiles": lambda: diabetes(mm.LinearSVR(C=10, **QUANTILES)),
    "regression-cv": lambda: diabetes(mm.LinearSVRCV(Cs=[0.1, 1, 10])),
}


@cache
def made(kind: str):
    """The report of a kind; made once."""
    return REPORTS[kind]()


def report_of_a_table(folder: Path) -> Path:
    """By the command, from a file with words in it."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X["strength"] = np.where(X.pop("alcohol") > 13, "strong", "light")
    X["cultivar"] = np.array(["first", "second", "third"])[y]
    X.to_csv(folder / "wine.csv", index=False)
    command = ["train", "wine.csv", "wine.model", "--target", "cultivar", "--report", "table.html"]
    subprocess.run([sys.executable, "-m", "maxmargin", *command, "-q"], cwd=folder, check=True)
    return folder / "table.html"
