"""IBM Snap ML's SupportVectorMachine: parallel dual coordinate descent on float32 data.

``regularizer`` is 1 / C (checked by P(w) at a tight setting). Its own tolerance is the change of w
and often stops too early, so the ladder is the number of epochs instead, with the tolerance at 0:
that lets it end at the best moment it has. More threads change its method (buckets of rows in
parallel), and not always for the better, so it also competes with one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.base import Peer, Setting

EPOCHS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 640, 1280, 2560)


class SnapML(Peer):
    name = "snapml"
    threads = "all"
    module = "snapml"
    install = "python -m benchmarks.install"

    def ladder(self) -> list[Setting]:
        return [{"max_iter": epochs} for epochs in EPOCHS]

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        super().prepare(X, y, threads)
        self.X = X.astype(np.float32)  # its own type: a conversion less on its clock

    def run(self, C: float, setting: Setting) -> Any:
        from snapml import SupportVectorMachine

        model = SupportVectorMachine(
            loss="hinge",
            regularizer=1.0 / C,
            fit_intercept=False,
            tol=0.0,
            n_jobs=self.granted,
            random_state=0,
            **setting,
        )
        return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)


class SnapMLOneThread(SnapML):
    name = "snapml-1"
    threads = "1"
