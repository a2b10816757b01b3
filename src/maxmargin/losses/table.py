"""The pointwise losses there are, as faces see them: read from the table of the core."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin import _core


@dataclass(frozen=True)
class LossKind:
    """What a face should know of a loss: its task, and the name of its parameter if it has one.

    `logarithms` is what those of a visit of dual descent cost, in entries of a row looked at.
    """

    task: str  # "classification" or "regression"
    parameter: str | None
    is_piecewise_linear: bool
    logarithms: float


LOSSES: dict[str, LossKind] = {
    info.name: LossKind(
        "classification" if info.on_margins else "regression",
        info.parameter or None,
        info.piecewise_linear,
        info.visit_logarithms,
    )
    for info in _core.loss_table()
}


def losses_for(task: str) -> tuple[str, ...]:
    """The names of the losses for "classification" or "regression"."""
    return tuple(name for name, kind in LOSSES.items() if kind.task == task)
