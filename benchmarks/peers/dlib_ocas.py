"""dlib's svm_c_trainer_linear: the OCAS algorithm, one thread.

Two differences from our problem are undone in `prepare` and `run`, and checked by P(w):

- its C multiplies the *mean* hinge loss, so it is given C n;
- it always learns a bias, as the weight of a constant feature -1. Rows multiplied by s and C
  divided by s^2 are the same problem in w (with w / s for w), but in it the bias costs s^2 times
  more: with s = 1000 it is 0 for all that can be seen in P.

Rows are dense where that is quicker for it: where at least 40 % of the entries are not zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.base import Peer, Setting

SCALE = 1000.0
DENSE_FROM = 0.4
EPSILONS = (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6)


class DlibOcas(Peer):
    name = "dlib-OCAS"
    module = "dlib"
    install = "python -m benchmarks.install"

    def ladder(self) -> list[Setting]:
        return [{"epsilon": epsilon} for epsilon in EPSILONS]

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        import dlib

        super().prepare(X, y, threads)
        n, d = X.shape
        scaled = self.X * SCALE
        scaled.sort_indices()  # dlib reads past the end of w if a row's indices do not increase
        if X.nnz >= DENSE_FROM * n * d:
            self.trainer, self.samples = dlib.svm_c_trainer_linear, dense_rows(scaled)
        else:
            self.trainer, self.samples = dlib.svm_c_trainer_sparse_linear, sparse_rows(scaled)
        self.labels = dlib.array(self.y.tolist())

    def run(self, C: float, setting: Setting) -> Any:
        trainer = self.trainer()
        trainer.set_c(C * self.X.shape[0] / SCALE**2)
        trainer.epsilon = setting["epsilon"]
        return trainer.train(self.samples, self.labels)

    def weights(self, result: Any) -> np.ndarray:
        w = np.zeros(self.X.shape[1])
        entries = list(result.weights)
        if entries and hasattr(entries[0], "first"):
            for entry in entries:
                w[entry.first] = entry.second
        else:
            w[: len(entries)] = entries
        return w * SCALE


def dense_rows(X: sp.csr_matrix) -> Any:
    import dlib

    rows = dlib.vectors()
    for start in range(0, X.shape[0], 4096):
        for row in X[start : start + 4096].toarray().tolist():
            rows.append(dlib.vector(row))
    return rows


def sparse_rows(X: sp.csr_matrix) -> Any:
    import dlib

    rows, pair = dlib.sparse_vectors(), dlib.pair
    indices, values = X.indices.tolist(), X.data.tolist()
    for start, end in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist()):
        row = dlib.sparse_vector()
        for j in range(start, end):
            row.append(pair(indices[j], values[j]))
        rows.append(row)
    return rows
