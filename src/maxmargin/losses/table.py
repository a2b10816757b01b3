"""The pointwise losses there are, as faces see them: read from the table of the core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core

ANY_PARAMETER = 0.5  # that every loss with a parameter takes


@dataclass(frozen=True)
class LossKind:
    """What a face should know of a loss: its task, and the name of its parameter if it has one.

    `logarithms` is what those of a visit of dual descent cost, in entries of a row looked at.
    `is_steep_both_ways`: its slope knows no bound to either side, so that nearly every row curves
    it, wherever w is.
    """

    task: str  # "classification" or "regression"
    parameter: str | None
    is_piecewise_linear: bool
    logarithms: float
    is_steep_both_ways: bool


def _is_steep_both_ways(info: Any) -> bool:
    target = None if info.on_margins else np.zeros(1)
    domain = _core.Pointwise(info.name, ANY_PARAMETER, np.ones(1), target).domain
    return all(math.isinf(end) for end in domain)


LOSSES: dict[str, LossKind] = {
    info.name: LossKind(
        "classification" if info.on_margins else "regression",
        info.parameter or None,
        info.piecewise_linear,
        info.visit_logarithms,
        _is_steep_both_ways(info),
    )
    for info in _core.loss_table()
}


def losses_of_levels() -> tuple[str, ...]:
    """The names of the losses that have a quantile, of which several can be fitted."""
    return tuple(name for name, kind in LOSSES.items() if kind.parameter == "quantile")


def losses_for(task: str) -> tuple[str, ...]:
    """The names of the losses for "classification" or "regression"."""
    return tuple(name for name, kind in LOSSES.items() if kind.task == task)
