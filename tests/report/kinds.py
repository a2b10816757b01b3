"""Every kind of model that a report can be about, fitted to real data that comes along.

Adult (bundled), and diabetes and wine of scikit-learn.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

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


QUANTILES = {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
REPORTS: dict[str, Callable] = {
    "linear": lambda: adult(mm.LinearSVC(C=0.1)),
    "probability": lambda: adult(mm.LinearSVC(C=0.1, probability=True)),
    "several": several,
    "linear-cv": lambda: adult(mm.LinearSVCCV(Cs=[0.01, 0.1, 1])),
    "kernel": lambda: adult(mm.KernelSVC(gamma=0.05)),
    "kernel-cv": lambda: adult(mm.KernelSVCCV(**GRID), 300),
    "kernel-cv-auto": lambda: adult(mm.KernelSVCCV(cv=3), 200),
    "kernel-cells": lambda: adult(mm.KernelSVC(gamma=0.05, cells=200)),
    "kernel-cv-cells": lambda: adult(mm.KernelSVCCV(**GRID, cells=200)),
    "sparse-kernel": lambda: adult(mm.SparseKernelSVC(n_basis=5, gamma=0.05)),
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


def report_of_a_table(folder: Path) -> Path:
    """By the command, from a file with words in it."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X["strength"] = np.where(X.pop("alcohol") > 13, "strong", "light")
    X["cultivar"] = np.array(["first", "second", "third"])[y]
    X.to_csv(folder / "wine.csv", index=False)
    command = ["train", "wine.csv", "wine.model", "--target", "cultivar", "--report", "table.html"]
    subprocess.run([sys.executable, "-m", "maxmargin", *command, "-q"], cwd=folder, check=True)
    return folder / "table.html"
