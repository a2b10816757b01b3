"""Block minimisation (Yu, Hsieh, Chang, Lin 2010) and selective block minimisation (Chang, Roth
2011), plainly: what StreamSVM is compared with.

    block minimisation    for each block of the size of memory: read it, some epochs of dual
                          coordinate descent on it alone, go on
    selective             half of the memory for the block, half for rows kept from the blocks
                          before: those closest to the margin

Both read, then train, one after the other. The coordinate steps are the core's own, so that only
the order of the work differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.losses.pointwise import Hinge

EPOCHS = 10  # on each block, as in both papers
EPOCHS_A_CHECK = 3  # after so many, rows that were set aside wrongly come back
Snapshot = Callable[[np.ndarray], None]


def block_minimisation(
    source: BlockSource, C: float, memory: int, seconds: float, snapshot: Snapshot
) -> None:
    alpha, w = np.zeros(source.n), np.zeros(source.d)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for X, y, ids in large_blocks(source, memory):
            descend(X, y, ids, C, alpha, w)
            snapshot(w)
            if time.perf_counter() > until:
                return


def selective_block_minimisation(
    source: BlockSource, C: float, memory: int, seconds: float, snapshot: Snapshot
) -> None:
    alpha, w = np.zeros(source.n), np.zeros(source.d)
    until = time.perf_counter() + seconds
    kept = (sp.csr_matrix((0, source.d), dtype=np.float32), np.zeros(0), np.zeros(0, np.int64))
    while time.perf_counter() < until:
        for X, y, ids in large_blocks(source, memory // 2):
            fresh = ~np.isin(kept[2], ids)
            X = sp.vstack([kept[0][fresh], X], format="csr")
            y, ids = np.concatenate([kept[1][fresh], y]), np.concatenate([kept[2][fresh], ids])
            descend(X, y, ids, C, alpha, w)
            snapshot(w)
            if time.perf_counter() > until:
                return
            kept = nearest(X, y, ids, w, memory // 2)


def descend(X, y: np.ndarray, ids: np.ndarray, C: float, alpha: np.ndarray, w: np.ndarray) -> None:
    """Epochs over the rows of one block; the steps of all other rows stay in w."""
    rows = ArrayRows(X)
    u = alpha[ids]
    descent = _core.DualDescent(rows.core, Hinge(y, C, rows.pool).core, u, w, 0)
    for epoch in range(EPOCHS):
        if epoch % EPOCHS_A_CHECK == 0:
            descent.check_gap(rows.matvec(w), rows.pool)
        descent.epoch(rows.pool)
    descent.copy_dual(u)
    alpha[ids] = u


def nearest(X, y: np.ndarray, ids: np.ndarray, w: np.ndarray, memory: int):
    """The rows closest to the margin, as many as fit."""
    count = int(memory / max(size(X) / X.shape[0], 1))
    distance = np.abs(y * (X @ w) - 1)
    chosen = np.argsort(distance)[:count]
    return X[chosen], y[chosen], ids[chosen]


def large_blocks(source: BlockSource, memory: int) -> Iterator[tuple]:
    """Blocks of the source joined until they fill the memory."""
    parts, bytes_ = [], 0
    for block in source.blocks():
        parts.append(block)
        bytes_ += size(block.X)
        if bytes_ >= memory:
            yield joined(parts)
            parts, bytes_ = [], 0
    if parts:
        yield joined(parts)


def joined(parts: list) -> tuple:
    X = sp.vstack([sp.csr_matrix(part.X) for part in parts], format="csr")
    y = np.concatenate([part.y for part in parts]).astype(np.float64)
    return X, y, parts[0].first + np.arange(X.shape[0])


def size(X) -> int:
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes
