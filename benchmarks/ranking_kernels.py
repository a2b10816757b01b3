"""ROC area and F1 with a Gaussian kernel: ours on few basis vectors beside SVM-perf's own.

SVM-perf seeks free basis vectors (its ``-w 9``, the CPSP paper) for the error rate alone; version
3.00 refuses ROC area and F1 there. For these it takes training rows, chosen beforehand: at random
(``--t 1``) or by an incomplete Cholesky factorization (``--t 2``). C, gamma and the number of basis
vectors are the same for all. Beside them the linear machines for the same measure and the same C:
does the kernel help?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks import svm_perf
from maxmargin import MeasureSVC, SparseKernelSVC

LOSS_OF = {"roc_auc": "10", "f1": "1"}  # SVM-perf's -l


@dataclass(frozen=True)
class Problem:
    """A set with its C, the width of the kernel, and how many basis vectors there may be."""

    name: str
    C: float
    gamma: float
    basis: int
    dense: bool = False  # whether ours gets dense rows: few features, none of them rare


PROBLEMS = (Problem("a9a", 1.0, 0.05, 50), Problem("ijcnn1", 1.0, 1.0, 50, dense=True))


NOTE = (
    "C is 1 in our units, gamma 0.05 (a9a) and 1 (ijcnn1), the same for all. SVM-perf, if "
    "it is there, stops at its own precision of 0.1 (CPU seconds of its one thread); "
    "its free vectors are for the error rate alone, so it gets rows chosen beforehand."
)
LIMIT = 100.0  # seconds for a run of SVM-perf


def test_measure(measure: str, y: np.ndarray, scores: np.ndarray) -> str:
    value = roc_auc_score(y, scores) if measure == "roc_auc" else f1_score(y, scores > 0)
    return f"{100 * value:.2f}"


def runs(
    problem: Problem,
    measure: str,
    train: tuple[Any, np.ndarray],
    test: tuple[Any, np.ndarray],
    fitted: Callable,
    repeat: int,
) -> Iterator[list]:
    """Who, with what, seconds, objective and measure of the test rows."""
    (X, y), (X_test, y_test) = train, test
    C, c = problem.C, problem.C * len(y) / 100
    k, kernel = problem.basis, {"gamma": problem.gamma, "loss": measure, "random_state": 0}
    for what, make in (
        ("linear", lambda: MeasureSVC(measure, C)),
        (f"{k} rows at random", lambda: SparseKernelSVC(k, C, basis="nystroem", **kernel)),
        (f"{k} rows by Cholesky", lambda: SparseKernelSVC(k, C, basis="cholesky", **kernel)),
        (f"{k} free vectors", lambda: SparseKernelSVC(k, C, **kernel)),
    ):
        model, seconds = fitted(make, repeat, X, y)
        scores, P = model.decision_function(X_test), model.certificate_.primal
        yield ["maxmargin", what, seconds, f"{P:.1f}", test_measure(measure, y_test, scores)]
    basis = ["-t", "2", "-g", str(problem.gamma), "--i", "0", "--k", str(k), "--t"]
    for what, options in (
        ("linear", []),
        (f"{k} rows at random", [*basis, "1"]),
        (f"{k} rows by Cholesky", [*basis, "2"]),
    ):
        if not svm_perf.is_there():
            continue
        asked = ["-w", "3", "-l", LOSS_OF[measure], *options]
        peer = svm_perf.learn(sp.csr_matrix(X), y, c, asked, [sp.csr_matrix(X_test)], LIMIT)
        if peer is None:
            yield ["SVM-perf", what, f"more than {LIMIT:g}", "", ""]
            continue
        tested = test_measure(measure, y_test, peer.scores[0])
        yield ["SVM-perf", what, peer.seconds, f"{peer.objective:.1f}", tested]
