"""LIBLINEAR by its authors' Python package, `-s 3`: L1-loss SVM, dual coordinate descent.

Its objective is ours as it stands. The first label in the data becomes its +1, so w may have to
change its sign.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.machine import installed
from benchmarks.peers.base import Peer, Setting
from benchmarks.peers.sklearn_linearsvc import TOLERANCES


class LiblinearOfficial(Peer):
    name = "LIBLINEAR"
    module = "liblinear"
    install = "python -m benchmarks.install"

    def available(self) -> bool:
        # The multi-core sibling, if it was installed into the same place, has overwritten this one.
        return super().available() and installed("liblinear-multicore") is None

    def missing(self) -> str:
        if super().available():
            return f"{self.name}: skipped, liblinear-multicore has overwritten it ({self.install})"
        return super().missing()

    def ladder(self) -> list[Setting]:
        return [{"e": tol} for tol in (*TOLERANCES, 1e-4, 1e-5)]

    def options(self) -> str:
        return ""

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        super().prepare(X, y, threads)
        self.library = importlib.import_module("liblinear.liblinearutil")
        self.problem = self.library.problem(self.y, self.X)

    def run(self, C: float, setting: Setting) -> Any:
        options = f"-s 3 -q -c {C!r} -e {setting['e']!r} {self.options()}"
        return self.library.train(self.problem, self.library.parameter(options))

    def weights(self, result: Any) -> np.ndarray:
        w = np.ctypeslib.as_array(result.w, (result.nr_feature,)).copy()
        return w if result.label[0] == 1 else -w
