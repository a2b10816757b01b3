"""What is kept of a kernel machine in cells: cuts that route a row, and a small machine each.

The machine of a cell knows the classes of its rows. With one class it is a constant; classes that a
cell has never seen score below all that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import as_floats, useful_threads
from maxmargin.models.base import Labelling
from maxmargin.models.contents import (
    COUNT,
    Certificates,
    Classes,
    Contents,
    Field,
    Floats,
    Positions,
    Vectors,
    Words,
    stored,
)
from maxmargin.models.kernel import KernelFunction, SummedProblems
from maxmargin.solvers.kernel import gram
from maxmargin.solvers.kernel.blas import in_threads
from maxmargin.solvers.kernel.cells import CellTree
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.gram import Kernel, Points


@dataclass(frozen=True)
class Cell:
    """The machine of one cell: its C and gamma, support vectors, and the classes it knows.

    `codes` are their numbers among the classes of the model. One class alone is a constant.
    """

    C: float
    gamma: float
    vectors: Any
    coefficients: np.ndarray
    codes: np.ndarray

    @property
    def is_constant(self) -> bool:
        return len(self.codes) == 1

    def scores(self, X: Any, kernel: Kernel, multi_class: str, n_classes: int) -> np.ndarray:
        """One column a class of the model, largest for the class decided."""
        out = np.empty((X.shape[0], n_classes))
        own = self._own_scores(X, kernel, multi_class)
        out[:] = own.min(axis=1, keepdims=True) - 2.0  # a sure -1 beside a sure 1
        out[:, self.codes] = own
        return out

    def _own_scores(self, X: Any, kernel: Kernel, multi_class: str) -> np.ndarray:
        if self.is_constant:
            return np.ones((X.shape[0], 1))
        scores = coding_of(len(self.codes), multi_class).scores(expansion(self, X, kernel))
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def expansion(cell: Any, X: Any, kernel: Kernel) -> np.ndarray:
    """The functions of a cell: the sums over its support vectors, with its own gamma."""
    if cell.vectors.shape[0] == 0:
        return np.zeros((X.shape[0], cell.coefficients.shape[1]))
    dense = not sp.issparse(X) and not sp.issparse(cell.vectors)
    centre = gram.centre_of(cell.vectors) if dense and kernel.of_distance else None
    points = Points(cell.vectors, centre)
    kernel = kernel.with_gamma(cell.gamma)
    return gram.expand(X, points, kernel, cell.coefficients, _core.Pool(1))


def by_cells(
    tree: CellTree,
    X: Any,
    predict: Callable[[int, np.ndarray, Any], None],
    threads: int | None,
    n_support: int,
) -> None:
    """``predict(cell, rows, X[rows])`` for every cell that rows of X fall into, in threads."""
    X = X.tocsr() if sp.issparse(X) else X
    cell_of = tree.route(X)
    order = np.argsort(cell_of, kind="stable")
    used, first = np.unique(cell_of[order], return_index=True)

    def predict_cell(task: tuple[int, np.ndarray]) -> None:
        number, rows = task
        predict(number, rows, as_floats(X[rows]))

    tasks = list(zip(used.tolist(), np.split(order, first[1:]))) if len(order) else []
    mean = n_support // max(tree.n_cells, 1)
    pool = _core.Pool(useful_threads(threads, X.shape[0] * max(mean, 1)))
    in_threads(predict_cell, tasks, pool)


class Tree(Field):
    """The cuts, as four arrays."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        Floats(2).pack(f"{name}.directions", value.directions, into)
        Floats(1).pack(f"{name}.thresholds", value.thresholds, into)
        into.tensors[f"{name}.children"] = np.column_stack([value.left, value.right])

    def unpack(self, name: str, found: Contents) -> CellTree:
        directions = found.take(f"{name}.directions", 2)
        thresholds = found.take(f"{name}.thresholds", 1)
        children = found.take(f"{name}.children", 2, (np.int64,))
        k = len(thresholds)
        if directions.shape[0] != k or children.shape != (k, 2):
            raise ValueError("its cuts contradict themselves")
        if directions.shape[1] != COUNT.unpack("n_features", found):
            raise ValueError("its cuts do not fit its number of features")
        check_tree(children)
        left, right = np.ascontiguousarray(children.T)
        return CellTree(directions, thresholds, left, right)


def check_tree(children: np.ndarray) -> None:
    """Every node but the first and every cell is the child of one earlier node."""
    k = len(children)
    expected = np.concatenate([np.arange(-1 - k, 0), np.arange(1, max(k, 1))])
    below = children > np.arange(k)[:, None]
    if k and (
        not np.array_equal(np.sort(children.ravel()), expected)
        or not np.all(below | (children < 0))
    ):
        raise ValueError("its cuts are not a tree")


