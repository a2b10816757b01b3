"""Large-margin learning that scales, every answer with a certificate of how good it is."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin import data, distributed, metrics, report
    from maxmargin.estimators import KernelSVC, KernelSVCCV, LinearSVC
    from maxmargin.estimators.kernel_regression import KernelSVR, KernelSVRCV
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

__version__ = "0.1.0"
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
    "__version__",
    "data",
    "distributed",
    "load",
    "metrics",
    "report",
]

# Imported when first used: scikit-learn alone takes longer to import than many a fit.
_HOMES = {
    "KernelSVC": "maxmargin.estimators.kernel",
    "KernelSVCCV": "maxmargin.estimators.kernel",
    "KernelSVR": "maxmargin.estimators.kernel_regression",
    "KernelSVRCV": "maxmargin.estimators.kernel_regression",
    "LinearSVC": "maxmargin.estimators.linear",
    "LinearSVCCV": "maxmargin.estimators.linear_cv",
    "LinearSVR": "maxmargin.estimators.regression",
    "LinearSVRCV": "maxmargin.estimators.linear_cv",
    "MeasureSVC": "maxmargin.estimators.measure",
    "MeasureSVCCV": "maxmargin.estimators.score_cv",
    "OrdinalSVC": "maxmargin.estimators.ordinal",
    "OrdinalSVCCV": "maxmargin.estimators.score_cv",
    "RankSVM": "maxmargin.estimators.rank",
    "RankSVMCV": "maxmargin.estimators.score_cv",
    "SparseKernelOrdinalSVC": "maxmargin.estimators.span",
    "SparseKernelOrdinalSVCCV": "maxmargin.estimators.score_cv",
    "SparseKernelRankSVM": "maxmargin.estimators.span",
    "SparseKernelRankSVMCV": "maxmargin.estimators.score_cv",
    "SparseKernelSVC": "maxmargin.estimators.sparse_kernel",
    "SparseKernelSVCCV": "maxmargin.estimators.score_cv",
    "SparseKernelSVR": "maxmargin.estimators.span",
    "SparseKernelSVRCV": "maxmargin.estimators.score_cv",
    "StreamSVC": "maxmargin.estimators.stream",
    "StreamSVCCV": "maxmargin.estimators.stream_cv",
    "StreamSVR": "maxmargin.estimators.stream",
    "StreamSVRCV": "maxmargin.estimators.stream_cv",
}
_FOLDERS = ("data", "distributed", "metrics", "report")


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator from a file that `save` or ``maxmargin train`` wrote.

    Files are data only: loading one from a stranger cannot run anything.

    Raises
    ------
    ValueError
        The file is no model, is cut short, contradicts itself, or needs a newer maxmargin.
    """
    from maxmargin import estimators  # noqa: F401  (they register themselves with the files)
    from maxmargin.models import files

    return files.load(path)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _FOLDERS:
        return importlib.import_module(f"maxmargin.{name}")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
