"""scikit-learn's SGDClassifier: stochastic subgradients, one thread.

It minimises ``alpha/2 ||w||^2 + mean(hinge)``, which is ours divided by C n when alpha = 1 / (C n).
The ladder is the number of epochs, with and without averaging of the iterates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.base import Peer, Setting

EPOCHS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400, 800, 1600)


class SklearnSGD(Peer):
    name = "sklearn-SGD"
    module = "sklearn"
    install = "pip install scikit-learn"

    def ladder(self) -> list[Setting]:
        return [{"max_iter": k, "average": average} for k in EPOCHS for average in (False, True)]

    def run(self, C: float, setting: Setting) -> Any:
        from sklearn.linear_model import SGDClassifier

        alpha = 1.0 / (C * self.X.shape[0])
        model = SGDClassifier(
            loss="hinge", alpha=alpha, fit_intercept=False, tol=None, random_state=0, **setting
        )
        return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)
