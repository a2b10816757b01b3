"""The Dask face: the same losses and bundle loop, products done by workers; cells as tasks.

`LinearSVC`, `LinearSVR`, `RankSVM`, `OrdinalSVC`, `MeasureSVC`, `KernelSVC` and `KernelSVCCV` as in
`maxmargin`, on dask arrays, dataframes, delayed objects or lists of files. Needs the extra
``maxmargin[dask]``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.distributed.errors import ClusterError, PartitionError, SchedulerError
    from maxmargin.distributed.kernel import KernelSVC, KernelSVCCV
    from maxmargin.distributed.linear import LinearSVC
    from maxmargin.distributed.measure import MeasureSVC
    from maxmargin.distributed.ordinal import OrdinalSVC
    from maxmargin.distributed.rank import RankSVM
    from maxmargin.distributed.regression import LinearSVR

__all__ = [
    "ClusterError",
    "KernelSVC",
    "KernelSVCCV",
    "LinearSVC",
    "LinearSVR",
    "MeasureSVC",
    "OrdinalSVC",
    "PartitionError",
    "RankSVM",
    "SchedulerError",
]

# Imported when first used: workers need the parts only, not scikit-learn.
_HOMES = {
    "ClusterError": "maxmargin.distributed.errors",
    "KernelSVC": "maxmargin.distributed.kernel",
    "KernelSVCCV": "maxmargin.distributed.kernel",
    "LinearSVC": "maxmargin.distributed.linear",
    "LinearSVR": "maxmargin.distributed.regression",
    "MeasureSVC": "maxmargin.distributed.measure",
    "OrdinalSVC": "maxmargin.distributed.ordinal",
    "PartitionError": "maxmargin.distributed.errors",
    "RankSVM": "maxmargin.distributed.rank",
    "SchedulerError": "maxmargin.distributed.errors",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'maxmargin.distributed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
