"""maxmargin.LinearSVC, once for each way of solving."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.base import Peer, Setting

# Default first on the way down: a user who types nothing gets tol = 1e-3 and its certificate.
TOLERANCES = (0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6)
DEFAULT = {"tol": 1e-3}


class Ours(Peer):
    solver: ClassVar[str]
    threads = "all"
    module = "maxmargin"
    install = "pip install ."

    def ladder(self) -> list[Setting]:
        return [{"tol": tol} for tol in TOLERANCES]

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        self.X, self.y, self.granted = X, y, threads  # any type is used where it lies

    def run(self, C: float, setting: Setting) -> Any:
        from maxmargin import LinearSVC

        model = LinearSVC(
            C=C,
            solver=self.solver,
            fit_intercept=False,
            n_jobs=self.granted,
            random_state=0,
            **setting,
        )
        return model.fit(self.X, self.y)

    def weights(self, result: Any) -> np.ndarray:
        return super().weights(result.coef_)

    def notes(self, result: Any) -> dict[str, Any]:
        return {
            "solver": result.solver_,
            "certificate": result.certificate_.as_dict(),
            "phases": getattr(result, "phases_", None),
        }


class Auto(Ours):
    name, solver = "maxmargin", "auto"


class Dual(Ours):
    name, solver = "maxmargin-dual", "dual"


class Newton(Ours):
    name, solver = "maxmargin-newton", "newton"


class Ocas(Ours):
    name, solver = "maxmargin-ocas", "ocas"


class Cpa(Ours):
    name, solver = "maxmargin-cpa", "cpa"


OURS = (Auto, Dual, Newton, Ocas, Cpa)
