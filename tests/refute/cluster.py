"""Fits on a Dask cluster of this process: one worker, some partitions."""

from __future__ import annotations

import atexit
from typing import Any

import numpy as np
import scipy.sparse as sp

PARTITION = 40  # rows
_clients: list[Any] = []


def client() -> Any:
    """The client of a cluster in this process, started when it is first asked for."""
    if not _clients:
        import dask
        from distributed import Client

        dask.config.set({"distributed.scheduler.worker-ttl": None})  # a machine may sleep
        _clients.append(
            Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
        )
        atexit.register(close)
    return _clients[0]


def close() -> None:
    """Ends the cluster, if there is one."""
    while _clients:
        _clients.pop().close()


def fit_on_cluster(estimator: Any, X: Any, y: np.ndarray, **columns: Any) -> Any:
    """The estimator, fitted on partitions of the rows."""
    from dask import delayed

    starts = range(0, len(y), PARTITION)

    def cut(array: Any) -> Any:
        if array is None:
            return None
        return [delayed(_some)(array, start) for start in starts]

    estimator.set_params(client=client())
    given = {name: cut(values) for name, values in columns.items()}
    return estimator.fit(cut(X), cut(y), **given)


def _some(array: Any, start: int) -> Any:
    part = array[start : start + PARTITION]
    return part.tocsr() if sp.issparse(part) else np.ascontiguousarray(part)
