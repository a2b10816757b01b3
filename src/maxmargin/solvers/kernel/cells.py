"""Cutting space into cells of bounded size: kernel machines for more rows than a Gram matrix holds.

    node     a direction u and a threshold t: rows with <u, x> <= t go left, all others right
    leaf     a cell

A node is cut between the two centres of 2-means on a sample of its rows, where both sides get at
least `LEAST_SHARE` of them, until no cell has more than `most` rows. So cells have between
``LEAST_SHARE * most`` and `most` rows, apart from rows that are all equal and cannot be cut.
Every x falls into exactly one cell, however far it is from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.arrays import as_floats

LEAST_SHARE = 0.3  # of the rows of a node that each side of a cut gets
SAMPLE = 1000  # rows that 2-means looks at
MEANS_STEPS = 10
BLOCK = 65536  # rows that are routed together


@dataclass(frozen=True)
class CellTree:
    """Cuts in the order they were made: children of node k are ``left[k]`` and ``right[k]``.

    A child >= 0 is a node, a child < 0 the cell ``-1 - child``. Without nodes there is one cell.
    """

    directions: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @property
    def n_cells(self) -> int:
        return len(self.thresholds) + 1

    def route(self, X: Any) -> np.ndarray:
        """The cell of each row."""
        cell = np.empty(X.shape[0], dtype=np.intp)
        for begin in range(0, X.shape[0], BLOCK):
            part = as_floats(X[begin : begin + BLOCK])
            cell[begin : begin + BLOCK] = self._route_block(part)
        return cell

    def _route_block(self, X: Any) -> np.ndarray:
        cell = np.zeros(X.shape[0], dtype=np.intp)
        waiting = [(0, np.arange(X.shape[0]))] if len(self.thresholds) else []
        while waiting:
            node, rows = waiting.pop()
            below = projections(X, rows, self.directions[node]) <= self.thresholds[node]
            for child, some in ((self.left[node], rows[below]), (self.right[node], rows[~below])):
                if child < 0:
                    cell[some] = -1 - child
                elif len(some):
                    waiting.append((int(child), some))
        return cell


def projections(X: Any, rows: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """``<u, x_i>`` of some rows, the same number wherever the row stands."""
    some = X[rows]
    if sp.issparse(some):
        return np.asarray(some @ direction).ravel()
    # Not by BLAS, whose sums depend on how many rows there are.
    return np.einsum("ij,j->i", some.astype(np.float64, copy=False), direction)


def graft(coarse: CellTree, fine: Sequence[CellTree]) -> CellTree:
    """The tree in which ``fine[b]`` cuts cell b of a coarse one; cells are numbered b by b."""
    nodes = np.cumsum([len(tree.thresholds) for tree in (coarse, *fine)])
    cells = np.cumsum([0, *(tree.n_cells for tree in fine)])
    roots = np.array(
        [nodes[b] if len(tree.thresholds) else -1 - cells[b] for b, tree in enumerate(fine)]
    )

    def children(side: str) -> np.ndarray:
        own = getattr(coarse, side)
        moved = [np.where(own < 0, roots[np.where(own < 0, -1 - own, 0)], own)]
        for b, tree in enumerate(fine):
            child = getattr(tree, side)
            moved.append(np.where(child < 0, child - cells[b], child + nodes[b]))
        return np.concatenate(moved).astype(np.int64)

    return CellTree(
        np.concatenate([tree.directions for tree in (coarse, *fine)]),
        np.concatenate([tree.thresholds for tree in (coarse, *fine)]),
        children("left"),
        children("right"),
    )


@dataclass
class _Growing:
    directions: list[np.ndarray] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    cells: list[np.ndarray] = field(default_factory=list)


def cut(X: Any, most: int, seed: int = 0, overlap: float = 0.0) -> tuple[CellTree, list[Any]]:
    """A tree for rows X whose cells have at most `most` rows, and the rows of each cell.

    With an `overlap` a side of a cut also learns from that share more rows, the nearest beyond the
    cut. They are predicted by their own cell all the same.
    """
    random = np.random.default_rng(seed)
    X = as_floats(X)
    grown = _Growing()
    waiting: list[tuple[np.ndarray, int, int]] = [(np.arange(X.shape[0]), -1, 0)]
    while waiting:
        rows, parent, side = waiting.pop()
        found = _cut_of(X, rows, random) if len(rows) > most else None
        if found is None:
            child = -1 - len(grown.cells)
            grown.cells.append(np.sort(rows))
        else:
            direction, threshold, along = found
            child = len(grown.thresholds)
            grown.directions.append(direction)
            grown.thresholds.append(threshold)
            grown.children.append([0, 0])
            left, right = _sides(rows, along, threshold, overlap)
            waiting += [(right, child, 1), (left, child, 0)]
        if parent >= 0:
            grown.children[parent][side] = child
    d = X.shape[1]
    children = np.array(grown.children, dtype=np.int64).reshape(-1, 2)
    tree = CellTree(
        np.array(grown.directions).reshape(-1, d),
        np.array(grown.thresholds, dtype=np.float64),
        np.ascontiguousarray(children[:, 0]),
        np.ascontiguousarray(children[:, 1]),
    )
    return tree, grown.cells


def _sides(
    rows: np.ndarray, along: np.ndarray, threshold: float, overlap: float
) -> list[np.ndarray]:
    """The rows of both sides, each with its share of the nearest rows beyond the cut."""
    below = along <= threshold
    sides = []
    for mine in (below, ~below):
        others = np.flatnonzero(~mine)
        borrowed = int(overlap * np.count_nonzero(mine))
        nearest = others[np.argsort(np.abs(along[others] - threshold), kind="stable")[:borrowed]]
        sides.append(np.concatenate([rows[mine], rows[nearest]]))
    return sides


def _cut_of(
    X: Any, rows: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """A direction, a threshold and the rows along it; None where all rows are equal."""
    sample = rows if len(rows) <= SAMPLE else np.sort(random.choice(rows, SAMPLE, replace=False))
    some = X[sample].toarray() if sp.issparse(X) else X[sample]
    some = some.astype(np.float64, copy=False)  # as cuts are saved
    for candidate in (_between_means, _widest_feature):
        found = candidate(some, random)
        if found is None:
            continue
        direction, middle = found
        along = projections(X, rows, direction)
        if along.min() < along.max():
            return direction, _threshold(along, middle), along
    return None


def _between_means(
    some: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, float] | None:
    """The direction from one centre of 2-means to the other, and where half way is."""
    first = some[random.integers(len(some))]
    low = some[np.argmax(((some - first) ** 2).sum(axis=1))]
    high = some[np.argmax(((some - low) ** 2).sum(axis=1))]
    for _ in range(MEANS_STEPS):
        direction = high - low
        nearer_high = (some - 0.5 * (low + high)) @ direction > 0
        if not nearer_high.any() or nearer_high.all():
            return None
        before, low, high = direction, some[~nearer_high].mean(axis=0), some[nearer_high].mean(0)
        if np.array_equal(before, high - low):
            break
    length = float(np.linalg.norm(high - low))
    if not (length > 0 and np.isfinite(length)):
        return None
    direction = (high - low) / length
    return direction, float(0.5 * (low + high) @ direction)


def _widest_feature(
    some: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, float] | None:
    """The feature in which the rows differ most, and the middle of its range."""
    spread = some.max(axis=0) - some.min(axis=0)
    if not spread.max() > 0:
        return None
    widest = int(np.argmax(spread))
    direction = np.zeros(some.shape[1])
    direction[widest] = 1.0
    return direction, float(some[:, widest].min() + 0.5 * spread[widest])


def _threshold(along: np.ndarray, middle: float) -> float:
    """The middle, if both sides then have their share; else as near to it as they do.

    No side is empty, and the threshold is half way between two rows: one that lay on it would be
    routed by the rounding of its product, which dense and sparse rows sum in different orders.
    """
    low, high = np.quantile(along, [LEAST_SHARE, 1 - LEAST_SHARE])
    threshold = np.clip(middle, low, high)
    below = (along <= threshold) & (along < along.max()) | (along == along.min())
    least, next_one = along[below].max(), along[~below].min()
    half_way = 0.5 * least + 0.5 * next_one
    return float(half_way if half_way < next_one else least)
