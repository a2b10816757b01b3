"""A model file of every kind, and the texts of other programs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import (
    KernelSVC,
    KernelSVR,
    LinearSVC,
    LinearSVR,
    MeasureSVC,
    OrdinalSVC,
    RankSVM,
    SparseKernelOrdinalSVC,
    SparseKernelRankSVM,
    SparseKernelSVC,
    SparseKernelSVR,
    StreamSVC,
    StreamSVR,
)
from maxmargin.models import save

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3)).round(2)
SPARSE = sp.csr_matrix(X * (X > 0), dtype=np.float32)
Y = np.array([-1, 1] * 6)
GRADES = np.array([1, 2, 3] * 4)
VALUES = X[:, 0].copy()
SEVERAL = np.column_stack([Y > 0, GRADES > 1])
WORDS = np.array(["ACGT", "CCGA", "GGTA"] * 4)


def machines() -> Iterator[tuple[Any, Any, Any]]:
    """Estimators with the rows and targets that they learn."""
    quick, few, cells = {"max_iter": 3}, {"n_basis": 2}, {"cells": 4}
    yield LinearSVC(), X, Y
    yield LinearSVC(), SPARSE, GRADES
    yield LinearSVC(), X, SEVERAL.astype(int)
    yield LinearSVC(features="pairs:bits=4"), X, Y
    yield LinearSVC(probability="sigmoid"), X, Y
    yield LinearSVC(probability="isotonic"), X, GRADES
    yield LinearSVR(loss="quantile", quantile=[0.1, 0.9]), X, VALUES
    yield MeasureSVC(), X, Y
    yield MeasureSVC(features="fourier:n=4"), X, Y
    yield LinearSVR(features="pairs:bits=4"), X, VALUES
    yield RankSVM(), X, GRADES
    yield RankSVM(features="hashing:bits=3"), X, GRADES
    yield OrdinalSVC(), X, GRADES
    yield OrdinalSVC(features="fourier:n=4"), X, GRADES
    yield KernelSVC(), X, Y
    yield KernelSVC(kernel="poly", offset=1.0), SPARSE, GRADES
    yield KernelSVC(probability="sigmoid"), X, Y
    yield KernelSVC(**cells), X, GRADES
    yield KernelSVR(), X, VALUES
    yield KernelSVR(loss="expectile", quantile=[0.2, 0.5], **cells), X, VALUES
    yield SparseKernelSVC(**few), X, Y
    yield SparseKernelSVR(**few), X, VALUES
    yield SparseKernelRankSVM(**few), X, GRADES
    yield SparseKernelOrdinalSVC(**few), X, GRADES
    yield StreamSVC(**quick), X, Y
    yield StreamSVC(features="spectrum:2,alphabet=ACGT", **quick), WORDS, Y
    yield StreamSVR(features="pairs:bits=4", **quick), X, VALUES


def models(folder: Path) -> list[bytes]:
    found = []
    for estimator, rows, targets in machines():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few rows are not calibrated well
            save(estimator.fit(rows, targets), folder / "model")
        found.append((folder / "model").read_bytes())
    return found


def model_texts(folder: Path) -> list[bytes]:
    """LIBLINEAR's and LIBSVM's."""
    from maxmargin.models import liblinear_text, libsvm_text

    found = []
    for y in (Y, GRADES):
        for write, machine in (
            (libsvm_text.write, KernelSVC(multi_class="ovo")),
            (libsvm_text.write, KernelSVC(kernel="poly", multi_class="ovo")),
            (liblinear_text.write, LinearSVC()),
        ):
            write(machine.fit(X, y).to_model(), folder / "text")
            found.append((folder / "text").read_bytes())
    return found
