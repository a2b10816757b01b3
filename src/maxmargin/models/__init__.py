"""What is kept of a fit: models, their files, and exports for other systems."""

from maxmargin.models.files import load, load_model, register_estimator, register_kind, save
from maxmargin.models.kernel import KernelModel
from maxmargin.models.linear import LinearModel, MeasureModel
from maxmargin.models.ordinal import OrdinalModel
from maxmargin.models.ranking import RankModel
from maxmargin.models.sparse_kernel import SparseKernelModel

__all__ = [
    "KernelModel",
    "LinearModel",
    "MeasureModel",
    "OrdinalModel",
    "RankModel",
    "SparseKernelModel",
    "load",
    "load_model",
    "register_estimator",
    "register_kind",
    "save",
]
