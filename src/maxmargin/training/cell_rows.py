"""Rows cut into cells, wherever they are: which rows a cell has, and how to get them.

Rows of a source stay on disk. One pass takes a sample, whose cuts part space so that the rows of
a part fit in memory; the next sends every row to its part, in a file beside. Part by part the
rows are then cut as rows in memory are, and written once more, cell by cell.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.data.stream.row_file import RowFile, RowForm, Sorting, bytes_of
from maxmargin.solvers.kernel.cells import SAMPLE, CellTree, cut, graft

SHARE = 8  # a part may take one of so many parts of the memory
LEAST_CELLS = 4  # of a part, however little memory there is
SAMPLE_OF_PART = 256  # rows that tell where a part ends


@dataclass(frozen=True)
class Cutting:
    """How rows are to be cut: cells of at most `most` rows, and what a part may take."""

    most: int
    seed: int = 0
    overlap: float = 0.0
    memory: int = 2**62  # bytes

    def cut(self, X: Any) -> tuple[CellTree, list[np.ndarray]]:
        return cut(X, self.most, self.seed, self.overlap)


@dataclass(frozen=True)
class CutRows:
    """All cells: the numbers of their rows, and the rows when they are asked for."""

    tree: CellTree
    members: list[np.ndarray]
    rows_of: Callable[[int], Any]
    d: int

    @property
    def sizes(self) -> list[int]:
        """How many rows each cell has."""
        return [len(rows) for rows in self.members]


@contextmanager
def cut_rows(X: Any, cutting: Cutting, stop: _core.Stop | None = None) -> Iterator[CutRows]:
    """Cuts arrays, or a source whose rows stay on disk. Files are gone when the block ends."""
    if hasattr(X, "blocks"):
        with ExitStack() as stack:
            yield _cut_source(X, cutting, stack, stop)
        return
    X = X.tocsr() if sp.issparse(X) else X
    tree, members = cutting.cut(X)
    yield CutRows(tree, members, lambda k: X[members[k]], X.shape[1])


def _cut_source(
    source: BlockSource, cutting: Cutting, stack: ExitStack, stop: _core.Stop | None
) -> CutRows:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="maxmargin-cells-")))
    form, size = _form_of(source, stop)
    parts = parts_of(source.n, size, cutting)
    coarse = _coarse_tree(source, parts, cutting.seed, form, stop)
    with RowFile(folder / "parts", form) as file:
        sorting = Sorting(file, coarse.n_cells, cutting.memory // SHARE)
        for block in _watched(source, stop):
            sorting.add(block.X, block.first, coarse.route(block.X))
        sorting.flush()
        source.check_unchanged()
        return _cut_parts(coarse, sorting, cutting, folder, stack, stop)


def _cut_parts(
    coarse: CellTree,
    sorting: Sorting,
    cutting: Cutting,
    folder: Path,
    stack: ExitStack,
    stop: _core.Stop | None,
) -> CutRows:
    """Each part cut in memory, its cells written one after the other."""
    form = sorting.file.form
    file = stack.enter_context(RowFile(folder / "cells", form))
    fine, members, pieces = [], [], []
    for part in range(coarse.n_cells):
        _check_stop(stop)
        X, numbers = sorting.group(part)
        tree, cells = cutting.cut(X)
        fine.append(tree)
        for rows in cells:
            members.append(numbers[rows])
            pieces.append(file.append(X[rows]))
    file.finish()
    return CutRows(graft(coarse, fine), members, lambda k: file.read([pieces[k]]), form.d)


def parts_of(n: int, size: int, cutting: Cutting) -> int:
    """How many parts `n` rows of `size` bytes are sorted into."""
    row = max(size / max(n, 1), 1.0)
    rows = max(cutting.memory / SHARE / row, float(LEAST_CELLS * cutting.most))
    return max(1, math.ceil(n / rows))


def _form_of(source: BlockSource, stop: _core.Stop | None) -> tuple[RowForm, int]:
    """The form that holds the rows of every block, and the bytes of all."""
    dtypes, size = set(), 0
    for block in _watched(source, stop):
        dtypes.add(block.X.dtype)
        size += bytes_of(block.X)
    return RowForm(source.d, np.result_type(*dtypes), source.kind == "csr"), size


def _coarse_tree(
    source: BlockSource, parts: int, seed: int, form: RowForm, stop: _core.Stop | None
) -> CellTree:
    """Cuts of a sample into parts; without any if one part holds everything."""
    sample: Any = np.zeros((1, source.d))
    if parts > 1:
        size = min(source.n, max(SAMPLE, SAMPLE_OF_PART * parts))
        random = np.random.default_rng(seed)
        wanted = np.sort(random.choice(source.n, size, replace=False))
        sample = form.as_rows(_rows_of(source, wanted, stop))
    most = math.ceil(sample.shape[0] / parts)
    return cut(sample, most, seed)[0]


def _rows_of(source: BlockSource, wanted: np.ndarray, stop: _core.Stop | None) -> Any:
    """Rows by their numbers, which grow: one pass."""
    found: list[Any] = []
    for block in _watched(source, stop):
        begin, end = np.searchsorted(wanted, [block.first, block.first + block.n])
        found.append(block.X[wanted[begin:end] - block.first])
    return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)


def _watched(source: BlockSource, stop: _core.Stop | None) -> Iterator[Any]:
    for block in source.blocks():
        _check_stop(stop)
        yield block


def _check_stop(stop: _core.Stop | None) -> None:
    """Without cells there is no model yet: an interrupt is one. Time that is over is not, as rows
    that are read take what they take."""
    if stop is not None and stop.poll() and stop.reason == _core.StopReason.interrupted:
        raise KeyboardInterrupt
