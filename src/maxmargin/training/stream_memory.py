"""What a run on a stream keeps in memory, and how its budget is divided."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.data.errors import DataError
from maxmargin.data.limits import parse_bytes
from maxmargin.data.stream.blocks import BLOCK_BYTES, BlockSource

if TYPE_CHECKING:
    from maxmargin.solvers.streaming.cached_loops import Task
    from maxmargin.training.stream import StreamPlan

SMALLEST_BLOCKS = 1 << 12
LEAST_BLOCKS = 32  # that fit in the memory, where the source can be cut so
UNDER_WAY = 6  # blocks in memory beside the cache: read, packed, waiting, visited
OTHER_VECTORS = 3  # as long as w, for each problem: the best one, the mean, rounding errors


def blocks_within(memory: int | float | str) -> int:
    """How large blocks should be for a budget of memory."""
    return max(SMALLEST_BLOCKS, min(BLOCK_BYTES, parse_bytes(memory) // LEAST_BLOCKS))


def cache_budget(source: BlockSource, task: Task, plan: StreamPlan) -> int:
    """What is left of the memory for cached rows."""
    blocks = UNDER_WAY * source.largest_block
    vectors = OTHER_VECTORS * 8 * task.format.width * len(task.positives)
    index = 4 * source.n
    left = plan.budget - blocks - vectors - index
    if left < 0:
        raise ValueError(
            f"memory={plan.memory!r} is too small for {source.name}: the blocks under way take "
            f"{blocks} bytes ({UNDER_WAY} of up to {source.largest_block}), vectors as long as w "
            f"{vectors} and the index of its {source.n} rows {index}; allow at least "
            f"{blocks + vectors + index} bytes, or convert the data with smaller blocks"
        )
    return left


def dual_shares(n: int, problems: int, plan: StreamPlan) -> list[np.ndarray]:
    """u = 0, in memory or in a file that is mapped."""
    path, dtype = plan.alpha_file, np.dtype(plan.alpha_dtype)
    if path is None:
        return [np.zeros(n, dtype) for _ in range(problems)]
    size = problems * n * dtype.itemsize
    if os.path.exists(path) and os.path.getsize(path) not in (0, size):
        raise DataError(
            f"{os.fspath(path)}: has {os.path.getsize(path)} bytes, and dual variables of these "
            f"rows take {size}: it is another file; delete it, or name another one"
        )
    return list(np.memmap(path, dtype, mode="w+", shape=(problems, n)))
