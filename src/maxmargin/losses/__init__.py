"""What is minimised. A loss sees predictions only; the data does two products and nothing else.

Names are imported when they are first used: the command line reads the table of losses alone.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "MEASURES": "measures",
    "Hinge": "pointwise",
    "Loss": "base",
    "LossSpec": "pointwise",
    "Pointwise": "pointwise",
    "Ranks": "ranks",
    "measure_loss": "measures",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"maxmargin.losses.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
