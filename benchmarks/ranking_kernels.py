"""ROC area and F1 with a Gaussian kernel: ours on few basis vectors beside SVM-perf's own.

SVM-perf trains any of its measures with a kernel by ``-w 9``, which seeks basis vectors as
`SparseKernelSVC` does (both implement the CPSP paper); C, gamma and their number are the same for
both. Beside them the linear machines for the same measure and the same C: does the kernel help?
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


PROBLEMS = (Problem("a9a", 1.0, 0.05, 50), Problem("ijcnn1", 1.0, 1.0, 50))


NOTE = (
    "Our C is 1 (a9a, gamma 0.05) and 1 (ijcnn1, gamma 1), the same problem for all; SVM-perf, if "
    "it is there, runs with its own precision of 0.1 (CPU seconds of its one thread)."
)
LIMIT = 900.0  # seconds for SVM-perf


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
    kernel = {"gamma": problem.gamma, "loss": measure, "random_state": 0}
    for what, make in (
        ("linear", lambda: MeasureSVC(measure, C)),
        (f"{problem.basis} vectors", lambda: SparseKernelSVC(problem.basis, C, **kernel)),
    ):
        model, seconds = fitted(make, repeat, X, y)
        scores, P = model.decision_function(X_test), model.certificate_.primal
        yield ["maxmargin", what, seconds, f"{P:.1f}", test_measure(measure, y_test, scores)]
    width = ["-t", "2", "-g", str(problem.gamma), "--i", "2", "--k", str(problem.basis)]
    for what, options in (
        ("linear", ["-w", "3"]),
        (f"{problem.basis} vectors", ["-w", "9", *width]),
    ):
        if not svm_perf.is_there():
            continue
        options = ["-l", LOSS_OF[measure], *options]
        peer = svm_perf.learn(sp.csr_matrix(X), y, c, options, [sp.csr_matrix(X_test)], LIMIT)
        if peer is None:
            yield ["SVM-perf", what, f"more than {LIMIT:g}", "", ""]
            continue
        tested = test_measure(measure, y_test, peer.scores[0])
        yield ["SVM-perf", what, peer.seconds, f"{peer.objective:.1f}", tested]