class OfCells(Field):
    """Support vectors of all cells one below the other, where each begins, and its C and gamma."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        vectors = [cell.vectors for cell in value]
        Vectors().pack(f"{name}.vectors", stacked(vectors), into)
        Positions().pack(f"{name}.sizes", [v.shape[0] for v in vectors], into)
        Floats(2).pack(f"{name}.parameters", [(c.C, c.gamma) for c in value], into)

    def unpack_vectors(self, name: str, found: Contents) -> tuple[Any, np.ndarray, np.ndarray]:
        """All vectors, how many each cell has, and (C, gamma) of each."""
        vectors = Vectors().unpack(f"{name}.vectors", found)
        sizes = Positions().unpack(f"{name}.sizes", found)
        parameters = found.take(f"{name}.parameters", 2)
        if parameters.shape != (len(sizes), 2) or not np.all(parameters > 0):
            raise ValueError("its cells have a C or gamma that is missing or not positive")
        if sizes.sum() != vectors.shape[0]:
            raise ValueError("its cells contradict themselves")
        return vectors, sizes, parameters


class Cells(OfCells):
    """The machines of cells with classes."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        super().pack(name, value, into)
        flat = [cell.coefficients.ravel() for cell in value]
        Floats(1).pack(f"{name}.coefficients", np.concatenate(flat), into)
        Positions().pack(f"{name}.classes", np.concatenate([c.codes for c in value]), into)
        Positions().pack(f"{name}.n_classes", [len(c.codes) for c in value], into)

    def unpack(self, name: str, found: Contents) -> tuple[Cell, ...]:
        vectors, sizes, parameters = self.unpack_vectors(name, found)
        coefficients = found.take(f"{name}.coefficients", 1)
        codes = Positions().unpack(f"{name}.classes", found)
        counts = Positions().unpack(f"{name}.n_classes", found)
        if len(sizes) != len(counts) or counts.sum() != len(codes) or np.any(counts < 1):
            raise ValueError("its cells and their classes contradict each other")
        ovr = found.plain.get("multi_class") == "ovr"
        problems = [_problems(int(k), ovr) for k in counts]
        if len(coefficients) != int(sizes @ np.array(problems, dtype=np.int64)):
            raise ValueError("its cells and coefficients do not match")
        cells, row, at, first = [], 0, 0, 0
        for m, k, p, (C, gamma) in zip(sizes, counts, problems, parameters):
            beta = coefficients[at : at + m * p].reshape(m, p)
            own = codes[first : first + k]
            cells.append(Cell(float(C), float(gamma), vectors[row : row + m], beta, own))
            row, at, first = row + m, at + m * p, first + k
        return tuple(cells)


def stacked(vectors: Sequence[Any]) -> Any:
    """Rows one below the other."""
    sparse = any(map(sp.issparse, vectors))
    return sp.vstack(vectors, format="csr") if sparse else np.concatenate(vectors)


def _problems(k: int, ovr: bool) -> int:
    """Binary problems of k classes; a constant has none."""
    if k <= 2:
        return k - 1
    return k if ovr else k * (k - 1) // 2


class InCells(SummedProblems):
    """Cuts of space and a machine for each cell.

    The cells are one problem whose Gram matrix has a block each, so that the objectives and lower
    bounds of all add up to those of the whole, `certificate`.
    """

    tree: CellTree
    cells: tuple[Any, ...]
    kernel: Kernel

    def _check_cells(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"the kernel is {self.kernel!r}; cells need one by name")
        if len(self.cells) != self.tree.n_cells:
            raise ValueError(f"{len(self.cells)} machines do not fit {self.tree.n_cells} cells")
        self._check_problems(len(self.cells))

    @property
    def n_support(self) -> int:
        """Support vectors of all cells."""
        return sum(cell.vectors.shape[0] for cell in self.cells)


@dataclass(frozen=True)
class CellModel(InCells, Labelling):
    """Cuts of space and the machine of each cell.

    Parameters
    ----------
    tree : CellTree
    cells : tuple of Cell
    kernel : Kernel
        Its gamma is that of the cell.
    certificates : one a cell, over all its problems
    """

    kind = "kernel-cells"

    tree: CellTree = stored(Tree())
    cells: tuple[Cell, ...] = stored(Cells())
    kernel: Kernel = stored(KernelFunction())
    classes: np.ndarray = stored(Classes())
    n_features: int = stored(COUNT)
    _: KW_ONLY
    multi_class: str = stored(Words(("ovr", "ovo")), "ovr")
    certificates: tuple[KernelCertificate, ...] = stored(Certificates(KernelCertificate), ())
    solver: str = stored(Words(), "two-variable")

    def __post_init__(self) -> None:
        self._check_cells()
        for cell in self.cells:
            if np.any(cell.codes >= len(self.classes)) or np.any(np.diff(cell.codes) <= 0):
                raise ValueError("a cell names classes that the model does not have")

    @property
    def constant_cells(self) -> list[int]:
        """Cells whose rows are of one class: they predict it whatever the row is."""
        return [k for k, cell in enumerate(self.cells) if cell.is_constant]

    def margins(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, k): each row by the machine of its cell."""
        X = self.rows_of(X)
        k = len(self.classes)
        scores = np.empty((X.shape[0], k))

        def predict_cell(number: int, rows: np.ndarray, some: Any) -> None:
            scores[rows] = self.cells[number].scores(some, self.kernel, self.multi_class, k)

        by_cells(self.tree, X, predict_cell, threads, self.n_support)
        # With two classes the columns are f and -f, or a class that a cell does not know.
        return 0.5 * (scores[:, 1] - scores[:, 0]) if k == 2 else scores
