"""Problems whose shape is drawn too: rows, features, density, noise, scale.

Another seed gives other problems, so nothing can be fitted to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.base import DataSet

MOST_NNZ = 3e6


def drawn(seed: int) -> DataSet:
    """One problem. Its name says the seed; `about` says its shape."""
    rng = np.random.default_rng([20261118, seed])
    n = int(10 ** rng.uniform(3.3, 5.3))
    d = int(10 ** rng.uniform(1.0, 3.3))
    density = min(1.0, 10 ** rng.uniform(-2.0, 0.3))
    n = max(500, int(min(n, MOST_NNZ / (density * d + 1))))
    binary = rng.random() < 0.4
    noise, scale = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 0.7)

    def build(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
        make = np.random.default_rng([seed, 1])
        frequency = 1.0 / np.arange(1, d + 1) ** make.uniform(0.0, 1.0)
        kept = np.minimum(1.0, frequency * density * d / frequency.sum())
        columns = [np.flatnonzero(make.random(n) < share) for share in kept]
        counts = np.array([len(column) for column in columns])
        values = np.ones(counts.sum()) if binary else make.normal(size=counts.sum()) + 0.5
        starts = np.concatenate([[0], np.cumsum(counts)])
        X = sp.csc_matrix((scale * values, np.concatenate(columns), starts), (n, d)).tocsr()
        X.sort_indices()
        score = X @ make.normal(size=d)
        score = score + noise * score.std() * make.normal(size=n)
        return X, np.where(score > np.quantile(score, make.uniform(0.3, 0.9)), 1.0, -1.0)

    kind = "0/1" if binary else "real"
    about = f"{n} x {d}, {kind}, density {density:.2g}, noise {noise:.2g}, scale {scale:.2g}"
    return DataSet(f"drawn-{seed}", (), build, about)


DRAWN = [drawn(seed) for seed in range(12)]
HELD_OUT = [
    drawn(seed) for seed in range(100, 120)
]  # for a change that is done, never while tuning
