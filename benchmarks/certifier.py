"""The optimum, bracketed: our solvers at a tight tolerance give w and a, the harness does the rest.

``D(a) <= P* <= P(w)`` for any w and any a in the box, so the harness, which computes both values
itself, need not trust the solver that found them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Peer, Setting

FEW_FEATURES = 1000  # up to here Newton is the quicker way to many digits


class Certifier(Peer):
    """w and the dual variables a, as notes."""

    name = "reference"
    threads = "all"

    def ladder(self) -> list[Setting]:
        return [{"tol": tol} for tol in (0.1, 1e-4, 1e-5, 1e-6)]

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        self.X, self.y, self.granted = X, y, threads

    def run(self, C: float, setting: Setting) -> Any:
        from maxmargin import _core
        from maxmargin.data.arrays import ArrayRows
        from maxmargin.losses.pointwise import Hinge
        from maxmargin.problem import Settings
        from maxmargin.solvers.linear import dual_descent, newton

        pool = _core.Pool(self.granted)
        rows, loss = ArrayRows(self.X, 0.0, pool), Hinge(self.y, C, pool)
        method = newton if self.X.shape[1] <= FEW_FEATURES else dual_descent
        return method.solve(rows, loss, Settings(tol=setting["tol"]))

    def weights(self, result: Any) -> np.ndarray:
        return result.w

    def notes(self, result: Any) -> dict[str, Any]:
        method = "Newton" if self.X.shape[1] <= FEW_FEATURES else "dual descent"
        return {"a": result.dual_variables, "method": method}
