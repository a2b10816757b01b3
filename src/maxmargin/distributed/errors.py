"""What can go wrong on a cluster, as errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class ClusterError(RuntimeError):
    """The rows on a cluster were lost, and the fit ended there.

    Attributes
    ----------
    model : the best model so far, or None if there was none yet
        The estimator is fitted with it too.
    """

    model: Any = None


class SchedulerError(ClusterError):
    """The connection to the scheduler was lost."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"the connection to the Dask scheduler at {address} was lost: see whether it still "
            "runs, then fit again"
        )


CERTAIN = (ValueError, TypeError, LookupError, ArithmeticError)  # in our own work on rows


class PartitionError(ClusterError):
    """A partition failed again and again, or its rows cannot be used, and the fit ended there.

    Attributes
    ----------
    partition : int
        Its number, from 0.
    source : str
        Where its rows come from.
    model : the best model so far, or None if there was none yet
        As in `ClusterError`.

    The error of the partition itself is the cause (``__cause__``).
    """

    def __init__(
        self, partition: int, source: str, cause: BaseException, certain: bool = False
    ) -> None:
        what = "cannot be used" if certain else "failed again and again"
        super().__init__(
            f"partition {partition} ({source}) {what}: {type(cause).__name__}: {cause}"
        )
        self.partition, self.source = partition, source
        self.__cause__ = cause


def dask_modules() -> tuple[ModuleType, ModuleType]:
    """``dask`` and ``distributed``, or an error that says how to get them."""
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ImportError(
            "maxmargin.distributed needs Dask, which is not installed: "
            "pip install 'maxmargin[dask]'"
        ) from error
    return dask, distributed
