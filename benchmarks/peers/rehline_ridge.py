"""ReHLine: dual coordinate descent for sums of piecewise linear and quadratic losses, in C++.

``plqERM_Ridge(loss={"name": "svm"}, C=C)`` minimises ``1/2 ||w||^2 + C sum hinge``, as we do. Its
tolerance is on its own optimality measure, so the ladder is a number of epochs at a tolerance it
never reaches, as for snapml, which lets it end at the best moment it has.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.peers.base import Peer, Setting

EPOCHS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 640, 1280, 2560, 5120)


class ReHLine(Peer):
    name = "ReHLine"
    threads = "1"
    module = "rehline"
    install = "python -m benchmarks.install"

    def ladder(self) -> list[Setting]:
        return [{"max_iter": epochs} for epochs in EPOCHS]

    def run(self, C: float, setting: Setting) -> Any:
        from rehline import plqERM_Ridge

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that its tolerance was not reached, which is meant
            model = plqERM_Ridge(loss={"name": "svm"}, C=C, tol=1e-12, **setting)
            return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)
