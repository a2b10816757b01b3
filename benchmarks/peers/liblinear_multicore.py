"""LIBLINEAR's multi-core sibling, `-s 3 -m THREADS`.

Its wheel installs a package called `liblinear`, as LIBLINEAR's own does, and the later one
overwrites the earlier. `python -m benchmarks.install` therefore puts it into a folder of its own,
and this peer, which runs in a process of its own, puts that folder first.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp

from benchmarks.paths import PEER_PACKAGES
from benchmarks.peers.liblinear_official import LiblinearOfficial

FOLDER = PEER_PACKAGES / "liblinear-multicore"


class LiblinearMulticore(LiblinearOfficial):
    name = "LIBLINEAR-multicore"
    threads = "all"

    def available(self) -> bool:
        return (FOLDER / "liblinear").is_dir()

    def missing(self) -> str:
        return f"{self.name}: skipped, nothing in {FOLDER.name} ({self.install})"

    def options(self) -> str:
        return f"-m {self.granted}"

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        if "liblinear" in sys.modules:
            raise RuntimeError(
                "liblinear is loaded already; the multi-core one needs its own process"
            )
        sys.path.insert(0, str(FOLDER))
        super().prepare(X, y, threads)
        if not str(self.library.__file__).startswith(str(FOLDER)):
            raise RuntimeError(f"found {self.library.__file__} where {FOLDER} was expected")
