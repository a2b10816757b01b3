"""What is kept of a fit: models, their files, and exports for other systems."""

import maxmargin.models.mapped  # noqa: F401  # its kinds
from maxmargin.models.base import Model
from maxmargin.models.cells import CellModel
from maxmargin.models.files import load, load_model, register_estimator, save
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
