"""scikit-learn's LinearSVC: LIBLINEAR's dual coordinate descent, one thread.

Its objective is ours as it stands (loss="hinge", C a factor of the sum). It copies the data into
LIBLINEAR's form inside `fit`, so that is on its clock: nobody can use it otherwise.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.peers.base import Peer, Setting

TOLERANCES = (
    5,
    2,
    1,
    0.7,
    0.5,
    0.3,
    0.2,
    0.15,
    0.1,
    0.07,
    0.05,
    0.03,
    0.02,
    0.01,
    5e-3,
    2e-3,
    1e-3,
)


class SklearnLinearSVC(Peer):
    name = "sklearn-LinearSVC"
    module = "sklearn"
    install = "pip install scikit-learn"

    def ladder(self) -> list[Setting]:
        return [{"tol": tol} for tol in (*TOLERANCES, 1e-4, 1e-5)]

    def run(self, C: float, setting: Setting) -> Any:
        from sklearn.svm import LinearSVC

        model = LinearSVC(
            C=C, loss="hinge", fit_intercept=False, max_iter=100_000, random_state=0, **setting
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)

    def notes(self, result: Any) -> dict[str, Any]:
        return {"epochs": int(np.max(result.n_iter_))}
