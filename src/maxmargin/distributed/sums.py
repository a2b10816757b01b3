"""What workers find on the parts they hold, and sums of it in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FAN_IN = 8


@dataclass(frozen=True)
class Found:
    """What a task found on the parts of one worker: the sum of their results, or each by its
    number. `forgotten` are parts that do not have the vectors the task needs."""

    results: Any
    forgotten: frozenset[int] = frozenset()


def add(*found: Found) -> Found:
    """What tasks on several workers found, as that of one: sums in the order given."""
    forgotten = frozenset().union(*(each.forgotten for each in found))
    results = [each.results for each in found if each.results is not None]
    if results and isinstance(results[0], dict):
        return Found({k: v for each in results for k, v in each.items()}, forgotten)
    return Found(sum_up(results), forgotten)


def sum_up(results: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...] | None:
    """The sum of tuples of arrays, in the order given; None of none."""
    if not results:
        return None
    total = tuple(np.array(array, dtype=np.float64) for array in results[0])
    with np.errstate(over="ignore", invalid="ignore"):  # solvers refuse sums that are not finite
        for result in results[1:]:
            for sums, array in zip(total, result):
                sums += array
    return total


def tree(leaves: Sequence[Any], add: Callable[..., Any]) -> Any:
    """The sum of the leaves, FAN_IN neighbours at a time."""
    leaves = list(leaves)
    while len(leaves) > 1:
        groups = [leaves[j : j + FAN_IN] for j in range(0, len(leaves), FAN_IN)]
        leaves = [add(*group) if len(group) > 1 else group[0] for group in groups]
    return leaves[0]
