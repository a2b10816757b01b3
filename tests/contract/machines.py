"""Every estimator and every kind of command, by name, with data it can learn from.

A new estimator becomes one entry of `MACHINES`, and the whole contract is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import maxmargin
import maxmargin.distributed

ROWS, FEATURES, QUERY = 60, 4, 6
ONE_CELL = {"cells": 100}  # that holds all rows: kernel machines elsewhere are made of cells


@dataclass(frozen=True)
class Rows:
    """What a fit is given."""

    X: np.ndarray
    y: np.ndarray
    more: dict[str, Any] = field(default_factory=dict)

    def only(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(self.X[rows], self.y[rows], {k: v[rows] for k, v in self.more.items()})


def classes(labels=(0, 1)) -> Rows:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(ROWS, FEATURES)) * 64) / 64  # as exact in float32
    X[0] = 1.0  # no feature is missing from a sparse file
    score = X @ rng.normal(size=FEATURES) + 0.3 * rng.normal(size=ROWS)
    places = np.searchsorted(np.quantile(score, np.arange(1, len(labels)) / len(labels)), score)
    return Rows(X, np.asarray(labels)[places])


def values() -> Rows:
    rows = classes()
    rng = np.random.default_rng(1)
    y = rows.X @ rng.normal(size=FEATURES) + 0.3 * rng.normal(size=ROWS)
    return Rows(rows.X, np.round(y * 64) / 64)


def grades() -> Rows:
    return classes((0, 1, 2))


def queries() -> Rows:
    rows = grades()
    return Rows(rows.X, rows.y, {"qid": np.arange(ROWS) // QUERY})


@dataclass(frozen=True)
class Machine:
    """An estimator with parameters that make it quick, and the rows it learns from."""

    make: Callable[..., Any]
    rows: Callable[[], Rows]
    kind: str | None = None  # of the command that trains the same machine
    options: tuple[str, ...] = ()  # that the command needs for it
    agreement: float = 2e-5  # of objectives on sparse and dense rows, at tol 1e-5
    elsewhere: dict[str, Any] = field(default_factory=dict)  # what rows on disk or workers need

    def fit(self, given: Rows | None = None, **parameters: Any) -> Any:
        given = given or self.rows()
        return self.make(**parameters).fit(given.X, given.y, **given.more)

    def takes(self, name: str) -> bool:
        return name in self.make().get_params()


def _with(estimator: Any, **quick: Any) -> Callable[..., Any]:
    return lambda **parameters: estimator(**{**quick, **parameters})


MACHINES = {
    "LinearSVC": Machine(maxmargin.LinearSVC, classes, "linear"),
    "LinearSVC-dual": Machine(_with(maxmargin.LinearSVC, solver="dual"), classes),
    "LinearSVC-ocas": Machine(_with(maxmargin.LinearSVC, solver="ocas"), classes),
    "LinearSVC-logistic": Machine(_with(maxmargin.LinearSVC, loss="logistic"), classes),
    "LinearSVC-squared-hinge": Machine(_with(maxmargin.LinearSVC, loss="squared_hinge"), classes),
    "LinearSVC-free": Machine(_with(maxmargin.LinearSVC, intercept="free"), classes),
    "LinearSVCCV": Machine(_with(maxmargin.LinearSVCCV, Cs=[0.1, 1.0], cv=3), classes),
    "LinearSVR": Machine(maxmargin.LinearSVR, values, "regression"),
    "LinearSVR-quantile": Machine(
        _with(maxmargin.LinearSVR, loss="quantile", quantile=0.7), values
    ),
    "LinearSVR-huber-dual": Machine(
        _with(maxmargin.LinearSVR, loss="huber", solver="dual"), values
    ),
    "LinearSVR-free-ocas": Machine(
        _with(maxmargin.LinearSVR, intercept="free", solver="ocas"), values
    ),
    "LinearSVRCV": Machine(_with(maxmargin.LinearSVRCV, Cs=[0.1, 1.0], cv=3), values),
    "RankSVMCV": Machine(_with(maxmargin.RankSVMCV, Cs=[0.1, 1.0], cv=3), queries),
    "OrdinalSVCCV": Machine(_with(maxmargin.OrdinalSVCCV, Cs=[0.1, 1.0], cv=3), grades),
    "MeasureSVCCV": Machine(
        _with(maxmargin.MeasureSVCCV, measure="roc_auc", Cs=[0.1, 1.0], cv=3), classes
    ),
    "SparseKernelSVCCV": Machine(
        _with(maxmargin.SparseKernelSVCCV, n_basis=5, gamma=0.5, Cs=[0.1, 1.0], cv=2),
        classes,
        agreement=5e-3,
    ),
    "RankSVM": Machine(maxmargin.RankSVM, queries, "rank"),
    "OrdinalSVC": Machine(maxmargin.OrdinalSVC, grades, "ordinal"),
    "MeasureSVC": Machine(
        _with(maxmargin.MeasureSVC, measure="roc_auc"), classes, "measure", ("--measure", "roc_auc")
    ),
    "KernelSVC": Machine(
        _with(maxmargin.KernelSVC, gamma=0.5),
        classes,
        "kernel",
        ("--gamma", "0.5"),
        elsewhere=ONE_CELL,
    ),
    "KernelSVCCV": Machine(
        _with(maxmargin.KernelSVCCV, Cs=[0.1, 1.0], gammas=[0.1, 1.0], cv=3),
        classes,
        elsewhere=ONE_CELL,
    ),
    "KernelSVR": Machine(
        _with(maxmargin.KernelSVR, gamma=0.5),
        values,
        "kernel-regression",
        ("--gamma", "0.5"),
        elsewhere=ONE_CELL,
    ),
    "KernelSVR-quantile": Machine(
        _with(maxmargin.KernelSVR, gamma=0.5, loss="quantile", quantile=0.7), values
    ),
    "KernelSVR-squared": Machine(_with(maxmargin.KernelSVR, gamma=0.5, loss="squared"), values),
    "KernelSVRCV": Machine(
        _with(maxmargin.KernelSVRCV, Cs=[0.1, 1.0], gammas=[0.1, 1.0], cv=3), values
    ),
    "SparseKernelSVC": Machine(
        _with(maxmargin.SparseKernelSVC, n_basis=5, gamma=0.5),
        classes,
        "sparse-kernel",
        ("--n-basis", "5", "--gamma", "0.5"),
        agreement=5e-3,  # basis vectors are sought otherwise among sparse rows
    ),
    "SparseKernelSVR": Machine(
        _with(maxmargin.SparseKernelSVR, n_basis=5, gamma=0.5),
        values,
        "sparse-kernel-regression",
        ("--n-basis", "5", "--gamma", "0.5"),
        agreement=5e-3,
    ),
    "SparseKernelRankSVM": Machine(
        _with(maxmargin.SparseKernelRankSVM, n_basis=5, gamma=0.5),
        queries,
        "sparse-kernel-rank",
        ("--n-basis", "5", "--gamma", "0.5"),
        agreement=5e-3,
    ),
    "SparseKernelOrdinalSVC": Machine(
        _with(maxmargin.SparseKernelOrdinalSVC, n_basis=5, gamma=0.5),
        grades,
        "sparse-kernel-ordinal",
        ("--n-basis", "5", "--gamma", "0.5"),
        agreement=5e-3,
    ),
    "SparseKernelSVRCV": Machine(
        _with(maxmargin.SparseKernelSVRCV, n_basis=5, gamma=0.5, Cs=[0.1, 1.0], cv=2),
        values,
        agreement=5e-3,
    ),
    "SparseKernelRankSVMCV": Machine(
        _with(maxmargin.SparseKernelRankSVMCV, n_basis=5, gamma=0.5, Cs=[0.1, 1.0], cv=2),
        queries,
        agreement=5e-3,
    ),
    "SparseKernelOrdinalSVCCV": Machine(
        _with(maxmargin.SparseKernelOrdinalSVCCV, n_basis=5, gamma=0.5, Cs=[0.1, 1.0], cv=2),
        grades,
        agreement=5e-3,
    ),
    "StreamSVC": Machine(maxmargin.StreamSVC, classes, "stream"),
    "StreamSVC-logistic": Machine(_with(maxmargin.StreamSVC, loss="logistic"), classes),
    "StreamSVC-squared-hinge": Machine(_with(maxmargin.StreamSVC, loss="squared_hinge"), classes),
    "StreamSVCCV": Machine(_with(maxmargin.StreamSVCCV, Cs=[0.1, 1.0], cv=3), classes),
    "StreamSVRCV": Machine(_with(maxmargin.StreamSVRCV, Cs=[0.1, 1.0], cv=3), values),
    "StreamSVR": Machine(maxmargin.StreamSVR, values, "stream-regression"),
    "StreamSVR-quantile": Machine(
        _with(maxmargin.StreamSVR, loss="quantile", quantile=0.7), values
    ),
}
CLASSIFIERS = [name for name, machine in MACHINES.items() if machine.takes("class_weight")]
KINDS = {machine.kind: machine for machine in MACHINES.values() if machine.kind is not None}


ON_CLUSTERS = [name for name in MACHINES if name in maxmargin.distributed.__all__]


def taking(parameter: str) -> list[str]:
    """The estimators that have a parameter."""
    return [name for name, machine in MACHINES.items() if machine.takes(parameter)]


def write_svmlight(path, given: Rows, weight: np.ndarray | None = None) -> None:
    """The rows as text, with query ids where there are some."""
    qid = given.more.get("qid")
    lines = []
    for i, (row, label) in enumerate(zip(given.X, given.y)):
        query = "" if qid is None else f" qid:{qid[i] + 1}"
        entries = " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value)
        lines.append(f"{label}{query} {entries}")
    path.write_text("\n".join(lines) + "\n")


def scores_of(estimator: Any, X: Any) -> np.ndarray:
    """Decision values, or what a regression predicts."""
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict"
    return np.asarray(getattr(estimator, method)(X))
