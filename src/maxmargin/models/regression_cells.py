"""What is kept of a kernel regression in cells: cuts that route a row, and a regression each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.base import Model
from maxmargin.models.cells import Tree, by_cells, expansion, stacked
from maxmargin.models.contents import (
    COUNT,
    Certificates,
    Contents,
    Field,
    Floats,
    Positions,
    Vectors,
    Words,
    stored,
)
from maxmargin.models.kernel import KernelFunction, combined
from maxmargin.solvers.kernel.cells import CellTree
from maxmargin.solvers.kernel.certificate import KernelCertificate
from maxmargin.solvers.kernel.gram import Kernel


@dataclass(frozen=True)
class RegressionCell:
    """The regression of one cell: its C and gamma, support vectors, a column a function."""

    C: float
    gamma: float
    vectors: Any
    coefficients: np.ndarray

    is_constant = False


class RegressionCells(Field):
    """The regressions: their support vectors one below the other, and where each begins."""

    def pack(self, name: str, value: Sequence[RegressionCell], into: Contents) -> None:
        vectors = [cell.vectors for cell in value]
        sparse = any(map(sp.issparse, vectors))
        Vectors().pack(f"{name}.vectors", stacked(vectors, sparse), into)
        coefficients = np.concatenate([cell.coefficients for cell in value])
        Floats(2).pack(f"{name}.coefficients", coefficients, into)
        Positions().pack(f"{name}.sizes", [v.shape[0] for v in vectors], into)
        Floats(2).pack(f"{name}.parameters", [(c.C, c.gamma) for c in value], into)

    def unpack(self, name: str, found: Contents) -> tuple[RegressionCell, ...]:
        vectors = Vectors().unpack(f"{name}.vectors", found)
        coefficients = found.take(f"{name}.coefficients", 2)
        sizes = Positions().unpack(f"{name}.sizes", found)
        parameters = found.take(f"{name}.parameters", 2)
        total = int(sizes.sum())
        if parameters.shape != (len(sizes), 2) or not np.all(parameters > 0):
            raise ValueError("its cells have a C or gamma that is missing or not positive")
        if total != vectors.shape[0] or total != len(coefficients):
            raise ValueError("its cells contradict themselves")
        ends = np.cumsum(sizes)
        return tuple(
            RegressionCell(
                float(C), float(gamma), vectors[end - m : end], coefficients[end - m : end]
            )
            for m, end, (C, gamma) in zip(sizes, ends, parameters)
        )


@dataclass(frozen=True)
class RegressionCellModel(Model):
    """Cuts of space and the kernel regression of each cell.

    Parameters are those of `CellModel`, without classes. Where the parameter "non_crossing" is
    true, the predictions of a row are sorted.
    """

    kind = "kernel-regression-cells"

    tree: CellTree = stored(Tree())
    cells: tuple[RegressionCell, ...] = stored(RegressionCells())
    kernel: Kernel = stored(KernelFunction())
    n_features: int = stored(COUNT)
    _: KW_ONLY
    certificates: tuple[KernelCertificate, ...] = stored(Certificates(KernelCertificate), ())
    solver: str = stored(Words(), "two-variable")

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"the kernel is {self.kernel!r}; cells need one by name")
        if len(self.cells) != self.tree.n_cells:
            raise ValueError(f"{len(self.cells)} machines do not fit {self.tree.n_cells} cells")
        if len({cell.coefficients.shape[1] for cell in self.cells}) != 1 or not self.n_functions:
            raise ValueError("its cells do not have one number of functions")
        self._check_problems(len(self.cells))

    @property
    def n_functions(self) -> int:
        return int(self.cells[0].coefficients.shape[1])

    @property
    def n_support(self) -> int:
        """Support vectors of all cells."""
        return sum(cell.vectors.shape[0] for cell in self.cells)

    @property
    def certificate(self) -> KernelCertificate | None:
        """All cells as one."""
        return combined(self.certificates) if self.certificates else None

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The predictions."""
        return self.predict(X, threads)

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for one function, else (n, k): each row by the regression of its cell."""
        X = self.rows_of(X)
        values = np.empty((X.shape[0], self.n_functions))

        def predict_cell(number: int, rows: np.ndarray, some: Any) -> None:
            values[rows] = expansion(self.cells[number], some, self.kernel)

        by_cells(self.tree, X, predict_cell, threads, self.n_support)
        if self.parameters.get("non_crossing"):
            values.sort(axis=1)
        return values.ravel() if values.shape[1] == 1 else values
