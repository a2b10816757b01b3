"""The scikit-learn face: validation and conventions, no mathematics."""

from maxmargin.estimators.kernel import KernelSVC, KernelSVCCV
from maxmargin.estimators.kernel_regression import KernelSVR, KernelSVRCV
from maxmargin.estimators.linear import LinearSVC
from maxmargin.estimators.linear_cv import LinearSVCCV, LinearSVRCV
from maxmargin.estimators.measure import MeasureSVC
from maxmargin.estimators.ordinal import OrdinalSVC
from maxmargin.estimators.rank import RankSVM
from maxmargin.estimators.regression import LinearSVR
from maxmargin.estimators.score_cv import (
    MeasureSVCCV,
    OrdinalSVCCV,
    RankSVMCV,
    SparseKernelOrdinalSVCCV,
    SparseKernelRankSVMCV,
    SparseKernelSVCCV,
    SparseKernelSVRCV,
)
from maxmargin.estimators.span import (
    SparseKernelOrdinalSVC,
    SparseKernelRankSVM,
    SparseKernelSVR,
)
from maxmargin.estimators.sparse_kernel import SparseKernelSVC
from maxmargin.estimators.stream import StreamSVC, StreamSVR
from maxmargin.estimators.stream_cv import StreamSVCCV, StreamSVRCV

__all__ = [
    "KernelSVC",
    "KernelSVCCV",
    "KernelSVR",
    "KernelSVRCV",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "MeasureSVC",
    "MeasureSVCCV",
    "OrdinalSVC",
    "OrdinalSVCCV",
    "RankSVM",
    "RankSVMCV",
    "SparseKernelOrdinalSVC",
    "SparseKernelOrdinalSVCCV",
    "SparseKernelRankSVM",
    "SparseKernelRankSVMCV",
    "SparseKernelSVC",
    "SparseKernelSVCCV",
    "SparseKernelSVR",
    "SparseKernelSVRCV",
    "StreamSVC",
    "StreamSVCCV",
    "StreamSVR",
    "StreamSVRCV",
]
