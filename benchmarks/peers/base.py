"""What the harness asks of a competitor."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

Setting = dict[str, Any]


class Peer(ABC):
    """A solver of ``1/2 ||w||^2 + C sum_i max(0, 1 - y_i <w, x_i>)`` without a bias.

    `prepare` brings the data into the form the peer likes best, before the clock starts. `run` is
    what is timed. `ladder` lists settings from loose to tight; the harness climbs it.
    """

    name: ClassVar[str]
    threads: ClassVar[str] = "1"  # "1", or "all" where the peer uses as many as it is granted
    module: ClassVar[str] = ""  # what must be importable
    install: ClassVar[str] = ""  # what to type if it is not

    X: Any
    y: Any

    def available(self) -> bool:
        return not self.module or importlib.util.find_spec(self.module) is not None

    def missing(self) -> str:
        return f"{self.name}: skipped, no module {self.module!r} here ({self.install})"

    @abstractmethod
    def ladder(self) -> list[Setting]:
        """Settings, from loose to tight."""

    def prepare(self, X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        """Keeps the data, in float64 unless a peer overrides this. y is -1 or +1."""
        self.X, self.y = X.astype(np.float64), y
        self.granted = threads if self.threads == "all" else 1

    @abstractmethod
    def run(self, C: float, setting: Setting) -> Any:
        """Trains; whatever is returned goes to `weights` once the clock has stopped."""

    def weights(self, result: Any) -> np.ndarray:
        """w of length d, positive for y = +1."""
        return np.asarray(result, dtype=np.float64).ravel()

    def notes(self, result: Any) -> dict[str, Any]:
        """Anything worth keeping beside the time: iterations, the peer's own certificate."""
        return {}

    def fit(self, X: sp.csr_matrix, y: np.ndarray, C: float, setting: Setting, threads: int):
        """prepare, run and weights in one, for trying a peer out."""
        self.prepare(X, y, threads)
        return self.weights(self.run(C, setting))
