"""What is kept of a fit: models, their files, and exports for other systems."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from maxmargin.models.base import Model
from maxmargin.models.files import load, load_model, register_estimator, save

if TYPE_CHECKING:
    from maxmargin.models.cells import CellModel
    from maxmargin.models.kernel import KernelModel
    from maxmargin.models.kernel_regression import KernelRegressionModel
    from maxmargin.models.linear import LinearModel, MeasureModel
    from maxmargin.models.multi_label import MultiLabelModel
    from maxmargin.models.ordinal import OrdinalModel
    from maxmargin.models.ranking import RankModel
    from maxmargin.models.regression import RegressionModel
    from maxmargin.models.regression_cells import RegressionCellModel
    from maxmargin.models.sparse_kernel import SparseKernelModel
    from maxmargin.models.sparse_kernel_scores import (
        SparseKernelOrdinalModel,
        SparseKernelRankModel,
        SparseKernelRegressionModel,
    )
    from maxmargin.models.stream import StreamModel, StreamRegressionModel

__all__ = [
    "CellModel",
    "KernelModel",
    "KernelRegressionModel",
    "LinearModel",
    "MeasureModel",
    "Model",
    "MultiLabelModel",
    "OrdinalModel",
    "RankModel",
    "RegressionCellModel",
    "RegressionModel",
    "SparseKernelModel",
    "SparseKernelOrdinalModel",
    "SparseKernelRankModel",
    "SparseKernelRegressionModel",
    "StreamModel",
    "StreamRegressionModel",
    "load",
    "load_model",
    "register_estimator",
    "save",
]

# Imported when first used: a command has one kind of model, and kernels bring scipy's algebra.
_HOMES = {
    "CellModel": "cells",
    "KernelModel": "kernel",
    "KernelRegressionModel": "kernel_regression",
    "LinearModel": "linear",
    "MeasureModel": "linear",
    "MultiLabelModel": "multi_label",
    "OrdinalModel": "ordinal",
    "RankModel": "ranking",
    "RegressionCellModel": "regression_cells",
    "RegressionModel": "regression",
    "SparseKernelModel": "sparse_kernel",
    "SparseKernelOrdinalModel": "sparse_kernel_scores",
    "SparseKernelRankModel": "sparse_kernel_scores",
    "SparseKernelRegressionModel": "sparse_kernel_scores",
    "StreamModel": "stream",
    "StreamRegressionModel": "stream",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def import_all() -> None:
    """Lets every kind of model make itself known."""
    for module in (*dict.fromkeys(_HOMES.values()), "mapped"):
        importlib.import_module(f"{__name__}.{module}")
