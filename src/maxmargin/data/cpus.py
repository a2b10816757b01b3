"""How many threads to use when nobody says."""

from __future__ import annotations

import os

from maxmargin import _core


def granted_cpus() -> int:
    """CPUs this process may use: its affinity mask, and no more than OMP_NUM_THREADS, by which
    joblib keeps processes side by side from crowding each other."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cpus = _core.available_cpus()
    return min(cpus, int(limit)) if limit.isdigit() and int(limit) > 0 else cpus


def new_pool(threads: int, stop: _core.Stop | None = None) -> _core.Pool:
    """Threads for one computation, which `stop` may end."""
    return _core.Pool(threads, stop)
