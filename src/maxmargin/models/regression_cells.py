"""What is kept of a kernel regression in cells: cuts that route a row, and a regression each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Regressing
from maxmargin.models.cells import InCells, OfCells, Tree, by_cells, expansion
from maxmargin.models.contents import (
    COUNT,
    Certificates,
    Contents,
    Floats,
    Words,
    stored,
)
from maxmargin.models.kernel import KernelFunction
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


class RegressionCells(OfCells):
    """The regressions of cells."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        super().pack(name, value, into)
        coefficients = np.concatenate([cell.coefficients for cell in value])
        Floats(2).pack(f"{name}.coefficients", coefficients, into)

    def unpack(self, name: str, found: Contents) -> tuple[RegressionCell, ...]:
        vectors, sizes, parameters = self.unpack_vectors(name, found)
        coefficients = found.take(f"{name}.coefficients", 2)
        if len(coefficients) != vectors.shape[0]:
            raise ValueError("its cells and coefficients do not match")
        ends = np.cumsum(sizes)
        return tuple(
            RegressionCell(
                float(C), float(gamma), vectors[end - m : end], coefficients[end - m : end]
            )
            for m, end, (C, gamma) in zip(sizes, ends, parameters)
        )


@dataclass(frozen=True)
class RegressionCellModel(InCells, Regressing):
    """Cuts of space and the kernel regression of each cell.

    Parameters are those of `CellModel`, without classes.
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
        self._check_cells()
        if len({cell.coefficients.shape[1] for cell in self.cells}) != 1 or not self.n_functions:
            raise ValueError("its cells do not have one number of functions")

    @property
    def n_functions(self) -> int:
        return int(self.cells[0].coefficients.shape[1])

    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Each row by the regression of its cell."""
        X = self.rows_of(X)
        values = np.empty((X.shape[0], self.n_functions))

        def predict_cell(number: int, rows: np.ndarray, some: Any) -> None:
            values[rows] = expansion(self.cells[number], some, self.kernel)

        by_cells(self.tree, X, predict_cell, threads, self.n_support)
        return values
