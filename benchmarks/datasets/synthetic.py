"""Made-up data for those who have none of the real sets: many rows, and many features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.base import DataSet


def dense(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
    """200000 x 50 in [0, 1], correlated, classes that overlap: the shape of covtype."""
    rng = np.random.default_rng(0)
    n, d = 200_000, 50
    hidden = rng.normal(size=(n, 8)) @ rng.normal(size=(8, d)) + rng.normal(size=(n, d))
    X = (hidden - hidden.min(axis=0)) / np.ptp(hidden, axis=0)
    score = (X - X.mean(axis=0)) @ rng.normal(size=d)
    y = np.where(score + score.std() * rng.normal(size=n) > 0, 1.0, -1.0)
    return sp.csr_matrix(X), y


def sparse(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
    """20000 x 50000, 100 words a row drawn by a power law, rows of length 1: the shape of text."""
    rng = np.random.default_rng(1)
    n, d, words = 20_000, 50_000, 100
    frequency = 1.0 / np.arange(1, d + 1)
    drawn = rng.choice(d, size=(n, words), p=frequency / frequency.sum())
    X = sp.csr_matrix(
        (np.ones(n * words), drawn.ravel(), np.arange(0, n * words + 1, words)), (n, d)
    )
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X = sp.diags(1.0 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X
    X = sp.csr_matrix(X)
    X.sort_indices()
    score = X @ rng.normal(size=d)
    y = np.where(score + 0.3 * score.std() * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


DENSE = DataSet("synthetic-dense", (), dense, "200000 x 50, made up, overlapping classes")
SPARSE = DataSet("synthetic-sparse", (), sparse, "20000 x 50000, made up, like text")
