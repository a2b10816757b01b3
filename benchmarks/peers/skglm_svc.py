"""skglm's LinearSVC: working sets and Anderson acceleration on the dual, compiled by numba.

``C`` is ours. The compilation happens in the warm-up run, which does not count. Its tolerance is
the largest violation of optimality in the dual. With its default working sets (ten rows at first,
at most fifty of them) it ends far from the optimum, so it works on all rows at once.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.peers.base import Peer, Setting

TOLERANCES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


class SkglmSVC(Peer):
    name = "skglm"
    threads = "1"
    module = "skglm"
    install = "python -m benchmarks.install"

    def ladder(self) -> list[Setting]:
        return [{"tol": tol} for tol in TOLERANCES]

    def run(self, C: float, setting: Setting) -> Any:
        from skglm.estimators import LinearSVC

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearSVC(C=C, fit_intercept=False, p0=self.X.shape[0], **setting)
            return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)
