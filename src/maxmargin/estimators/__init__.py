"""The scikit-learn face: validation and conventions, no mathematics."""

from maxmargin.estimators.kernel import KernelSVC, KernelSVCCV
from maxmargin.estimators.linear import LinearSVC
from maxmargin.estimators.linear_cv import LinearSVCCV
from maxmargin.estimators.measure import MeasureSVC
from maxmargin.estimators.ordinal import OrdinalSVC
from maxmargin.estimators.rank import RankSVM
from maxmargin.estimators.sparse_kernel import SparseKernelSVC

__all__ = [
    "KernelSVC",
    "KernelSVCCV",
    "LinearSVC",
    "LinearSVCCV",
    "MeasureSVC",
    "OrdinalSVC",
    "RankSVM",
    "SparseKernelSVC",
]
